//! Reads Parquet traces: one file after the other, a row group at a time, a chunk of it at a time.

use std::fs::File;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;
use parquet::file::metadata::FileMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};

use crate::format::{PARQUET, Stop};
use crate::order::Clock;
use crate::{Kind, OpenOptions, ReadReport, Request, TraceError};

use super::columns::{Fault, Kinds, Numbers};
use super::content::{Content, NOTES_KEY, REQUESTS_KEY, of_notes};
use super::limits::{check_footer, check_pages, place};
use super::schema::{Places, check_compression};
use super::{CHUNK, OURS, TIME, VERSION, VERSION_KEY, damaged, guarded};

/// Reads one Parquet trace.
pub(crate) struct ParquetReader {
    /// The current file, and the files after it.
    part: Part,
    left: std::vec::IntoIter<PathBuf>,
    /// Files in all.
    files: usize,
    clock: Clock,
    chunk: Vec<Request>,
    /// The number of requests of the chunk that were delivered.
    delivered: usize,
    report: ReadReport,
}

/// A file of a trace.
struct Part {
    path: PathBuf,
    file: SerializedFileReader<File>,
    /// The same file, opened a second time to read the headers of its pages.
    pages: File,
    /// Positions of the columns.
    at: Places,
    /// Records in the file, and those decoded so far.
    rows: u64,
    decoded: u64,
    next_group: usize,
    group: Option<Group>,
    /// The checksum of the decoded requests, if the file declares one.
    content: Option<Content>,
}

/// The current row group.
struct Group {
    left: u64,
    time: Numbers,
    offset: Numbers,
    size: Numbers,
    volume: Option<Numbers>,
    kind: Kinds,
}

impl Part {
    fn open(path: PathBuf) -> Result<Self, TraceError> {
        let io = |source| TraceError::Io { path: path.clone(), source };
        let handle = File::open(&path).map_err(io)?;
        let file_bytes = handle.metadata().map_err(io)?.len();
        guarded(&path, || check_footer(&handle))?;
        let pages = handle.try_clone().map_err(io)?;
        let file = guarded(&path, || SerializedFileReader::new(handle))?;
        let metadata = file.metadata().file_metadata();
        let value = |key| pair(metadata, key);
        let is_ours = metadata.created_by().is_some_and(|by| by.starts_with(OURS));
        let notes = of_notes(metadata.key_value_metadata().into_iter().flatten());
        if is_ours && (value(NOTES_KEY) != Some(&notes) || value(REQUESTS_KEY).is_none()) {
            let changed = "its notes are not those that were written".to_owned();
            return Err(damaged(&path, &ParquetError::General(changed)));
        }
        if let Some(version) = value(VERSION_KEY)
            && version != VERSION
        {
            let version: String = version.chars().take(20).collect();
            let reason = format!("has version {version} of the schema; this program reads version {VERSION}");
            return Err(TraceError::NotATrace { path, reason });
        }
        let at = guarded(&path, || Places::find(metadata.schema_descr()))?;
        guarded(&path, || check_compression(file.metadata(), at))?;
        guarded(&path, || check_places(&file, at, file_bytes))?;
        let rows = u64::try_from(metadata.num_rows()).unwrap_or(0);
        let content = is_ours.then(Content::default);
        Ok(Self { path, file, pages, at, rows, decoded: 0, next_group: 0, group: None, content })
    }

    /// Decodes the next chunk of requests into `chunk`. Returns false at the end.
    fn next_chunk(&mut self, clock: &mut Clock, chunk: &mut Vec<Request>) -> Result<bool, TraceError> {
        loop {
            if let Some(group) = &mut self.group
                && group.left > 0
            {
                let first = self.decoded + 1;
                let count = usize::try_from(group.left).unwrap_or(usize::MAX).min(CHUNK);
                guarded(&self.path, || group.read(count))?;
                self.decoded += count as u64;
                if let Some(content) = &mut self.content {
                    group.add_to(content);
                }
                group
                    .requests(count, clock, chunk)
                    .map_err(|(index, wrong)| wrong.at(&self.path, first + index as u64))?;
                return Ok(true);
            }
            if self.next_group == self.file.num_row_groups() {
                return self.check_content().map(|()| false);
            }
            let open = || Group::open(&self.file, &self.pages, self.next_group, self.at);
            self.group = Some(guarded(&self.path, open)?);
            self.next_group += 1;
        }
    }
}

impl Part {
    /// Checks that the decoded requests equal the written ones, if the file declares a checksum.
    fn check_content(&self) -> Result<(), TraceError> {
        let (Some(content), metadata) = (&self.content, self.file.metadata().file_metadata()) else {
            return Ok(());
        };
        let (found, written) = (content.text(), pair(metadata, REQUESTS_KEY).unwrap_or_default());
        if found == written {
            return Ok(());
        }
        let found =
            format!("it holds requests with the count and checksum {found}, and was written with {written}");
        Err(damaged(&self.path, &ParquetError::General(found)))
    }
}

/// A value of the file's metadata.
fn pair<'a>(metadata: &'a FileMetaData, key: &str) -> Option<&'a str> {
    metadata.key_value_metadata()?.iter().find(|pair| pair.key == key)?.value.as_deref()
}

/// The notes that the writer of a Parquet trace left in its metadata
/// ([`WriteOptions::notes`](crate::WriteOptions::notes)), by name.
///
/// # Errors
/// When the file cannot be read, and when it is no trace in Parquet.
pub fn notes(path: &Path) -> Result<Vec<(String, String)>, TraceError> {
    let part = Part::open(path.to_owned())?;
    let pairs = part.file.metadata().file_metadata().key_value_metadata().into_iter().flatten();
    let pairs = pairs.filter(|pair| pair.key != NOTES_KEY && pair.key != REQUESTS_KEY);
    Ok(pairs.filter_map(|pair| Some((pair.key.clone(), pair.value.clone()?))).collect())
}

impl ParquetReader {
    /// The trace at `path`, which consists of `files`, at least one.
    pub(crate) fn open(path: &Path, files: Vec<PathBuf>, options: &OpenOptions) -> Result<Self, TraceError> {
        let number = files.len();
        let size = |file: &PathBuf| {
            let metadata = std::fs::metadata(file);
            metadata.map_err(|source| TraceError::Io { path: file.clone(), source }).map(|file| file.len())
        };
        let file_bytes = files.iter().map(size).sum::<Result<u64, _>>()?;
        let mut left = files.into_iter();
        let part = Part::open(left.next().expect("a trace has a file"))?;
        let report = ReadReport {
            path: path.to_owned(),
            format: PARQUET.to_owned(),
            file_bytes: Some(file_bytes),
            ..ReadReport::default()
        };
        Ok(Self {
            part,
            left,
            files: number,
            clock: Clock::new(options.disorder),
            chunk: Vec::with_capacity(CHUNK),
            delivered: 0,
            report,
        })
    }

    /// Appends requests up to the capacity of `batch`, in the order of the file; none at the end.
    pub(crate) fn append(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        let before = batch.len();
        while batch.len() < batch.capacity() {
            if self.delivered == self.chunk.len() && !self.next_chunk()? {
                break;
            }
            let room = batch.capacity() - batch.len();
            let ready = &self.chunk[self.delivered..];
            let ready = &ready[..room.min(ready.len())];
            batch.extend_from_slice(ready);
            self.delivered += ready.len();
        }
        self.report.requests += (batch.len() - before) as u64;
        Ok(())
    }

    pub(crate) fn report(&self) -> ReadReport {
        ReadReport {
            clamped_times: self.clock.stepped_back,
            lines: self.report.requests,
            ..self.report.clone()
        }
    }

    pub(crate) fn progress(&self) -> Option<f64> {
        let Part { decoded, rows, .. } = self.part;
        let ahead = (self.chunk.len() - self.delivered) as u64;
        let of_part = if rows == 0 { 1.0 } else { (decoded.saturating_sub(ahead)) as f64 / rows as f64 };
        let before = (self.files - self.left.len() - 1) as f64;
        Some((before + of_part.min(1.0)) / self.files as f64)
    }

    /// Decodes the next chunk of requests. Returns false at the end.
    fn next_chunk(&mut self) -> Result<bool, TraceError> {
        self.delivered = 0;
        self.chunk.clear();
        while !self.part.next_chunk(&mut self.clock, &mut self.chunk)? {
            let Some(next) = self.left.next() else {
                self.report.complete = true;
                return Ok(false);
            };
            self.part = Part::open(next)?;
        }
        Ok(true)
    }
}

/// Checks that the columns lie within the file, which the library assumes.
fn check_places(
    file: &SerializedFileReader<File>,
    columns: Places,
    file_bytes: u64,
) -> Result<(), ParquetError> {
    for group in file.metadata().row_groups() {
        for column in columns.all() {
            let column = group.columns().get(column);
            let within =
                column.is_some_and(|column| place(column).is_some_and(|place| place.end <= file_bytes));
            if !within {
                return Err(ParquetError::General("a column lies outside the file".to_owned()));
            }
        }
    }
    Ok(())
}

/// The error of one record.
enum Wrong {
    Field { column: u32, expected: &'static str, found: String },
    Order(Stop),
}

impl Wrong {
    fn at(self, path: &Path, line: u64) -> TraceError {
        let path = path.to_owned();
        match self {
            Self::Field { column, expected, found } => {
                TraceError::Record { path, line, column, expected, found }
            }
            Self::Order(Stop::Backward { back_ns, previous_ns }) => {
                TraceError::Backward { path, line, back_ns, previous_ns }
            }
            Self::Order(Stop::Unreadable { expected, .. }) => {
                TraceError::Record { path, line, column: 1, expected, found: TIME.to_owned() }
            }
        }
    }
}

impl Group {
    fn open(
        file: &SerializedFileReader<File>,
        pages: &File,
        index: usize,
        at: Places,
    ) -> parquet::errors::Result<Self> {
        let group = file.get_row_group(index)?;
        let group = group.as_ref();
        let mut builds = false;
        for column in at.all() {
            let place = place(group.metadata().column(column)).unwrap_or_default();
            builds |= check_pages(pages, place.start, place.end)? && column == at.kind;
        }
        Ok(Self {
            left: u64::try_from(group.metadata().num_rows()).unwrap_or(0),
            time: Numbers::times(group, at.time)?,
            offset: Numbers::new(group, at.offset)?,
            size: Numbers::new(group, at.size)?,
            kind: Kinds::new(group, at.kind, builds)?,
            volume: at.volume.map(|at| Numbers::new(group, at)).transpose()?,
        })
    }

    fn read(&mut self, count: usize) -> parquet::errors::Result<()> {
        for numbers in [&mut self.time, &mut self.offset, &mut self.size] {
            numbers.read(count)?;
        }
        if let Some(volume) = &mut self.volume {
            volume.read(count)?;
        }
        self.kind.read(count)?;
        self.left -= count as u64;
        Ok(())
    }

    /// Adds the chunk that was read to the running checksum.
    fn add_to(&self, content: &mut Content) {
        let numbers = [&self.time, &self.offset, &self.size].map(|column| column.values.as_slice());
        content.add_read(
            numbers,
            self.volume.as_ref().map(|volume| volume.values.as_slice()),
            &self.kind.values,
        );
    }

    /// Checks and delivers the chunk of `count` records that was read. Errors number the columns as the schema does:
    /// 1 is the time, 5 the kind.
    fn requests(
        &self,
        count: usize,
        clock: &mut Clock,
        out: &mut Vec<Request>,
    ) -> Result<(), (usize, Wrong)> {
        let fault = self.fault();
        let good = fault.as_ref().map_or(count, |(index, _)| *index);
        for index in 0..good {
            let field = |column, expected, found: u64| {
                Err((index, Wrong::Field { column, expected, found: found.to_string() }))
            };
            let kind = self.kind.values[index];
            let (offset, size) = (self.offset.values[index], self.size.values[index]);
            let bytes = u32::try_from(size).ok().filter(|&bytes| bytes > 0 || kind == Kind::Flush);
            let Some(bytes) = bytes.filter(|_| offset.checked_add(size).is_some()) else {
                return field(
                    3,
                    "a size that is not 0 but for a flush, below 4 GiB, ending below 2^64",
                    size,
                );
            };
            let volume = self.volume.as_ref().map_or(0, |volume| volume.values[index]);
            let Ok(volume) = u32::try_from(volume) else {
                return field(4, "a volume below 2^32", volume);
            };
            let time_ns = clock.stamp(self.time.values[index], 1);
            let time_ns = time_ns.map_err(|stop| (index, Wrong::Order(stop)))?;
            out.push(Request { time_ns, offset, bytes, volume, kind });
        }
        fault.map_or(Ok(()), Err)
    }

    /// The first record with an invalid number or kind.
    fn fault(&self) -> Option<(usize, Wrong)> {
        let numbers = [Some(&self.time), Some(&self.offset), Some(&self.size), self.volume.as_ref()];
        let wrong = (1..).zip(numbers).filter_map(|(column, numbers)| {
            let Fault { index, expected, found } = numbers?.fault.clone()?;
            Some((index, Wrong::Field { column, expected, found }))
        });
        let unknown = self.kind.unknown.clone().map(|(index, found)| {
            (index, Wrong::Field { column: 5, expected: "read, write, trim or flush", found })
        });
        wrong.chain(unknown).min_by_key(|(index, _)| *index)
    }
}
