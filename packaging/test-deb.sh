#!/usr/bin/env bash
# Run by dist-test.sh inside an empty Debian: installs the package, uses it, removes it.
set -euxo pipefail
fail() {
    echo "test-deb: $*" >&2
    exit 1
}
cd /root
dpkg --info /packages/stripewise_*.deb
# Without a network: what the package depends on is in any Debian system.
dpkg --install /packages/stripewise_*.deb
stripewise --version

# shellcheck disable=SC2086
stripewise compare $COMPARISON >said
grep -q raid0 said || fail "compare printed no table"
cat stripewise-results/*/run.toml | grep '^results_digest' | sort >/digests

# An array over files: written, stopped, opened again, read.
stripewise create pool --files /srv/pool --size 16MiB
stripewise serve pool --detach --nbd unix:/srv/pool.sock
stripewise status pool
head -c 1048576 /dev/urandom >written
nbdcopy written 'nbd+unix:///?socket=/srv/pool.sock'
stripewise stop pool
stripewise serve pool --detach --nbd unix:/srv/pool.sock
nbdcopy 'nbd+unix:///?socket=/srv/pool.sock' read
stripewise scrub pool --wait
stripewise stop pool
head -c 1048576 read | cmp - written
stripewise check pool

# Units, as installed; their manual pages exist, too.
systemd-analyze verify --recursive-errors=no stripewise@pool.service stripewise-scrub@pool.service \
    stripewise-scrub@pool.timer
systemctl --root=/ enable stripewise@pool.service stripewise-scrub@pool.timer
systemctl --root=/ disable stripewise@pool.service stripewise-scrub@pool.timer

# Manual pages of every command that `--help` lists.
commands="$(stripewise --help | sed -n 's/^  \([a-z]\+\)  .*/\1/p' | grep -v '^help$')"
[ "$(echo "$commands" | wc -l)" -gt 15 ] || fail "too few commands: $commands"
for name in $commands; do
    man -w "stripewise-$name"
done
man -w stripewise
man stripewise-serve | grep SYNOPSIS >/dev/null || fail "man stripewise-serve shows no page"

# Completions, found by each shell itself.
bash -c 'source /usr/share/bash-completion/bash_completion
    _completion_loader stripewise || true
    complete -p stripewise
    COMP_WORDS=(stripewise compa) COMP_CWORD=1
    _stripewise stripewise compa stripewise
    [ "${COMPREPLY[*]}" = compare ]'
zsh -fc 'autoload -U compinit; compinit -D; [ "$_comps[stripewise]" = _stripewise ]; autoload +X _stripewise'
fish -c 'complete -C "stripewise compa"' | grep '^compare' >/dev/null

for name in copyright changelog.Debian.gz changelog.gz THIRD-PARTY.gz; do
    [ -s "/usr/share/doc/stripewise/$name" ] || fail "no /usr/share/doc/stripewise/$name"
done

# Removed, only the administrator's data stays.
dpkg --remove stripewise
[ ! -e /usr/bin/stripewise ] && [ ! -e /usr/lib/systemd/system/stripewise@.service ] || fail "files stay after remove"
dpkg --purge stripewise 2>/dev/null || true
[ -e /srv/pool ] || fail "purge removed an array"
