//! The compressions of traces: their first bytes, and streams of the bytes that they hold.

use std::io::{self, BufReader, ErrorKind, Read};

/// The compression of a file, detected from its first bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// Not compressed.
    #[default]
    None,
    /// gzip, of any number of members.
    Gzip,
    /// Zstandard, of any number of frames.
    Zstd,
    /// bzip2, of any number of streams.
    Bzip2,
    /// xz, of any number of streams.
    Xz,
    /// LZ4, of any number of frames.
    Lz4,
    /// A zip archive of one file.
    Zip,
}

/// The endings of compressed files' names.
const ENDINGS: [(&str, Compression); 6] = [
    (".gz", Compression::Gzip),
    (".zst", Compression::Zstd),
    (".bz2", Compression::Bzip2),
    (".xz", Compression::Xz),
    (".lz4", Compression::Lz4),
    (".zip", Compression::Zip),
];

/// The most memory, in KiB, for the dictionary of an xz stream. `xz -9` makes streams that need 65 MiB.
const MOST_XZ_KIB: u32 = 1 << 20;

impl Compression {
    /// The compression of a file that begins with `head`; a zip archive cannot be read as a stream.
    pub(crate) fn of(head: &[u8]) -> Self {
        match head {
            [0x1F, 0x8B, ..] => Self::Gzip,
            // A frame of Zstandard, or a skippable frame at the start of a file.
            [0x28, 0xB5, 0x2F, 0xFD, ..] | [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => Self::Zstd,
            // The size of the blocks, and the start of the first one or the end of an empty stream.
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..]
            | [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, 0x38, 0x50, 0x90, ..] => Self::Bzip2,
            [0xFD, b'7', b'z', b'X', b'Z', 0, ..] => Self::Xz,
            [0x04, 0x22, 0x4D, 0x18, ..] => Self::Lz4,
            [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Self::Zip,
            _ => Self::None,
        }
    }

    /// The compression that the ending of a file's name says.
    pub(crate) fn of_name(name: &str) -> Self {
        ENDINGS.iter().find(|(ending, _)| name.ends_with(ending)).map_or(Self::None, |(_, found)| *found)
    }

    /// Its name in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "uncompressed",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
            Self::Lz4 => "lz4",
            Self::Zip => "zip",
        }
    }

    /// The bytes that `packed` holds.
    ///
    /// # Errors
    /// Those of the operating system.
    pub(crate) fn unpack(self, packed: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
        let buffered = |packed| BufReader::with_capacity(1 << 16, packed);
        Ok(match self {
            // The file in an archive is unpacked before.
            Self::None | Self::Zip => Box::new(packed),
            Self::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(buffered(packed))),
            Self::Zstd => Box::new(zstd::stream::read::Decoder::new(packed)?),
            Self::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(buffered(packed))),
            Self::Xz => Box::new(lzma_rust2::XzReader::new_mem_limit(buffered(packed), true, MOST_XZ_KIB)),
            Self::Lz4 => Box::new(Lz4::new(buffered(packed))),
        })
    }
}

/// A file's name without the ending of its compression.
pub fn without_compression(name: &str) -> &str {
    ENDINGS.iter().find_map(|(ending, _)| name.strip_suffix(ending)).unwrap_or(name)
}

/// The content of LZ4 frames. The decoder takes an end of the file within a frame for the end of the frame; here it is an error.
struct Lz4<R: Read> {
    frames: lz4_flex::frame::FrameDecoder<Frames<R>>,
}

/// The bytes of the frames.
struct Frames<R> {
    inner: R,
    /// Whether the decoder has read a whole frame and nothing of the next one.
    is_between: bool,
    has_ended: bool,
}

impl<R: Read> Lz4<R> {
    fn new(inner: R) -> Self {
        let frames = Frames { inner, is_between: true, has_ended: false };
        Self { frames: lz4_flex::frame::FrameDecoder::new(frames) }
    }
}

impl<R: Read> Read for Lz4<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while !into.is_empty() && !self.frames.get_ref().has_ended {
            match self.frames.read(into)? {
                // The end of a frame.
                0 => self.frames.get_mut().is_between = true,
                count => return Ok(count),
            }
        }
        Ok(0)
    }
}

impl<R: Read> Read for Frames<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(into)?;
        if count > 0 {
            self.is_between = false;
        } else if !into.is_empty() {
            if !self.is_between {
                return Err(io::Error::new(ErrorKind::InvalidData, "the last frame has no end"));
            }
            self.has_ended = true;
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// The bytes of `compression` that hold `text`.
    fn packed(compression: Compression, text: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        match compression {
            Compression::Bzip2 => {
                let mut encoder = bzip2::write::BzEncoder::new(&mut bytes, bzip2::Compression::new(1));
                encoder.write_all(text).expect("memory");
                encoder.finish().expect("memory");
            }
            Compression::Xz => {
                let options = lzma_rust2::XzOptions::with_preset(1);
                let mut encoder = lzma_rust2::XzWriter::new(&mut bytes, options).expect("options");
                encoder.write_all(text).expect("memory");
                encoder.finish().expect("memory");
            }
            Compression::Lz4 => {
                let info = lz4_flex::frame::FrameInfo::new().content_checksum(true).block_checksums(true);
                let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, &mut bytes);
                encoder.write_all(text).expect("memory");
                encoder.finish().expect("memory");
            }
            other => panic!("{other:?} is tested elsewhere"),
        }
        bytes
    }

    fn unpacked(compression: Compression, bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        compression.unpack(io::Cursor::new(bytes))?.read_to_end(&mut all).map(|_| all)
    }

    const ALL: [Compression; 3] = [Compression::Bzip2, Compression::Xz, Compression::Lz4];

    fn text(lines: u64) -> Vec<u8> {
        let line = |n: u64| format!("{},0,{},4096,W\n", n * 1_000, n * 7919 % 4096 * 4096).into_bytes();
        (0..lines).flat_map(line).collect()
    }

    #[test]
    fn what_was_packed_is_unpacked_in_any_number_of_streams() {
        let text = text(400);
        for compression in ALL {
            for count in 1..=3 {
                let (bytes, texts) = (packed(compression, &text).repeat(count), text.repeat(count));
                assert_eq!(Compression::of(&bytes), compression);
                assert_eq!(unpacked(compression, bytes).expect("sound"), texts, "{compression:?}");
            }
            let empty = packed(compression, b"");
            assert_eq!(Compression::of(&empty), compression);
            assert_eq!(unpacked(compression, empty).expect("sound"), b"");
        }
    }

    #[test]
    fn what_is_cut_off_or_followed_by_other_bytes_is_no_shorter_trace() {
        let text = text(25);
        for compression in ALL {
            let bytes = packed(compression, &text);
            for length in 1..bytes.len() {
                let cut = unpacked(compression, bytes[..length].to_vec());
                assert!(cut.is_err(), "{compression:?}, {length} of {} bytes", bytes.len());
            }
            let followed = [bytes.clone(), b"other bytes".to_vec()].concat();
            assert!(unpacked(compression, followed).is_err(), "{compression:?}");
        }
    }

    #[test]
    fn a_changed_byte_never_changes_the_trace_unnoticed() {
        let text = text(25);
        for compression in ALL {
            let bytes = packed(compression, &text);
            for at in 0..bytes.len() {
                for change in [0x01, 0x80] {
                    let mut changed = bytes.clone();
                    changed[at] ^= change;
                    // A few bits decide nothing, such as the declared size of a block that is smaller.
                    match unpacked(compression, changed) {
                        Ok(found) => assert_eq!(found, text, "{compression:?}, byte {at}"),
                        Err(error) => assert!(!error.to_string().is_empty()),
                    }
                }
            }
        }
    }

    #[test]
    fn a_stream_of_xz_that_needs_too_much_memory_is_refused_before_it_is_taken() {
        // The header of a block with LZMA2 and a dictionary of 4 GiB.
        let mut header = vec![0x02, 0x00, 0x21, 0x01, 0x28, 0, 0, 0];
        header.extend(crc32fast::hash(&header).to_le_bytes());
        let stream = [&b"\xFD7zXZ\0\0\x01\x69\x22\xDE\x36"[..], &header].concat();
        let error = unpacked(Compression::Xz, stream).expect_err("too much");
        assert!(error.to_string().contains("memory"), "{error}");
    }

    #[test]
    fn the_endings_of_compressed_files_are_left_out() {
        for name in ["a.csv.gz", "a.csv.bz2", "a.csv.xz", "a.csv.lz4", "a.csv.zst", "a.csv.zip", "a.csv"] {
            assert_eq!(without_compression(name), "a.csv");
        }
    }
}
