#!/usr/bin/env bash
# Builds the packages of one commit: packaging/dist.sh OUT WORK [COMMIT]. `make dist` calls it; docs/develop/releases.md
# says what the packages hold. OUT receives the packages; WORK holds the exported sources, the tools and what the
# compiler writes, and speeds up the next call.
#
# The same commit, the same compilers and the same versions of the tools give the same bytes, whatever OUT, WORK, time,
# time zone, locale and umask are: `make dist-check`.
set -euo pipefail
export LC_ALL=C TZ=UTC
umask 022

# The tools, pinned because their versions decide the bytes. maturin's version is in pyproject.toml, too.
MATURIN=1.16.0
CARGO_DEB=3.8.0
# Distributions with glibc 2.34 or later: Debian 12, Ubuntu 22.04, RHEL 9, and newer.
WHEEL_POLICY=manylinux_2_34
MUSL=x86_64-unknown-linux-musl

fail() {
    echo "dist: $*" >&2
    exit 1
}

say() {
    echo "dist: $*" >&2
}

[ $# -ge 2 ] || fail "usage: packaging/dist.sh OUT WORK [COMMIT]"
repository="$(git -C "$(dirname "$0")" rev-parse --show-toplevel)"
commit="$(git -C "$repository" rev-parse --verify "${3:-HEAD}^{commit}")"
mkdir -p "$1" "$2"
out="$(realpath "$1")"
work="$(realpath "$2")"
source="$work/source"
cargo="${CARGO:-cargo}"

[ "$(uname -sm)" = "Linux x86_64" ] || fail "packages are built on x86_64 Linux, and this is $(uname -sm)"
for need in musl-gcc:musl-tools dpkg-deb:dpkg dpkg-shlibdeps:dpkg-dev strip:binutils python3:python3-venv; do
    command -v "${need%%:*}" >/dev/null || fail "no ${need%%:*}: apt-get install ${need##*:}"
done
rustc --print target-libdir --target "$MUSL" | xargs test -d ||
    fail "the standard library for $MUSL is missing: rustup target add $MUSL"

# --- The sources: those of the commit, never what lies uncommitted in the tree. --------------------------------------
rm -rf "$source"
mkdir -p "$source"
# Times are those of the export: cargo compiles a file again if it is newer than its output.
git -C "$repository" archive "$commit" | tar -x -m -C "$source"
cd "$source"
SOURCE_DATE_EPOCH="$(git -C "$repository" log -1 --format=%ct "$commit")"
export SOURCE_DATE_EPOCH
version="$(sed -n '/^\[workspace\.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)"
[ -n "$version" ] || fail "Cargo.toml has no version under [workspace.package]"
say "stripewise $version, commit ${commit:0:12}"

# --- The tools. ------------------------------------------------------------------------------------------------------
# `DIST_TOOLS` shares them between folders.
tools="${DIST_TOOLS:-$work/tools}"
if [ "$("$tools/bin/maturin" --version 2>/dev/null || true)" != "maturin $MATURIN" ]; then
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check "maturin==$MATURIN"
fi
if [ "$("$tools/bin/cargo-deb" --version 2>/dev/null || true)" != "cargo-deb $CARGO_DEB" ]; then
    "$cargo" install --quiet --force --locked --root "$tools" --target-dir "$work/cargo-deb" \
        --version "$CARGO_DEB" cargo-deb
    rm -rf "$work/cargo-deb"
fi

# --- One way to compile for all packages. ----------------------------------------------------------------------------
# No path of this machine gets into a program: neither by Rust nor by the C of dependencies.
registry="${CARGO_HOME:-$HOME/.cargo}"
export CARGO_TARGET_DIR="$work/target" CARGO_INCREMENTAL=0
separator=$'\x1f'
CARGO_ENCODED_RUSTFLAGS="--remap-path-prefix=$registry=/cargo"
CARGO_ENCODED_RUSTFLAGS+="$separator--remap-path-prefix=$CARGO_TARGET_DIR=/target"
CARGO_ENCODED_RUSTFLAGS+="$separator--remap-path-prefix=$source=/stripewise"
export CARGO_ENCODED_RUSTFLAGS
CFLAGS="-ffile-prefix-map=$registry=/cargo -ffile-prefix-map=$CARGO_TARGET_DIR=/target"
export CFLAGS
# The seed of const-random, which is otherwise a new one in each build.
export CONST_RANDOM_SEED=stripewise
unset RUSTFLAGS CARGO_BUILD_TARGET CARGO_BUILD_RUSTFLAGS MATURIN_PEP517_ARGS

# Archives that do not depend on who made them, when, or in which order files were found.
archive() {
    tar --create --format=gnu --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
        --mode=u+rw,go+r,go-w -C "$1" "$2" | gzip -9n
}

rm -f "$out"/stripewise* "$out/SHA256SUMS"
# `PARTS=static` builds one package.
parts=" ${PARTS:-sdist wheel static deb} "
builds() {
    [[ "$parts" == *" $1 "* ]]
}

# --- Python: the sources, and the wheel. -----------------------------------------------------------------------------
if builds sdist; then
    say "Python source distribution"
    "$tools/bin/maturin" sdist --out "$out" >&2
fi
if builds wheel; then
    say "wheel, $WHEEL_POLICY"
    # maturin puts files named LICENSE-* into the wheel. The licences of linked crates are known only now.
    python3 packaging/licenses.py --package stripewise-python --features stripewise-python/object-stores --target x86_64-unknown-linux-gnu >LICENSE-third-party
    "$tools/bin/maturin" build --quiet --locked --features object-stores --compatibility "$WHEEL_POLICY" --auditwheel check --out "$out"
    rm LICENSE-third-party
fi

# --- The command, for the system's C library (Debian package) and with its own (archive). ---------------------------
compile() {
    "$cargo" rustc --quiet --release --locked -p stripewise --features object-stores --bin stripewise "$@" -- -C strip=symbols
}
if builds deb; then
    say "command for glibc"
    compile
    program="$CARGO_TARGET_DIR/release/stripewise"
fi
if builds static; then
    say "command with musl"
    compile --target "$MUSL"
    program="$CARGO_TARGET_DIR/$MUSL/release/stripewise"
    ! readelf --program-headers "$program" | grep -q INTERP || fail "$program is not static: it names a dynamic loader"
fi

# What the command writes about itself. cargo-deb looks for it beside the program.
if [ -n "${program:-}" ]; then
    staged="$CARGO_TARGET_DIR/release/packaging"
    rm -rf "$staged"
    mkdir -p "$staged/man" "$staged/completions"
    "$program" --quiet man "$staged/man"
    for shell in bash:stripewise zsh:_stripewise fish:stripewise.fish; do
        "$program" completions "${shell%%:*}" >"$staged/completions/${shell##*:}"
    done
fi

if builds static; then
    say "archive with the static program"
    name="stripewise-$version-$MUSL"
    tree="$work/archive"
    rm -rf "$tree"
    mkdir -p "$tree/$name/systemd"
    cp "$program" "$tree/$name/stripewise"
    cp -r "$staged/man" "$staged/completions" "$tree/$name/"
    cp packaging/*.service packaging/*.timer "$tree/$name/systemd/"
    cp README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT "$tree/$name/"
    python3 packaging/licenses.py --package stripewise --features stripewise/object-stores --target "$MUSL" --musl >"$tree/$name/LICENSE-third-party"
    archive "$tree" "$name" >"$out/$name.tar.gz"
fi

# [package.metadata.deb] in crates/cli/Cargo.toml says what goes where.
if builds deb; then
    say "Debian package"
    contact="${MAINTAINER:-Stripewise maintainers <maintainers@stripewise.invalid>}"
    {
        echo "stripewise ($version-1) unstable; urgency=medium"
        echo
        echo "  * Version $version; /usr/share/doc/stripewise/changelog.gz lists its changes."
        echo
        echo " -- $contact  $(date -R -d "@$SOURCE_DATE_EPOCH")"
    } | gzip -9n >"$staged/changelog.Debian.gz"
    gzip -9n <CHANGELOG.md >"$staged/changelog.gz"
    cp -r "$staged/man" "$staged/man-gz"
    gzip -9n "$staged"/man-gz/*
    python3 packaging/licenses.py --package stripewise --features stripewise/object-stores --target x86_64-unknown-linux-gnu |
        gzip -9n >"$staged/THIRD-PARTY.gz"
    "$tools/bin/cargo-deb" --quiet --no-build --no-strip --manifest-path crates/cli/Cargo.toml \
        ${MAINTAINER:+--maintainer "$MAINTAINER"} --output "$out"
fi

echo "$commit" >"$out/COMMIT"
(cd "$out" && sha256sum stripewise* >SHA256SUMS && cat SHA256SUMS)
