//! Compressed traces: bzip2, xz, LZ4 and zip. gzip and Zstandard are among the hostile inputs.

use std::io::Write as _;
use std::path::Path;

use stripewise_trace::{Compression, OpenOptions, Request, TraceError, WriteOptions, open};

use crate::common::{Scratch, drain, read, write};

/// A trace in the format `msr`, with a request every millisecond.
fn lines(count: u64) -> String {
    let line = |n: u64| {
        let kind = if n.is_multiple_of(3) { "Read" } else { "Write" };
        format!("{},hm,1,{kind},{},4096,{n}\n", 128_166_372_003_061_629 + n * 10_000, n * 7919 % 4096 * 4096)
    };
    (0..count).map(line).collect()
}

fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::new(1));
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("packs")
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder =
        lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).expect("options");
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("packs")
}

fn lz4(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
    encoder.write_all(bytes).expect("packs");
    encoder.finish().expect("packs")
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("packs")
}

/// A file of an archive: its name, method, packed and unpacked bytes.
type File<'a> = (&'a str, u16, Vec<u8>, &'a [u8]);

fn stored<'a>(name: &'a str, bytes: &'a [u8]) -> File<'a> {
    (name, 0, bytes.to_vec(), bytes)
}

/// An archive of `files`; with `flags`, and with numbers of 64 bits if `large`.
fn zip(files: &[File<'_>], flags: u16, large: bool) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, method, packed, unpacked) in files {
        let at = archive.len() as u64;
        let mut common = [20_u16, flags, *method, 0, 0].map(u16::to_le_bytes).concat();
        common.extend(crc32fast::hash(unpacked).to_le_bytes());
        let small = |number: u64| if large { u32::MAX } else { number as u32 }.to_le_bytes();
        let sizes = [packed.len() as u64, unpacked.len() as u64];
        let mut extra = Vec::new();
        if large {
            extra.extend([[0x99, 0x99, 2, 0, 7, 7], [1, 0, 24, 0, 0, 0]].concat());
            extra.truncate(10);
            [sizes[1], sizes[0], at].iter().for_each(|number| extra.extend(number.to_le_bytes()));
        }
        let length = (name.len() as u16).to_le_bytes();
        let local =
            [&b"PK\x03\x04"[..], &common, &sizes.map(|size| (size as u32).to_le_bytes()).concat(), &length];
        archive.extend([local.concat(), vec![0, 0], name.as_bytes().to_vec(), packed.clone()].concat());
        let sizes = sizes.map(small).concat();
        let extra_length = (extra.len() as u16).to_le_bytes();
        let entry =
            [&b"PK\x01\x02\x14\x03"[..], &common, &sizes, &length, &extra_length, &[0; 10], &small(at)];
        directory.extend([entry.concat(), name.as_bytes().to_vec(), extra].concat());
    }
    let (begin, size, count) = (archive.len() as u64, directory.len() as u64, files.len() as u64);
    archive.extend(directory);
    if large {
        let end = archive.len() as u64;
        archive.extend(
            [&b"PK\x06\x06"[..], &44_u64.to_le_bytes(), &[45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]].concat(),
        );
        archive.extend([count, count, size, begin].map(u64::to_le_bytes).concat());
        archive.extend([&b"PK\x06\x07\0\0\0\0"[..], &end.to_le_bytes(), &[1, 0, 0, 0]].concat());
        archive.extend([&b"PK\x05\x06\0\0\0\0"[..], &[0xFF; 12]].concat());
    } else {
        let counts = [count as u16; 2].map(u16::to_le_bytes).concat();
        let places = [size as u32, begin as u32].map(u32::to_le_bytes).concat();
        archive.extend([&b"PK\x05\x06\0\0\0\0"[..], &counts, &places].concat());
    }
    archive.extend(b"\x07\0comment");
    archive
}

fn requests(path: &Path) -> Result<(Vec<Request>, Compression), TraceError> {
    let mut reader = open(path, &OpenOptions::default())?;
    let requests = drain(&mut reader, 7)?;
    Ok((requests, reader.report().compression))
}

fn refused(path: &Path) -> String {
    requests(path).expect_err("it is refused").to_string()
}

#[test]
fn a_compressed_trace_is_read_like_the_plain_one() {
    let scratch = Scratch::new();
    let text = lines(100);
    let (expected, _) = read(text.clone(), &OpenOptions::default()).expect("reads");
    let text = text.as_bytes();
    let whole = |method, packed| vec![("t.csv", method, packed, text)];
    let folder =
        vec![stored("t/", b""), stored("__MACOSX/t/._t.csv", b"x"), ("t/t.csv", 8, deflate(text), text)];
    let zstd = zstd::encode_all(text, 1).expect("packs");
    for (bytes, compression) in [
        (bzip2(text), Compression::Bzip2),
        (xz(text), Compression::Xz),
        (lz4(text), Compression::Lz4),
        (zip(&[stored("t.csv", text)], 0, false), Compression::Zip),
        (zip(&whole(8, deflate(text)), 0x808, false), Compression::Zip),
        (zip(&whole(12, bzip2(text)), 0, false), Compression::Zip),
        (zip(&whole(93, zstd), 0, false), Compression::Zip),
        (zip(&whole(95, xz(text)), 0, false), Compression::Zip),
        (zip(&whole(8, deflate(text)), 0, true), Compression::Zip),
        (zip(&folder, 0, false), Compression::Zip),
    ] {
        let path = scratch.with("t", &bytes);
        let (found, how) = requests(&path).expect("reads");
        assert_eq!((found, how), (expected.clone(), compression));
        let mut reader = open(&path, &OpenOptions::default()).expect("opens");
        drain(&mut reader, 7).expect("reads");
        assert!(reader.report().complete);
    }
}

#[test]
fn damage_of_a_compressed_trace_is_named_with_its_place() {
    let scratch = Scratch::new();
    let text = lines(4_000);
    let text = text.as_bytes();
    for (name, bytes) in [("bzip2", bzip2(text)), ("xz", xz(text)), ("lz4", lz4(text))] {
        let error = refused(&scratch.with("t", &bytes[..bytes.len() - 3]));
        let place = format!("{name} data is damaged or cut off before byte ");
        assert!(error.contains(&place), "{error}");
    }
    let mut archive = zip(&[stored("t.csv", text)], 0, false);
    archive[1000] ^= 0x10;
    let error = refused(&scratch.with("t", &archive));
    assert!(error.contains("zip data is damaged") || error.contains("expected"), "{error}");
}

#[test]
fn an_archive_that_is_no_single_trace_says_why() {
    let scratch = Scratch::new();
    let text = lines(3);
    let text = text.as_bytes();
    let cases = [
        (
            zip(&[stored("a.csv", text), stored("b.csv", text)], 0, false),
            "2 files; unpack it (`unzip`) and give one of them: a.csv, b.csv",
        ),
        (zip(&[], 0, false), "without a file"),
        (zip(&[stored("t/", b"")], 0, false), "without a file"),
        (zip(&[stored("t.csv", text)], 1, false), "`t.csv` is encrypted"),
        (
            zip(&[("t.csv", 9, text.to_vec(), text)], 0, false),
            "`t.csv` is packed with Deflate64, which is not supported",
        ),
        (zip(&[("t.csv", 0, b"short".to_vec(), text)], 0, false), "shorter than the directory says"),
        (b"PK\x03\x04\x14\0".to_vec(), "is a damaged zip archive: "),
    ];
    for (bytes, reason) in cases {
        let error = refused(&scratch.with("t", &bytes));
        assert!(error.contains(reason), "{reason}: {error}");
    }
    let many: Vec<String> = (0..12).map(|n| format!("{n}.csv")).collect();
    let many: Vec<File<'_>> = many.iter().map(|name| stored(name, text)).collect();
    assert!(refused(&scratch.with("t", &zip(&many, 0, false))).contains("12 files"));
    match read(zip(&[stored("t.csv", text)], 0, false), &OpenOptions::default()) {
        Err(TraceError::NotATrace { reason, .. }) => {
            assert!(reason.contains("cannot be read from a stream"), "{reason}")
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn no_damage_to_an_archive_makes_the_reader_panic() {
    let scratch = Scratch::new();
    let text = lines(3);
    let text = text.as_bytes();
    for large in [false, true] {
        let archive = zip(&[("t.csv", 8, deflate(text), text)], 0, large);
        for at in 0..archive.len() {
            for value in [0x00, 0x01, 0x80, 0xFF] {
                let mut bytes = archive.clone();
                bytes[at] = value;
                requests(&scratch.with("changed", &bytes)).ok();
            }
            requests(&scratch.with("cut", &archive[..at])).ok();
        }
    }
}

#[test]
fn what_a_compressed_file_holds_is_refused_as_if_it_were_plain() {
    let scratch = Scratch::new();
    for (bytes, reason) in [
        (xz(b"\xFF\xFE1\x002\x00"), "holds a file that is UTF-16 text; convert it first"),
        (zip(&[stored("t.txt", b"\xFF\xFE1\x002\x00")], 0, false), "holds a file that is UTF-16 text"),
        (bzip2(&xz(lines(3).as_bytes())), "compressed twice, with xz within"),
        (lz4(b"PAR1 and more"), "compressed Parquet"),
    ] {
        let error = refused(&scratch.with("t", &bytes));
        assert!(error.contains(reason), "{reason}: {error}");
    }
}

#[test]
fn a_compression_that_is_only_read_is_not_written() {
    let scratch = Scratch::new();
    let (requests, _) = read(lines(3), &OpenOptions::default()).expect("reads");
    for name in ["t.msr.xz", "t.msr.bz2", "t.msr.lz4", "t.msr.zip"] {
        let path = scratch.file(name);
        let error = write(&path, &requests, &WriteOptions::new("msr".parse().expect("a format")))
            .expect_err("refused");
        assert!(
            error.to_string().contains("is read and not written; name a file that ends in .gz or .zst"),
            "{error}"
        );
        assert!(!path.exists());
    }
}
