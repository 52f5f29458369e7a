#!/bin/sh
# Runs changed inputs through the check of every target, each for so many seconds, on all processors: fuzz/short.sh SECONDS.
# It needs no cargo-fuzz. Prints how many inputs each target checked, and fails if a target is not among them.
set -eu
seconds=$1
cd "$(dirname "$0")/.."
counts=$(mktemp)
log=$(mktemp)
trap 'rm -f "$counts" "$log"' EXIT
STRIPEWISE_FUZZ_SECONDS=$seconds STRIPEWISE_FUZZ_COUNTS=$counts \
    ${CARGO:-cargo} test --workspace --tests --locked mutated_inputs_hold >"$log" 2>&1 || {
    cat "$log"
    exit 1
}
sort "$counts"
status=0
for target in $(sed -n 's/^ *{ name = "\([^"]*\)", path = .*/\1/p' fuzz/Cargo.toml); do
    grep -q "^fuzz $target [1-9]" "$counts" || {
        echo "the target $target has not run: add it to the test mutated_inputs_hold of its crate"
        status=1
    }
done
exit $status
