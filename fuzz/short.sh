#!/bin/sh
# Runs changed inputs through the check of each target, or of those that are named, as many targets at a time as there are
# processors: fuzz/short.sh SECONDS [TARGET...]. It needs no cargo-fuzz. Prints how many inputs each target checked. A target that
# fails does not stop the others; its output and its name stand at the end, and the script fails. It fails as well if a target
# of fuzz/Cargo.toml is in no test `mutated_inputs_hold`.
set -eu
seconds=$1
shift
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

CARGO_TERM_COLOR=never ${CARGO:-cargo} test --workspace --tests --locked --no-run >"$folder/build" 2>&1 || {
    cat "$folder/build"
    exit 1
}
# Which test program has which target.
sed -n 's/^ *Executable .*(\(.*\))$/\1/p' "$folder/build" | while IFS= read -r program; do
    grep -q mutated_inputs_hold "$program" || continue
    rm -f "$folder/list"
    STRIPEWISE_FUZZ_LIST="$folder/list" "$program" mutated_inputs_hold >"$folder/listing" 2>&1 </dev/null || {
        cat "$folder/listing"
        exit 1
    }
    [ ! -e "$folder/list" ] || while read -r target; do
        printf '%s\n' "$program" >"$folder/$target.program"
    done <"$folder/list"
done

status=0
[ $# != 0 ] || set -- $(sed -n 's/^ *{ name = "\([^"]*\)", path = .*/\1/p' fuzz/Cargo.toml)
for target; do
    if [ -e "$folder/$target.program" ]; then
        echo "$target" >>"$folder/targets"
    else
        echo "the target $target has not run: add it to the test mutated_inputs_hold of its crate"
        status=1
    fi
done
[ -e "$folder/targets" ] || exit 1

# Each target is a process of one thread with a log of its own. Its count is printed when it ends.
export seconds folder
xargs -n 1 -P "$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)" sh -c '
    IFS= read -r program <"$folder/$1.program"
    if STRIPEWISE_FUZZ_SECONDS=$seconds STRIPEWISE_FUZZ_TARGET=$1 STRIPEWISE_FUZZ_COUNTS=$folder/$1.count \
        "$program" mutated_inputs_hold --nocapture >"$folder/$1.log" 2>&1 </dev/null &&
        grep -q "^fuzz $1 [1-9]" "$folder/$1.count"
    then
        cat "$folder/$1.count"
    else
        echo "fuzz $1 FAILED"
        echo "$1" >"$folder/$1.failed"
    fi' fuzz <"$folder/targets"

failed=
while read -r target; do
    [ -e "$folder/$target.failed" ] || continue
    echo "---- output of $target"
    cat "$folder/$target.log"
    failed="$failed $target"
done <"$folder/targets"
[ -z "$failed" ] || {
    echo "targets that failed:$failed"
    status=1
}
exit $status
