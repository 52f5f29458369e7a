//! The totals of a run.

use stripewise_array::RowWaits;
use stripewise_array::cache::CacheCounts;
use stripewise_array::log::LogCounts;
use stripewise_array::read::ReadCounts;
use stripewise_array::zones::ZoneCounts;
use stripewise_base::Nanos;

use crate::metrics::Metrics;
use crate::tables::{GcSliceRow, MemberRow};
use crate::uniformity::{chi2, variation};

/// The value of one total.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// A count, or a time in whole nanoseconds.
    Count(u64),
    /// A mean or a ratio.
    Real(f64),
}

/// All results of a run, excluding warm-up.
#[derive(Clone, Debug)]
pub struct Totals {
    /// Counters over host requests.
    pub requests: Metrics,
    /// Counters of each member.
    pub members: Vec<MemberRow>,
    /// Counters of the write cache; zeros without one.
    pub cache: CacheCounts,
    /// Counters of the log; zeros without one.
    pub log: LogCounts,
    /// Counters of the zones of MC-RAIS; zeros without zones.
    pub zones: ZoneCounts,
    /// Counters of redirected reads.
    pub reads: ReadCounts,
    /// How long plans waited for their rows.
    pub rows: RowWaits,
    /// Memory of the placement.
    pub memory: Memories,
    /// Numbers of members that collected at the same time.
    pub gc_slices: GcSlices,
    /// Pages that the array wrote after the last acknowledgement: data that waited in its memory, with its parity.
    pub drained_pages: u64,
    /// Simulated time from the first counted arrival to the end.
    pub simulated_ns: Nanos,
    /// Page size of the members.
    pub page_bytes: u32,
    /// Dies that share a bus.
    pub dies_per_bus: u32,
    /// Whether requests come at times of their own, whether or not the array keeps up.
    pub is_open_loop: bool,
}

/// Memory of a placement, without the content of chunks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memories {
    /// Maps, directories and state of segments.
    pub map_bytes: u64,
    /// Blocks in the map of zones.
    pub zone_blocks: u64,
    /// Memory of hot-chunk detection.
    pub hotness_bytes: u64,
    /// Persistent memory that the settings of the scheme provide.
    pub persistent_bytes: u64,
    /// The most of it that was in use between two events.
    pub persistent_peak_bytes: u64,
}

/// Time slices by the number of members that collected in them; empty if slices were not counted.
#[derive(Clone, Debug, Default)]
pub struct GcSlices {
    /// Length of a slice.
    pub slice_ns: Nanos,
    /// The slices in which exactly this number of members collected, for 0 to all members.
    pub by_collecting: Vec<stripewise_flash::GcSlices>,
}

impl GcSlices {
    /// Every count, as rows of their table.
    pub(crate) fn rows(&self, give: &mut dyn FnMut(&GcSliceRow)) {
        for (collecting, slices) in (0..).zip(&self.by_collecting) {
            give(&GcSliceRow { collecting, slices: slices.under_way, slices_at_work: slices.at_work });
        }
    }

    /// Slices in which at least `members` members had a collection in progress.
    pub fn at_least(&self, members: usize) -> u64 {
        self.by_collecting.iter().skip(members).map(|slices| slices.under_way).sum()
    }
}

impl Totals {
    /// Sum of a column over the members.
    pub fn sum(&self, column: impl Fn(&MemberRow) -> u64) -> u64 {
        self.members.iter().map(column).sum()
    }

    /// Pages programmed for each page that the array wrote; 1 without garbage collection, 0 without writes.
    pub fn programs_per_member_page(&self) -> f64 {
        ratio(self.sum(|row| row.flash_program_pages), self.sum(array_writes))
    }

    /// Share of time in which a die's cells are busy, over all dies.
    pub fn die_utilisation(&self) -> f64 {
        let dies = self.sum(|row| row.dies.into());
        ratio(self.sum(|row| row.cell_busy_ns), self.simulated_ns) / dies.max(1) as f64
    }

    /// The same, of the busiest die.
    pub fn busiest_die_utilisation(&self) -> f64 {
        let busiest = self.members.iter().map(|row| row.busiest_die_ns).max();
        ratio(busiest.unwrap_or(0), self.simulated_ns)
    }

    /// The share of time in which the cells of a member's dies are busy, or its buses if these are busier: of the member with
    /// the largest share. Members that share a bus have that of the whole bus.
    pub fn busiest_member_utilisation(&self) -> f64 {
        let share = |ns: u64, count: u32| ratio(ns, self.simulated_ns) / f64::from(count.max(1));
        let cells = self.members.iter().map(|row| share(row.cell_busy_ns, row.dies));
        let dies = self.members.first().map_or(1, |row| row.dies.max(1));
        let on_a_bus = (self.dies_per_bus / dies).max(1) as usize;
        let of_buses = self.members.chunks(on_a_bus).map(|members| {
            let ns = members.iter().map(|row| row.bus_busy_ns).sum();
            share(ns, dies / self.dies_per_bus.max(1))
        });
        cells.chain(of_buses).fold(0.0, f64::max)
    }

    /// Totals that follow from what is in the results digest already, or from the distributions of the response times. The
    /// digest of a run does not depend on them. Offered rates, and how late the last answer comes, are there only in open loop.
    pub fn derived(&self) -> Vec<(&'static str, Figure)> {
        use Figure::{Count, Real};
        let requests = &self.requests;
        let all = requests.reads.with(&requests.writes);
        let (window_ns, arrivals_ns) = (requests.times.window_ns(), requests.times.arrivals_ns());
        let count = all.count + requests.trims + requests.flushes;
        let bytes = requests.read_bytes + requests.written_bytes;
        let mut figures = vec![("window_ns", Count(window_ns))];
        for (name, count) in [
            ("requests_per_second", count),
            ("reads_per_second", requests.reads.count),
            ("writes_per_second", requests.writes.count),
        ] {
            figures.push((name, Real(per_second(count as f64, window_ns))));
        }
        for (name, bytes) in [
            ("mib_per_second", bytes),
            ("read_mib_per_second", requests.read_bytes),
            ("written_mib_per_second", requests.written_bytes),
        ] {
            figures.push((name, Real(per_second(bytes as f64 / MIB, window_ns))));
        }
        for (responses, [p50, p95, p9999]) in [
            (&all, ["response_p50_ns", "response_p95_ns", "response_p9999_ns"]),
            (&requests.reads, ["read_p50_ns", "read_p95_ns", "read_p9999_ns"]),
            (&requests.writes, ["write_p50_ns", "write_p95_ns", "write_p9999_ns"]),
        ] {
            for (name, parts) in [(p50, 5_000), (p95, 9_500), (p9999, 9_999)] {
                figures.push((name, Count(responses.percentile_ns(parts))));
            }
        }
        figures.push(("busiest_member_utilisation", Real(self.busiest_member_utilisation())));
        figures.push(("persistent_bytes", Count(self.memory.persistent_bytes)));
        figures.push(("persistent_peak_bytes", Count(self.memory.persistent_peak_bytes)));
        if self.is_open_loop {
            figures.extend([
                ("offered_requests_per_second", Real(per_second(count as f64, arrivals_ns))),
                ("offered_mib_per_second", Real(per_second(bytes as f64 / MIB, arrivals_ns))),
                ("window_over_arrivals", Real(ratio(window_ns, arrivals_ns))),
            ]);
        }
        figures
    }

    /// The sums of blocked operations of the members, at one of the two sampling points.
    fn blocked(&self, column: Column) -> impl ExactSizeIterator<Item = u64> + Clone {
        self.members.iter().map(column)
    }

    /// Every total of the results digest with its name, in the order of the table's columns.
    pub fn figures(&self) -> Vec<(&'static str, Figure)> {
        use Figure::{Count, Real};
        let requests = &self.requests;
        let all = requests.reads.with(&requests.writes);
        let mut figures = vec![
            ("requests", Count(all.count + requests.trims + requests.flushes)),
            ("read_requests", Count(requests.reads.count)),
            ("write_requests", Count(requests.writes.count)),
            ("trim_requests", Count(requests.trims)),
            ("flush_requests", Count(requests.flushes)),
            ("failed_requests", Count(requests.failed)),
            ("read_bytes", Count(requests.read_bytes)),
            ("written_bytes", Count(requests.written_bytes)),
            ("simulated_ns", Count(self.simulated_ns)),
            ("updates", Count(requests.updates.all)),
            ("updates_rmw", Count(requests.updates.rmw)),
            ("updates_rcw", Count(requests.updates.rcw)),
            ("updates_full_stripe", Count(requests.updates.full_stripe)),
            ("updates_logged", Count(requests.updates.logged)),
            ("updates_adjusted", Count(requests.updates.adjusted)),
            ("updates_adjusted_rcw", Count(requests.updates.adjusted_rcw)),
            ("updates_adjusted_share", Real(ratio(requests.updates.adjusted, requests.updates.all))),
            ("cache_write_chunks", Count(self.cache.written)),
            ("cache_absorbed_chunks", Count(self.cache.absorbed)),
            ("cache_hit_chunks", Count(self.cache.hits)),
            ("destages", Count(self.cache.destages)),
            ("destaged_chunks", Count(self.cache.destaged)),
            ("chunks_per_destage", Real(ratio(self.cache.destaged, self.cache.destages))),
            ("cache_room_waits", Count(self.cache.waits)),
            ("strip_releases", Count(self.cache.releases)),
            ("incomplete_releases", Count(self.cache.incomplete_releases)),
            ("stripes", Count(self.log.stripes)),
            ("short_stripes", Count(self.log.short_stripes)),
            ("stripe_data_chunks", Count(self.log.data)),
            ("stripe_parity_chunks", Count(self.log.parity)),
            ("buffer_absorbed_chunks", Count(self.log.absorbed)),
            ("array_gc_segments", Count(self.log.collected)),
            ("array_gc_moved_chunks", Count(self.log.moved)),
            ("array_gc_parity_chunks", Count(self.log.moved_parity)),
            ("zone_moved_pages", Count(self.zones.moved)),
            ("zone_appended_pages", Count(self.zones.appended)),
            ("zone_refused_pages", Count(self.zones.refused)),
            ("zone_evicted_pages", Count(self.zones.evicted)),
            ("zone_map_blocks", Count(self.memory.zone_blocks)),
            ("zone_map_looks", Count(self.zones.looks)),
            ("zone_map_filtered", Count(self.zones.filtered)),
            ("zone_map_false_positives", Count(self.zones.in_vain)),
            ("redirected_chunks", Count(self.reads.redirected)),
            ("redirects_not_held", Count(self.reads.not_held)),
            ("hedged_chunks", Count(self.reads.hedged)),
            ("hedges_won", Count(self.reads.hedges_won)),
            ("hedge_reads_cut", Count(self.reads.cut)),
            ("map_bytes", Count(self.memory.map_bytes)),
            ("hotness_bytes", Count(self.memory.hotness_bytes)),
        ];
        let responses = [
            (
                &all,
                [
                    "response_mean_ns",
                    "response_deviation_ns",
                    "response_p99_ns",
                    "response_p999_ns",
                    "response_max_ns",
                ],
            ),
            (
                &requests.reads,
                ["read_mean_ns", "read_deviation_ns", "read_p99_ns", "read_p999_ns", "read_max_ns"],
            ),
            (
                &requests.writes,
                ["write_mean_ns", "write_deviation_ns", "write_p99_ns", "write_p999_ns", "write_max_ns"],
            ),
        ];
        for (responses, [mean, deviation, p99, p999, max]) in responses {
            figures.push((mean, Count(responses.mean_ns())));
            figures.push((deviation, Count(responses.deviation_ns())));
            figures.push((p99, Count(responses.percentile_ns(9_900))));
            figures.push((p999, Count(responses.percentile_ns(9_990))));
            figures.push((max, Count(responses.max_ns)));
        }
        let parts = [
            (
                &requests.reads,
                &requests.read_parts,
                ["read_wait_mean_ns", "read_bus_mean_ns", "read_cell_mean_ns"],
            ),
            (
                &requests.writes,
                &requests.write_parts,
                ["write_wait_mean_ns", "write_bus_mean_ns", "write_cell_mean_ns"],
            ),
        ];
        for (responses, parts, [wait, bus, cell]) in parts {
            let mean = |sum: u128| Count((sum / u128::from(responses.count.max(1))) as Nanos);
            figures.extend([
                (wait, mean(parts.wait_ns)),
                (bus, mean(parts.bus_ns)),
                (cell, mean(parts.cell_ns)),
            ]);
        }
        let looks = requests.arrivals * self.members.len() as u64;
        figures.push(("row_wait_mean_ns", Count(self.rows.mean_ns())));
        figures.push(("busy_share_before", Real(ratio(requests.busy_before, looks))));
        figures.push(("busy_share_after", Real(ratio(requests.busy_after, looks))));
        let columns: [(&'static str, Column); 17] = [
            ("host_read_pages", |row| row.host_read_pages),
            ("host_write_pages", |row| row.host_write_pages),
            ("pre_read_pages", |row| row.pre_read_pages),
            ("parity_write_pages", |row| row.parity_write_pages),
            ("log_write_pages", |row| row.log_write_pages),
            ("array_gc_read_pages", |row| row.array_gc_read_pages),
            ("array_gc_write_pages", |row| row.array_gc_write_pages),
            ("decode_read_pages", |row| row.decode_read_pages),
            ("flash_read_pages", |row| row.flash_read_pages),
            ("flash_program_pages", |row| row.flash_program_pages),
            ("erase_blocks", |row| row.erase_blocks),
            ("gc_move_pages", |row| row.gc_move_pages),
            ("gc_stalls", |row| row.gc_stalls),
            ("gc_busy_ns", |row| row.gc_busy_ns),
            ("permission_waits", |row| row.permission_waits),
            ("permission_wait_ns", |row| row.permission_wait_ns),
            ("cell_busy_ns", |row| row.cell_busy_ns),
        ];
        figures.extend(columns.map(|(name, column)| (name, Count(self.sum(column)))));
        let [all, any, two] = [0, 1, 2].map(|members| self.gc_slices.at_least(members));
        figures.extend([
            ("gc_slice_ns", Count(self.gc_slices.slice_ns)),
            ("gc_any_share", Real(ratio(any, all))),
            ("gc_two_share", Real(ratio(two, all))),
            ("gc_two_of_any_share", Real(ratio(two, any))),
        ]);
        let host_pages = requests.written_bytes.div_ceil(u64::from(self.page_bytes));
        figures.push(("programs_per_member_page", Real(self.programs_per_member_page())));
        figures.push((
            "programs_per_host_page",
            Real(ratio(self.sum(|row| row.flash_program_pages), host_pages)),
        ));
        figures.push(("drained_pages", Count(self.drained_pages)));
        let erases = self.members.iter().map(|row| row.erase_blocks);
        figures.extend([
            ("least_erase_blocks", Count(erases.clone().min().unwrap_or(0))),
            ("most_erase_blocks", Count(erases.clone().max().unwrap_or(0))),
            ("erase_cv", Real(variation(erases))),
            ("die_utilisation", Real(self.die_utilisation())),
            ("busiest_die_utilisation", Real(self.busiest_die_utilisation())),
        ]);
        // Dividing by the number of requests scales deviation and mean alike, so sums have the same variation as
        // means.
        let (arrival, served): (Column, Column) = (|row| row.blocked_sum, |row| row.blocked_sum_served);
        figures.extend([
            ("blocked_cv", Real(variation(self.blocked(arrival)))),
            ("blocked_cv_served", Real(variation(self.blocked(served)))),
            ("blocked_chi2", Real(chi2(self.blocked(arrival)))),
            ("blocked_chi2_served", Real(chi2(self.blocked(served)))),
        ]);
        figures
    }
}

const MIB: f64 = 1_048_576.0;

fn per_second(amount: f64, ns: Nanos) -> f64 {
    if ns == 0 { 0.0 } else { amount * 1e9 / ns as f64 }
}

/// A column of the members' table.
type Column = fn(&MemberRow) -> u64;

/// The same over several members.
pub(crate) fn array_writes_of(rows: &[MemberRow]) -> u64 {
    rows.iter().map(array_writes).sum()
}

/// Pages that the array itself wrote to a member: data, parity, deltas and repairs.
fn array_writes(row: &MemberRow) -> u64 {
    row.host_write_pages
        + row.parity_write_pages
        + row.log_write_pages
        + row.array_gc_write_pages
        + row.repair_write_pages
}

fn ratio(over: u64, under: u64) -> f64 {
    if under == 0 { 0.0 } else { over as f64 / under as f64 }
}
