//! Opens a trace of any format and compression, and reports the findings of the reader.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::format::{BinaryReader, Chosen, FormatName, binary_order, detect_binary, is_tar, members};
use crate::input::{Content, Input};
use crate::open_options::OpenOptions;
use crate::order::Sorter;
use crate::read_report::ReadReport;
use crate::text::TextReader;
use crate::{Request, Source, TraceError};

/// Requests in a batch if the caller's vector has no capacity.
const BATCH: usize = 4096;

/// A trace that is being read.
pub struct Reader {
    inner: Inner,
    /// The sorter, if the format or the caller asks for one.
    sorter: Option<Sorter>,
    /// Whether it has delivered a request.
    delivered: bool,
}

enum Inner {
    Text(Box<TextReader>),
    Binary(Box<BinaryReader>),
    #[cfg(feature = "parquet")]
    Parquet(Box<crate::format::parquet::ParquetReader>),
}

/// Opens the trace at `path`: detects its compression and, unless `options` name it, its format.
///
/// # Errors
/// If the file cannot be read, is no trace, or fits no format or two.
pub fn open(path: &Path, options: &OpenOptions) -> Result<Reader, TraceError> {
    let members = members(path)?;
    let (first, rest) = members.split_first().expect("a trace has a file");
    let mut inputs = match (Content::of_file(first)?, rest) {
        (Content::Parquet, _) => return open_parquet(path, members, options),
        (Content::Stream(input), []) => return open_input(input, options),
        (Content::Stream(input), _) => vec![input],
    };
    for member in rest {
        if let Content::Stream(input) = Content::of_file(member)? {
            inputs.push(input);
        }
    }
    let samples = inputs.iter_mut().map(|input| Ok(detect_binary(input.sample()?)));
    let found = samples.collect::<Result<Vec<_>, TraceError>>()?.into_iter().flatten().next();
    open_binary(path, inputs, found, options)
}

/// Reads a trace from a stream such as standard input; messages use `name` as its path.
///
/// # Errors
/// As [`open`]; Parquet is refused, since it is read from its end.
pub fn open_stream(
    stream: Box<dyn Read + Send>,
    name: &Path,
    options: &OpenOptions,
) -> Result<Reader, TraceError> {
    open_input(Content::of_pipe(name, stream)?, options)
}

/// Opens an input that is not Parquet.
fn open_input(mut input: Input, options: &OpenOptions) -> Result<Reader, TraceError> {
    let named = options.format.map(FormatName::chosen);
    let (tar, found) = (is_tar(input.sample()?), detect_binary(input.sample()?));
    match (named, found) {
        (None | Some(Chosen::Binary { .. }), _) if tar => {
            let named = match named {
                Some(Chosen::Binary { format, variant }) => Some((format, variant)),
                _ => None,
            };
            let reader = BinaryReader::open_tar(input, named, options)?;
            Ok(Reader::binary(reader, options))
        }
        (None, Some(_)) | (Some(Chosen::Binary { .. }), _) => {
            let path = input.path().to_owned();
            open_binary(&path, vec![input], found, options)
        }
        _ => open_text(input, options),
    }
}

/// Opens the streams of one binary trace, in the named format or the one that was `found`.
fn open_binary(
    path: &Path,
    inputs: Vec<Input>,
    found: Option<(usize, usize)>,
    options: &OpenOptions,
) -> Result<Reader, TraceError> {
    let chosen = match options.format.map(FormatName::chosen) {
        Some(Chosen::Binary { format, variant }) => Some((format, variant)),
        Some(_) => None,
        None => found,
    };
    let Some(chosen) = chosen else {
        let reason =
            "consists of several files, as only a blktrace and Parquet do, and they are neither".to_owned();
        return Err(TraceError::NotATrace { path: path.to_owned(), reason });
    };
    Ok(Reader::binary(BinaryReader::open(inputs, chosen, options)?, options))
}

fn open_text(input: Input, options: &OpenOptions) -> Result<Reader, TraceError> {
    let reader = TextReader::open(input, options)?;
    let sorter = Sorter::new(reader.order(), options.disorder);
    Ok(Reader::new(Inner::Text(Box::new(reader)), sorter))
}

fn open_parquet(path: &Path, files: Vec<PathBuf>, options: &OpenOptions) -> Result<Reader, TraceError> {
    if let Some(name) = options.format
        && name.chosen() != Chosen::Parquet
    {
        let reason = format!("is Parquet and not {name}; leave the format out");
        return Err(TraceError::NotATrace { path: path.to_owned(), reason });
    }
    #[cfg(feature = "parquet")]
    {
        let reader = crate::format::parquet::ParquetReader::open(path, files, options)?;
        let sorter = Sorter::new(crate::order::Order::AsFiled, options.disorder);
        Ok(Reader::new(Inner::Parquet(Box::new(reader)), sorter))
    }
    #[cfg(not(feature = "parquet"))]
    Err(TraceError::NotATrace {
        path: files.into_iter().next().unwrap_or_else(|| path.to_owned()),
        reason: "is Parquet, which this build leaves out; build with the feature `parquet`".to_owned(),
    })
}

impl Inner {
    fn append(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        match self {
            Self::Text(reader) => reader.append(batch),
            Self::Binary(reader) => reader.append(batch),
            #[cfg(feature = "parquet")]
            Self::Parquet(reader) => reader.append(batch),
        }
    }
}

impl Reader {
    fn binary(reader: BinaryReader, options: &OpenOptions) -> Self {
        let sorter = Sorter::new(binary_order(reader.format()), options.disorder);
        Self::new(Inner::Binary(Box::new(reader)), sorter)
    }

    fn new(inner: Inner, sorter: Option<Sorter>) -> Self {
        Self { inner, sorter, delivered: false }
    }

    /// The error of a trace that ended without a request.
    #[cold]
    fn no_requests(&self) -> TraceError {
        let report = self.report();
        let stages = report
            .format
            .parse::<FormatName>()
            .map(FormatName::other_stages)
            .unwrap_or_default()
            .join(" or ");
        let remedy = if report.lines == report.blank_lines {
            "record the trace, or fetch it, again".to_owned()
        } else if report.other_lines > 0 && !stages.is_empty() {
            format!("requests at another stage are read with --format {stages}")
        } else if report.skipped_bad > 0 {
            "name its format with --format, or its columns with --columns, and skip fewer lines".to_owned()
        } else {
            "give the file that holds the requests, or name its format with --format".to_owned()
        };
        let found = report.found(if matches!(self.inner, Inner::Binary(_)) { "record" } else { "line" });
        let ReadReport { path, format, lines, other_lines, .. } = report;
        TraceError::NoRequests { path, format, lines, other_lines, found, remedy }
    }

    /// The report so far.
    pub fn report(&self) -> ReadReport {
        let mut report = match &self.inner {
            Inner::Text(reader) => reader.report(),
            Inner::Binary(reader) => reader.report(),
            #[cfg(feature = "parquet")]
            Inner::Parquet(reader) => reader.report(),
        };
        if let Some(sorter) = &self.sorter {
            // Steps that the readers count as clamped were left to the sorter.
            report.sorted_times = report.clamped_times.saturating_sub(sorter.clamped);
            report.clamped_times = sorter.clamped;
            report.spread_times = sorter.spread;
            report.complete &= sorter.is_done();
        }
        report
    }
}

impl Source for Reader {
    /// After an error `batch` holds the requests before it. Read nothing after an error. A trace that ends without a
    /// request is an error, [`TraceError::NoRequests`]: a replay of nothing looks like a result.
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        batch.clear();
        if batch.capacity() == 0 {
            batch.reserve(BATCH);
        }
        match &mut self.sorter {
            None => self.inner.append(batch),
            Some(sorter) => sorter.next_batch(batch, |held| self.inner.append(held)),
        }?;
        self.delivered |= !batch.is_empty();
        if self.delivered { Ok(()) } else { Err(self.no_requests()) }
    }

    fn progress(&self) -> Option<f64> {
        match &self.inner {
            Inner::Text(reader) => reader.progress(),
            Inner::Binary(reader) => reader.progress(),
            #[cfg(feature = "parquet")]
            Inner::Parquet(reader) => reader.progress(),
        }
    }
}
