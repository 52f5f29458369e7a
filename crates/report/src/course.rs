//! The course of a run over simulated time, from the tables that a run keeps on request: `requests`, `gcs` and
//! `samples`. They can be large, so they are read a part at a time.

use stripewise_results::{Error, FinishedRun, Table};

/// The most slices of time in a figure.
const SLICES: u64 = 120;
/// The fewest slices.
const SLICES_LEAST: u64 = 12;
/// Requests of a slice on average, at least: a 99th percentile of fewer is their largest.
const REQUESTS_IN_SLICE: u64 = 400;

/// The parts of a latency in the table `requests`: column and name. They add up to the latency.
pub(crate) const PARTS: [(&str, &str); 8] = [
    ("pending_ns", "controller: waits for a plan or a row lock"),
    ("pre_read_ns", "pre-reads"),
    ("parity_ns", "parity computation"),
    ("member_queue_ns", "member's queue"),
    ("gc_wait_ns", "garbage collection"),
    ("bus_ns", "transfers"),
    ("cell_ns", "flash cells"),
    ("buffer_ns", "controller memory"),
];

/// Requests, and the sums of the parts of their latencies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) requests: u64,
    pub(crate) sums: [u64; 8],
}

impl Parts {
    /// The mean of each part in nanoseconds; none without requests.
    pub(crate) fn means(&self) -> Option<[f64; 8]> {
        (self.requests > 0).then(|| self.sums.map(|sum| sum as f64 / self.requests as f64))
    }

    fn add(&mut self, columns: &[Vec<u64>], row: usize) {
        self.requests += 1;
        for (sum, column) in self.sums.iter_mut().zip(columns) {
            *sum = sum.saturating_add(column[row]);
        }
    }
}

/// The slowest requests whose parts are shown separately: this share of all.
pub(crate) const SLOWEST: f64 = 0.01;

/// Where the time of a run's requests went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TimeSpent {
    pub(crate) reads: Parts,
    pub(crate) writes: Parts,
    /// Reads and writes that took longer than `slow_ns`.
    pub(crate) slow: Parts,
}

/// Reads where the time of requests went; none when the run left out the table. `slow_ns` is the latency above which a
/// request is one of the slowest.
pub(crate) fn time_spent(run: &FinishedRun, slow_ns: u64) -> Result<Option<TimeSpent>, Error> {
    let mut spent = TimeSpent::default();
    let names: Vec<&str> = PARTS.iter().map(|(column, _)| *column).chain(["kind", "latency_ns"]).collect();
    let has = run.scan(Table::Requests, &names, |columns| {
        let (parts, rest) = columns.split_at(PARTS.len());
        for (row, (&kind, &latency)) in rest[0].iter().zip(&rest[1]).enumerate() {
            match kind {
                0 => spent.reads.add(parts, row),
                1 => spent.writes.add(parts, row),
                _ => continue,
            }
            if latency > slow_ns {
                spent.slow.add(parts, row);
            }
        }
    })?;
    Ok(has.then_some(spent))
}

/// Slices of simulated time from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slices {
    pub(crate) length_ns: u64,
    pub(crate) count: usize,
}

impl Slices {
    /// Slices up to `end_ns`, with a length of 1, 2 or 5 times a power of ten, for about this number of requests.
    pub(crate) fn up_to(end_ns: u64, requests: u64) -> Self {
        let wanted = (requests / REQUESTS_IN_SLICE).clamp(SLICES_LEAST, SLICES);
        let least = (end_ns / wanted).max(1);
        let mut unit = 1u64;
        let length_ns = loop {
            let found = [1, 2, 5].into_iter().map(|step| step * unit).find(|length| *length >= least);
            if let Some(length) = found {
                break length;
            }
            unit = unit.saturating_mul(10);
        };
        Self { length_ns, count: (end_ns / length_ns) as usize + 1 }
    }

    /// The slice of an instant; the last one for what is later.
    fn of(&self, time_ns: u64) -> usize {
        ((time_ns / self.length_ns) as usize).min(self.count - 1)
    }

    /// The rates of a slice with these requests and bytes.
    fn a_second(&self, requests: u64, bytes: u64) -> Answered {
        let seconds = self.length_ns as f64 / 1e9;
        Answered { requests: requests as f64 / seconds, mib: bytes as f64 / 1_048_576.0 / seconds }
    }

    /// The middle of a slice.
    pub(crate) fn middle(&self, slice: usize) -> f64 {
        (slice as f64 + 0.5) * self.length_ns as f64
    }
}

/// The largest value of a column; none when the run left out the table or it is empty.
pub(crate) fn last(run: &FinishedRun, table: Table, column: &str) -> Result<Option<u64>, Error> {
    let mut most = None;
    run.scan(table, &[column], |columns| most = most.max(columns[0].iter().copied().max()))?;
    Ok(most)
}

/// Percentiles of the response times in a slice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Percentiles {
    pub(crate) requests: usize,
    /// 50, 99 and 99.9 %.
    pub(crate) ns: [u64; 3],
}

/// The percentiles of reads and writes by the slice of their arrival; none in slices without any.
pub(crate) fn responses(run: &FinishedRun, slices: Slices) -> Result<Vec<Option<Percentiles>>, Error> {
    let mut latencies: Vec<Vec<u64>> = vec![Vec::new(); slices.count];
    run.scan(Table::Requests, &["arrival_ns", "latency_ns", "kind"], |columns| {
        for ((&arrival, &latency), &kind) in columns[0].iter().zip(&columns[1]).zip(&columns[2]) {
            if kind < 2 {
                latencies[slices.of(arrival)].push(latency);
            }
        }
    })?;
    Ok(latencies.into_iter().map(percentiles).collect())
}

/// What was answered in a slice of simulated time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Answered {
    /// Requests a second.
    pub(crate) requests: f64,
    /// MiB a second, of reads and writes.
    pub(crate) mib: f64,
}

/// Reads and writes by the slice in which they were answered.
pub(crate) fn answered(run: &FinishedRun, slices: Slices) -> Result<Vec<Answered>, Error> {
    let mut found = vec![(0u64, 0u64); slices.count];
    run.scan(Table::Requests, &["arrival_ns", "latency_ns", "kind", "size_bytes"], |columns| {
        let sizes = columns[2].iter().zip(&columns[3]);
        for ((&arrival, &latency), (&kind, &bytes)) in columns[0].iter().zip(&columns[1]).zip(sizes) {
            let (requests, sum) = &mut found[slices.of(arrival.saturating_add(latency))];
            if kind < 2 {
                *requests += 1;
                *sum += bytes;
            }
        }
    })?;
    Ok(found.into_iter().map(|(requests, bytes)| slices.a_second(requests, bytes)).collect())
}

fn percentiles(mut latencies: Vec<u64>) -> Option<Percentiles> {
    let count = latencies.len();
    latencies.sort_unstable();
    let at = |parts: usize| latencies.get((count * parts).div_ceil(1000).max(1) - 1).copied();
    Some(Percentiles { requests: count, ns: [at(500)?, at(990)?, at(999)?] })
}

/// The mean number of members that collect garbage, by slice: the time of each slice in which they do, over its length.
/// A member whose dies collect together counts once.
pub(crate) fn collecting(run: &FinishedRun, slices: Slices) -> Result<Vec<f64>, Error> {
    let mut spans: Vec<(u64, u64, u64)> = Vec::new();
    run.scan(Table::Gcs, &["member", "start_ns", "end_ns"], |columns| {
        let ends = columns[1].iter().zip(&columns[2]);
        spans.extend(columns[0].iter().zip(ends).map(|(&member, (&start, &end))| (member, start, end)));
    })?;
    spans.sort_unstable();
    let mut busy = vec![0u64; slices.count];
    let mut reached = (u64::MAX, 0);
    for (member, start, end) in spans {
        let from = if reached.0 == member { start.max(reached.1) } else { start };
        reached = (member, if reached.0 == member { end.max(reached.1) } else { end });
        let mut at = from;
        while at < end {
            let slice = slices.of(at);
            let until =
                if slice + 1 == slices.count { end } else { end.min((slice as u64 + 1) * slices.length_ns) };
            busy[slice] += until - at;
            at = until;
        }
    }
    Ok(busy.into_iter().map(|ns| ns as f64 / slices.length_ns as f64).collect())
}

/// Operations queued or in flight in a slice.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Queued {
    /// On a member, on average over members and samples.
    pub(crate) mean: f64,
    /// On the member with the most, at any sample.
    pub(crate) most: u64,
}

/// The queues by slice; none in slices without a sample.
pub(crate) fn queues(run: &FinishedRun, slices: Slices) -> Result<Vec<Option<Queued>>, Error> {
    let mut found = vec![(0u64, 0u64, 0u64); slices.count];
    run.scan(Table::Samples, &["time_ns", "reads", "writes"], |columns| {
        for ((&time, &reads), &writes) in columns[0].iter().zip(&columns[1]).zip(&columns[2]) {
            let (count, sum, most) = &mut found[slices.of(time)];
            *count += 1;
            *sum += reads + writes;
            *most = (*most).max(reads + writes);
        }
    })?;
    let of = |(count, sum, most): (u64, u64, u64)| {
        (count > 0).then(|| Queued { mean: sum as f64 / count as f64, most })
    };
    Ok(found.into_iter().map(of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_have_round_lengths_and_reach_the_end() {
        let slices = Slices::up_to(151_000_000_000, 100_000);
        assert_eq!(slices, Slices { length_ns: 2_000_000_000, count: 76 });
        assert_eq!((slices.of(0), slices.of(1_999_999_999), slices.of(2_000_000_000)), (0, 0, 1));
        assert_eq!((slices.of(u64::MAX), slices.middle(1)), (75, 3e9));
        assert_eq!(Slices::up_to(0, 0), Slices { length_ns: 1, count: 1 }, "nothing is no panic");
        for end in [1, 7, 1_000, 123_456_789, 86_400_000_000_000] {
            for requests in [0, 1_000, 1_000_000] {
                let slices = Slices::up_to(end, requests);
                assert!(
                    slices.count as u64 <= SLICES + 1 && slices.of(end) == slices.count - 1,
                    "{end} {slices:?}"
                );
            }
        }
    }

    #[test]
    fn rates_are_a_second() {
        let slices = Slices { length_ns: 500_000_000, count: 2 };
        assert_eq!(slices.a_second(100, 3 << 20), Answered { requests: 200.0, mib: 6.0 });
    }

    #[test]
    fn percentiles_are_those_of_the_sorted_values() {
        assert_eq!(percentiles(Vec::new()), None);
        let of = |count: u64| percentiles((1..=count).rev().collect()).unwrap().ns;
        assert_eq!(of(1_000), [500, 990, 999]);
        assert_eq!(of(10), [5, 10, 10], "with few requests the tail is the largest");
    }
}
