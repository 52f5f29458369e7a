#!/usr/bin/env bash
# Builds the packages of OUT a second time and compares them byte by byte: packaging/dist-check.sh OUT [COMMIT], by
# default of the commit that they were built of. The second build has other folders, no output of the first, another
# time zone, locale, umask and number of jobs.
# `PARTS=static` builds and compares one package.
set -euo pipefail
[ -f "$1/SHA256SUMS" ] || { echo "dist-check: no $1/SHA256SUMS: run \`make dist\` first" >&2; exit 1; }
first="$(realpath "$1")"
second="$(mktemp -d "${TMPDIR:-/tmp}/dist-check.XXXXXX")"
trap 'rm -rf "$second"' EXIT
(cd "$first" && sha256sum --quiet --check SHA256SUMS)
umask 077
TZ=Asia/Tokyo LC_ALL=C.UTF-8 CARGO_BUILD_JOBS="${CARGO_BUILD_JOBS:-1}" \
    "$(dirname "$0")/dist.sh" "$second/out" "$second/another-folder" "${2:-$(cat "$first/COMMIT")}" >/dev/null
status=0
for package in "$first"/stripewise*; do
    name="$(basename "$package")"
    if [ -n "${PARTS:-}" ] && [ ! -e "$second/out/$name" ]; then
        echo "not built again: $name"
    elif cmp "$package" "$second/out/$name"; then
        echo "same: $name"
    else
        status=1
        echo "DIFFERENT: $name" >&2
        # Kept for a look at them, for instance by diffoscope.
        mkdir -p "$first/second" && cp "$second/out/$name" "$first/second/"
    fi
done
[ -n "${PARTS:-}" ] || cmp "$first/SHA256SUMS" "$second/out/SHA256SUMS" || status=1
exit "$status"
