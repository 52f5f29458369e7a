//! Text traces: reads records from blocks of lines, and handles lines that are no records.

use crate::format::{
    Chosen, FormatName, LineFormat, Progress, Stop, Undetected, detect_text, found, is_header,
    is_oracle_general, may_quote, oracle_refusal, quoted_at, unquote,
};
use crate::input::Input;
use crate::lines::Lines;
use crate::order::{Clock, Order};
use crate::{OpenOptions, ReadReport, Request, TraceError};

/// Reads one text trace.
pub(crate) struct TextReader {
    lines: Lines,
    chosen: Chosen,
    format: Box<dyn LineFormat>,
    clock: Clock,
    skip_bad: u64,
    report: ReadReport,
    /// Whether lines have quoted fields that the format does not know, and such a line without its quotes.
    quoted: bool,
    plain: Vec<u8>,
}

impl TextReader {
    /// Reads the first lines of `input`, and finds its format unless `options` name it.
    pub(crate) fn open(input: Input, options: &OpenOptions) -> Result<Self, TraceError> {
        let lines = Lines::new(input)?;
        let path = lines.input.path().to_owned();
        // No text has zeros, and the errors of a text's reader would not help here.
        if lines.block().iter().take(512).any(|&byte| byte == 0) {
            let mut reason =
                "is binary and not Parquet; convert it to one of the text formats first".to_owned();
            if is_oracle_general(lines.buffered()) {
                reason = oracle_refusal();
            }
            return Err(TraceError::NotATrace { path, reason });
        }
        let (chosen, note) = match options.format {
            Some(name) => (name.chosen(), None),
            None => match detect_text(lines.block()) {
                Ok(detected) => (detected.chosen, detected.note),
                Err(Undetected { reason, remedy }) => {
                    return Err(TraceError::Format { path, reason, remedy });
                }
            },
        };
        let Some(mut format) = chosen.lines() else {
            let reason = "is no Parquet file: it does not begin with `PAR1`".to_owned();
            return Err(TraceError::NotATrace { path, reason });
        };
        if let Err(Undetected { reason, remedy }) = format.begin(lines.block()) {
            return Err(TraceError::Format { path, reason, remedy });
        }
        let quoted = may_quote(chosen) && lines.block().contains(&b'"');
        let report = ReadReport {
            format: FormatName::new(chosen).to_string(),
            note,
            compression: lines.input.compression,
            file_bytes: lines.input.size,
            path,
            ..ReadReport::default()
        };
        let clock = Clock::new(format.order().disorder(options.disorder));
        Ok(Self {
            lines,
            chosen,
            format,
            clock,
            skip_bad: options.skip_bad,
            report,
            quoted,
            plain: Vec::new(),
        })
    }

    /// The treatment of the order of its requests.
    pub(crate) fn order(&self) -> Order {
        self.format.order()
    }

    /// Appends requests up to the capacity of `batch`, in the order of the file; none at the end.
    pub(crate) fn append(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        while batch.len() < batch.capacity() && self.lines.fill()? {
            let before = batch.len();
            let mut progress = if self.quoted {
                self.unquoted_line(batch)
            } else {
                self.format.records(self.lines.block(), &mut self.clock, batch)
            };
            self.lines.consume(progress.bytes);
            if !self.quoted
                && progress.stop.is_some()
                && may_quote(self.chosen)
                && self.lines.line().contains(&b'"')
            {
                // Read this line again, and all others, without quotes.
                self.quoted = true;
                progress.stop = None;
            }
            self.report.lines += progress.lines;
            self.report.other_lines += progress.events;
            self.report.header_lines += progress.headers;
            self.report.requests += (batch.len() - before) as u64;
            if let Some(stop) = progress.stop {
                self.pass(stop)?;
            }
        }
        Ok(())
    }

    /// Reads the first buffered line without the quotes around its fields.
    fn unquoted_line(&mut self, batch: &mut Vec<Request>) -> Progress {
        let block = self.lines.block();
        let line = &block[..(self.lines.line().len() + 1).min(block.len())];
        self.plain.clear();
        let is_plain = !unquote(line, &mut self.plain);
        let mut progress = self.format.records(&self.plain, &mut self.clock, batch);
        match &mut progress.stop {
            None => progress.bytes = line.len(),
            Some(Stop::Unreadable { at, .. }) if !is_plain => *at = quoted_at(line, *at),
            Some(_) => {}
        }
        progress
    }

    pub(crate) fn report(&self) -> ReadReport {
        let notes = [self.report.note.clone(), self.format.note()];
        ReadReport {
            note: notes.into_iter().flatten().reduce(|first, second| format!("{first}; {second}")),
            clamped_times: self.clock.stepped_back,
            unterminated: self.lines.unterminated,
            complete: self.lines.at_end(),
            ..self.report.clone()
        }
    }

    pub(crate) fn progress(&self) -> Option<f64> {
        self.lines.progress()
    }

    /// Skips the first buffered line, which is not a record, if the options allow it; otherwise returns the error.
    #[cold]
    fn pass(&mut self, stop: Stop) -> Result<(), TraceError> {
        let text = self.lines.line();
        let number = self.report.lines + 1;
        let path = || self.report.path.clone();
        match stop {
            Stop::Backward { back_ns, previous_ns } => {
                return Err(TraceError::Backward { path: path(), line: number, back_ns, previous_ns });
            }
            Stop::Unreadable { .. } if text.trim_ascii().is_empty() => self.report.blank_lines += 1,
            Stop::Unreadable { .. } if self.chosen.format().is_some_and(|format| is_header(text, format)) => {
                self.report.header_lines += 1;
            }
            Stop::Unreadable { at, expected } => {
                let error = TraceError::Record {
                    path: path(),
                    line: number,
                    column: u32::try_from(at + 1).unwrap_or(u32::MAX),
                    expected,
                    found: found(text, at),
                };
                if self.report.skipped_bad == self.skip_bad {
                    return Err(error);
                }
                self.report.skipped_bad += 1;
                self.report.first_bad.get_or_insert_with(|| error.to_string());
            }
        }
        self.report.lines += 1;
        self.lines.consume_line();
        Ok(())
    }
}
