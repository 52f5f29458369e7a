//! Thrift's compact protocol, as far as it is needed to check headers before the Parquet library reads them: the
//! library allocates memory for the number of items that a header declares, whether they exist or not.

use std::io::{self, Read};

use parquet::errors::{ParquetError, Result};

/// Structures within structures. Those of Parquet are 8 deep.
const MOST_NESTED: u32 = 32;

/// The types of the protocol, as encoded in a field's first byte.
pub(super) const STRUCT: u8 = 12;
const I32: u8 = 5;

/// Walks over a structure byte by byte, and never over more than a given number of bytes.
pub(super) struct Walker<R> {
    from: R,
    most: u64,
    left: u64,
}

fn wrong(what: &str) -> ParquetError {
    ParquetError::General(what.to_owned())
}

impl<R: Read> Walker<R> {
    pub(super) fn new(from: R, most: u64) -> Self {
        Self { from, most, left: most }
    }

    /// Bytes walked over so far.
    pub(super) fn walked(&self) -> u64 {
        self.most - self.left
    }

    fn take(&mut self, count: u64) -> Result<()> {
        self.left = self.left.checked_sub(count).ok_or_else(|| wrong("a header is longer than its place"))?;
        Ok(())
    }

    pub(super) fn byte(&mut self) -> Result<u8> {
        self.take(1)?;
        let mut byte = [0];
        self.from.read_exact(&mut byte)?;
        Ok(byte[0])
    }

    pub(super) fn pass(&mut self, count: u64) -> Result<()> {
        self.take(count)?;
        let passed = io::copy(&mut self.from.by_ref().take(count), &mut io::sink())?;
        if passed == count { Ok(()) } else { Err(wrong("a header is cut off")) }
    }

    pub(super) fn varint(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(wrong("a number of a header is longer than 64 bits"))
    }

    /// A signed number of 32 bits, the value of a field of such a type.
    pub(super) fn number(&mut self, kind: u8) -> Result<i32> {
        if kind != I32 {
            return Err(wrong("a field of a header has the wrong type"));
        }
        let raw = self.varint()?;
        i32::try_from((raw >> 1) as i64 ^ -((raw & 1) as i64))
            .map_err(|_| wrong("a number of a header is too large"))
    }

    /// The next field of a structure, by its number and type; none at its end. `last` begins with 0.
    pub(super) fn field(&mut self, last: &mut i16) -> Result<Option<(i16, u8)>> {
        let head = self.byte()?;
        if head == 0 {
            return Ok(None);
        }
        *last = match head >> 4 {
            0 => {
                let raw = self.varint()?;
                ((raw >> 1) as i64 ^ -((raw & 1) as i64)) as i16
            }
            step => last.wrapping_add(i16::from(step)),
        };
        Ok(Some((*last, head & 0x0F)))
    }

    /// Skips a value of type `kind`.
    pub(super) fn skip(&mut self, kind: u8) -> Result<()> {
        self.skip_nested(kind, MOST_NESTED)
    }

    fn skip_nested(&mut self, kind: u8, nested: u32) -> Result<()> {
        let nested = nested.checked_sub(1).ok_or_else(|| wrong("a header is nested too deeply"))?;
        match kind {
            // The type of a Boolean field contains its value.
            1 | 2 => Ok(()),
            3 => self.pass(1),
            4..=6 => self.varint().map(drop),
            7 => self.pass(8),
            8 => {
                let length = self.varint()?;
                self.pass(length)
            }
            9 | 10 => {
                let head = self.byte()?;
                let (short, items) = (u64::from(head >> 4), head & 0x0F);
                let count = if short == 15 { self.varint()? } else { short };
                // An item takes at least a byte, so a list cannot declare more items than bytes follow.
                if count > self.left {
                    return Err(wrong("a list of a header is longer than the header"));
                }
                (0..count).try_for_each(|_| match items {
                    // In a list each Boolean has a byte of its own.
                    1 | 2 => self.pass(1),
                    other => self.skip_nested(other, nested),
                })
            }
            STRUCT => {
                let mut last = 0;
                while let Some((_, kind)) = self.field(&mut last)? {
                    self.skip_nested(kind, nested)?;
                }
                Ok(())
            }
            // Maps and undefined types: Parquet has none.
            _ => Err(wrong("a field of a header has a type that Parquet does not use")),
        }
    }
}
