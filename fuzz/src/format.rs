//! Checks the structures on members.

use std::ops::RangeInclusive;

use stripewise_array::format::{
    CheckpointHeader, ChecksumPage, Commit, Copy, Entry, FormatError, IntentPage, RedoRecord,
    SUPERBLOCK_BYTES, Summary, Superblock, Tombstone, checkpoint, crc32c, summary,
};

/// Parses `bytes` as this structure; then again with the correct magic number and checksum.
///
/// # Panics
/// If a property is violated, or the structure is unknown.
pub fn check(structure: &str, bytes: &[u8]) {
    match structure {
        "superblock" => {
            both(bytes, SUPERBLOCK_BYTES..=SUPERBLOCK_BYTES, b"STRIPEWS", SUPERBLOCK_BYTES - 4, superblock)
        }
        "summary" => both(bytes, 512..=32768, b"SWSUMMRY", 28, batch),
        "commit" => both(bytes, 512..=32768, b"SWCOMMIT", 28, commit),
        "checkpoint" => {
            both(bytes, 512..=32768, b"SWCHKPNT", 28, checkpoint_header);
            if let Some((page, body)) = bytes.split_at_checked(512) {
                checkpoint_body(page, body);
            }
        }
        "journal" => both(bytes, 512..=32768, b"SWREDO\0\0", 28, record),
        "checksums" => both(bytes, 512..=32768, b"SWCHKSUM", 28, checksums),
        "intent" => both(bytes, 512..=32768, b"SWINTENT", 28, intent),
        other => panic!("no structure is called {other}"),
    }
}

/// Runs `check` on the bytes as they are, and on a structure of a valid `length` with correct magic number and
/// checksum.
fn both(
    bytes: &[u8],
    length: RangeInclusive<usize>,
    magic: &[u8],
    checksum_at: usize,
    check: impl Fn(&[u8]),
) {
    check(bytes);
    let mut sealed = bytes.to_vec();
    sealed.resize(bytes.len().clamp(*length.start(), *length.end()), 0);
    sealed[..8].copy_from_slice(magic);
    sealed[checksum_at..checksum_at + 4].fill(0);
    let checksum = crc32c(&sealed);
    sealed[checksum_at..checksum_at + 4].copy_from_slice(&checksum.to_le_bytes());
    check(&sealed);
}

/// An error names its subject, and states the expected value or the remedy.
fn says(error: FormatError) {
    let text = error.to_string();
    assert!(
        text.contains("expected")
            || text.contains("damaged")
            || (error.is_newer() && text.contains("use a newer program")),
        "{text}"
    );
}

/// A parsed superblock is consistent, and is the same when it is written and parsed again.
fn superblock(bytes: &[u8]) {
    let block = match Superblock::parse(bytes) {
        Ok(block) => block,
        Err(error) => return says(error),
    };
    assert_eq!(block.check(), Ok(()));
    let mut again = [0; SUPERBLOCK_BYTES];
    let copy = Copy::of(bytes).expect("it was parsed");
    block.encode(copy, &mut again);
    assert_eq!(Copy::of(&again), Some(copy));
    assert_eq!(Superblock::parse(&again), Ok(block));
}

fn batch(page: &[u8]) {
    let read = match Summary::parse(page) {
        Ok(read) => read,
        Err(error) => return says(error),
    };
    let (entries, tombstones): (Vec<Entry>, Vec<Tombstone>) =
        (read.entries().collect(), read.tombstones().collect());
    assert_eq!(entries.len() as u32, read.header.end - read.header.first);
    assert!((entries.len() + tombstones.len()) as u32 <= summary::room(page.len() as u32));
    let mut again = vec![0; page.len()];
    summary::encode(&read.header, entries.iter().copied(), &tombstones, &mut again);
    let reread = Summary::parse(&again).expect("it was written whole");
    assert_eq!(reread.header, read.header);
    assert!(reread.entries().eq(entries) && reread.tombstones().eq(tombstones));
}

fn commit(page: &[u8]) {
    match Commit::parse(page) {
        Ok(commit) => {
            let mut again = vec![0; page.len()];
            commit.encode(&mut again);
            assert_eq!(Commit::parse(&again), Ok(commit));
        }
        Err(error) => says(error),
    }
}

fn checkpoint_header(page: &[u8]) {
    match CheckpointHeader::parse(page) {
        Ok(header) => {
            let mut again = vec![0; page.len()];
            header.encode(&mut again);
            assert_eq!(CheckpointHeader::parse(&again), Ok(header));
        }
        Err(error) => says(error),
    }
}

/// Parses a page as a checkpoint header, and bytes as its body. The number of segments is the largest that fits, so
/// that a body can be parsed and written again.
fn checkpoint_body(page: &[u8], body: &[u8]) {
    if let Ok(header) = CheckpointHeader::parse(page)
        && let Err(error) = header.check_body(body)
    {
        says(error);
    }
    let segments = (body.len() / 32) as u32;
    let chunks = (body.len() as u64 - u64::from(segments) * 16) * 8;
    assert_eq!(checkpoint::body_bytes(segments, chunks), body.len() as u64);
    let mut again = vec![0; body.len()];
    for segment in 0..segments {
        checkpoint::put_segment(&mut again, segment, checkpoint::segment(body, segment));
    }
    for chunk in 0..chunks {
        checkpoint::put_written(&mut again, segments, chunk, checkpoint::is_written(body, segments, chunk));
    }
    assert_eq!(again, body);
}

fn record(header: &[u8]) {
    match RedoRecord::parse(header) {
        Ok(record) => {
            assert!(record.images() as usize <= record.entries.len());
            let mut again = vec![0; header.len()];
            record.encode(&mut again);
            assert_eq!(RedoRecord::parse(&again), Ok(record));
        }
        Err(error) => says(error),
    }
}

fn checksums(page: &[u8]) {
    match ChecksumPage::parse(page) {
        Ok(head) => {
            let all: Vec<u32> = ChecksumPage::checksums(page).collect();
            let mut again = vec![0; page.len()];
            head.encode(&all, &mut again);
            assert_eq!(ChecksumPage::parse(&again), Ok(head));
            assert!(ChecksumPage::checksums(&again).eq(all));
        }
        Err(error) => says(error),
    }
}

fn intent(page: &[u8]) {
    match IntentPage::parse(page) {
        Ok(head) => {
            let words: Vec<u64> = IntentPage::words(page).collect();
            let mut again = vec![0; page.len()];
            head.encode(&words, &mut again);
            assert_eq!(IntentPage::parse(&again), Ok(head));
            assert!(IntentPage::words(&again).eq(words));
        }
        Err(error) => says(error),
    }
}
