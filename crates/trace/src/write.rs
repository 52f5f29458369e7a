//! Writes traces, in every format that can be read.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::write::GzEncoder;
use serde::Serialize;

use crate::format::{Chosen, FormatName, LineFormat, Record};
use crate::partial::PartialFile;
use crate::unpack::Compression;
use crate::{Kind, Request, TraceError};

/// How to write a trace.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// The format.
    pub format: FormatName,
    /// Compression of text; none chooses it by the ending of the file's name (`.gz`, `.zst`). Parquet compresses
    /// internally and takes none.
    pub compression: Option<Compression>,
    /// Round times down to the format's grain and count them. Otherwise a time that does not fit is an error.
    pub round_times: bool,
    /// Replace a file that exists.
    pub overwrite: bool,
    /// Notes for a Parquet file's metadata: the origin of the trace.
    pub notes: Vec<(String, String)>,
}

impl WriteOptions {
    /// Write `format`, exactly, to a new file.
    pub fn new(format: FormatName) -> Self {
        Self { format, compression: None, round_times: false, overwrite: false, notes: Vec::new() }
    }
}

/// The summary of a written trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WriteReport {
    /// Its format, as `--format` names it.
    pub format: String,
    /// Requests written.
    pub requests: u64,
    /// Times that were rounded down to the format's grain.
    pub rounded_times: u64,
}

/// A trace that is being written. A file appears under its name only once [`Writer::finish`] has succeeded.
pub struct Writer {
    /// For messages.
    path: PathBuf,
    body: Option<Body>,
    /// The file under its temporary name.
    file: Option<PartialFile>,
    round_times: bool,
    latest_ns: u64,
    report: WriteReport,
}

type Sink = Box<dyn Write + Send>;

enum Body {
    Text {
        format: Box<dyn LineFormat>,
        line: Vec<u8>,
        out: Encoder,
    },
    #[cfg(feature = "parquet")]
    Parquet(Box<crate::format::parquet::ParquetWriter<Sink>>),
}

enum Encoder {
    Plain(Sink),
    Gzip(GzEncoder<Sink>),
    Zstd(zstd::stream::write::Encoder<'static, Sink>),
}

impl Writer {
    /// Creates the file at `path`.
    ///
    /// # Errors
    /// If the file exists and may not be replaced, or cannot be created.
    pub fn create(path: &Path, options: &WriteOptions) -> Result<Self, TraceError> {
        let io = |source| TraceError::Io { path: path.to_owned(), source };
        if !options.overwrite && path.exists() {
            return Err(io(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "exists already; it was left as it is",
            )));
        }
        let partial = PartialFile::create(path).map_err(io)?;
        let file = partial.file().try_clone().map_err(io)?;
        let sink: Sink = Box::new(BufWriter::with_capacity(1 << 17, file));
        let by_name =
            path.file_name().and_then(|name| name.to_str()).map_or(Compression::None, Compression::of_name);
        let mut writer = Self::begin(sink, path, options, by_name)?;
        writer.file = Some(partial);
        Ok(writer)
    }

    /// Writes to a stream such as standard output; messages use `name` as its path.
    ///
    /// # Errors
    /// If the stream fails.
    pub fn to_stream(
        stream: Box<dyn Write + Send>,
        name: &Path,
        options: &WriteOptions,
    ) -> Result<Self, TraceError> {
        Self::begin(Box::new(BufWriter::with_capacity(1 << 17, stream)), name, options, Compression::None)
    }

    fn begin(
        sink: Sink,
        path: &Path,
        options: &WriteOptions,
        by_name: Compression,
    ) -> Result<Self, TraceError> {
        let report = WriteReport { format: options.format.to_string(), ..WriteReport::default() };
        let chosen = options.format.chosen();
        let is_read_only = chosen.format().is_some_and(|format| !format.is_written());
        if is_read_only || matches!(chosen, Chosen::Binary { .. }) {
            let name = &report.format;
            return Err(TraceError::Setting(format!(
                "{name} is read and not written; write `parquet` or `msr`"
            )));
        }
        let body = match options.format.chosen().lines() {
            Some(format) => {
                let out = match options.compression.unwrap_or(by_name) {
                    Compression::None => Encoder::Plain(sink),
                    Compression::Gzip => Encoder::Gzip(GzEncoder::new(sink, flate2::Compression::default())),
                    Compression::Zstd => Encoder::Zstd(
                        zstd::stream::write::Encoder::new(sink, 0)
                            .map_err(|source| TraceError::Io { path: path.to_owned(), source })?,
                    ),
                    other => {
                        return Err(TraceError::Setting(format!(
                            "{} is read and not written; name a file that ends in .gz or .zst",
                            other.name()
                        )));
                    }
                };
                let mut line = Vec::new();
                format.head(&mut line);
                Body::Text { format, line, out }
            }
            None if options.compression.unwrap_or(by_name) != Compression::None => {
                return Err(TraceError::Setting(
                    "Parquet compresses inside; name a file that ends in .parquet alone".to_owned(),
                ));
            }
            #[cfg(feature = "parquet")]
            None => Body::Parquet(Box::new(crate::format::parquet::ParquetWriter::new(
                sink,
                path,
                &options.notes,
            )?)),
            #[cfg(not(feature = "parquet"))]
            None => {
                return Err(TraceError::Setting(
                    "this build leaves out Parquet; build with the feature `parquet`".to_owned(),
                ));
            }
        };
        let round_times = options.round_times;
        Ok(Self { path: path.to_owned(), body: Some(body), file: None, round_times, latest_ns: 0, report })
    }

    /// Appends `requests`.
    ///
    /// # Errors
    /// If one of them does not fit the format, in which case none of them is written; or if the operating system
    /// refuses.
    pub fn write(&mut self, requests: &[Request]) -> Result<(), TraceError> {
        let Some(body) = &mut self.body else { return Ok(()) };
        for (index, request) in requests.iter().enumerate() {
            let fits = sound(request, self.latest_ns).and_then(|()| match body {
                Body::Text { format, line, .. } => {
                    let (record, rounded) = record(request, format.as_ref(), self.round_times)?;
                    self.report.rounded_times += u64::from(rounded);
                    format.line(&record, line)?;
                    line.push(b'\n');
                    Ok(())
                }
                #[cfg(feature = "parquet")]
                Body::Parquet(_) => Ok(()),
            });
            if let Err(loss) = fits {
                body.discard();
                return Err(TraceError::Unfit {
                    path: self.path.clone(),
                    format: self.report.format.clone(),
                    request: self.report.requests + index as u64 + 1,
                    loss,
                });
            }
            self.latest_ns = request.time_ns;
        }
        match body {
            Body::Text { line, out, .. } => {
                let written = out.as_write().write_all(line);
                line.clear();
                written.map_err(|source| TraceError::Io { path: self.path.clone(), source })?;
            }
            #[cfg(feature = "parquet")]
            Body::Parquet(file) => file.write(requests, &self.path)?,
        }
        self.report.requests += requests.len() as u64;
        Ok(())
    }

    /// Completes the trace, and gives a file its final name.
    ///
    /// # Errors
    /// The operating system's.
    pub fn finish(mut self) -> Result<WriteReport, TraceError> {
        let io = |source| TraceError::Io { path: self.path.clone(), source };
        let mut sink = match self.body.take() {
            Some(Body::Text { out, .. }) => out.finish().map_err(io)?,
            #[cfg(feature = "parquet")]
            Some(Body::Parquet(file)) => file.finish(&self.path)?,
            None => return Ok(self.report.clone()),
        };
        sink.flush().map_err(io)?;
        drop(sink);
        if let Some(partial) = self.file.take() {
            partial.keep().map_err(io)?;
        }
        Ok(std::mem::take(&mut self.report))
    }
}

impl Body {
    /// Drops the lines that were not passed on.
    fn discard(&mut self) {
        match self {
            Self::Text { line, .. } => line.clear(),
            #[cfg(feature = "parquet")]
            Self::Parquet(_) => {}
        }
    }
}

impl Encoder {
    fn as_write(&mut self) -> &mut dyn Write {
        match self {
            Self::Plain(out) => out,
            Self::Gzip(out) => out,
            Self::Zstd(out) => out,
        }
    }

    fn finish(self) -> io::Result<Sink> {
        match self {
            Self::Plain(out) => Ok(out),
            Self::Gzip(out) => out.finish(),
            Self::Zstd(out) => out.finish(),
        }
    }
}

/// Checks the rules of every format for a request.
fn sound(request: &Request, latest_ns: u64) -> Result<(), String> {
    if request.time_ns < latest_ns {
        let back = latest_ns - request.time_ns;
        return Err(format!("it is {back} ns older than the one before it; sort the trace first"));
    }
    if request.bytes == 0 && request.kind != Kind::Flush {
        return Err("its size is 0, which only a flush may have".to_owned());
    }
    if request.offset.checked_add(u64::from(request.bytes)).is_none() {
        return Err("it ends beyond 64-bit addresses".to_owned());
    }
    Ok(())
}

/// The request as a record of a text format, and whether its time was rounded.
fn record(request: &Request, format: &dyn LineFormat, round: bool) -> Result<(Record, bool), String> {
    let (kind, tick_ns) = (request.kind, format.tick_ns());
    if !format.holds(kind) {
        let kinds = match kind {
            Kind::Flush => "flushes",
            Kind::Trim => "trims",
            Kind::Read | Kind::Write => "requests of this kind",
        };
        return Err(format!("the format has reads and writes, no {kinds}; write `parquet`"));
    }
    let rest = request.time_ns % tick_ns;
    if rest > 0 && !round {
        return Err(format!(
            "its time, {} ns, is no multiple of the format's grain of {tick_ns} ns; allow rounding, or write \
             a finer format",
            request.time_ns
        ));
    }
    let (time, offset) = (request.time_ns / tick_ns, request.offset);
    Ok((Record { time, kind, offset, bytes: request.bytes, volume: request.volume }, rest > 0))
}
