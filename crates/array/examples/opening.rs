//! Measures the cost of assembling a log of large members: time and memory of the controller, over five modelled members.
//! The content of the members is generated when it is read: each segment in use has batches of full stripes, whose chunks
//! are spread over the whole array.
//! `cargo run --release -p stripewise-array --example opening [GIB of a member]...`

use std::collections::BTreeMap;
use std::fs;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use stripewise_array::format::summary::{encode, room};
use stripewise_array::format::{
    CheckpointHeader, Entry, EntryRole, SegmentEntry, SummaryHeader, Superblock, Uuid, checkpoint, crc32c,
    write_seq,
};
use stripewise_array::{
    Array, AssemblyOptions, At, Found, Identity, Media, Members, Outcome, PageMemory, Scheme, create,
};

const PAGE_BYTES: u32 = 4096;
const MEMBERS: u32 = 5;
const PARITY: u32 = 1;
const GENERATION: u32 = 1;

/// Members that store all writes, and that hold a log in some of their segments.
struct Modelled {
    pages: u32,
    written: BTreeMap<At, Box<[u8]>>,
    log: Option<Log>,
    /// The time spent on generating content.
    made: Duration,
}

/// The log in the first segments.
struct Log {
    superblock: Superblock,
    segments: u32,
    batches: Vec<(u32, u32)>,
    chunks: u64,
}

impl Log {
    fn new(superblock: Superblock) -> Self {
        let slots = superblock.segment_rows * MEMBERS;
        let copies = PARITY + 1;
        let mut batches = Vec::new();
        let mut first = 0;
        while slots - first >= copies + MEMBERS {
            let stripes = (room(PAGE_BYTES).min(slots - first) - copies) / MEMBERS;
            let end = first + copies + stripes * MEMBERS;
            batches.push((first, end));
            first = end;
        }
        let mut log = Self { superblock, segments: 0, batches, chunks: 0 };
        log.segments = (log.superblock.capacity / log.chunks_before(log.batches.len())) as u32;
        log.chunks = u64::from(log.segments) * log.chunks_before(log.batches.len());
        log
    }

    /// Data chunks in the first `count` batches of a segment.
    fn chunks_before(&self, count: usize) -> u64 {
        let data = |(first, end)| (end - first - PARITY - 1) / MEMBERS * (MEMBERS - PARITY);
        self.batches[..count].iter().map(|&batch| u64::from(data(batch))).sum()
    }

    /// Writes the summary that begins at a slot of a segment; false if no batch begins there.
    fn summary(&self, segment: u32, slot: u32, into: &mut [u8]) -> bool {
        let Some(nth) = self.batches.iter().position(|&(first, _)| first == slot) else { return false };
        let (first, end) = self.batches[nth];
        let before = u64::from(segment) * self.chunks_before(self.batches.len()) + self.chunks_before(nth);
        let copy = Entry { role: EntryRole::Copy, is_first: false, chunk: 0, write_seq: 0, checksum: 0 };
        let mut data = before..;
        let entries = (0..end - first).map(|nth| match nth.checked_sub(PARITY + 1) {
            None => copy,
            Some(nth) if nth % MEMBERS == MEMBERS - 1 => Entry { role: EntryRole::P, ..copy },
            Some(nth) => {
                let number = data.next().unwrap_or_default();
                // A prime greater than any number of chunks spreads the chunks over the whole array.
                let chunk = number * 4_294_967_291 % self.chunks;
                let write_seq = write_seq(0, number + 1);
                Entry { role: EntryRole::Data, is_first: nth % MEMBERS == 0, chunk, write_seq, checksum: 0 }
            }
        });
        let header = SummaryHeader {
            array: self.superblock.array,
            epoch: 0,
            batch: self.last_batch(segment) - (self.batches.len() - 1 - nth) as u64,
            segment,
            generation: GENERATION,
            first,
            end,
            members: (1 << MEMBERS) - 1,
            horizon: 0,
            stream: 0,
        };
        encode(&header, entries, &[], into);
        true
    }

    fn last_batch(&self, segment: u32) -> u64 {
        u64::from(segment + 1) * self.batches.len() as u64
    }

    /// The pages of a checkpoint that covers the whole log, starting with the header.
    fn checkpoint(&self) -> Vec<u8> {
        let (segments, chunks) = (self.superblock.segments(), self.superblock.capacity);
        let mut body = vec![0; checkpoint::body_bytes(segments, chunks) as usize];
        let used = self.batches.last().map_or(0, |&(_, end)| end);
        for segment in 0..self.segments {
            let last_batch = self.last_batch(segment);
            checkpoint::put_segment(
                &mut body,
                segment,
                SegmentEntry { generation: GENERATION, used, last_batch },
            );
        }
        (0..self.chunks).for_each(|chunk| checkpoint::put_written(&mut body, segments, chunk, true));
        let header = CheckpointHeader {
            array: self.superblock.array,
            epoch: 0,
            number: 2,
            horizon: u64::from(self.segments) * self.batches.len() as u64,
            write_seq: write_seq(0, self.chunks),
            body_bytes: body.len() as u64,
            body_checksum: crc32c(&body),
            segments,
            chunks,
        };
        let mut bytes = vec![0; PAGE_BYTES as usize];
        header.encode(&mut bytes);
        bytes.append(&mut body);
        bytes.resize(bytes.len().next_multiple_of(PAGE_BYTES as usize), 0);
        bytes
    }
}

impl Modelled {
    /// Puts a log into an array that was created on these members.
    fn fill(&mut self) {
        let superblock = &self.written[&At { member: 0, page: 0 }];
        let log = Log::new(Superblock::parse(superblock).expect("it was written whole"));
        let bytes = log.checkpoint();
        for (page, content) in (log.superblock.checkpoint.first..).zip(bytes.chunks(PAGE_BYTES as usize)) {
            self.written.insert(At { member: 0, page }, content.into());
        }
        self.log = Some(log);
    }
}

impl Media for Modelled {
    fn count(&self) -> u16 {
        MEMBERS as u16
    }

    fn size(&self, _: u16) -> (u32, u32) {
        (self.pages, PAGE_BYTES)
    }

    fn read(&mut self, at: &[At], found: &mut Found<'_>) {
        let mut page = vec![0; PAGE_BYTES as usize];
        for (nth, at) in at.iter().enumerate() {
            if let Some(content) = self.written.get(at) {
                found(nth, Ok(content));
                continue;
            }
            let begun = Instant::now();
            let mut is_made = false;
            if let Some(log) = &self.log
                && let Some(row) = at.page.checked_sub(log.superblock.data.first)
            {
                let (segment, row) = (row / log.superblock.segment_rows, row % log.superblock.segment_rows);
                let slot = row * MEMBERS + u32::from(at.member);
                is_made = segment < log.segments && log.summary(segment, slot, &mut page);
            }
            if !is_made {
                page.fill(0);
            }
            self.made += begun.elapsed();
            found(nth, Ok(&page));
        }
    }

    fn write(&mut self, at: &[At], pages: &[&[u8]]) -> Vec<Outcome> {
        self.written.extend(at.iter().copied().zip(pages.iter().map(|&page| page.into())));
        vec![Outcome::Done; at.len()]
    }

    fn flush(&mut self, members: &[u16]) -> Vec<Outcome> {
        vec![Outcome::Done; members.len()]
    }
}

/// The number that the kernel reports for this process under `name`, in bytes.
fn status(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.trim_matches(|c: char| !c.is_ascii_digit()).parse::<u64>().ok());
    kib.unwrap_or_default() << 10
}

/// Assembles an array of members of `gib` GiB, and prints a line of a table about it.
fn measure(gib: u32) -> Result<(), Box<dyn std::error::Error>> {
    let scheme = Scheme::preset("durable-was")?;
    let pages = gib << 18;
    let members = Members { discard: false, ..Members::opaque(MEMBERS, PAGE_BYTES, pages) };
    let identity = Identity {
        array: Uuid([1; 16]),
        members: (2..2 + MEMBERS as u8).map(|member| Uuid([member; 16])).collect(),
        name: "modelled".into(),
    };
    let mut media = Modelled { pages, written: BTreeMap::new(), log: None, made: Duration::ZERO };
    create(&scheme, members, &identity, &mut media)?;
    media.fill();
    // Resets the peak of memory use, so that it is measured from here on.
    fs::write("/proc/self/clear_refs", "5")?;
    let (before, begun) = (status("VmRSS:"), Instant::now());
    let opened =
        Array::open(&scheme, members, PageMemory::new(PAGE_BYTES), &mut media, AssemblyOptions::default());
    let (_array, opened) = opened?;
    let took = begun.elapsed() - media.made;
    let [serving, most] = ["VmRSS:", "VmHWM:"].map(|name| status(name).saturating_sub(before) >> 20);
    if !opened.losses.is_empty() {
        return Err(opened.losses.join("; ").into());
    }
    let (segments, chunks) = media.log.map_or((0, 0), |log| (log.segments, log.chunks));
    let seconds = took.as_secs_f64();
    println!("| {gib} | {segments} | {chunks} | {seconds:.1} | {} | {serving} | {most} |", opened.pages_read);
    Ok(())
}

fn main() -> ExitCode {
    println!(
        "| GiB of a member | segments in use | chunks | s | pages read | MiB serving | MiB during assembly |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    let sizes: Vec<u32> = std::env::args().skip(1).filter_map(|size| size.parse().ok()).collect();
    for &size in if sizes.is_empty() { &[4, 16, 64][..] } else { &sizes } {
        if let Err(error) = measure(size) {
            eprintln!("opening: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
