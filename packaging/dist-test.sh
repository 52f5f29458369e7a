#!/usr/bin/env bash
# Installs the packages of OUT on an empty Debian system and uses them: packaging/dist-test.sh OUT WORK. As root, with
# mmdebstrap and a network for the base system, which WORK keeps for the next call. `STEPS="tar deb wheel"` chooses.
set -euo pipefail
export LC_ALL=C.UTF-8
fail() {
    echo "dist-test: $*" >&2
    exit 1
}
ok() {
    echo "dist-test: ok: $*"
}
[ $# -eq 2 ] || fail "usage: packaging/dist-test.sh OUT WORK"
[ "$(id -u)" = 0 ] || fail "a system is installed and entered by chroot: run it as root"
command -v mmdebstrap >/dev/null || fail "no mmdebstrap: apt-get install mmdebstrap"
here="$(realpath "$(dirname "$0")")"
out="$(realpath "$1")"
mkdir -p "$2"
work="$(realpath "$2")"
(cd "$out" && sha256sum --quiet --check SHA256SUMS) || fail "the packages are not those of SHA256SUMS: make dist"
ok "checksums"

# What is mounted for the tests is seen by this process alone, and gone when it ends.
if [ -z "${DIST_TEST_INSIDE:-}" ]; then
    DIST_TEST_INSIDE=1 exec unshare --mount --pid --fork --kill-child -- "$0" "$@"
fi
rm -rf "$work/root" "$work/empty" "$work/digests"
mkdir "$work/digests"

# Digests of one comparison, as each program finds them: the same from all packages.
COMPARISON="--scheme raid0 --scheme stripewise --seeds 1 -n 10000"

# --- The archive: a system that holds nothing else. ------------------------------------------------------------------
test_tar() {
    local archive tree="$work/empty"
    archive="$(ls "$out"/stripewise-*-musl.tar.gz)"
    mkdir "$tree"
    tar -xzf "$archive" -C "$tree" --strip-components 1
    [ ! -e "$tree/lib" ] && [ ! -e "$tree/usr" ] || fail "$archive: it holds a system"
    # What the kernel gives: a server in the background starts its own program again, and has no terminal.
    mkdir "$tree/proc" "$tree/dev"
    mount -t proc proc "$tree/proc"
    mount --rbind /dev "$tree/dev"
    run() { chroot "$tree" /stripewise "$@"; }
    run --version
    # shellcheck disable=SC2086
    run compare $COMPARISON >"$tree/said"
    grep -q raid0 "$tree/said" || fail "$archive: compare printed no table"
    cat "$tree"/stripewise-results/*/run.toml | grep '^results_digest' | sort >"$work/digests/tar"
    run create pool --files /pool --size 16MiB
    run serve pool --detach
    run status pool
    run stop pool
    for script in stripewise _stripewise stripewise.fish; do
        [ -s "$tree/completions/$script" ] || fail "$archive: no completions/$script"
    done
    ok "archive: runs in a system that holds nothing else"
}

# --- An empty Debian system. -----------------------------------------------------------------------------------------
base() {
    local packages=python3-venv,man-db,systemd,bash-completion,zsh,fish,libnbd-bin
    if [ ! -f "$work/bookworm.tar" ]; then
        mmdebstrap --quiet --variant=minbase --include="$packages" bookworm "$work/bookworm.tar.new"
        mv "$work/bookworm.tar.new" "$work/bookworm.tar"
    fi
    mkdir "$work/root"
    tar -xf "$work/bookworm.tar" -C "$work/root"
    # A minimal Debian has no manual: dpkg leaves it out where it is told to.
    rm -f "$work/root"/etc/dpkg/dpkg.cfg.d/*
    mount -t proc proc "$work/root/proc"
    mount --rbind /dev "$work/root/dev"
    mkdir "$work/root/packages"
    cp "$out"/stripewise* "$work/root/packages/"
    cp "$here/test-deb.sh" "$here/test-wheel.sh" "$work/root/packages/"
    ! chroot "$work/root" sh -c 'command -v cargo rustc cc gcc stripewise' || fail "the base system is not empty"
}

test_deb() {
    # Errors of lintian fail; what it warns of is shown.
    command -v lintian >/dev/null || fail "no lintian: apt-get install lintian"
    lintian --fail-on error --no-tag-display-limit --allow-root "$out"/stripewise_*.deb
    ok "lintian finds no error"
    COMPARISON="$COMPARISON" chroot "$work/root" bash /packages/test-deb.sh
    cp "$work/root/digests" "$work/digests/deb"
    ok "Debian package"
}

test_wheel() {
    chroot "$work/root" bash /packages/test-wheel.sh
    cp "$work/root/wheel-digests" "$work/digests/wheel"
    ok "wheel"
}

steps="${STEPS:-tar deb wheel}"
[ "$steps" = tar ] || base
for step in $steps; do
    "test_$step"
done
cd "$work/digests"
for found in *; do
    [ -s "$found" ] || fail "$found: no run was listed"
    cmp "$found" "$(ls | head -n 1)" || fail "$found: the runs have other digests than those of another package"
done
ok "runs have the same digests in: $(echo *)"
