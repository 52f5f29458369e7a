//! A stream of bytes: a buffer with the next bytes, and their position; and the numbers in bytes.

use crate::TraceError;
use crate::input::Input;

/// Bytes in the buffer. Few under a fuzzer, which then reaches the borders.
const BUFFER: usize = if cfg!(fuzzing) { 96 } else { 64 << 10 };

/// A window over a stream.
pub(super) struct Bytes {
    pub(super) input: Input,
    buffer: Box<[u8]>,
    /// Start of the buffered bytes,
    next: usize,
    /// and their end.
    filled: usize,
    /// Position of the first buffered byte.
    pub(super) position: u64,
}

impl Bytes {
    pub(super) fn new(input: Input) -> Self {
        Self { input, buffer: vec![0; BUFFER].into_boxed_slice(), next: 0, filled: 0, position: 0 }
    }

    /// The next `count` bytes, at most 96; fewer at the end of the stream.
    #[inline]
    pub(super) fn ahead(&mut self, count: usize) -> Result<&[u8], TraceError> {
        if self.filled - self.next < count {
            self.fill()?;
        }
        Ok(&self.buffer[self.next..self.filled.min(self.next + count)])
    }

    fn fill(&mut self) -> Result<(), TraceError> {
        self.buffer.copy_within(self.next..self.filled, 0);
        self.filled -= self.next;
        self.next = 0;
        self.filled += self.input.read(&mut self.buffer[self.filled..])?;
        Ok(())
    }

    /// Skips `count` bytes, and returns how many there were.
    pub(super) fn skip(&mut self, count: usize) -> Result<usize, TraceError> {
        let mut left = count;
        while left > 0 {
            if self.next == self.filled {
                self.fill()?;
            }
            let part = left.min(self.filled - self.next);
            if part == 0 {
                break;
            }
            self.next += part;
            self.position += part as u64;
            left -= part;
        }
        Ok(count - left)
    }

    /// Skips to the next four bytes for which `found` returns true, or to the end.
    pub(super) fn skip_until(&mut self, found: impl Fn([u8; 4]) -> bool) -> Result<(), TraceError> {
        loop {
            let four = self.ahead(4)?;
            match four.first_chunk::<4>() {
                Some(four) if found(*four) => return Ok(()),
                Some(_) => self.skip(1)?,
                None => {
                    let rest = four.len();
                    self.skip(rest)?;
                    return Ok(());
                }
            };
        }
    }

    /// Bytes of the file that were read and have left the buffer; compressed ones if the file is compressed.
    pub(super) fn consumed(&self) -> u64 {
        let waiting = if self.input.is_compressed() { 0 } else { self.filled - self.next };
        self.input.consumed().saturating_sub(waiting as u64)
    }
}

/// Bytes as errors print them.
pub(super) fn shown(bytes: &[u8]) -> String {
    let text: Vec<String> = bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    if text.is_empty() { "the end of the file".to_owned() } else { text.join(" ") }
}

/// The number at byte `at`, with its most significant byte first where `big`.
pub(super) fn u16_at(bytes: &[u8], at: usize, big: bool) -> u16 {
    let mut value = [0; 2];
    value.copy_from_slice(&bytes[at..at + 2]);
    if big { u16::from_be_bytes(value) } else { u16::from_le_bytes(value) }
}

/// The number at byte `at`, with its most significant byte first where `big`.
pub(super) fn u32_at(bytes: &[u8], at: usize, big: bool) -> u32 {
    let mut value = [0; 4];
    value.copy_from_slice(&bytes[at..at + 4]);
    if big { u32::from_be_bytes(value) } else { u32::from_le_bytes(value) }
}

/// The number at byte `at`, with its most significant byte first where `big`.
pub(super) fn u64_at(bytes: &[u8], at: usize, big: bool) -> u64 {
    let mut value = [0; 8];
    value.copy_from_slice(&bytes[at..at + 8]);
    if big { u64::from_be_bytes(value) } else { u64::from_le_bytes(value) }
}
