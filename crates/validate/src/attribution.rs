//! Which request DiskSim's statistics take a completed one for.
//!
//! Source: DiskSim 4.0, `disksim_iodriver.c` and `disksim_ioqueue.c`. The queue behind its overall statistics looks for
//! a completed request by its first block, and not by its direction. The search begins with the newest request in the
//! queue, then goes from the oldest on. So while a read and a write of the same block are outstanding, each may be
//! counted with the other one's arrival and direction. The sum of all responses stays the same.

use std::collections::{BTreeMap, BTreeSet};

use stripewise_base::Nanos;
use stripewise_sim::tables::{RequestRow, Sink};

/// Collects requests. `request` is the position in the trace.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attribution {
    rows: Vec<RequestRow>,
}

impl Sink for Attribution {
    fn request(&mut self, row: &RequestRow) {
        self.rows.push(*row);
    }
}

impl Attribution {
    /// Mean responses of reads and of writes as DiskSim counts them.
    pub(crate) fn means_ns(mut self) -> [f64; 2] {
        self.rows.sort_by_key(|row| row.request);
        let rows = &self.rows;
        let end = |at: usize| rows[at].arrival_ns + rows[at].latency_ns;
        let mut by_end: Vec<usize> = (0..rows.len()).collect();
        by_end.sort_by_key(|&at| (end(at), at));
        let mut outstanding = BTreeSet::new();
        let mut of_block: BTreeMap<u64, BTreeSet<usize>> = BTreeMap::new();
        let (mut sums, mut arrived): ([(Nanos, u64); 2], usize) = Default::default();
        for done in by_end {
            while arrived < rows.len() && rows[arrived].arrival_ns <= end(done) {
                outstanding.insert(arrived);
                of_block.entry(rows[arrived].offset_bytes).or_default().insert(arrived);
                arrived += 1;
            }
            let block = rows[done].offset_bytes;
            let Some(same) = of_block.get_mut(&block) else { continue };
            let newest = outstanding.last().copied().filter(|&newest| rows[newest].offset_bytes == block);
            let Some(taken) = newest.or_else(|| same.first().copied()) else { continue };
            same.remove(&taken);
            outstanding.remove(&taken);
            let (sum, count) = &mut sums[usize::from(rows[taken].kind.min(1))];
            *sum += end(done) - rows[taken].arrival_ns;
            *count += 1;
        }
        sums.map(|(sum, count)| sum as f64 / count.max(1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests in order of arrival: arrival, end, first byte, kind (0 read, 1 write).
    fn means(requests: &[(u64, u64, u64, u8)]) -> [f64; 2] {
        let mut attribution = Attribution::default();
        for (position, &(arrival_ns, end, offset_bytes, kind)) in requests.iter().enumerate().rev() {
            let latency_ns = end - arrival_ns;
            let request = position as u64;
            attribution.request(&RequestRow {
                request,
                arrival_ns,
                latency_ns,
                offset_bytes,
                kind,
                ..RequestRow::default()
            });
        }
        attribution.means_ns()
    }

    #[test]
    fn requests_of_different_blocks_keep_their_responses() {
        assert_eq!(means(&[(0, 10, 0, 0), (0, 40, 4096, 1), (5, 25, 8192, 0)]), [15.0, 40.0]);
    }

    #[test]
    fn the_newest_request_is_taken_for_one_of_the_same_block() {
        // The read is done first, but the write is the newest: the write is counted with 10 ns, the read with 100.
        assert_eq!(means(&[(0, 10, 0, 0), (0, 100, 0, 1)]), [100.0, 10.0]);
        // Behind another request the search begins with the oldest, which is the one that is done.
        assert_eq!(means(&[(0, 10, 0, 0), (0, 100, 0, 1), (5, 20, 4096, 1)]), [10.0, 57.5]);
        // The write, though done first, is younger than the read.
        assert_eq!(means(&[(0, 100, 0, 0), (0, 10, 0, 1), (5, 205, 4096, 0)]), [105.0, 100.0]);
    }

    #[test]
    fn the_sum_of_responses_stays() {
        let requests = [(0, 50, 0, 0), (2, 30, 0, 1), (3, 90, 4096, 0), (40, 41, 0, 0)];
        let [reads, writes] = means(&requests);
        assert_eq!(reads * 3.0 + writes, requests.iter().map(|row| row.1 - row.0).sum::<u64>() as f64);
    }
}
