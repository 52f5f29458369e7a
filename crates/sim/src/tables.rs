//! The rows of a run's tables, as plain data. Column names carry their units. The crate `results` converts rows into
//! Arrow tables and Parquet files, so that the simulator itself stays small.

use stripewise_array::update::{ParityUpdate, Routine};

/// One host request. The parts of its latency add up to it exactly:
/// `latency = pending + pre_read + parity + member_queue + gc_wait + bus + cell + buffer`, taken along the path that
/// finished last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestRow {
    /// Position in the trace, from 0.
    pub request: u64,
    /// Arrival at the array.
    pub arrival_ns: u64,
    /// 0 read, 1 write, 2 trim, 3 flush.
    pub kind: u8,
    /// Volume of the trace.
    pub volume: u32,
    /// First byte on the array, after folding.
    pub offset_bytes: u64,
    /// Length.
    pub size_bytes: u32,
    /// Arrival to acknowledgement.
    pub latency_ns: u64,
    /// Waiting in the controller: for a plan, or for a row lock of another update.
    pub pending_ns: u64,
    /// The pre-read step of the last plan.
    pub pre_read_ns: u64,
    /// The parity computation of the last plan.
    pub parity_ns: u64,
    /// The last operation's wait in its member's queue, other than for garbage collection.
    pub member_queue_ns: u64,
    /// The last operation's wait for garbage collection.
    pub gc_wait_ns: u64,
    /// The last operation's transfers.
    pub bus_ns: u64,
    /// The last operation's cell time.
    pub cell_ns: u64,
    /// Time in controller memory, if no member was needed.
    pub buffer_ns: u64,
    /// 1 if the request failed.
    pub failed: u8,
}

/// One member, at the end of a run; counts exclude warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemberRow {
    /// Number of the member.
    pub member: u32,
    /// Pages read for hosts.
    pub host_read_pages: u64,
    /// Pages written for hosts (data).
    pub host_write_pages: u64,
    /// Pages pre-read for parity updates.
    pub pre_read_pages: u64,
    /// Pages of parity written.
    pub parity_write_pages: u64,
    /// Pages of deltas written to a log.
    pub log_write_pages: u64,
    /// Pages that array-level garbage collection read.
    pub array_gc_read_pages: u64,
    /// Pages that array-level garbage collection wrote, parity excluded.
    pub array_gc_write_pages: u64,
    /// Pages read to decode lost chunks.
    pub decode_read_pages: u64,
    /// Pages written back after they were decoded.
    pub repair_write_pages: u64,
    /// Total pages read, garbage collection included.
    pub flash_read_pages: u64,
    /// Total pages programmed, garbage collection included.
    pub flash_program_pages: u64,
    /// Blocks erased.
    pub erase_blocks: u64,
    /// Pages moved by garbage collection.
    pub gc_move_pages: u64,
    /// Garbage collections abandoned because every written block was full of valid pages.
    pub gc_stalls: u64,
    /// Retries of page reads at higher read levels; 0 if the device has no read levels.
    pub read_retries: u64,
    /// Number of times that writes began to wait because the member had no permission to collect garbage.
    pub permission_waits: u64,
    /// Total time that writes waited for permission.
    pub permission_wait_ns: u64,
    /// Suspensions of programs and erases for reads. An operation suspended twice counts twice.
    pub suspends: u64,
    /// Of `gc_move_pages`, pages moved by static wear-levelling.
    pub wear_move_pages: u64,
    /// Reads of unmapped pages; they take no cell time and are not counted in `flash_read_pages`.
    pub unmapped_read_pages: u64,
    /// Pages trimmed.
    pub trim_pages: u64,
    /// Time with garbage collection active.
    pub gc_busy_ns: u64,
    /// Cell time, summed over dies.
    pub cell_busy_ns: u64,
    /// Dies of the member.
    pub dies: u32,
    /// Cell time of the busiest die.
    pub busiest_die_ns: u64,
    /// Bus time of this member's transfers.
    pub bus_busy_ns: u64,
    /// Sum over arriving requests of the operations then queued or in flight (the papers' blocked requests).
    pub blocked_sum: u64,
    /// The same, over served requests, sampled just after each was acknowledged.
    pub blocked_sum_served: u64,
    /// Largest number of operations queued or in flight.
    pub queue_max: u64,
    /// Mean time of a page read or write, from the member's queue to its end.
    pub operation_mean_ns: u64,
    /// The time that 99 % of these operations did not exceed.
    pub operation_p99_ns: u64,
    /// The time that 99.9 % of these operations did not exceed.
    pub operation_p999_ns: u64,
}

/// State of one member at a sampled time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleRow {
    /// The time.
    pub time_ns: u64,
    /// Number of the member.
    pub member: u32,
    /// Reads queued or in flight.
    pub reads: u32,
    /// Writes queued or in flight.
    pub writes: u32,
    /// 1 while garbage collection is active.
    pub collecting: u8,
    /// Free pages.
    pub free_pages: u32,
}

/// One garbage collection of one block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GcRow {
    /// Number of the member.
    pub member: u32,
    /// Plane within the member.
    pub plane: u32,
    /// Victim block within the plane.
    pub block: u32,
    /// Start.
    pub start_ns: u64,
    /// End of the erase.
    pub end_ns: u64,
    /// Valid pages moved.
    pub moved_pages: u32,
}

/// Time slices in which this number of members collected garbage (paper 003, Fig. 4(c) and 4(d)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GcSliceRow {
    /// Number of members.
    pub collecting: u32,
    /// Slices in which exactly this number had a collection in progress at some time, pauses of preemption included.
    pub slices: u64,
    /// Slices in which exactly this number had a collection at work, those pauses excluded.
    pub slices_at_work: u64,
}

/// The subject of a [`LatencyRow`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum LatencyKind {
    /// Response times of reads.
    Read,
    /// Response times of writes.
    Write,
    /// Response times of reads and writes together.
    Both,
    /// Times of one member's page operations.
    Operation,
}

/// One point of a cumulative distribution of latencies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LatencyRow {
    /// [`LatencyKind`] as a number.
    pub kind: u8,
    /// Number of the member, for operations; otherwise 0.
    pub member: u32,
    /// This time ...
    pub latency_ns: u64,
    /// ... was not exceeded by this number of requests or operations.
    pub count: u64,
}

/// One parity update. The meaning of the cost terms depends on the policy; they are zero if it uses none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UpdateRow {
    /// Time of the decision.
    pub time_ns: u64,
    /// The array's row.
    pub row: u64,
    /// Data chunks that it updates.
    pub dirty_chunks: u32,
    /// Its routine: 0 full stripe, 1 RMW, 2 RCW, 3 reconstruct, 4 log.
    pub routine: u8,
    /// The routine that Baseline would have chosen.
    pub baseline: u8,
    /// 1 if the two differ.
    pub adjusted: u8,
    /// Pages that RMW would pre-read; 0 if there was no choice.
    pub rmw_reads: u32,
    /// Pages that RCW would pre-read; 0 if there was no choice.
    pub rcw_reads: u32,
    /// Of RMW: the longest wait for a pre-read (Adaptive), or the largest weighted load (BPU, without unit).
    pub rmw_update_ns: u64,
    /// Of RMW: the delay of queued writes by pre-reads (Adaptive), or the mean weighted load (BPU, without unit).
    pub rmw_delay_ns: u64,
    /// Of RCW: as `rmw_update_ns`.
    pub rcw_update_ns: u64,
    /// Of RCW: as `rmw_delay_ns`.
    pub rcw_delay_ns: u64,
}

/// The number of a routine in [`UpdateRow`].
fn routine_code(routine: Routine) -> u8 {
    match routine {
        Routine::Plain | Routine::FullStripe | Routine::ShortStripe => 0,
        Routine::Rmw => 1,
        Routine::Rcw => 2,
        Routine::Reconstruct => 3,
        Routine::Log => 4,
    }
}

impl From<&ParityUpdate> for UpdateRow {
    fn from(update: &ParityUpdate) -> Self {
        let decision = &update.decision;
        Self {
            time_ns: update.at,
            row: update.row.number(),
            dirty_chunks: update.dirty,
            routine: routine_code(decision.routine),
            baseline: routine_code(decision.baseline),
            adjusted: u8::from(decision.is_adjusted()),
            rmw_reads: decision.rmw_reads.into(),
            rcw_reads: decision.rcw_reads.into(),
            rmw_update_ns: decision.rmw.update,
            rmw_delay_ns: decision.rmw.delay,
            rcw_update_ns: decision.rcw.update,
            rcw_delay_ns: decision.rcw.delay,
        }
    }
}

/// The receiver of rows during a run. Every method has an empty default, so a sink implements only those that it
/// needs.
pub trait Sink {
    /// A request was acknowledged.
    fn request(&mut self, _row: &RequestRow) {}
    /// A sample was taken; one call for each member.
    fn sample(&mut self, _row: &SampleRow) {}
    /// A parity update was decided.
    fn update(&mut self, _row: &UpdateRow) {}
    /// A garbage collection ended.
    fn gc(&mut self, _row: &GcRow) {}
    /// A point of a latency distribution; all points come at the end of the run.
    fn latency(&mut self, _row: &LatencyRow) {}
    /// The number of slices in which a given number of members collected; all rows come at the end of the run, from 0
    /// members.
    fn gc_slice(&mut self, _row: &GcSliceRow) {}
}

/// Discards all rows.
impl Sink for () {}
