//! Small files that unpack to much: they are read in bounded memory, or refused. Another process reads each, so that
//! the memory of other tests does not count.

mod common;

use std::fs;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Scratch, drain};
use stripewise_trace::{OpenOptions, Request, TraceError, open};

/// The file to read, in a process that a test starts.
const CHILD: &str = "STRIPEWISE_TEST_CHILD_FILE";

fn child() -> Option<PathBuf> {
    std::env::var_os(CHILD).map(PathBuf::from)
}

/// The peak memory of this process; none where the system does not report it.
fn peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

/// Starts `test` in another process to read `path`, and returns its output and its peak memory.
fn peak_of(test: &str, path: &Path) -> (String, u64) {
    let program = std::env::current_exe().expect("this program");
    let output =
        Command::new(program).args(["--exact", test, "--nocapture"]).env(CHILD, path).output().expect("runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let peak = text.split_once("peak ").and_then(|(_, rest)| rest.split_whitespace().next()?.parse().ok());
    (text.clone(), peak.unwrap_or_else(|| panic!("the child tells its memory: {text}")))
}

fn print_peak() {
    println!("peak {}", peak_bytes().unwrap_or(0));
}

fn read(path: &Path) -> Result<Vec<Request>, TraceError> {
    drain(&mut open(path, &OpenOptions::default())?, 100)
}

/// A compressed archive with one entry of this many bytes.
fn archive(path: &Path, mut header: tar::Header, bytes: u64, entry: impl Read, rest: &[u8]) {
    header.set_size(bytes);
    header.set_cksum();
    let mut out =
        zstd::stream::write::Encoder::new(fs::File::create(path).expect("a file"), 1).expect("begins");
    out.write_all(header.as_bytes()).expect("writes");
    assert_eq!(io::copy(&mut entry.take(bytes), &mut out).expect("writes"), bytes);
    out.write_all(rest).expect("writes");
    out.write_all(&[0; 1024]).expect("writes");
    out.finish().expect("finishes");
    assert!(fs::metadata(path).expect("the file").len() < 64 << 10, "it is small");
}

fn named(name: &str) -> tar::Header {
    let mut header = tar::Header::new_ustar();
    header.set_path(name).expect("a short name");
    header
}

/// A record of blktrace (version 7, little-endian): a notice, or the queueing of a write of 4 KiB.
fn record(is_request: bool) -> [u8; 48] {
    let mut record = [0; 48];
    record[..4].copy_from_slice(&0x6561_7407u32.to_le_bytes());
    record[24..28].copy_from_slice(&4096u32.to_le_bytes());
    let action: u32 = if is_request { 0x0002_0001 } else { 1 << (16 + 10) };
    record[28..32].copy_from_slice(&action.to_le_bytes());
    record[36..40].copy_from_slice(&(8u32 << 20).to_le_bytes());
    record
}

/// The same bytes, repeated.
struct Again([u8; 48], usize);

impl Read for Again {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        for byte in into.iter_mut() {
            *byte = self.0[self.1];
            self.1 = (self.1 + 1) % self.0.len();
        }
        Ok(into.len())
    }
}

const MIB: u64 = 1 << 20;

#[test]
fn a_file_of_an_archive_streams_by_and_is_not_held() {
    if let Some(path) = child() {
        let error = read(&path).expect_err("notices are no requests").to_string();
        assert!(error.contains("records, ") && error.contains("of other events"), "{error}");
        return print_peak();
    }
    let scratch = Scratch::new();
    let path = scratch.file("archive.tar.zst");
    archive(&path, named("sda.blktrace.0"), 96 * MIB, Again(record(false), 0), &[]);
    let (_, peak) = peak_of("a_file_of_an_archive_streams_by_and_is_not_held", &path);
    assert!(peak < 48 * MIB, "{peak} bytes for a file of 96 MiB");
}

#[test]
fn a_long_name_in_an_archive_is_read_up_to_a_bound() {
    if let Some(path) = child() {
        assert_eq!(read(&path).expect("reads").len(), 1, "the entry behind it");
        return print_peak();
    }
    let scratch = Scratch::new();
    let path = scratch.file("names.tar.zst");
    let mut long = tar::Header::new_gnu();
    long.set_entry_type(tar::EntryType::GNULongName);
    let mut behind = named("ignored");
    behind.set_size(48);
    behind.set_cksum();
    let rest = [behind.as_bytes().as_slice(), &record(true), &[0; 512 - 48]].concat();
    let name = io::Cursor::new(b"host/sda.blktrace.0\0").chain(io::repeat(0));
    archive(&path, long, 96 * MIB, name, &rest);
    // Its first bytes show that it is an archive, but not of which form.
    let (_, peak) = peak_of("a_long_name_in_an_archive_is_read_up_to_a_bound", &path);
    assert!(peak < 48 * MIB, "{peak} bytes for a name of 96 MiB");
}

#[cfg(feature = "parquet")]
#[test]
fn kinds_that_are_built_from_the_ones_before_are_not_all_held() {
    use parquet::data_type::ByteArray;

    if let Some(path) = child() {
        let error = read(&path).expect_err("these are no kinds");
        assert!(error.to_string().contains("xxxx"), "{error}");
        return print_peak();
    }
    // A file of some KB, in which each of 300 kinds is the MiB before it.
    let scratch = Scratch::new();
    let path = scratch.file("kinds.parquet");
    let long = ByteArray::from(vec![b'x'; 1 << 20]);
    common::other_programs::made(&path, 300, common::other_programs::built(), |_| long.clone());
    assert!(fs::metadata(&path).expect("the file").len() < 32 << 10);
    let (_, peak) = peak_of("kinds_that_are_built_from_the_ones_before_are_not_all_held", &path);
    assert!(peak < 100 * MIB, "{peak} bytes for kinds of 300 MiB");
}
