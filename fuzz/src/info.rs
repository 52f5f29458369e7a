//! Checks the statistics of any trace.

use std::io;

use stripewise_trace::stats::{PAGE_BYTES, Stats};
use stripewise_trace::{OpenOptions, open_stream};

/// Every request is counted once, and the number of pages does not exceed the pages that the requests touch.
pub fn check(bytes: &[u8]) {
    let options = OpenOptions { skip_bad: u64::MAX, ..OpenOptions::default() };
    let stream = Box::new(io::Cursor::new(bytes.to_vec()));
    let Ok(mut reader) = open_stream(stream, "trace".as_ref(), &options) else { return };
    let Ok(stats) = Stats::collect(&mut reader) else { return };
    assert_eq!(stats.requests, reader.report().requests);
    assert_eq!(stats.requests, stats.reads + stats.writes + stats.trims + stats.flushes);
    assert_eq!(stats.size_read.requests + stats.size_write.requests, stats.reads + stats.writes);
    let footprint = stats.footprint;
    assert!(footprint.one_in.is_power_of_two());
    if footprint.one_in == 1 {
        let judged = stats.size_first_write.requests + stats.size_update_write.requests;
        assert_eq!(judged, stats.writes, "each write is a first one or an update");
        assert!(footprint.read_pages_4k.max(footprint.written_pages_4k) <= footprint.touched_pages_4k);
        let most = stats.size_all.total_bytes / PAGE_BYTES + 2 * (stats.reads + stats.writes);
        assert!(footprint.touched_pages_4k <= most);
    }
    let total: u64 = stats.volumes.iter().map(|volume| volume.requests).sum();
    assert_eq!(total + stats.other_volumes_requests, stats.requests);
    assert!(!stats.to_string().is_empty());
}
