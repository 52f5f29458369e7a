//! The tables of a run: their columns, types and meanings, in one list. The Arrow schemas, the files' columns and
//! `docs/reference/results.md` are all generated from it.

use crate::totals::{OF_OPEN_LOOP, OF_WARMUP, TOTALS};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use std::fmt::{self, Write as _};
use std::sync::Arc;
use stripewise_sim::tables::{GcRow, GcSliceRow, LatencyRow, MemberRow, RequestRow, SampleRow, UpdateRow};

/// The tables of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    /// One row a host request, in the order of acknowledgement. Optional: it is by far the largest.
    Requests,
    /// One row a member, at the end of the run.
    Members,
    /// One row a member and sampling time.
    Samples,
    /// One row a garbage collection of one block.
    Gcs,
    /// One row a number of members: slices of time in which that many members collected garbage.
    GcSlices,
    /// One row a parity update. Optional.
    Updates,
    /// One row a point of a cumulative distribution of latencies.
    Latencies,
    /// One row: the run's totals. Its columns depend on the simulator's version.
    Totals,
}

impl Table {
    /// Every table, in the order in which they are listed, documented and hashed.
    pub const ALL: [Table; 8] = [
        Table::Totals,
        Table::Members,
        Table::Latencies,
        Table::GcSlices,
        Table::Samples,
        Table::Gcs,
        Table::Updates,
        Table::Requests,
    ];

    /// The table's name, which is also its file's name.
    pub fn name(self) -> &'static str {
        match self {
            Table::Requests => "requests",
            Table::Members => "members",
            Table::Samples => "samples",
            Table::Gcs => "gcs",
            Table::Latencies => "latencies",
            Table::GcSlices => "gc_slices",
            Table::Updates => "updates",
            Table::Totals => "totals",
        }
    }

    /// Its name in runs of earlier programs, if they called it otherwise.
    pub(crate) fn former_name(self) -> Option<&'static str> {
        (self == Table::Members).then_some("elements")
    }

    /// The name that digests cover: the first one, so that digests of earlier runs can be verified.
    pub(crate) fn digest_name(self) -> &'static str {
        self.former_name().unwrap_or(self.name())
    }

    /// Name of its file in a run's directory.
    pub fn file(self) -> String {
        format!("{}.parquet", self.name())
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The type of a column. All are unsigned: the counts of a run are never below zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 8 bits: a code or a flag.
    U8,
    /// 32 bits: an index or a count that a device bounds.
    U32,
    /// 64 bits: a time, an address or a sum.
    U64,
}

impl Width {
    /// The Arrow type.
    pub fn data_type(self) -> DataType {
        match self {
            Width::U8 => DataType::UInt8,
            Width::U32 => DataType::UInt32,
            Width::U64 => DataType::UInt64,
        }
    }

    /// Bits of the Parquet type, which has none below 32.
    pub(crate) fn parquet_bits(self) -> u32 {
        match self {
            Width::U8 | Width::U32 => 32,
            Width::U64 => 64,
        }
    }
}

/// One column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name, which ends in its unit (`_ns`, `_bytes`, `_pages`, `_blocks`) where it has one.
    pub name: &'static str,
    /// Its type.
    pub width: Width,
    /// Its meaning: the column's `description` in Arrow and Parquet, and its line in the documentation.
    pub description: &'static str,
}

/// Columns that earlier programs called otherwise: the former name and the present one.
const FORMER_COLUMNS: [(&str, &str); 2] = [("element", "member"), ("element_queue_ns", "member_queue_ns")];

/// `schema` with the present name of every column; none if it has them already.
pub(crate) fn modernized(schema: &Schema) -> Option<SchemaRef> {
    let present =
        |name: &str| FORMER_COLUMNS.iter().find(|(former, _)| *former == name).map(|(_, present)| *present);
    schema.fields().iter().any(|field| present(field.name()).is_some()).then(|| {
        let rename = |field: &Arc<Field>| match present(field.name()) {
            Some(name) => field.as_ref().clone().with_name(name),
            None => field.as_ref().clone(),
        };
        let fields: Vec<Field> = schema.fields().iter().map(rename).collect();
        Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
    })
}

/// A row of a table of fixed columns.
pub trait Row: Copy {
    /// The table.
    const TABLE: Table;
    /// Its columns, in order.
    const COLUMNS: &'static [Column];

    /// Writes each of the row's values to index `at` of the column's own part of `lanes`.
    ///
    /// # Panics
    /// When `lanes` does not have one part for each column, or a part has no index `at`.
    fn scatter<const N: usize>(&self, lanes: &mut [[u64; N]], at: usize);
}

/// The Arrow schema of a table of fixed columns; descriptions are the fields' metadata.
pub fn schema<R: Row>() -> SchemaRef {
    let fields: Vec<Field> = R::COLUMNS
        .iter()
        .map(|column| {
            let description = [("description".to_owned(), column.description.to_owned())];
            Field::new(column.name, column.width.data_type(), false).with_metadata(description)
        })
        .collect();
    Arc::new(Schema::new(fields))
}

/// Lists a row's columns. Every field must stand here with its own type, or it does not compile.
macro_rules! columns {
    ($row:ident is $table:ident { $($field:ident: $type:ident $width:ident $description:literal,)* }) => {
        impl Row for $row {
            const TABLE: Table = Table::$table;
            const COLUMNS: &'static [Column] = &[$(
                Column { name: stringify!($field), width: Width::$width, description: $description },
            )*];

            #[inline(always)]
            fn scatter<const N: usize>(&self, lanes: &mut [[u64; N]], at: usize) {
                let $row { $($field),* } = *self;
                let values = [$({ let value: $type = $field; u64::from(value) }),*];
                // One length check for all columns, instead of one each.
                let lanes: &mut [[u64; N]; <$row as Row>::COLUMNS.len()] =
                    lanes.try_into().expect("one part for each column");
                assert!(at < N, "a lane has no place {at}");
                for (lane, value) in lanes.iter_mut().zip(values) {
                    lane[at] = value;
                }
            }
        }
    };
}

columns!(RequestRow is Requests {
    request: u64 U64 "Position in the trace, from 0.",
    arrival_ns: u64 U64 "Arrival at the array, in simulated time.",
    kind: u8 U8 "0 read, 1 write, 2 trim, 3 flush.",
    volume: u32 U32 "Volume (ASU, disk) of the trace.",
    offset_bytes: u64 U64 "First byte on the array, after the trace's addresses were folded onto it.",
    size_bytes: u32 U32 "Length.",
    latency_ns: u64 U64 "Arrival to acknowledgement: the sum of the eight columns that follow.",
    pending_ns: u64 U64 "Waiting in the controller: for a plan, or for a row lock that another update holds.",
    pre_read_ns: u64 U64 "The pre-read step of the plan that finished last.",
    parity_ns: u64 U64 "The parity computation of the plan that finished last.",
    member_queue_ns: u64 U64 "The last operation's wait in its member's queue, without `gc_wait_ns`.",
    gc_wait_ns: u64 U64 "The last operation's wait for garbage collection.",
    bus_ns: u64 U64 "The last operation's transfers.",
    cell_ns: u64 U64 "The last operation's cell time.",
    buffer_ns: u64 U64 "Time in controller memory, when no member was needed.",
    failed: u8 U8 "1 when the request failed, else 0.",
});

columns!(MemberRow is Members {
    member: u32 U32 "Number of the member.",
    host_read_pages: u64 U64 "Pages read for hosts.",
    host_write_pages: u64 U64 "Pages of data written for hosts.",
    pre_read_pages: u64 U64 "Pages pre-read for parity updates.",
    parity_write_pages: u64 U64 "Pages of parity written.",
    log_write_pages: u64 U64 "Pages of deltas written to a log.",
    array_gc_read_pages: u64 U64 "Pages that array-level garbage collection read.",
    array_gc_write_pages: u64 U64 "Pages that array-level garbage collection wrote, parity excluded.",
    decode_read_pages: u64 U64 "Pages read to decode lost chunks.",
    repair_write_pages: u64 U64 "Pages written back after they were decoded.",
    flash_read_pages: u64 U64 "Pages read in all, garbage collection included.",
    flash_program_pages: u64 U64 "Pages programmed in all, garbage collection included.",
    erase_blocks: u64 U64 "Blocks erased.",
    gc_move_pages: u64 U64 "Valid pages moved by garbage collection.",
    gc_stalls: u64 U64 "Garbage collections abandoned because every written block was full of valid pages.",
    read_retries: u64 U64 "Retries of page reads at higher read levels.",
    permission_waits: u64 U64 "Times that writes began to wait because the member may not collect garbage.",
    permission_wait_ns: u64 U64 "Total time of these waits.",
    suspends: u64 U64 "Programs and erases suspended for reads; each time counts.",
    wear_move_pages: u64 U64 "Of `gc_move_pages`, pages moved by static wear-levelling.",
    unmapped_read_pages: u64 U64 "Reads of pages that hold nothing: no cell time, not in `flash_read_pages`.",
    trim_pages: u64 U64 "Pages trimmed.",
    gc_busy_ns: u64 U64 "Time with garbage collection active.",
    cell_busy_ns: u64 U64 "Cell time, summed over dies.",
    dies: u32 U32 "Dies of the member.",
    busiest_die_ns: u64 U64 "Cell time of the busiest of them.",
    bus_busy_ns: u64 U64 "Bus time of this member's transfers.",
    blocked_sum: u64 U64 "Sum, over arriving requests, of operations then queued or in flight.",
    blocked_sum_served: u64 U64 "The same, over served requests, when each was acknowledged.",
    queue_max: u64 U64 "Largest number of operations queued or in flight.",
    operation_mean_ns: u64 U64 "Mean time of a page's read or write, from its entry into the queue to its end.",
    operation_p99_ns: u64 U64 "Time that 99 % of these did not exceed.",
    operation_p999_ns: u64 U64 "Time that 99.9 % of these did not exceed.",
});

columns!(SampleRow is Samples {
    time_ns: u64 U64 "The instant, in simulated time.",
    member: u32 U32 "Number of the member.",
    reads: u32 U32 "Reads queued or in flight.",
    writes: u32 U32 "Writes queued or in flight.",
    collecting: u8 U8 "1 while garbage collection is active, else 0.",
    free_pages: u32 U32 "Free pages.",
});

columns!(GcRow is Gcs {
    member: u32 U32 "Number of the member.",
    plane: u32 U32 "Plane within the member.",
    block: u32 U32 "Victim block within the plane.",
    start_ns: u64 U64 "Start, in simulated time.",
    end_ns: u64 U64 "End of the erase.",
    moved_pages: u32 U32 "Valid pages moved.",
});

columns!(UpdateRow is Updates {
    time_ns: u64 U64 "Time of the decision, in simulated time.",
    row: u64 U64 "The array's row.",
    dirty_chunks: u32 U32 "Data chunks that it updates.",
    routine: u8 U8 "Its routine: 0 full or short stripe, 1 RMW, 2 RCW, 3 reconstruct, 4 log.",
    baseline: u8 U8 "The routine that Baseline would have taken.",
    adjusted: u8 U8 "1 when the two differ, else 0.",
    rmw_reads: u32 U32 "Pages that RMW would pre-read; 0 where there was no choice.",
    rcw_reads: u32 U32 "Pages that RCW would pre-read; 0 where there was no choice.",
    rmw_update_ns: u64 U64 "RMW's update term (Adaptive), or the heaviest weighted load it meets (BPU, no unit).",
    rmw_delay_ns: u64 U64 "RMW's delay term (Adaptive), or the mean weighted load (BPU, no unit).",
    rcw_update_ns: u64 U64 "RCW's, as `rmw_update_ns`.",
    rcw_delay_ns: u64 U64 "RCW's, as `rmw_delay_ns`.",
});

columns!(LatencyRow is Latencies {
    kind: u8 U8 "Kind of requests: 0 reads, 1 writes, 2 reads and writes, 3 page operations of one member.",
    member: u32 U32 "Number of the member for kind 3, else 0.",
    latency_ns: u64 U64 "A time: to 0.1 % for requests, to 0.4 % for operations.",
    count: u64 U64 "Requests, or operations, that took at most this long.",
});

columns!(GcSliceRow is GcSlices {
    collecting: u32 U32 "Number of members, from 0 to all.",
    slices: u64 U64 "Slices in which exactly this number of members collected at some time.",
    slices_at_work: u64 U64 "The same, without the pauses of collections that are preempted or in the background.",
});

/// The documentation of the tables, as Markdown: the complete `docs/reference/results.md`.
pub fn documentation() -> String {
    let mut text = String::from(include_str!("results.md"));
    text.push_str("\n| column | meaning |\n| --- | --- |\n");
    let rows = |totals: &[(&str, &str)]| -> String {
        totals.iter().map(|(name, meaning)| format!("| `{name}` | {meaning} |\n")).collect()
    };
    text.push_str(&rows(TOTALS));
    text.push_str("\nRuns in open loop (`--pacing open`, the default) have three more:\n");
    text.push_str("\n| column | meaning |\n| --- | --- |\n");
    text.push_str(&rows(OF_OPEN_LOOP));
    text.push_str("\nRuns with an automatic warm-up (`--warmup auto`) have two more:\n");
    text.push_str("\n| column | meaning |\n| --- | --- |\n");
    text.push_str(&rows(OF_WARMUP));
    let mut part = |title: &str, intro: &str, columns: &[Column]| {
        write!(text, "\n## {title}\n{intro}\n\n| column | type | meaning |\n| --- | --- | --- |\n")
            .expect("a string takes all");
        for Column { name, width, description } in columns {
            writeln!(text, "| `{name}` | {} | {description} |", width.data_type())
                .expect("a string takes all");
        }
    };
    part(
        "`requests`",
        "One row for each host request, in the order of acknowledgement. Written only on request. The \
         parts of a latency are measured along the path that finished last, and add up to it exactly.",
        RequestRow::COLUMNS,
    );
    part(
        "`members`",
        "One row for each member, at the end of the run. Counts exclude warm-up. `blocked_sum` over the \
         requests is the papers' number of blocked requests; paper 000 counts them after a request is \
         serviced (`blocked_sum_served`), the public fork of its simulator when one arrives.",
        MemberRow::COLUMNS,
    );
    part(
        "`latencies`",
        "One row for each point of a cumulative distribution, for each kind and member in ascending \
         order. From 99 % on, every distinct value has a row; below, at most one value for each 0.1 %. \
         The last row of a kind counts all.",
        LatencyRow::COLUMNS,
    );
    part(
        "`gc_slices`",
        "One row for each number of members, from 0 on: how many members collected garbage at the same \
         time (paper 003, section 4). Simulated time from the end of warm-up is divided into slices of \
         `gc_slice_ns`. A member counts in a slice if one of its blocks, on any die, is being collected \
         at some time of the slice. A preempted collection lasts until its block is erased. The table is \
         empty if slices are not counted.",
        GcSliceRow::COLUMNS,
    );
    part(
        "`updates`",
        "One row for each parity update, in the order of decisions. Written only on request. The cost \
         terms are those of paper 000, Eq. 4 to 7; policies without cost terms leave zeros.",
        UpdateRow::COLUMNS,
    );
    part("`samples`", "One row for each member and sampled instant.", SampleRow::COLUMNS);
    part("`gcs`", "One row for each garbage collection of one block.", GcRow::COLUMNS);
    text
}
