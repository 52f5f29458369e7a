//! Checks transcripts of served arrays with arbitrary content.

use std::io::Cursor;
use std::path::Path;
use std::sync::OnceLock;

use stripewise_array::format::{Uuid, crc32c};
use stripewise_array::{AssemblyOptions, Identity, MemberNo, Scheme, create};
use stripewise_engine::transcript::{Event, Head, Replay, Replayed, Scribe};
use stripewise_engine::{Engine, FileMedia, MemberFile, Options};

const MAGIC: &[u8] = b"stripewise transcript 3\n";
const PAGE_BYTES: u32 = 512;
/// Larger members would take as much memory as a real array of that size; such replays are refused here.
const PAGES_MAX: u32 = 1 << 16;

/// The first byte determines whether the other bytes are a file, the values of a valid block, or changes of a
/// transcript that an engine wrote.
///
/// # Panics
/// If a property is violated.
pub fn check(bytes: &[u8]) {
    let Some((&way, rest)) = bytes.split_first() else { return };
    match way % 3 {
        0 => replay(rest),
        1 => replay(&sealed(rest)),
        _ => replay(&changed(way, rest)),
    }
}

/// Replays twice: the replay terminates, with the same result both times.
fn replay(bytes: &[u8]) {
    let first = replayed(bytes);
    assert_eq!(replayed(bytes), first, "the same transcript went another way");
}

/// The result of a replay, or its error.
///
/// # Panics
/// If an error does not name the transcript.
pub fn replayed(bytes: &[u8]) -> Result<Replayed, String> {
    let path = Path::new("the transcript");
    let message = |error: stripewise_engine::transcript::ReplayError| {
        let text = error.to_string();
        assert!(text.starts_with("transcript `the transcript`: ") && !error.reason.is_empty(), "{text}");
        text
    };
    let replay = Replay::of(path, Cursor::new(bytes.to_vec())).map_err(message)?;
    let offered = replay.head().offered.iter().map(|&(pages, _)| pages);
    if offered.chain([replay.head().pages.0]).any(|pages| pages > PAGES_MAX) {
        return Err("too large for this check".to_owned());
    }
    replay.run().map_err(message)
}

/// A file of valid blocks.
pub fn sealed(values: &[u8]) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    // No block is longer than 1 MiB.
    for block in values.chunks(1 << 20) {
        file.extend((block.len() as u32).to_le_bytes());
        file.extend(crc32c(block).to_le_bytes());
        file.extend(block);
    }
    file
}

/// A transcript that an engine wrote: its head and its events, encoded.
pub fn written() -> &'static (Head, Vec<Vec<u8>>) {
    static WRITTEN: OnceLock<(Head, Vec<Vec<u8>>)> = OnceLock::new();
    WRITTEN.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("stripewise-transcript-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let file = record(&folder);
        std::fs::remove_dir_all(&folder).expect("it is ours");
        // The blocks after the magic number, each preceded by its length and checksum.
        let (mut rest, mut values) = (&file[MAGIC.len()..], Vec::new());
        while let Some((head, after)) = rest.split_first_chunk::<8>() {
            let bytes = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
            values.extend_from_slice(&after[..bytes]);
            rest = &after[bytes..];
        }
        let (head, mut rest) = postcard::take_from_bytes::<Head>(&values).expect("a head");
        let mut events = Vec::new();
        while !rest.is_empty() {
            let (_, after) = postcard::take_from_bytes::<Event>(rest).expect("an event");
            events.push(rest[..rest.len() - after.len()].to_vec());
            rest = after;
        }
        (head, events)
    })
}

/// A short run of a log that loses a member.
fn record(folder: &Path) -> Vec<u8> {
    let text = "name = \"log\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n[placement]\npolicy = \"elastic\"\n\
                buffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 16\nacknowledge = \"buffered\"\nwait = \"1ms\"\n";
    let scheme = Scheme::from_toml("the check", text).expect("a scheme");
    let paths: Vec<_> = (0..4).map(|nth| folder.join(format!("member-{nth}"))).collect();
    let files = MemberFile::create_all(&paths, 1 << 20, PAGE_BYTES).expect("files");
    let mut media = FileMedia::new(files, PAGE_BYTES);
    let members = (1..=4).map(|nth| Uuid([nth; 16])).collect();
    let identity = Identity { array: Uuid([7; 16]), members, name: "test".into() };
    create(&scheme, media.members(), &identity, &mut media).expect("an array");
    drop(media);
    let path = folder.join("transcript");
    let media = FileMedia::open(&paths, PAGE_BYTES).expect("its files");
    let options = Options { page_bytes: PAGE_BYTES, ..Options::default() };
    let scribe = Some(Scribe::create(&path).expect("a transcript"));
    let opened = Engine::resume_transcribed(&scheme, media, options, AssemblyOptions::default(), scribe);
    let (mut engine, _) = opened.expect("it opens");
    for nth in 0..40u64 {
        engine.write(nth % 16 * 512, &[nth as u8; 512]).expect("a write");
        if nth == 20 {
            engine.flush().expect("a flush");
            engine.fail(MemberNo::new(2)).expect("a member");
        }
    }
    engine.read(0, &mut [0; 4096]).expect("a read");
    engine.close().expect("it closes");
    std::fs::read(path).expect("the transcript")
}

/// A transcript that an engine wrote, modified by `changes`: four bytes each, two of which select the event.
fn changed(way: u8, changes: &[u8]) -> Vec<u8> {
    let (head, mut events) = written().clone();
    let mut head = postcard::to_extend(&head, Vec::new()).expect("a head");
    for change in changes.chunks_exact(4) {
        let [what, low, high, with] = [change[0], change[1], change[2], change[3]];
        if events.is_empty() {
            break;
        }
        let at = usize::from(u16::from_le_bytes([low, high])) % events.len();
        match what % 6 {
            0 => drop(events.remove(at)),
            1 => {
                let again = events[at].clone();
                events.insert(at, again);
            }
            2 => {
                let other = (at + usize::from(with)) % events.len();
                events.swap(at, other);
            }
            3 => events.truncate(at + 1),
            4 => {
                let byte = usize::from(what / 6) % events[at].len();
                events[at][byte] ^= with;
            }
            _ => {
                let byte = at % head.len();
                head[byte] ^= with;
            }
        }
    }
    let body: Vec<u8> = head.into_iter().chain(events.concat()).collect();
    let mut file = sealed(&body);
    // Some transcripts are truncated.
    file.truncate(file.len() - usize::from(way / 3 % 7));
    file
}
