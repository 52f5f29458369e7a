use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use stripewise_array::format::Uuid;
use stripewise_array::{
    AssemblyOptions, Class, Identity, MemberNo, Members, Operation, OperationId, OperationKind, Outcome,
    RequestKind, Scheme, create,
};
use stripewise_base::prng::Prng;

use super::blocks::{Blocks, Values};
use super::*;
use crate::{Engine, FileMedia, MemberFile, Options, Request, Ticket};

const LOG: &str = "name = \"log\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n[placement]\npolicy = \"elastic\"\n\
     buffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 16\nacknowledge = \"buffered\"\nwait = \"1ms\"\n";
const IN_PLACE: &str = "name = \"in place\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n";
const PAGE: u64 = 4096;
const MEMBER_BYTES: u64 = 4 << 20;

fn created(scheme: &Scheme, folder: &Path) -> Vec<PathBuf> {
    let paths: Vec<PathBuf> = (0..4).map(|nth| folder.join(format!("member-{nth}"))).collect();
    let files = MemberFile::create_all(&paths, MEMBER_BYTES, PAGE as u32).unwrap();
    let mut media = FileMedia::new(files, PAGE as u32);
    let members = (1..=4).map(|nth| Uuid([nth; 16])).collect();
    let identity = Identity { array: Uuid([7; 16]), members, name: "test".into() };
    // As `stripewise create` does where the array would leave no page for its owner.
    let offered = media.members();
    let used = Members { pages: offered.pages - 1, ..offered };
    create(scheme, used, &identity, &mut media).unwrap();
    paths
}

fn open(scheme: &Scheme, paths: &[PathBuf], transcript: Option<&Path>) -> Engine {
    open_with(scheme, paths, transcript, Options::default())
}

fn open_with(scheme: &Scheme, paths: &[PathBuf], transcript: Option<&Path>, options: Options) -> Engine {
    let media = FileMedia::open(paths, PAGE as u32).unwrap();
    let scribe = transcript.map(|path| Scribe::create(path).unwrap());
    let opening = AssemblyOptions::default();
    Engine::resume_transcribed(scheme, media, options, opening, scribe).unwrap().0
}

/// A unique page, so that no parity is that of other pages.
fn content(prng: &mut Prng) -> Vec<u8> {
    (0..PAGE / 8).flat_map(|_| prng.next_u64().to_le_bytes()).collect()
}

/// Sends requests for the first half of the array, as a client in its own thread does.
fn client(seed: u64, pages: u64, requests: &SyncSender<Request>) {
    let mut prng = Prng::new(seed);
    for _ in 0..400 {
        let offset = prng.below(pages) * PAGE;
        let sent = requests.send(match prng.below(100) {
            0 => Request::Flush,
            1 => Request::Write { offset, data: content(&mut prng)[..512].into(), fua: true },
            2..10 => Request::trim(offset, PAGE),
            10..20 => Request::write(offset, &content(&mut prng)[..512]),
            20..50 => Request::read(offset, 512 << prng.below(4)),
            _ => Request::write(offset, &content(&mut prng)),
        });
        sent.expect("the engine takes all");
    }
}

/// Serves several clients at once, in order of arrival. Calls `event` with the number of each request before the
/// request is submitted.
fn serve(engine: &mut Engine, mut event: impl FnMut(&mut Engine, u32)) {
    let (sender, requests) = sync_channel(16);
    let pages = engine.capacity() / PAGE / 2;
    thread::scope(|scope| {
        for seed in 0..4 {
            let sender = sender.clone();
            scope.spawn(move || client(seed, pages, &sender));
        }
        drop(sender);
        for (nth, request) in requests.into_iter().enumerate() {
            event(engine, nth as u32);
            let mut request = Some(request);
            while let Some(again) = request.take() {
                if let Err(rejected) = engine.submit(again) {
                    request = Some(rejected.request);
                    engine.step();
                }
            }
            while engine.turn() {}
            while engine.take_completion().is_some() {}
        }
    });
    while engine.poll().is_some() {}
}

/// Writes rubbish to pages that were not read yet.
fn damage(path: &Path, first: u64) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    for page in first..first + 300 {
        file.write_all_at(&[0xdb; 64], page * PAGE + 100).unwrap();
    }
}

/// A run with all kinds of events: older content, damage, a lost member, a replacement, a scrub.
fn recorded(text: &str, folder: &Path) -> (PathBuf, Engine) {
    let scheme = Scheme::from_toml("test", text).unwrap();
    let paths = created(&scheme, folder);
    let mut engine = open(&scheme, &paths, None);
    let mut prng = Prng::new(9);
    for page in 0..engine.capacity() / PAGE * 3 / 4 {
        engine.write(page * PAGE, &content(&mut prng)).unwrap();
    }
    // Without a clean stop, so that the assembly finds a tail.
    engine.flush().unwrap();
    drop(engine);
    let transcript = folder.join("run.transcript");
    let mut engine = open(&scheme, &paths, Some(&transcript));
    serve(&mut engine, |engine, nth| match nth {
        300 => damage(&paths[1], 300),
        600 => engine.fail(MemberNo::new(2)).unwrap(),
        1000 => {
            let file = MemberFile::create(&folder.join("new"), MEMBER_BYTES, PAGE as u32).unwrap();
            engine.add_spare(file).unwrap();
        }
        _ => {}
    });
    engine.scrub();
    while engine.step() {}
    assert!(engine.status().rebuild.is_none());
    (transcript, engine)
}

fn words(events: &[&Event]) -> String {
    events.iter().map(|event| format!("{event}\n")).collect()
}

fn replayed(path: &Path) -> Replayed {
    Replay::open(path).unwrap().run().unwrap()
}

fn events(path: &Path) -> (Head, Vec<Event>) {
    let mut values = Values::new(File::open(path).unwrap()).unwrap();
    let head = values.next().unwrap().unwrap();
    let mut events = Vec::new();
    while let Some(event) = values.next().unwrap() {
        events.push(event);
    }
    (head, events)
}

/// The result of replaying a transcript with these events.
fn replay_of(head: &Head, events: &[Event]) -> Result<Replayed, ReplayError> {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut blocks = Blocks::new(file.as_file()).unwrap();
    blocks.push(head).unwrap();
    events.iter().for_each(|event| blocks.push(event).unwrap());
    blocks.flush().unwrap();
    Replay::open(file.path()).unwrap().run()
}

#[test]
fn a_run_that_several_clients_and_a_lost_member_made_replays_operation_by_operation() {
    for text in [LOG, IN_PLACE] {
        let folder = tempfile::tempdir().unwrap();
        let (transcript, engine) = recorded(text, folder.path());
        let (operations, repairs) = (engine.counts().done.iter().sum::<u64>(), engine.repairs());
        engine.close().unwrap();
        let result = replayed(&transcript);
        assert_eq!(result.difference, None, "{text}");
        assert!(!result.is_cut);
        assert!(result.requests >= 1600 && result.operations >= operations, "{result:?}");
        assert_eq!(result.left.iter().map(|&(member, _)| member.number()).collect::<Vec<_>>(), [2]);
        if text == LOG {
            assert!(repairs > 0, "the damage was found, in the run and so in the replay");
        }
    }
}

/// Every member is reported slow when it has not answered for a microsecond, and answers again a little later.
#[test]
fn reads_that_go_around_slow_members_are_right_and_replay_operation_by_operation() {
    for text in [LOG, IN_PLACE] {
        let folder = tempfile::tempdir().unwrap();
        let scheme = Scheme::from_toml("test", text).unwrap();
        let paths = created(&scheme, folder.path());
        let transcript = folder.path().join("run.transcript");
        let options = Options { slow: Duration::from_micros(1), ..Options::default() };
        let mut engine = open_with(&scheme, &paths, Some(&transcript), options);
        let mut prng = Prng::new(3);
        let pages = 64;
        let mut contents: Vec<Vec<u8>> = (0..pages).map(|_| content(&mut prng)).collect();
        for (page, content) in (0..).zip(&contents) {
            engine.write(page * PAGE, content).unwrap();
        }
        engine.flush().unwrap();
        // Some pages are written while their neighbours are read, and reads begin while others wait for members.
        let mut under_way = BTreeMap::new();
        let next = |engine: &mut Engine, under_way: &mut BTreeMap<Ticket, (u64, Option<Vec<u8>>)>| {
            let completion = engine.poll().unwrap();
            assert_eq!(completion.result, Ok(()));
            let (page, expected) = under_way.remove(&completion.ticket).unwrap();
            assert!(expected.is_none_or(|expected| completion.payload == expected), "{text}: page {page}");
        };
        for page in (0..40).flat_map(|_| 0..pages) {
            while under_way.len() == 8 || under_way.values().any(|&(other, _)| other == page) {
                next(&mut engine, &mut under_way);
            }
            let offset = page * PAGE;
            let content_there = &mut contents[page as usize];
            let (request, expected) = if prng.chance(1, 8) {
                *content_there = content(&mut prng);
                (Request::write(offset, content_there), None)
            } else {
                (Request::read(offset, PAGE as usize), Some(content_there.clone()))
            };
            under_way.insert(engine.submit(request).unwrap(), (page, expected));
        }
        while !under_way.is_empty() {
            next(&mut engine, &mut under_way);
        }
        let counts = engine.array().read_counts();
        engine.close().unwrap();
        let is_report = |event: &Event| matches!(event, Event::Slow { .. });
        if !events(&transcript).1.iter().any(is_report) {
            println!("skipped: nothing is slow where every call waits");
            return;
        }
        assert!(counts.redirected > 0 && counts.hedged > 0, "{text}: {counts:?}");
        let result = replayed(&transcript);
        assert_eq!((result.difference, result.is_cut), (None, false), "{text}");
    }
}

#[test]
fn a_read_that_overtook_a_write_is_recorded_by_the_version_that_it_found() {
    let folder = tempfile::tempdir().unwrap();
    let (transcript, engine) = recorded(IN_PLACE, folder.path());
    engine.close().unwrap();
    let (head, _) = events(&transcript);
    let path = folder.path().join("race");
    let mut scribe = Scribe::create(&path).unwrap();
    scribe.begin(&head);
    let [old, new] = [1, 2].map(|byte| vec![byte; PAGE as usize]);
    let operation = |kind| Operation { kind, member: MemberNo::new(1), page: 40, ..Operation::default() };
    let (read, write) = (operation(OperationKind::Read), operation(OperationKind::Write));
    scribe.start(OperationId::new(1), &write, &old);
    scribe.over(&write);
    scribe.start(OperationId::new(2), &read, &[]);
    scribe.start(OperationId::new(3), &write, &new);
    scribe.read(&read, &old);
    scribe.over(&read);
    scribe.start(OperationId::new(4), &read, &[]);
    scribe.read(&read, &new);
    scribe.over(&read);
    scribe.start(OperationId::new(5), &read, &[]);
    // The write completes first; the read returned the earlier content all the same.
    scribe.over(&write);
    scribe.read(&read, &old);
    scribe.over(&read);
    scribe.start(OperationId::new(6), &read, &[]);
    scribe.read(&read, &new);
    scribe.over(&read);
    // Nothing is in flight any more: different content is damage now, and its bytes are recorded.
    scribe.start(OperationId::new(7), &read, &[]);
    scribe.read(&read, &old);
    scribe.finish().unwrap();
    let (_, events) = events(&path);
    let found: Vec<_> = events.iter().filter(|event| !matches!(event, Event::Started { .. })).collect();
    let earlier = Event::Earlier { member: MemberNo::new(1), page: 40, nth: 0 };
    let damage = Event::Content { member: MemberNo::new(1), page: 40, bytes: old.into() };
    assert!(found == [&earlier, &earlier, &damage], "{}", words(&found));
}

#[test]
fn a_transcript_is_its_users_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("transcript");
    drop(Scribe::create(&path).unwrap());
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_transcript_that_is_still_written_names_its_writer_and_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("transcript");
    let scribe = Scribe::create(&path).unwrap();
    let error = Replay::open(&path).unwrap_err().to_string();
    assert!(error.contains(&format!("process {} (", std::process::id())), "{error}");
    assert!(error.contains("still writes it") && error.contains("`stripewise stop NAME`"), "{error}");
    drop(scribe);
    let error = Replay::open(&path).unwrap_err().to_string();
    assert!(error.contains("its server was killed early") && !error.contains("still writes"), "{error}");

    let (path, engine) = recorded(LOG, &tempfile::tempdir_in(folder.path()).unwrap().keep());
    assert!(Replay::open(&path).unwrap().unfinished().expect("it serves").contains("still writes it"));
    engine.close().unwrap();
    let replay = Replay::open(&path).unwrap();
    assert!(replay.unfinished().is_none() && !replay.run().unwrap().is_cut);
}

/// Pages that the assembly read are in the file too, which is written in blocks: a server is long at work before all are there.
#[test]
fn a_transcript_that_ends_during_the_assembly_is_cut_and_not_different() {
    let folder = tempfile::tempdir().unwrap();
    for scheme in [LOG, IN_PLACE] {
        let (transcript, engine) = recorded(scheme, &tempfile::tempdir_in(folder.path()).unwrap().keep());
        engine.close().unwrap();
        let (head, events) = events(&transcript);
        let is_media = |event: &&Event| matches!(event, Event::MediaRead { .. } | Event::MediaDone(_));
        let of_assembly = events.iter().filter(is_media).count();
        assert!(of_assembly > 8, "{of_assembly}");
        for length in (0..of_assembly).step_by(of_assembly / 8) {
            let result = replay_of(&head, &events[..length]).unwrap();
            assert!(result.is_cut && result.difference.is_none(), "{length} of {of_assembly}: {result:?}");
        }
    }
}

#[test]
fn a_transcript_of_an_engine_that_was_killed_replays_up_to_where_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let (transcript, engine) = recorded(LOG, folder.path());
    // Events in its memory are lost with it.
    std::mem::forget(engine);
    let result = replayed(&transcript);
    assert!(result.is_cut && result.difference.is_none() && result.requests > 800, "{result:?}");
}

#[test]
fn a_replay_that_differs_is_reported_at_the_difference() {
    let folder = tempfile::tempdir().unwrap();
    let (transcript, engine) = recorded(LOG, folder.path());
    engine.close().unwrap();
    let (head, events) = events(&transcript);
    let events: Vec<Event> = events.into_iter().take(12_000).collect();
    assert_eq!(replay_of(&head, &events).unwrap().difference, None);

    // A read of a host that failed instead.
    let is_read = |event: &Event| matches!(event, Event::Started { operation, .. } if operation.class == Class::HostRead);
    let started = events.iter().position(is_read).unwrap();
    let Event::Started { id: read, .. } = events[started] else { unreachable!() };
    let mut changed = events.clone();
    let completed = changed[started..].iter_mut().find_map(|event| match event {
        Event::Completed { id, outcome, .. } if *id == read => Some(outcome),
        _ => None,
    });
    *completed.unwrap() = Outcome::MediumError;
    let difference = replay_of(&head, &changed).unwrap().difference.expect("the chunk is decoded");
    assert!(difference.event > started as u64, "{difference}");

    // A different request.
    let mut changed = events.clone();
    let write = changed.iter_mut().find_map(|event| match event {
        Event::Submitted { host, .. } if host.kind == RequestKind::Write => Some(host),
        _ => None,
    });
    write.unwrap().kind = RequestKind::Read;
    assert!(replay_of(&head, &changed).unwrap().difference.is_some());

    // An operation that was never started, and an answer that is missing.
    let mut changed = events.clone();
    let offered = events.iter().position(|event| *event == Event::Dispatched).unwrap();
    changed.insert(
        offered,
        Event::Completed { now: 0, id: OperationId::new(77_777), outcome: Outcome::Done, took_ns: 1 },
    );
    assert!(replay_of(&head, &changed).is_err());
    let mut changed = events.clone();
    changed.remove(started);
    assert!(replay_of(&head, &changed).unwrap().difference.is_some());
    changed.insert(started, events[started].clone());
    changed.insert(started, events[started].clone());
    assert!(replay_of(&head, &changed).unwrap().difference.is_some());

    // Another scheme.
    let mut replay = Replay::open(&transcript).unwrap();
    replay.use_scheme(Scheme::from_toml("other", &LOG.replace("1ms", "50ms")).unwrap());
    assert!(replay.run().unwrap().difference.is_some());
}

/// Replays of rubbish end with an error or a difference.
#[test]
fn events_in_any_disorder_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let (transcript, engine) = recorded(LOG, folder.path());
    engine.close().unwrap();
    let (head, events) = events(&transcript);
    for seed in 0..200 {
        let mut prng = Prng::new(seed);
        let mut some: Vec<Event> = events.iter().take(3000 + prng.below(3000) as usize).cloned().collect();
        for _ in 0..=prng.below(4) {
            let (from, to) = (prng.below(some.len() as u64), prng.below(some.len() as u64));
            let moved = some.remove(from as usize);
            some.insert(to as usize, moved);
        }
        let _ = replay_of(&head, &some);
    }
}
