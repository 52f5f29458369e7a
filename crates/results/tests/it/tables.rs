//! Rows pass through a sink and read back as Arrow record batches, value for value.

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{RecordBatch, RecordBatchReader};
use proptest::prelude::*;
use std::io::{self, Write};
use stripewise_base::prng::Prng;
use stripewise_results::parquet::TableWriter;
use stripewise_results::schema::{Row, Width, schema};
use stripewise_results::{DigestSink, Error, Figure, Figures, MemoryRun, MemorySink, Optional, Table};
use stripewise_sim::tables::{GcRow, MemberRow, RequestRow, SampleRow, Sink};

use crate::common::{gc, gc_slice, inputs, latency, member, request, rows, sample, update};

fn totals() -> Figures {
    Figures::from_list(&[("requests", Figure::Count(7)), ("response_mean_ns", Figure::Real(1.5))]).unwrap()
}

fn run(requests: &[RequestRow], samples: &[SampleRow], gcs: &[GcRow], members: &[MemberRow]) -> MemoryRun {
    let mut sink = MemorySink::in_memory(&inputs(1), Optional::ALL).unwrap();
    requests.iter().for_each(|row| sink.request(row));
    samples.iter().for_each(|row| sink.sample(row));
    gcs.iter().for_each(|row| sink.gc(row));
    sink.finish_in_memory(members, &totals()).unwrap()
}

/// One column of all batches.
fn column(batches: &[RecordBatch], index: usize, width: Width) -> Vec<u64> {
    let values = |batch: &RecordBatch| -> Vec<u64> {
        let column = batch.column(index);
        assert_eq!(column.null_count(), 0);
        match width {
            Width::U8 => {
                column.as_primitive::<UInt8Type>().values().iter().map(|&value| value.into()).collect()
            }
            Width::U32 => {
                column.as_primitive::<UInt32Type>().values().iter().map(|&value| value.into()).collect()
            }
            Width::U64 => column.as_primitive::<UInt64Type>().values().to_vec(),
        }
    };
    batches.iter().flat_map(values).collect()
}

fn check<R: Row>(run: &MemoryRun, rows: &[R]) {
    let batches = run.batches(R::TABLE).unwrap().expect("the table is there");
    assert_eq!(batches.schema(), schema::<R>(), "types, names and descriptions come back from the file");
    let batches: Vec<RecordBatch> = batches.map(Result::unwrap).collect();
    let mut lanes = vec![[0]; R::COLUMNS.len()];
    let mut expected = vec![Vec::new(); R::COLUMNS.len()];
    for row in rows {
        row.scatter(&mut lanes, 0);
        expected.iter_mut().zip(&lanes).for_each(|(column, lane)| column.push(lane[0]));
    }
    for (index, described) in R::COLUMNS.iter().enumerate() {
        assert!(column(&batches, index, described.width) == expected[index], "column {}", described.name);
    }
    let digest = run.digests().find(|digest| digest.table == R::TABLE).unwrap();
    assert_eq!(digest.rows, rows.len() as u64);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn rows_read_back_as_written(seed: u64, counts in prop::array::uniform4(0usize..1200)) {
        let mut prng = Prng::new(seed);
        let requests = rows(counts[0], &mut prng, request);
        let samples = rows(counts[1], &mut prng, sample);
        let gcs = rows(counts[2], &mut prng, gc);
        let members = rows(counts[3] % 40, &mut prng, member);
        let run = run(&requests, &samples, &gcs, &members);
        check(&run, &requests);
        check(&run, &samples);
        check(&run, &gcs);
        check(&run, &members);
    }

    #[test]
    fn parity_updates_read_back_as_written_where_they_are_kept(seed: u64, count in 0usize..1200) {
        let updates = rows(count, &mut Prng::new(seed), update);
        for optional in [Optional::ALL, Optional::NONE] {
            let mut sink = MemorySink::in_memory(&inputs(1), optional).unwrap();
            updates.iter().for_each(|row| sink.update(row));
            let run = sink.finish_in_memory(&[], &totals()).unwrap();
            if optional.updates {
                check(&run, &updates);
            } else {
                prop_assert!(run.batches(Table::Updates).unwrap().is_none());
            }
        }
    }

    /// Short tables, and some that begin a second page or row group.
    #[test]
    fn digests_without_tables_are_those_of_the_tables(
        seed: u64,
        counts in prop::array::uniform5(prop_oneof![30 => 0usize..1200, 1 => 65_530usize..65_560]),
    ) {
        let mut prng = Prng::new(seed);
        let (members, samples) = (rows(counts[0] % 40, &mut prng, member), rows(counts[1], &mut prng, sample));
        let (gcs, slices) = (rows(counts[2], &mut prng, gc), rows(counts[3] % 100, &mut prng, gc_slice));
        let latencies = rows(counts[4], &mut prng, latency);
        let fill = |sink: &mut dyn Sink| {
            samples.iter().for_each(|row| sink.sample(row));
            gcs.iter().for_each(|row| sink.gc(row));
            slices.iter().for_each(|row| sink.gc_slice(row));
            latencies.iter().for_each(|row| sink.latency(row));
        };
        let (mut digests, mut tables) =
            (DigestSink::default(), MemorySink::in_memory(&inputs(1), Optional::NONE).unwrap());
        fill(&mut digests);
        fill(&mut tables);
        let tables = tables.finish_in_memory(&members, &totals()).unwrap();
        prop_assert_eq!(digests.finish(&members, &totals()).results_digest(), tables.results_digest());
    }

    #[test]
    fn points_of_distributions_read_back_as_written(seed: u64, count in 0usize..1200) {
        let latencies = rows(count, &mut Prng::new(seed), latency);
        let mut sink = MemorySink::in_memory(&inputs(1), Optional::NONE).unwrap();
        latencies.iter().for_each(|row| sink.latency(row));
        check(&sink.finish_in_memory(&[], &totals()).unwrap(), &latencies);
    }

    #[test]
    fn slices_by_collecting_members_read_back_as_written(seed: u64, count in 0usize..100) {
        let slices = rows(count, &mut Prng::new(seed), gc_slice);
        let mut sink = MemorySink::in_memory(&inputs(1), Optional::NONE).unwrap();
        slices.iter().for_each(|row| sink.gc_slice(row));
        check(&sink.finish_in_memory(&[], &totals()).unwrap(), &slices);
    }

    #[test]
    fn the_results_digest_changes_with_any_value_of_any_row(seed: u64, at in 0usize..600, pick in 0usize..4) {
        let mut prng = Prng::new(seed);
        let mut requests = rows(600, &mut prng, request);
        let before = run(&requests, &[], &[], &[]).results_digest();
        let row = &mut requests[at];
        match pick {
            0 => row.latency_ns ^= 1 << (seed % 64),
            1 => row.size_bytes ^= 1 << (seed % 32),
            2 => row.failed ^= 1,
            _ => row.offset_bytes = row.offset_bytes.wrapping_add(1),
        }
        prop_assert_ne!(run(&requests, &[], &[], &[]).results_digest(), before);
    }

    #[test]
    fn the_results_digest_changes_with_the_order_of_rows(seed: u64, at in 0usize..599) {
        let mut requests = rows(600, &mut Prng::new(seed), request);
        let before = run(&requests, &[], &[], &[]).results_digest();
        requests.swap(at, at + 1);
        prop_assert_ne!(run(&requests, &[], &[], &[]).results_digest(), before);
    }
}

/// A page has 65,537 rows and a row group four pages: one row less, one more, and between.
#[test]
fn rows_at_the_borders_of_blocks_pages_and_row_groups_return() {
    let all = rows(4 * 65_537 + 300, &mut Prng::new(5), sample);
    for count in [
        0,
        1,
        2,
        256,
        257,
        258,
        513,
        514,
        65_536,
        65_537,
        65_538,
        131_074,
        262_147,
        262_148,
        262_149,
        all.len(),
    ] {
        let run = run(&[], &all[..count], &[], &[]);
        check(&run, &all[..count]);
    }
}

#[test]
fn each_field_of_a_request_stands_in_the_column_of_its_name() {
    let row = RequestRow {
        request: 1,
        arrival_ns: 2,
        kind: 3,
        volume: 4,
        offset_bytes: 5,
        size_bytes: 6,
        latency_ns: 7,
        pending_ns: 8,
        pre_read_ns: 9,
        parity_ns: 10,
        member_queue_ns: 11,
        gc_wait_ns: 12,
        bus_ns: 13,
        cell_ns: 14,
        buffer_ns: 15,
        failed: 16,
    };
    let run = run(&[row], &[], &[], &[]);
    let batch = run.batches(Table::Requests).unwrap().unwrap().next().unwrap().unwrap();
    let value = |name: &str| {
        let column = batch.column_by_name(name).expect(name);
        column
            .as_primitive_opt::<UInt64Type>()
            .map(|column| column.value(0))
            .or_else(|| column.as_primitive_opt::<UInt32Type>().map(|column| column.value(0).into()))
            .or_else(|| column.as_primitive_opt::<UInt8Type>().map(|column| column.value(0).into()))
            .expect(name)
    };
    let names = [
        "request",
        "arrival_ns",
        "kind",
        "volume",
        "offset_bytes",
        "size_bytes",
        "latency_ns",
        "pending_ns",
        "pre_read_ns",
        "parity_ns",
        "member_queue_ns",
        "gc_wait_ns",
        "bus_ns",
        "cell_ns",
        "buffer_ns",
        "failed",
    ];
    for (name, expected) in names.iter().zip(1..) {
        assert_eq!(value(name), expected, "{name}");
    }
    assert_eq!(batch.num_columns(), names.len());
}

#[test]
fn every_file_records_what_was_run() {
    let run = run(&[], &[], &[], &[]);
    for table in Table::ALL {
        let batches = run.batches(table).unwrap().unwrap();
        let value_of = |key: &str| batches.metadata(&format!("stripewise.{key}")).map(str::to_owned);
        assert_eq!(value_of("table").as_deref(), Some(table.name()));
        assert_eq!(value_of("run_digest"), Some(inputs(1).digest().to_string()));
        assert_eq!(value_of("configuration").as_deref(), Some(inputs(1).configuration()));
        assert_eq!(value_of("replay").as_deref(), Some(inputs(1).replay()));
        assert_eq!(value_of("trace_digest").as_deref(), Some("trace"));
        assert_eq!(value_of("seed").as_deref(), Some("1"));
        assert_eq!(value_of("version").as_deref(), Some("0.1.0"));
    }
}

#[test]
fn totals_return_with_their_types() {
    let run = run(&[], &[], &[], &[]);
    let batch = run.batches(Table::Totals).unwrap().unwrap().next().unwrap().unwrap();
    assert_eq!(Figures::from_batch(&batch, "totals").unwrap(), totals());
}

#[test]
fn a_run_without_the_table_of_requests_has_none_and_drops_the_rows() {
    let mut sink = MemorySink::in_memory(&inputs(1), Optional::NONE).unwrap();
    sink.request(&request(&mut Prng::new(1)));
    let run = sink.finish_in_memory(&[], &totals()).unwrap();
    assert!(run.batches(Table::Requests).unwrap().is_none());
    assert!(run.batches(Table::Gcs).unwrap().is_some());
}

/// Accepts this many bytes, then is full.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 < bytes.len() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.0 -= bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_disk_that_fills_up_is_reported_once_and_at_the_end() {
    let mut prng = Prng::new(9);
    let rows = rows(600_000, &mut prng, gc);
    let write = |room: usize| {
        let mut writer = TableWriter::<GcRow, _>::new(Full(room), "gcs", &inputs(1)).unwrap();
        rows.iter().for_each(|row| writer.push(row));
        writer.finish().map(|(out, _)| room - out.0)
    };
    let needed = write(usize::MAX).unwrap();
    for room in [0, 4, needed / 3, needed / 2, needed - 1] {
        let error = write(room).expect_err("it did not fit");
        assert!(matches!(error, Error::Write { .. }), "{error}");
        assert!(error.to_string().contains("gcs: cannot write the table"), "{error}");
    }
    assert_eq!(write(needed).unwrap(), needed);
}

/// Debug, release, another machine: the digest is a constant here, so each build that passes this test agrees with
/// all others. It changes only with the columns, their packing or the generator of random numbers.
#[test]
fn known_rows_have_the_same_results_digest_in_every_build() {
    let mut prng = Prng::new(2026);
    let requests = rows(70_000, &mut prng, request);
    let samples = rows(300, &mut prng, sample);
    let gcs = rows(257, &mut prng, gc);
    let members = rows(6, &mut prng, member);
    let digest = run(&requests, &samples, &gcs, &members).results_digest();
    assert_eq!(digest.to_string(), "49f589603c5c8842107d91f79ad9a171126a2ab8800afc115935b69c956c2e3e");
}
