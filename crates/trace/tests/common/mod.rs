//! The common code of the tests of reading and writing.

#![allow(dead_code, reason = "each test uses its own part")]

use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;
use stripewise_trace::{
    Kind, OpenOptions, ReadReport, Request, Source, TraceError, WriteOptions, Writer, open_stream,
};

/// The text formats that hold trims and flushes too.
pub(crate) const HOLDS_ALL: [&str; 5] = ["fio", "blkparse", "iosnoop", "biosnoop", "perf-script"];

/// A new directory for each use, removed when dropped.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("stripewise-trace-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a scratch directory");
        Self(path)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A file with these contents.
    pub(crate) fn with(&self, name: &str, contents: &[u8]) -> PathBuf {
        let path = self.file(name);
        fs::write(&path, contents).expect("a scratch file");
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

/// Options that name a format.
pub(crate) fn named(format: &str) -> OpenOptions {
    OpenOptions { format: Some(format.parse().expect("a format")), ..OpenOptions::default() }
}

/// Everything that a source yields, in batches of `capacity`.
pub(crate) fn drain(source: &mut dyn Source, capacity: usize) -> Result<Vec<Request>, TraceError> {
    let (mut all, mut batch) = (Vec::new(), Vec::with_capacity(capacity));
    loop {
        source.next_batch(&mut batch)?;
        if batch.is_empty() {
            return Ok(all);
        }
        all.extend_from_slice(&batch);
    }
}

/// The requests in `bytes`.
pub(crate) fn read(
    bytes: impl Into<Vec<u8>>,
    options: &OpenOptions,
) -> Result<(Vec<Request>, ReadReport), TraceError> {
    let mut reader = open_stream(Box::new(Cursor::new(bytes.into())), Path::new("trace"), options)?;
    let requests = drain(&mut reader, 64)?;
    Ok((requests, reader.report()))
}

/// Writes requests to a file.
pub(crate) fn write(path: &Path, requests: &[Request], options: &WriteOptions) -> Result<u64, TraceError> {
    let mut writer = Writer::create(path, options)?;
    for part in requests.chunks(7) {
        writer.write(part)?;
    }
    writer.finish().map(|report| report.rounded_times)
}

/// Requests in order of time from 0, with times in multiples of `tick_ns`, addresses and sizes in multiples of
/// `sector`, below 2^50 bytes and 64 MiB.
pub(crate) fn traces(tick_ns: u64, sector: u32) -> impl Strategy<Value = Vec<Request>> {
    let size = 1..=(64u32 << 20) / sector;
    let one = (0u64..1_000_000_000, 0..(1u64 << 50) / u64::from(sector), size, 0u32..30, any::<bool>());
    proptest::collection::vec(one, 0..60).prop_map(move |fields| {
        let mut time_ns = 0;
        let mut requests = Vec::new();
        for (index, (gap, place, size, volume, write)) in fields.into_iter().enumerate() {
            time_ns += if index == 0 { 0 } else { gap * tick_ns };
            let (offset, bytes) = (place * u64::from(sector), size * sector);
            let kind = if write { Kind::Write } else { Kind::Read };
            requests.push(Request { time_ns, offset, bytes, volume, kind });
        }
        requests
    })
}

/// Parquet as other programs write it.
#[cfg(feature = "parquet")]
pub(crate) mod other_programs {
    use std::fs;
    use std::path::Path;
    use std::sync::Arc;

    use parquet::basic::{Encoding, Repetition, Type as Physical, ZstdLevel};
    use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
    use parquet::file::properties::{WriterProperties, WriterVersion};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::types::Type;

    /// Writes a trace of this many requests, with the kinds that `kind` returns, by the means of other programs.
    pub(crate) fn made(
        path: &Path,
        count: usize,
        properties: WriterProperties,
        kind: impl Fn(usize) -> ByteArray,
    ) {
        let field = |name, physical| {
            let field =
                Type::primitive_type_builder(name, physical).with_repetition(Repetition::REQUIRED).build();
            Arc::new(field.expect("a field"))
        };
        let numbers = ["time_ns", "offset_bytes", "size_bytes"].map(|name| field(name, Physical::INT64));
        let fields = numbers.into_iter().chain([field("kind", Physical::BYTE_ARRAY)]).collect();
        let schema = Type::group_type_builder("trace").with_fields(fields).build().expect("a schema");
        let out = fs::File::create(path).expect("a file");
        let mut file =
            SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties)).expect("begins");
        let mut group = file.next_row_group().expect("a group");
        for _ in 0..3 {
            let mut column = group.next_column().expect("a column").expect("a column");
            column.typed::<Int64Type>().write_batch(&vec![512; count], None, None).expect("writes");
            column.close().expect("closes");
        }
        let mut column = group.next_column().expect("a column").expect("a column");
        let kinds: Vec<ByteArray> = (0..count).map(kind).collect();
        column.typed::<ByteArrayType>().write_batch(&kinds, None, None).expect("writes");
        column.close().expect("closes");
        group.close().expect("closes");
        file.close().expect("closes");
    }

    /// Pages whose texts are built from the texts before them.
    pub(crate) fn built() -> WriterProperties {
        WriterProperties::builder()
            .set_writer_version(WriterVersion::PARQUET_2_0)
            .set_compression(parquet::basic::Compression::ZSTD(ZstdLevel::default()))
            .set_dictionary_enabled(false)
            .set_encoding(Encoding::PLAIN)
            .set_column_encoding("kind".into(), Encoding::DELTA_BYTE_ARRAY)
            .set_data_page_size_limit(64 << 20)
            .build()
    }
}
