//! Measures the processor time of a row of the table of requests: by the simulator's writer, and for the same rows by
//! Arrow's own writer.
//!
//! `cargo run --release -p stripewise-results --example rows [ROWS [DIRECTORY]]`

use arrow_array::{ArrayRef, RecordBatch, UInt8Array, UInt32Array, UInt64Array};
use parquet::arrow::ArrowWriter;
use parquet::basic::Encoding;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::hint::black_box;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use stripewise_base::prng::Prng;
use stripewise_results::parquet::TableWriter;
use stripewise_results::schema::{Row, Width, schema};
use stripewise_results::{RunInputs, Table};
use stripewise_sim::tables::RequestRow;

/// Rows that are generated first and written repeatedly, so that generating them is not measured.
const PREPARED: usize = 1 << 16;
const REPEATS: usize = 7;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let rows: usize = arguments.next().map_or(Ok(4_000_000), |text| text.parse())?;
    let directory = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let path = directory.join(format!("stripewise-rows-{}.parquet", std::process::id()));
    let inputs = RunInputs::new("", "", "none", 0, env!("CARGO_PKG_VERSION"))?;
    println!("{rows} rows, best of {REPEATS}, processor time");
    for (name, parity) in [("one SSD, no GC", false), ("RAID-5 with pre-reads and GC", true)] {
        let prepared = prepare(parity);
        let report = |what: &str, ns: f64, bytes: u64| {
            println!("{name:30} {what:28} {ns:7.1} ns/row {:7.1} bytes/row", bytes as f64 / rows as f64);
        };
        let ns = best(rows, || {
            let mut lanes = vec![[0; 257]; RequestRow::COLUMNS.len()];
            each(&prepared, rows, |at, row| row.scatter(black_box(&mut lanes), at % 257));
            Ok(())
        })?;
        report("gathered only", ns, 0);
        let ns = best(rows, || ours(&prepared, rows, io::sink(), &inputs).map(drop))?;
        report("ours, thrown away", ns, 0);
        let ns = best(rows, || ours(&prepared, rows, File::create(&path)?, &inputs).map(drop))?;
        report("ours, to a file", ns, path.metadata()?.len());
        let ns = best(rows, || arrow(&prepared, rows, io::sink(), Encoding::DELTA_BINARY_PACKED))?;
        report("ArrowWriter, delta, thrown away", ns, 0);
        let ns = best(rows, || arrow(&prepared, rows, File::create(&path)?, Encoding::DELTA_BINARY_PACKED))?;
        report("ArrowWriter, delta, to a file", ns, path.metadata()?.len());
        let ns = best(rows, || arrow(&prepared, rows, File::create(&path)?, Encoding::PLAIN))?;
        report("ArrowWriter, plain, to a file", ns, path.metadata()?.len());
        remove(&path)?;
    }
    Ok(())
}

fn remove(path: &Path) -> io::Result<()> {
    std::fs::remove_file(path)
}

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

fn best(rows: usize, mut run: impl FnMut() -> Outcome) -> Outcome<f64> {
    let now = || {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
    };
    let mut best = f64::INFINITY;
    for _ in 0..REPEATS {
        let start = now();
        run()?;
        best = best.min((now() - start) / rows as f64);
    }
    Ok(best)
}

/// Rows of a typical simulation: for one SSD eight columns never change, for an array six.
fn prepare(parity: bool) -> Vec<RequestRow> {
    let mut prng = Prng::new(1);
    let mut arrival_ns = 0;
    (0..PREPARED as u64)
        .map(|request| {
            arrival_ns += prng.below(20_000);
            let write = parity && prng.below(2) == 0;
            let mut row = RequestRow {
                request,
                arrival_ns,
                kind: u8::from(write || !parity),
                offset_bytes: prng.below(1 << 24) * 4096,
                size_bytes: 4096,
                member_queue_ns: prng.below(300_000),
                bus_ns: 81_920,
                cell_ns: if write || !parity { 200_000 } else { 20_000 },
                ..RequestRow::default()
            };
            if parity {
                row.size_bytes *= 1 + prng.below(4) as u32;
                row.pending_ns = if prng.below(4) == 0 { prng.below(500_000) } else { 0 };
                row.gc_wait_ns = if prng.below(10) == 0 { prng.below(3_000_000) } else { 0 };
            }
            if write {
                row.pre_read_ns = 25_000 + prng.below(100_000);
                row.parity_ns = 2_000;
            }
            let waits =
                row.pending_ns + row.pre_read_ns + row.parity_ns + row.member_queue_ns + row.gc_wait_ns;
            row.latency_ns = waits + row.bus_ns + row.cell_ns;
            row
        })
        .collect()
}

fn each(prepared: &[RequestRow], rows: usize, mut take: impl FnMut(usize, &RequestRow)) {
    let span = prepared[prepared.len() - 1].arrival_ns;
    for at in 0..rows {
        let mut row = prepared[at % PREPARED];
        row.request = at as u64;
        row.arrival_ns += (at / PREPARED) as u64 * span;
        take(at, &row);
    }
}

fn ours<W: Write + Send>(prepared: &[RequestRow], rows: usize, out: W, inputs: &RunInputs) -> Outcome<W> {
    let mut writer = TableWriter::<RequestRow, W>::new(out, Table::Requests.name(), inputs)?;
    each(prepared, rows, |_, row| writer.push(row));
    Ok(writer.finish()?.0)
}

/// The usual way: a vector for each column, a record batch every 65,536 rows, Arrow's writer.
fn arrow<W: Write + Send>(prepared: &[RequestRow], rows: usize, out: W, encoding: Encoding) -> Outcome {
    let schema = schema::<RequestRow>();
    let properties = WriterProperties::builder()
        .set_encoding(encoding)
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_max_row_group_row_count(Some(1 << 18))
        .build();
    let mut writer = ArrowWriter::try_new(out, schema.clone(), Some(properties))?;
    let mut lanes = vec![[0u64; PREPARED]; RequestRow::COLUMNS.len()];
    let mut failed = None;
    each(prepared, rows, |at, row| {
        let place = at % PREPARED;
        row.scatter(&mut lanes, place);
        if place == PREPARED - 1 || at == rows - 1 {
            let column =
                |(column, lane): (&stripewise_results::schema::Column, &[u64; PREPARED])| -> ArrayRef {
                    let values = lane[..=place].iter().copied();
                    match column.width {
                        Width::U8 => Arc::new(UInt8Array::from_iter_values(values.map(|value| value as u8))),
                        Width::U32 => {
                            Arc::new(UInt32Array::from_iter_values(values.map(|value| value as u32)))
                        }
                        Width::U64 => Arc::new(UInt64Array::from_iter_values(values)),
                    }
                };
            let columns = RequestRow::COLUMNS.iter().zip(&lanes).map(column).collect();
            let batch =
                RecordBatch::try_new(schema.clone(), columns).expect("columns are made by the schema");
            if let Err(error) = writer.write(&batch) {
                failed = Some(error);
            }
        }
    });
    failed.map_or(Ok(()), Err)?;
    writer.close()?;
    Ok(())
}
