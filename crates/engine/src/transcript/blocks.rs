//! The file format of a transcript: a line that identifies the format, then blocks, each with its length and checksum
//! before it. The file of a writer that was killed ends with an incomplete block, and is valid up to there.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};
use stripewise_array::format::crc32c;

/// The first line. The number is that of the format.
const MAGIC: &[u8] = MAGICS[MAGICS.len() - 1];
/// The first line of each format. They differ in how the program that wrote them assembled the array, and from format 3
/// on events say why members failed.
const MAGICS: [&[u8]; 3] =
    [b"stripewise transcript 1\n", b"stripewise transcript 2\n", b"stripewise transcript 3\n"];
/// A block is written when it has this many bytes.
const BLOCK_BYTES: usize = 64 << 10;
/// No block is longer: a head, or an event with a page, adds little to [`BLOCK_BYTES`].
const BLOCK_BYTES_MAX: u32 = 1 << 20;

/// Writes values as blocks.
#[derive(Debug)]
pub(super) struct Blocks<W> {
    to: W,
    block: Vec<u8>,
}

impl<W: Write> Blocks<W> {
    /// Begins a file.
    pub(super) fn new(mut to: W) -> io::Result<Self> {
        to.write_all(MAGIC)?;
        Ok(Self { to, block: Vec::with_capacity(2 * BLOCK_BYTES) })
    }

    /// Appends a value.
    pub(super) fn push(&mut self, value: &impl Serialize) -> io::Result<()> {
        let block = std::mem::take(&mut self.block);
        self.block = postcard::to_extend(value, block).map_err(io::Error::other)?;
        if self.block.len() >= BLOCK_BYTES { self.flush() } else { Ok(()) }
    }

    /// Writes the remaining values.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        self.to.write_all(&(self.block.len() as u32).to_le_bytes())?;
        self.to.write_all(&crc32c(&self.block).to_le_bytes())?;
        self.to.write_all(&self.block)?;
        self.block.clear();
        self.to.flush()
    }
}

/// Why a transcript without a head cannot be replayed.
pub(super) const UNFINISHED: &str =
    "it ends before it says which array it is of: its server was killed early, or had no room";

/// Why no value can be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    /// The file is something else.
    #[error("not a transcript, or an unsupported version; `stripewise serve --transcript FILE` writes one")]
    Magic,
    /// The file ends within its first line.
    #[error("{UNFINISHED}")]
    Short,
    /// A block differs from the one that was written.
    #[error("the block at byte {at} is damaged; what is before it can be replayed if the file is cut there")]
    Block {
        /// Where it begins.
        at: u64,
    },
    /// The file cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Reads values from blocks.
#[derive(Debug)]
pub(super) struct Values<R> {
    from: R,
    /// The offsets of the block in the file, and of the next one.
    at: u64,
    next: u64,
    block: Vec<u8>,
    /// Bytes of the block that were read.
    used: usize,
    /// Whether the file ends within a block.
    pub(super) is_cut: bool,
    /// The number of the file's format.
    pub(super) format: u8,
}

impl<R: Read> Values<R> {
    /// Begins reading.
    pub(super) fn new(mut from: R) -> Result<Self, Broken> {
        let mut magic = [0; MAGIC.len()];
        let got = fill(&mut from, &mut magic)?;
        let nth = MAGICS.iter().position(|known| known.starts_with(&magic[..got])).ok_or(Broken::Magic)?;
        if got < magic.len() {
            return Err(Broken::Short);
        }
        let format = nth as u8 + 1;
        let next = MAGIC.len() as u64;
        Ok(Self { from, at: next, next, block: Vec::new(), used: 0, is_cut: false, format })
    }

    /// The next value. None behind the last complete one.
    pub(super) fn next<T: for<'de> Deserialize<'de>>(&mut self) -> Result<Option<T>, Broken> {
        if self.used == self.block.len() && !self.next_block()? {
            return Ok(None);
        }
        let broken = |_| Broken::Block { at: self.at };
        let (value, rest) = postcard::take_from_bytes(&self.block[self.used..]).map_err(broken)?;
        self.used = self.block.len() - rest.len();
        Ok(Some(value))
    }

    /// Reads the next block. Returns false if there is no complete one.
    fn next_block(&mut self) -> Result<bool, Broken> {
        let mut head = [0; 8];
        self.at = self.next;
        self.block.clear();
        self.used = 0;
        let got = fill(&mut self.from, &mut head)?;
        let [a, b, c, d, sum @ ..] = head;
        let bytes = u32::from_le_bytes([a, b, c, d]);
        if got < head.len() {
            self.is_cut = got > 0;
            return Ok(false);
        }
        if bytes == 0 || bytes > BLOCK_BYTES_MAX {
            return Err(Broken::Block { at: self.at });
        }
        self.block.resize(bytes as usize, 0);
        if fill(&mut self.from, &mut self.block)? < self.block.len() {
            self.block.clear();
            self.is_cut = true;
            return Ok(false);
        }
        if crc32c(&self.block) != u32::from_le_bytes(sum) {
            return Err(Broken::Block { at: self.at });
        }
        self.next += head.len() as u64 + u64::from(bytes);
        Ok(true)
    }
}

/// Reads until `into` is full or the input ends. Returns the bytes read.
fn fill(from: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < into.len() {
        match from.read(&mut into[got..]) {
            Ok(0) => break,
            Ok(bytes) => got += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut blocks = Blocks::new(&mut bytes).unwrap();
        (0..60_000u32).for_each(|value| blocks.push(&value).unwrap());
        blocks.flush().unwrap();
        bytes
    }

    /// The complete values, and whether the file is truncated.
    fn read(bytes: &[u8]) -> Result<(Vec<u32>, bool), Broken> {
        let mut values = Values::new(bytes)?;
        let mut all = Vec::new();
        while let Some(value) = values.next()? {
            all.push(value);
        }
        Ok((all, values.is_cut))
    }

    #[test]
    fn values_return_in_order_and_a_cut_file_is_good_up_to_its_last_whole_block() {
        let bytes = file();
        let all: Vec<u32> = (0..60_000).collect();
        assert_eq!(read(&bytes).unwrap(), (all.clone(), false));
        for cut in [MAGIC.len() + 3, bytes.len() / 2, bytes.len() - 1] {
            let (some, is_cut) = read(&bytes[..cut]).unwrap();
            assert!(is_cut && some.len() < all.len() && all.starts_with(&some), "cut at {cut}");
        }
        assert!(!read(&bytes[..bytes.len() / 2 + BLOCK_BYTES]).unwrap().0.is_empty());
    }

    #[test]
    fn damage_is_reported_with_its_place() {
        let mut bytes = file();
        let at = bytes.len() / 3;
        bytes[at] ^= 1;
        assert!(matches!(read(&bytes), Err(Broken::Block { at: 24 })), "{:?}", read(&bytes).map(|_| ()));
        assert!(matches!(read(b"something else, and longer than that"), Err(Broken::Magic)));
        for length in [0, 1, MAGIC.len() - 1] {
            assert!(matches!(read(&MAGIC[..length]), Err(Broken::Short)), "{length}");
        }
        assert!(matches!(read(b"stripewise scheme"), Err(Broken::Magic)));
        let mut huge = MAGIC.to_vec();
        huge.extend([0xff; 64]);
        assert!(matches!(read(&huge), Err(Broken::Block { at: 24 })));
    }
}
