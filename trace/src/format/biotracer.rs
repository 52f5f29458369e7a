//! BIOTracer (Zhou, Pan, Wang and Xie, IISWC 2015; Nexus 5): start sector, sectors, bytes, type, and the times in seconds
//! when the request was generated, processed, submitted and finished. Bit 0 of the type is set for a write. The time taken
//! is the first, the arrival.
//!
//! Lines stand in the order of completion and are sorted. While a phone boots its clock is set, and times of before and
//! after come mixed: a step of more than a day, either way, changes to another clock. Each clock is laid so that its first
//! request arrives together with the line before it; that is a choice, since how long setting it took is not known.

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

/// A day in nanoseconds: more than requests of one clock lie apart, and less than a clock is set by.
const DAY: u64 = 86_400 * 1_000_000_000;
/// Times are laid from here on, so that a clock may lie before the first.
const BASE: u64 = 1 << 62;
/// Clocks in one trace, which bounds what is remembered of them.
const CLOCKS: usize = 16;

#[derive(Default)]
struct BioTracer {
    clocks: Vec<Clock>,
    /// The one of the line before.
    current: usize,
    steps: u64,
}

/// A clock that was used: its latest time, and where that lies on the line of time that the trace gets.
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
    /// Where a time lies on the trace's line; nothing if it belongs to one clock too many.
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
        // Neither can leave 64 bits: a step is a day at most and there are fewer than 2^45 lines in any file.
        clock.laid = clock.laid.checked_add(time)?.checked_sub(clock.latest)?;
        clock.latest = time;
        Some(clock.laid)
    }
}
