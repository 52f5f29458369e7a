//! Reads a binary trace: merges its streams by time, and counts a request that two devices saw once.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::BINARY_FORMATS;
use super::records::Item;
use super::stream::{Head, Stream, Tally};
use super::tar::{Unpacked, unpack};
use crate::format::{Chosen, FormatName, Stop};
use crate::input::Input;
use crate::order::{Clock, Order};
use crate::{OpenOptions, ReadReport, Request, TraceError};

/// Remapped requests that are remembered until they arrive at their device. They arrive immediately.
const REMAPS: usize = 1024;

/// Reads one binary trace.
pub(crate) struct BinaryReader {
    sources: Vec<Source>,
    heads: Vec<Option<Head>>,
    /// The times of the heads.
    order: BinaryHeap<Reverse<(u64, usize)>>,
    format: usize,
    tick_ns: u64,
    tally: Tally,
    clock: Clock,
    /// Devices that have received requests.
    devices: Vec<u32>,
    /// Device and offset of requests that will arrive again at a lower device.
    remapped: VecDeque<(u32, u64)>,
    duplicates: u64,
    /// Whether an error ended the reading.
    failed: bool,
    /// A note on the stage at which requests are taken, if detection did not take the first.
    staged: Option<String>,
}

/// A source of items.
enum Source {
    Stream(Box<Stream>),
    Memory(std::vec::IntoIter<Head>),
}

impl Source {
    fn next(&mut self, tally: &mut Tally) -> Result<Option<Head>, TraceError> {
        match self {
            Self::Stream(stream) => stream.next(tally),
            Self::Memory(heads) => Ok(heads.next()),
        }
    }
}

impl BinaryReader {
    /// Reads `inputs`, which all have the format and variant `chosen`.
    pub(crate) fn open(
        inputs: Vec<Input>,
        chosen: (usize, usize),
        options: &OpenOptions,
    ) -> Result<Self, TraceError> {
        let tally = Tally::new(report(&inputs), options);
        let (format, variant) = chosen;
        let stream = |input| Source::Stream(Box::new(Stream::new(input, format, variant)));
        Self::begin(inputs.into_iter().map(stream).collect(), chosen, tally, options)
    }

    /// Reads the tar archive `input`.
    pub(crate) fn open_tar(
        input: Input,
        named: Option<(usize, usize)>,
        options: &OpenOptions,
    ) -> Result<Self, TraceError> {
        let mut tally = Tally::new(report(std::slice::from_ref(&input)), options);
        let Unpacked { chosen, files } = unpack(input, named, &mut tally)?;
        let sources = files.into_iter().map(|heads| Source::Memory(heads.into_iter())).collect();
        Self::begin(sources, chosen, tally, options)
    }

    fn begin(
        sources: Vec<Source>,
        (format, variant): (usize, usize),
        mut tally: Tally,
        options: &OpenOptions,
    ) -> Result<Self, TraceError> {
        tally.report.format = FormatName::new(Chosen::Binary { format, variant }).to_string();
        let mut reader = Self {
            heads: sources.iter().map(|_| None).collect(),
            sources,
            order: BinaryHeap::new(),
            format,
            tick_ns: (BINARY_FORMATS[format].make)(variant).tick_ns(),
            tally,
            clock: Clock::new(order(format).disorder(options.disorder)),
            devices: Vec::new(),
            remapped: VecDeque::new(),
            duplicates: 0,
            failed: false,
            staged: (BINARY_FORMATS[format].stages && variant > 0 && options.format.is_none()).then(|| {
                let first = FormatName::new(Chosen::Binary { format, variant: 0 });
                let chosen = FormatName::new(Chosen::Binary { format, variant });
                format!("its first records hold no request for {first}: read as {chosen}")
            }),
        };
        for index in 0..reader.sources.len() {
            reader.advance(index)?;
        }
        Ok(reader)
    }

    /// Its format.
    pub(crate) fn format(&self) -> usize {
        self.format
    }

    /// Merges the next item of a source.
    fn advance(&mut self, index: usize) -> Result<(), TraceError> {
        let next = self.sources[index].next(&mut self.tally);
        self.failed |= next.is_err();
        if let Some(head) = next? {
            self.order.push(Reverse((head.item.time(), index)));
            self.heads[index] = Some(head);
        }
        Ok(())
    }

    /// Appends requests up to the capacity of `batch`; none at the end.
    pub(crate) fn append(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        while batch.len() < batch.capacity() {
            let Some(Reverse((_, index))) = self.order.pop() else { break };
            let Some(head) = self.heads[index].take() else { continue };
            self.tally.report.lines += 1;
            match head.item {
                Item::Remap { record, from } => {
                    self.tally.report.other_lines += 1;
                    if self.devices.contains(&from) {
                        self.remapped.truncate(REMAPS - 1);
                        self.remapped.push_front((record.volume, record.offset));
                    }
                }
                Item::Request(record) if self.is_duplicate(record.volume, record.offset) => {
                    self.tally.report.other_lines += 1;
                    self.duplicates += 1;
                }
                Item::Request(record) => {
                    if self.devices.last() != Some(&record.volume) {
                        self.devices.retain(|&device| device != record.volume);
                        self.devices.push(record.volume);
                    }
                    match self.clock.stamp(record.time, self.tick_ns) {
                        Ok(time_ns) => {
                            batch.push(record.request(time_ns));
                            self.tally.report.requests += 1;
                        }
                        Err(stop) => self.pass(stop, &head)?,
                    }
                }
            }
            self.advance(index)?;
        }
        Ok(())
    }

    /// Whether this request already arrived at another device of the trace and was only passed on.
    fn is_duplicate(&mut self, device: u32, offset: u64) -> bool {
        let at = self.remapped.iter().position(|&remapped| remapped == (device, offset));
        at.is_some_and(|at| self.remapped.remove(at).is_some())
    }

    /// Skips a request whose time is invalid, if the options allow it.
    #[cold]
    fn pass(&mut self, stop: Stop, head: &Head) -> Result<(), TraceError> {
        let path = self.tally.report.path.clone();
        let outcome = match stop {
            Stop::Backward { back_ns, previous_ns } => {
                Err(TraceError::Backward { path, line: head.record, back_ns, previous_ns })
            }
            Stop::Unreadable { expected, .. } => self.tally.pass(TraceError::Binary {
                path,
                record: head.record,
                byte: head.byte,
                expected,
                found: head.item.time().to_string(),
            }),
        };
        if outcome.is_err() {
            self.failed = true;
            // The record does not count, like one that could not be read.
            self.tally.report.lines -= 1;
        }
        outcome
    }

    pub(crate) fn report(&self) -> ReadReport {
        let complete = self.order.is_empty() && !self.failed;
        let mut report = self.tally.report.clone();
        let mut notes: Vec<String> = Vec::new();
        notes.extend(self.staged.clone());
        if self.duplicates > 0 {
            notes.push(format!(
                "{} requests passed on between its devices were counted once",
                self.duplicates
            ));
        }
        report.note = (!notes.is_empty()).then(|| notes.join("; "));
        ReadReport { clamped_times: self.clock.stepped_back, complete, ..report }
    }

    pub(crate) fn progress(&self) -> Option<f64> {
        let size = self.tally.report.file_bytes?;
        if self.order.is_empty() || size == 0 {
            return Some(1.0);
        }
        // An archive in memory was read to its end.
        let consumed = |source: &Source| match source {
            Source::Stream(stream) => stream.bytes.consumed(),
            Source::Memory(_) => size,
        };
        let consumed: u64 = self.sources.iter().map(consumed).sum();
        Some((consumed as f64 / size as f64).min(1.0))
    }
}

/// The order of the requests of a format after its streams are merged.
pub(crate) fn order(format: usize) -> Order {
    // Interrupts write to a CPU's file between the reading of the clock and the writing of a record.
    if BINARY_FORMATS[format].stages { Order::Sorted } else { Order::AsFiled }
}

/// A report about the inputs, before the first record.
fn report(inputs: &[Input]) -> ReadReport {
    let first = inputs.first();
    ReadReport {
        path: first.map(|input| input.path().to_owned()).unwrap_or_default(),
        compression: first.map(|input| input.compression).unwrap_or_default(),
        file_bytes: inputs.iter().map(|input| input.size).sum(),
        ..ReadReport::default()
    }
}
