//! Reads a trace that an argument names, and writes one: shared by `info`, `convert`, `slice` and `gen`.

use std::path::Path;

use clap::Args;
use stripewise_base::suggest;
use stripewise_base::units::Count;
use stripewise_trace::format::format_names;
use stripewise_trace::{
    Compression, Disorder, FormatName, OpenOptions, ReadReport, Reader, Source, TraceError, WriteOptions,
    WriteReport, Writer,
};

use crate::comparison::columns;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::interrupt;
use crate::progress::Progress;

/// How to read a trace.
#[derive(Clone, Debug, Args)]
pub(super) struct Input {
    /// The trace's format [default: detected]
    #[arg(long, value_name = "FORMAT")]
    format: Option<FormatName>,

    /// The columns of a text in an unknown format, as in `time:ms,volume,offset:sectors,size:bytes,op:r/w`
    ///
    /// The same as `--format columns:…`. Units: time s, ms, us, ns, filetime, date; offset and size bytes, sectors, kib, pages,
    /// mib; `volume:name` numbers names. `op` takes the words for a read and for a write, perhaps for a trim and a flush, as in
    /// `op:R|RA/W|WS/D/F`; `-` is an unused column, `...` any number of further unused columns. Columns by the names of a header:
    /// `time=Timestamp:us,op=Type,offset=Offset,size=Length`; by the keys of JSON lines: `json:time=ts:us,…`; by the groups of a
    /// regular expression: `regex:(?<time_us>…) (?<op>…) …`. After semicolons: `delimiter=comma|tab|semicolon|blank`,
    /// `header=LINES`, `decimal=comma`, `only=COLUMN:WORD/WORD`. A file with a header of obvious names needs no columns.
    #[arg(
        long,
        value_name = "COLUMNS",
        conflicts_with = "format",
        value_parser = columns,
        allow_hyphen_values = true
    )]
    columns: Option<FormatName>,

    /// How to treat requests that are older than a request before them: `clamp`, `sort` or `refuse`
    ///
    /// `clamp` gives them the time of the request before them; `sort` moves them to their place, up to 65,536 requests back;
    /// both count them. Formats whose lines are not in the order of arrival are always sorted.
    #[arg(long, value_name = "HOW", default_value = "clamp", value_parser = disorder)]
    disorder: Disorder,

    /// Skip and count up to N lines that are no requests
    #[arg(long, value_name = "N", default_value = "0")]
    skip_bad: Count,
}

impl Input {
    /// Opens the trace at `path`; `-` is the standard input.
    pub(super) fn open(&self, path: &Path) -> Outcome<Reader> {
        let format = self.columns.or(self.format);
        let options = OpenOptions { format, skip_bad: self.skip_bad.0, disorder: self.disorder };
        if path.as_os_str() == "-" {
            let stdin = Box::new(std::io::stdin());
            return Ok(stripewise_trace::open_stream(stdin, Path::new("standard input"), &options)?);
        }
        Ok(stripewise_trace::open(path, &options)?)
    }
}

fn disorder(text: &str) -> Result<Disorder, String> {
    match text {
        "clamp" => Ok(Disorder::Clamp),
        "sort" => Ok(Disorder::Sort),
        "refuse" => Ok(Disorder::Refuse),
        _ => Err("write clamp, sort or refuse".to_owned()),
    }
}

/// How to write a trace.
#[derive(Clone, Debug, Args)]
pub(super) struct Output {
    /// Replace an existing file
    #[arg(long)]
    overwrite: bool,

    /// Round times down to the resolution of the format, and count the rounded times
    #[arg(long)]
    round_times: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Output {
    /// Writes `source` to the trace at `path` (`-` is the standard output), and prints a summary. `report` supplies
    /// the findings of the reader at the end.
    pub(super) fn write<S: Source>(
        &self,
        mut source: S,
        path: &Path,
        format: FormatName,
        report: impl FnOnce(&S) -> Option<ReadReport>,
        context: &mut Context<'_>,
    ) -> Outcome {
        let mut options = WriteOptions::new(format);
        options.overwrite = self.overwrite;
        options.round_times = self.round_times;
        let to_stdout = path.as_os_str() == "-";
        if to_stdout && self.json {
            return Err(Failure::usage("--json and a trace cannot both go to the standard output"));
        }
        let mut writer = if to_stdout {
            options.compression = Some(Compression::None);
            Writer::to_stream(Box::new(std::io::stdout()), Path::new("standard output"), &options)?
        } else {
            Writer::create(path, &options).map_err(|error| exists(path, error))?
        };
        let progress = Progress::new(context.quiet);
        let line = progress.line(&path.display().to_string());
        let mut batch = Vec::with_capacity(4096);
        let mut requests = 0;
        loop {
            source.next_batch(&mut batch)?;
            // A dropped writer leaves no file.
            interrupt::check()?;
            if batch.is_empty() {
                break;
            }
            writer.write(&batch)?;
            requests += batch.len() as u64;
            line.update(requests, source.progress(), batch.last().map(|request| request.time_ns));
        }
        let written = writer.finish()?;
        drop(line);
        if let Some(read) = report(&source) {
            remarks(&read, context);
        }
        print_summary(&written, path, to_stdout, self.json, context)
    }
}

/// The format to write to `path`: the `requested` one, that of the file name's ending, or `otherwise`.
pub(super) fn format_for(
    path: &Path,
    requested: Option<FormatName>,
    otherwise: Option<FormatName>,
    option: &str,
) -> Outcome<FormatName> {
    if let Some(format) = requested.or_else(|| format_of(path)).or(otherwise) {
        return Ok(format);
    }
    let names: Vec<String> = format_names().into_iter().map(|(name, _)| name).collect();
    let near = ending(path).and_then(|ending| suggest::nearest(ending, names.iter().map(String::as_str)));
    let remedy = near.map_or(String::new(), |near| format!(" (did you mean .{near}?)"));
    Err(Failure::usage(format!(
        "{}: its ending names no format{remedy}; name one with {option}: {}",
        path.display(),
        names.join(", ")
    )))
}

/// Prints the summary, to the standard output unless the trace itself went there.
fn print_summary(
    written: &WriteReport,
    path: &Path,
    to_stdout: bool,
    json: bool,
    context: &mut Context<'_>,
) -> Outcome {
    let requests = crate::human::count(written.requests);
    let text = format!("{}: {requests} requests as {}", path.display(), written.format);
    if written.rounded_times > 0 {
        context.remark(&format!("{} times were rounded down to the format's grain", written.rounded_times));
    }
    match (json, to_stdout) {
        (true, _) => return context.json(written),
        (false, true) => context.remark(&text),
        (false, false) if !context.quiet => writeln!(context.out, "{text}")?,
        (false, false) => {}
    }
    Ok(())
}

/// Prints the remarks that matter to the reader of the results.
pub(super) fn remarks(read: &ReadReport, context: &Context<'_>) {
    let count = crate::human::count;
    if let Some(note) = &read.note {
        context.remark(&format!("{}: {note}", read.path.display()));
    }
    if read.skipped_bad > 0 {
        let first = read.first_bad.as_deref().unwrap_or_default();
        context.remark(&format!(
            "skipped {} lines that are no requests; the first: {first}",
            count(read.skipped_bad)
        ));
    }
    if read.clamped_times > 0 {
        let what = "requests were older than the one before them and got its time";
        context.remark(&format!("{}: {} {what}", read.path.display(), count(read.clamped_times)));
    }
    let counts = [
        (read.other_lines, "lines were of other events and were skipped"),
        (read.sorted_times, "requests were older than one before them and were put in their place"),
        (read.spread_times, "requests had the time of the one before them and were spread"),
    ];
    for (number, what) in counts.into_iter().filter(|(number, _)| *number > 0) {
        context.remark(&format!("{}: {} {what}", read.path.display(), count(number)));
    }
    if read.unterminated {
        context.remark(&format!(
            "{}: the last line has no line feed: the file may be cut off",
            read.path.display()
        ));
    }
}

/// Reports an existing file together with the remedy.
fn exists(path: &Path, error: TraceError) -> Failure {
    match &error {
        TraceError::Io { source, .. } if source.kind() == std::io::ErrorKind::AlreadyExists => {
            Failure::failed(format!("{}: the file exists; to replace it, give --overwrite", path.display()))
        }
        _ => error.into(),
    }
}

/// The ending of a file's name, without that of a compression.
fn ending(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?;
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(name);
    name.rsplit_once('.').map(|(_, ending)| ending)
}

/// The format of a file's ending.
fn format_of(path: &Path) -> Option<FormatName> {
    ending(path)?.parse().ok()
}

/// A path as messages show it.
pub(super) fn shown(path: &Path) -> String {
    if path.as_os_str() == "-" { "standard input".to_owned() } else { path.display().to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_ends_in_its_format_whatever_its_compression() {
        for (name, format) in [
            ("a.parquet", "parquet"),
            ("a.spc", "spc"),
            ("dir.x/b.msr.zst", "msr"),
            ("c.disksim.gz", "disksim"),
        ] {
            assert_eq!(format_of(Path::new(name)), Some(format.parse().unwrap()), "{name}");
        }
        for name in ["a", "a.csv", "a.gz", "parquet"] {
            assert_eq!(format_of(Path::new(name)), None, "{name}");
        }
    }
}
