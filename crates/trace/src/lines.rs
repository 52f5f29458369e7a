//! Blocks of whole lines from a stream of bytes, in constant memory.

use memchr::{memchr, memrchr};

use crate::TraceError;
use crate::input::Input;

/// Size of the buffer in bytes, hence the longest line. It fits a second-level cache together with a batch. Small
/// under a fuzzer, which then reaches the borders.
const BLOCK: usize = if cfg!(fuzzing) { 700 } else { 256 << 10 };

/// A window over the stream that always ends with a whole line.
pub(crate) struct Lines {
    pub(crate) input: Input,
    buffer: Vec<u8>,
    /// The next line begins here;
    next: usize,
    /// the whole lines end here;
    whole: usize,
    /// the bytes read so far end here.
    filled: usize,
    ended: bool,
    /// Whether the last line had no line feed.
    pub(crate) unterminated: bool,
}

impl Lines {
    /// A window over `input`, with its first lines read.
    pub(crate) fn new(input: Input) -> Result<Self, TraceError> {
        let buffer = vec![0; BLOCK + 1];
        let mut lines =
            Self { input, buffer, next: 0, whole: 0, filled: 0, ended: false, unterminated: false };
        lines.fill()?;
        if lines.block().starts_with(b"\xEF\xBB\xBF") {
            lines.next += 3;
        }
        Ok(lines)
    }

    /// The buffered lines, each with its line feed; empty if [`Lines::fill`] must be called.
    #[inline]
    pub(crate) fn block(&self) -> &[u8] {
        &self.buffer[self.next..self.whole]
    }

    /// All buffered bytes, including a line that is incomplete.
    pub(crate) fn buffered(&self) -> &[u8] {
        &self.buffer[self.next..self.filled]
    }

    /// The first buffered line, without its line feed.
    pub(crate) fn line(&self) -> &[u8] {
        let block = self.block();
        &block[..memchr(b'\n', block).unwrap_or(block.len())]
    }

    /// Moves forward by `bytes` of the block.
    #[inline]
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.next = (self.next + bytes).min(self.whole);
    }

    /// Moves past the first buffered line.
    pub(crate) fn consume_line(&mut self) {
        self.consume(self.line().len() + 1);
    }

    /// Whether every line was consumed.
    pub(crate) fn at_end(&self) -> bool {
        self.ended && self.next == self.whole
    }

    /// Share of the file consumed, relative to its size when it was opened.
    pub(crate) fn progress(&self) -> Option<f64> {
        let size = self.input.size?;
        if self.at_end() {
            return Some(1.0);
        }
        // The buffered bytes are few compared with any file whose progress matters.
        let waiting = if self.input.is_compressed() { 0 } else { self.filled - self.next };
        let consumed = self.input.consumed().saturating_sub(waiting as u64);
        Some(if size == 0 { 1.0 } else { (consumed as f64 / size as f64).min(1.0) })
    }

    /// Reads until another whole line is buffered. Returns false at the end of the stream.
    pub(crate) fn fill(&mut self) -> Result<bool, TraceError> {
        if self.next < self.whole {
            return Ok(true);
        }
        self.buffer.copy_within(self.whole..self.filled, 0);
        self.filled -= self.whole;
        (self.next, self.whole) = (0, 0);
        while !self.ended {
            if self.filled == BLOCK {
                return Err(TraceError::NotATrace {
                    path: self.input.path().to_owned(),
                    reason: format!("has a line longer than {BLOCK} bytes, which no text trace has"),
                });
            }
            let start = self.filled;
            let count = self.input.read(&mut self.buffer[start..BLOCK])?;
            self.filled += count;
            if count == 0 {
                self.ended = true;
                if self.filled > 0 {
                    // The buffer keeps one byte for this.
                    self.buffer[self.filled] = b'\n';
                    self.filled += 1;
                    self.whole = self.filled;
                    self.unterminated = true;
                }
            } else if let Some(end) = memrchr(b'\n', &self.buffer[start..self.filled]) {
                self.whole = start + end + 1;
                break;
            }
        }
        Ok(self.whole > 0)
    }
}
