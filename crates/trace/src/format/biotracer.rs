//! BIOTracer (Zhou, Pan, Wang and Xie, IISWC 2015; Nexus 5): start sector, sectors, bytes, type, and the times in
//! seconds when the request was generated, processed, submitted and finished. Bit 0 of the type is set for a write.
//! The reader uses the first time, the arrival.
//!
//! Lines are in the order of completion, and the reader sorts them. A phone sets its clock while it boots, so earlier
//! and later times come mixed: a step of more than a day, either way, changes to another clock. Each clock is placed
//! so that its first request arrives together with the line before it. That is a choice, since the time that setting
//! the clock took is unknown.

use super::fields::{SECTOR, one_volume, sectors, whole_sectors};
use super::{Cursor, Entry, Expected, Format, LineFormat, Loss, Record, Separator, push_decimal, push_number};
use crate::Kind;
use crate::order::Order;

pub(super) const FORMAT: Format = Format {
    name: "biotracer",
    about: "BIOTracer, sorted: LBA (512 B), size (512 B), size B, type (bit 0: 1 = write), four times s, the first taken",
    variants: &[],
    same_as: None,
    separator: Separator::Blanks,
    fields: 8,
    make: |_| Box::<BioTracer>::default(),
};

/// A day in nanoseconds: longer than the distance between requests of one clock, and shorter than a change of clocks.
const DAY: u64 = 86_400 * 1_000_000_000;
/// The base of the placed times, so a clock may lie before the first one.
const BASE: u64 = 1 << 62;
/// The most clocks in one trace, which bounds the memory for them.
const CLOCKS: usize = 16;

#[derive(Default)]
struct BioTracer {
    clocks: Vec<Clock>,
    /// The clock of the previous line.
    current: usize,
    steps: u64,
}

/// A clock of the trace: its latest time, and the place of that time on the trace's time line.
struct Clock {
    latest: u64,
    laid: u64,
}

impl LineFormat for BioTracer {
    fn tick_ns(&self) -> u64 {
        1
    }

    fn order(&self) -> Order {
        Order::Sorted
    }

    fn record(&mut self, line: &mut Cursor<'_>) -> Result<Entry, Expected> {
        let (offset, bytes) = sectors(line, |line| line.blank())?;
        line.blank()?;
        if line.number("the size in bytes: 512 times that in sectors")? != u64::from(bytes) {
            return Err(line.reject());
        }
        line.blank()?;
        let kind = if line.number("a type: a whole number whose bit 0 is set for a write")? & 1 == 0 {
            Kind::Read
        } else {
            Kind::Write
        };
        line.blank()?;
        let mut time = 0;
        for stage in 0..4 {
            if stage > 0 {
                line.blank()?;
            }
            let stamp = line.decimal(9, "a time: decimal seconds, and four of them")?;
            if stage == 0 {
                time = stamp;
            }
        }
        let time = self.lay(time).ok_or("a time of one of at most 16 clocks that lie more than a day apart")?;
        Ok(Entry::Request(Record { time, kind, offset, bytes, volume: 0 }))
    }

    fn note(&self) -> Option<String> {
        (self.steps > 0).then(|| {
            format!(
                "times of {} clocks came mixed ({} steps of more than a day); they were laid over each other",
                self.clocks.len(),
                self.steps
            )
        })
    }

    fn line(&mut self, record: &Record, line: &mut Vec<u8>) -> Result<(), Loss> {
        one_volume(record)?;
        let (sector, sectors) = whole_sectors(record)?;
        let write = u64::from(record.kind == Kind::Write);
        for (index, value) in [sector, sectors, sectors * SECTOR, write].into_iter().enumerate() {
            if index > 0 {
                line.push(b'\t');
            }
            push_number(line, value);
        }
        for _ in 0..4 {
            line.push(b'\t');
            push_decimal(line, record.time, 9, 9);
        }
        Ok(())
    }
}

impl BioTracer {
    /// The place of a time on the trace's time line; nothing if the time belongs to one clock too many.
    fn lay(&mut self, time: u64) -> Option<u64> {
        let near = |clock: &Clock| clock.latest.abs_diff(time) <= DAY;
        if self.clocks.is_empty() {
            self.clocks.push(Clock { latest: time, laid: BASE });
        } else if !near(&self.clocks[self.current]) {
            self.steps += 1;
            let laid = self.clocks[self.current].laid;
            self.current = match self.clocks.iter().position(near) {
                Some(known) => known,
                None if self.clocks.len() < CLOCKS => {
                    self.clocks.push(Clock { latest: time, laid });
                    self.clocks.len() - 1
                }
                None => return None,
            };
        }
        let clock = &mut self.clocks[self.current];
        // Neither leaves 64 bits: a step is a day at most, and every file has fewer than 2^45 lines.
        clock.laid = clock.laid.checked_add(time)?.checked_sub(clock.latest)?;
        clock.latest = time;
        Some(clock.laid)
    }
}
