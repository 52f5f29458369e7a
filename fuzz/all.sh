#!/bin/sh
# Fuzzes one target after another, each for so many minutes: fuzz/all.sh MINUTES [TARGET...]. What is found on the way
# is kept under target/fuzz, apart from the corpus of the tree.
set -eu
minutes=$1
shift
cd "$(dirname "$0")"
work=${CARGO_TARGET_DIR:-../target}/fuzz
export RUSTC_BOOTSTRAP=1
[ $# -gt 0 ] || set -- $(cargo fuzz list --fuzz-dir .)
for target in "$@"; do
    # What a header promises may need some KB to be there.
    case $target in
        parquet | tables | packed | blktrace | detect | info) longest=65536 ;;
        *) longest=4096 ;;
    esac
    mkdir -p "$work/corpus/$target" "$work/artifacts/$target"
    cargo fuzz run --fuzz-dir . --sanitizer none "$target" "$work/corpus/$target" "corpus/$target" -- \
        -max_total_time=$((minutes * 60)) -max_len=$longest -timeout=20 -rss_limit_mb=1024 -print_final_stats=1 \
        -artifact_prefix="$work/artifacts/$target/"
done
