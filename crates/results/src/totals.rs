//! The meaning of each total of a run, for the documentation; a test compares the list with the totals of runs.

/// Requests at the start that a run with an automatic warm-up left out.
pub const WARMUP_REQUESTS: &str = "warmup_requests";
/// Whether that run was too short to find its warm-up.
pub const WARMUP_UNFINISHED: &str = "warmup_unfinished";

/// Name and meaning of the totals that only runs with an automatic warm-up have, after the others.
pub const OF_WARMUP: &[(&str, &str)] = &[
    (
        WARMUP_REQUESTS,
        "Requests at the start that were left out, because the response times were not steady before (MSER-5).",
    ),
    (
        WARMUP_UNFINISHED,
        "1 if the response times still drift in the second half of the run, or are too few to tell; nothing is left out then.",
    ),
];

/// Name and meaning of the totals that only runs in open loop have: `--pacing open`, the default. They stand
/// behind `persistent_peak_bytes`.
pub const OF_OPEN_LOOP: &[(&str, &str)] = &[
    (
        "offered_requests_per_second",
        "Requests over the time from the first arrival to the last: the load that the trace offers.",
    ),
    ("offered_mib_per_second", "MiB of reads and writes over that time."),
    (
        BEHIND,
        "The window over that time. Above 1.1 the array falls behind its trace: response times then depend on its length.",
    ),
];

/// The total that says how late the last answer comes.
pub const BEHIND: &str = "window_over_arrivals";
/// Above this an array falls behind its trace.
pub const FALLS_BEHIND: f64 = 1.1;

/// Name and meaning of every total, in the order of the table's columns.
pub const TOTALS: &[(&str, &str)] = &[
    ("requests", "Host requests served; warm-up is excluded here and in all totals below."),
    ("read_requests", "Of those, reads."),
    ("write_requests", "Writes."),
    ("trim_requests", "Trims."),
    ("flush_requests", "Flushes."),
    ("failed_requests", "Requests that failed, of any kind."),
    ("read_bytes", "Bytes that reads requested."),
    ("written_bytes", "Bytes that writes carried."),
    ("simulated_ns", "Simulated time from the first counted arrival to the end."),
    ("updates", "Parity updates; each updates one row, for one request or for several merged ones."),
    ("updates_rmw", "Of those, by read-modify-write."),
    ("updates_rcw", "By read-construct-write."),
    ("updates_full_stripe", "Of whole rows, with nothing to pre-read."),
    ("updates_logged", "Updates that wrote a delta to the log of parity logging."),
    ("updates_adjusted", "Updates whose routine differs from Baseline's choice (paper 000, Fig. 6)."),
    ("updates_adjusted_rcw", "Of those, to read-construct-write."),
    ("updates_adjusted_share", "`updates_adjusted` over `updates`."),
    ("cache_write_chunks", "Chunks that hosts wrote into the write cache."),
    ("cache_absorbed_chunks", "Of those, chunks that were already cached."),
    ("cache_hit_chunks", "Chunks that hosts read from it."),
    ("destages", "Rows destaged from it."),
    ("destaged_chunks", "Chunks in them."),
    ("chunks_per_destage", "`destaged_chunks` over `destages`."),
    ("cache_room_waits", "Times that a write waited for space in the write cache."),
    ("strip_releases", "Times that strips left the write cache together, one for each member (SIW)."),
    ("incomplete_releases", "Of those, times that a member had no strip ready in time."),
    ("stripes", "Stripes written by elastic striping."),
    ("short_stripes", "Of those, stripes with fewer data chunks than fit on the members in service."),
    ("stripe_data_chunks", "Data chunks of hosts in them."),
    ("stripe_parity_chunks", "Parity chunks in them."),
    ("buffer_absorbed_chunks", "Chunks that were overwritten while they waited in memory."),
    ("array_gc_segments", "Segments that array-level garbage collection freed."),
    (
        "array_gc_moved_chunks",
        "Valid data chunks that it rewrote: paper 001's cost of collection (section II-B).",
    ),
    ("array_gc_parity_chunks", "Parity chunks of the stripes that it wrote."),
    ("zone_moved_pages", "Pages that changed their zone as they were written (MC-RAIS)."),
    (
        "zone_appended_pages",
        "Pages that were written to the next free page of the zone that they were in (MC-RAIS).",
    ),
    ("zone_refused_pages", "Writes of pages that could not move or be appended because the zone was full."),
    ("zone_evicted_pages", "Pages that the controller moved back to their home to free space in a zone."),
    ("zone_map_blocks", "Blocks that the map of zones knows at the end."),
    ("zone_map_looks", "Lookups of a block in the map of zones."),
    ("zone_map_filtered", "Of those, lookups that the map's Bloom filter answered alone."),
    ("zone_map_false_positives", "Lookups that the filter passed although the map has no such block."),
    (
        "redirected_chunks",
        "Chunks that were decoded from other members by choice; `decode_read_pages` counts the pages read for that.",
    ),
    ("redirects_not_held", "Chunks that would have been redirected if no update had locked their rows."),
    ("hedged_chunks", "Chunks that were also requested from other members because the direct read was slow."),
    ("hedges_won", "Of those, chunks that the other members returned first."),
    ("hedge_reads_cut", "Page reads of the slower sides that were cancelled before they began."),
    (
        "map_bytes",
        "Memory of the maps: of a log with its stripe directory, segments and the places of waiting chunks, or of zones with \
         its filter and free pages.",
    ),
    ("hotness_bytes", "Memory of the hot data identification."),
    ("response_mean_ns", "Mean response time of reads and writes, arrival to acknowledgement."),
    ("response_deviation_ns", "Their standard deviation."),
    ("response_p99_ns", "The response time that 99 % of them do not exceed."),
    ("response_p999_ns", "The response time that 99.9 % of them do not exceed."),
    ("response_max_ns", "The longest response time."),
    ("read_mean_ns", "Mean response time of reads; the next four columns are for reads too."),
    ("read_deviation_ns", "Standard deviation."),
    ("read_p99_ns", "99 %."),
    ("read_p999_ns", "99.9 %."),
    ("read_max_ns", "The longest response time."),
    ("write_mean_ns", "Mean response time of writes; the next four columns are for writes too."),
    ("write_deviation_ns", "Standard deviation."),
    ("write_p99_ns", "99 %."),
    ("write_p999_ns", "99.9 %."),
    ("write_max_ns", "The longest response time."),
    (
        "read_wait_mean_ns",
        "Mean waiting time of a read: in the controller, in the members' queues and for garbage collection; T_w of \
         paper 002 (section II-E). It is that of the plan that finished last, like all parts of response times.",
    ),
    ("read_bus_mean_ns", "Mean time of the transfers of a read: T_b."),
    ("read_cell_mean_ns", "Mean time in the cells of a read: T_c."),
    (
        "write_wait_mean_ns",
        "The same for writes, including the waiting time of their pre-reads. The next two columns include the \
         transfers and cell times of pre-reads. The rest of the mean response time is parity computation and \
         controller memory.",
    ),
    ("write_bus_mean_ns", "Mean time of the transfers of a write."),
    ("write_cell_mean_ns", "Mean time in the cells of a write."),
    (
        "row_wait_mean_ns",
        "Mean time that a plan waited for its row, over updates, reads that decode, and all else that locks one.",
    ),
    (
        "busy_share_before",
        "Share of the members that have an operation queued or in flight when a request arrives, mean over arrivals; \
         paper 002's chip utilisation (section IV-C) if members are chips.",
    ),
    (
        "busy_share_after",
        "The same, after the operations that the arriving request causes at once are queued too.",
    ),
    (
        "host_read_pages",
        "Pages read for hosts. This total and those to `cell_busy_ns` are sums over the members.",
    ),
    ("host_write_pages", "Pages of data written for hosts."),
    ("pre_read_pages", "Pages read because an update, or a write of a part of a page, needed them."),
    ("parity_write_pages", "Pages of parity written."),
    ("log_write_pages", "Pages of deltas written to the log of parity logging."),
    ("array_gc_read_pages", "Pages that array-level garbage collection read."),
    ("array_gc_write_pages", "Pages of data that it wrote."),
    ("decode_read_pages", "Pages read to decode others."),
    ("flash_read_pages", "Pages that the flash read, its own garbage collection included."),
    ("flash_program_pages", "Pages that the flash programmed, its own garbage collection included."),
    ("erase_blocks", "Blocks erased."),
    ("gc_move_pages", "Pages moved by the flash's garbage collection."),
    ("gc_stalls", "Collections abandoned because every written block was full of valid pages."),
    ("gc_busy_ns", "Time in which members collected garbage."),
    ("permission_waits", "Times that writes began to wait because their member may not collect garbage."),
    ("permission_wait_ns", "Total time of these waits, summed over members."),
    ("cell_busy_ns", "Time in which dies' cells worked."),
    ("gc_slice_ns", "Length of a slice of time, for the next three totals and the table `gc_slices`."),
    ("gc_any_share", "Share of the slices in which at least one member collected at some time: P(n >= 1)."),
    ("gc_two_share", "Share of the slices in which at least two members collected: P(n >= 2)."),
    (
        "gc_two_of_any_share",
        "Of the slices in which one member collected, the share in which two or more did: P(n >= 2 | n >= 1) (paper \
         003, Fig. 4(c) and 4(d), which do not say which of the two is drawn).",
    ),
    ("programs_per_member_page", "`flash_program_pages` over the pages that the array wrote, of any class."),
    ("programs_per_host_page", "`flash_program_pages` over the bytes that hosts wrote, in pages."),
    (
        "drained_pages",
        "Pages that the array wrote after the last request: the data that waited in its memory, with its parity. All \
         other totals include them.",
    ),
    ("least_erase_blocks", "Blocks erased of the member that erased the fewest."),
    ("most_erase_blocks", "Blocks erased of the member that erased the most."),
    ("erase_cv", "Deviation over mean of the members' erases."),
    ("die_utilisation", "Share of the time in which a die's cells work, over all dies."),
    ("busiest_die_utilisation", "The same, of the busiest die."),
    ("blocked_cv", "Deviation over mean of `blocked_sum` over the members."),
    ("blocked_cv_served", "The same for `blocked_sum_served`: paper 000's cv (section II-C)."),
    ("blocked_chi2", "Chi-squared of `blocked_sum` against an even spread (paper 000, appendix A)."),
    ("blocked_chi2_served", "The same for `blocked_sum_served`."),
    ("array_bytes", "Capacity that the array offers to hosts."),
    ("folded_requests", "Requests that folding moved."),
    ("shifted_requests", "Requests that folding shifted so that they end before the end of the array."),
    ("skipped_lines", "Lines of the trace that were not requests and were skipped."),
    ("clamped_times", "Requests older than the previous one, which got the previous one's time."),
    ("window_ns", "The measured window: from the first counted arrival to the last answer."),
    (
        "requests_per_second",
        "Requests answered in the window, of any kind, over the window. Totals from `window_ns` to `cpu_ns` follow from \
         others, and are not part of the results digest.",
    ),
    ("reads_per_second", "Of those, reads."),
    ("writes_per_second", "Writes."),
    ("mib_per_second", "MiB of reads and writes over the window."),
    ("read_mib_per_second", "Of those, read."),
    ("written_mib_per_second", "Written."),
    ("response_p50_ns", "The response time that half of the reads and writes do not exceed: the median."),
    ("response_p95_ns", "95 %."),
    ("response_p9999_ns", "99.99 %."),
    ("read_p50_ns", "The median of reads."),
    ("read_p95_ns", "95 % of reads."),
    ("read_p9999_ns", "99.99 % of reads."),
    ("write_p50_ns", "The median of writes."),
    ("write_p95_ns", "95 % of writes."),
    ("write_p9999_ns", "99.99 % of writes."),
    (
        "busiest_member_utilisation",
        "Share of the time in which the cells of a member's dies work, or its buses transfer if they are busier; of the member \
         with the largest share. Members that share a bus have the share of the whole bus. Links to hosts are not counted.",
    ),
    (
        "persistent_bytes",
        "Persistent memory that the scheme's settings provide: the write cache, the pages that wait for a stripe, parity that \
         is kept in memory, the map of zones. 0 if writes are on the members when they are acknowledged, or memory is volatile.",
    ),
    (
        "persistent_peak_bytes",
        "The most of it that was in use at a time. A part of a row may exceed the settings. Not counted are the map of a log, \
         which a served array writes to its members, and parity of rows that a cache is destaging.",
    ),
    ("cpu_ns", "Processor time of the run; measured, and not part of the results digest."),
];
