//! Figures 7, 8, 9 and 13: one value of each run, by workload and scheme.

use crate::figures::cast::Cast;
use crate::figures::figure::Figure;
use crate::figures::values::{Base, Shown, draw};
use crate::figures::wording::{about, titled};
use crate::run::LoadedRun;
use crate::set::Set;

use super::cast::{is_elastic, is_esap, policy, tiers};

/// The base of comparison in a paper's reports; other reports compare with the first scheme.
fn over(set: &Set, is_base: fn(&LoadedRun) -> bool, name: &'static str) -> Option<Base> {
    set.paper.map(|_| (is_base, name))
}

/// Figure 7.
pub(super) fn rewrites(set: &Set, cast: &Cast<'_>) -> Figure {
    let shown = Shown {
        id: "rewrites",
        title: titled(
            set,
            "Figure 7 of paper 001",
            "data chunks that array-level garbage collection rewrites",
        ),
        about: about(
            set,
            "Valid data chunks that array-level garbage collection (GC) wrote again, in sum over the run. Parity of the \
             rewritten stripes is not in it.",
            "paper 001, Figure 7, calls it the RAID-level GC cost, and finds 30.0 to 70.6 % fewer with WAS(2) than with \
             eSAP in RAID-5, 23.9 to 63.2 % in RAID-6. WAS(n) writes n groups of hotness apart; \"group buffer\" is eSAP \
             with a buffer as large as a group of WAS, and so what buffering gives without hotness.",
        ),
        total: "array_gc_moved_chunks",
        axis: "chunks rewritten by GC",
        is_time: false,
        log: false,
        keep: is_elastic,
        base: over(set, is_esap, "over eSAP"),
    };
    draw(set, cast, shown)
}

/// Figure 8.
pub(super) fn responses(set: &Set, cast: &Cast<'_>) -> Figure {
    let shown = Shown {
        id: "mean-response",
        title: titled(set, "Figure 8 of paper 001", "mean response times on a logarithmic axis"),
        about: about(
            set,
            "Mean response time of all requests, arrival to acknowledgement, on a logarithmic axis. The table of totals \
             says what each scheme acknowledges from: memory answers faster than flash.",
            "paper 001, Figure 8, finds WAS(2) 60.9 to 79.3 % below eSAP in RAID-5, 56.8 to 80.9 % in RAID-6. There a \
             write is acknowledged when it is in the buffer, unless it is the one that triggers a flush, which waits for \
             the flush and for the GC that it needs; \"durable\" acknowledges when the write is on the members.",
        ),
        total: "response_mean_ns",
        axis: "mean response",
        is_time: true,
        log: true,
        keep: |_| true,
        base: over(set, is_esap, "over eSAP"),
    };
    draw(set, cast, shown)
}

/// Figure 9.
pub(super) fn erases(set: &Set, cast: &Cast<'_>) -> Figure {
    let shown = Shown {
        id: "erases",
        title: titled(set, "Figure 9 of paper 001", "blocks erased"),
        about: about(
            set,
            "Blocks that all members together erased.",
            "paper 001, Figure 9, finds 22.9 to 63.2 % fewer with WAS(2) than with eSAP in RAID-5, 23.0 to 61.8 % in RAID-6.",
        ),
        total: "erase_blocks",
        axis: "blocks erased",
        is_time: false,
        log: false,
        keep: |_| true,
        base: over(set, is_esap, "over eSAP"),
    };
    draw(set, cast, shown)
}

/// Figure 13.
pub(super) fn identification(set: &Set, cast: &Cast<'_>) -> Figure {
    let shown = Shown {
        id: "identification",
        title: titled(set, "Figure 13 of paper 001", "hot data by GLRU, HCA and direct counting"),
        about: about(
            set,
            "Data chunks that GC rewrites when two groups are separated by GLRU (a table of fixed size), by HCA (10 bytes a \
             chunk) or by a counter for every chunk.",
            "paper 001, Figure 13, finds GLRU up to 16.7 % below HCA.",
        ),
        total: "array_gc_moved_chunks",
        axis: "chunks rewritten by GC",
        is_time: false,
        log: false,
        keep: |run| is_elastic(run) && policy(run) != "none" && tiers(run) == 2,
        base: over(set, |run| policy(run) == "hca", "over HCA"),
    };
    draw(set, cast, shown)
}
