//! Two hosts over the same members: two keepers over the same files, past the locks that exclude processes of one host.

use std::fs::File;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use stripewise_array::format::{Area, Copy, Owner, SUPERBLOCK_BYTES, Superblock, Uuid};
use stripewise_array::{AssemblyOptions, Identity, MemberNo, Members, Scheme, create};

use super::keeper::Keeper;
use super::page::OwnerPage;
use super::*;
use crate::engine::{Engine, IoMode, Options};
use crate::error::EngineError;
use crate::incidents::Incident;
use crate::jobs::Request;
use crate::media::FileMedia;

const INTERVAL: Duration = Duration::from_millis(10);
const SCHEME: &str = "name = 'two hosts'\nmetadata = 'on'\n[geometry]\nlevel = 'raid5'\nchunk = '16KiB'\n[placement]\n\
    buffer_persistence = 'volatile'\n";
const MEMBERS: usize = 3;
const OWNER: Owner = Owner {
    array: Uuid([7; 16]),
    sequence: 1,
    host: Uuid([1; 16]),
    session: Uuid([1; 16]),
    interval_ms: 10,
    is_released: false,
    since: 0,
    written: 0,
    name: String::new(),
};

/// The members of an array.
struct Bench {
    _folder: tempfile::TempDir,
    paths: Vec<PathBuf>,
    block: Superblock,
    scheme: Scheme,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> = (0..MEMBERS).map(|nth| folder.path().join(nth.to_string())).collect();
        let files = crate::files::MemberFile::create_all(&paths, 1 << 20, 4096).unwrap();
        let mut media = FileMedia::new(files, 4096);
        let scheme = Scheme::from_toml("test", SCHEME).unwrap();
        let members = Members { pages: 255, ..media.members() };
        let identity = Identity {
            array: Uuid([7; 16]),
            members: (0..MEMBERS as u8).map(|nth| Uuid([nth + 1; 16])).collect(),
            name: "two".into(),
        };
        create(&scheme, members, &identity, &mut media).unwrap();
        let block = FileMedia::superblock(&paths[0]).unwrap().unwrap();
        assert_eq!(block.owner.pages, 1);
        release_of(&media, &block, &host(1)).unwrap();
        drop(media);
        Self { _folder: folder, paths, block, scheme }
    }

    fn places(&self) -> Vec<(usize, OwnerPage)> {
        let place = |path: &PathBuf| {
            let file = File::options().read(true).write(true).open(path).unwrap();
            OwnerPage::new(file.into(), self.block.array, self.block.owner.first, self.block.page_bytes)
        };
        self.paths.iter().map(place).enumerate().collect()
    }

    fn claim(&self, host: u8, takeover: bool) -> Result<Keeper, EngineError> {
        let mut keeper = Keeper::over(
            self.places(),
            &self.block,
            &self::host(host),
            Claiming { interval: INTERVAL, takeover },
        )?;
        keeper.assembled(&[Some(0), Some(1), Some(2)]);
        Ok(keeper)
    }

    fn owners(&self) -> Vec<Option<Owner>> {
        self.places().iter_mut().map(|(_, place)| place.read().unwrap()).collect()
    }

    /// Leaves the pages as after a power loss of a host that serves.
    fn die(&self, host: u8) {
        let keeper = self.claim(host, true).unwrap();
        let last = self.owners();
        drop(keeper);
        for ((_, place), owner) in self.places().iter_mut().zip(last) {
            place.write(&owner.unwrap()).unwrap();
        }
    }

    fn engine(&self, host: u8) -> Engine {
        self.engine_with(host, INTERVAL, Options::default())
    }

    fn engine_with(&self, host: u8, interval: Duration, options: Options) -> Engine {
        let media = FileMedia::open(&self.paths, 4096).unwrap();
        let claiming = Claiming { interval, takeover: false };
        let keeper = Keeper::claim(&media, &self.block, &self::host(host), claiming).unwrap().unwrap();
        let (mut engine, _) =
            Engine::resume(&self.scheme, media, options, AssemblyOptions::default()).unwrap();
        engine.keep(keeper, &self.block);
        engine
    }

    fn content(&self) -> Vec<Vec<u8>> {
        self.paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
    }
}

fn host(id: u8) -> Host {
    Host { id: Uuid([id; 16]), name: format!("host-{id}") }
}

fn refusal(result: Result<Keeper, EngineError>) -> OwnerError {
    match result {
        Err(EngineError::Owner(error)) => error,
        other => panic!("{other:?}"),
    }
}

/// Waits until `is_so` is true.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(10);
    while !is_so() {
        assert!(Instant::now() < end, "{what} did not happen");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_host_that_gave_the_array_back_does_not_keep_another_from_it() {
    let bench = Bench::new();
    drop(bench.claim(1, false).unwrap());
    assert!(bench.owners().iter().flatten().all(|owner| owner.is_released && owner.host == host(1).id));
    let keeper = bench.claim(2, false).unwrap();
    assert!(keeper.may_write());
    assert!(bench.owners().iter().flatten().all(|owner| !owner.is_released && owner.name == "host-2"));
}

#[test]
fn an_array_that_another_host_did_not_give_back_is_refused_and_the_host_named() {
    let bench = Bench::new();
    bench.die(1);
    let message = refusal(bench.claim(2, false)).to_string();
    assert!(message.starts_with("host \"host-1\" (01010101-"), "{message}");
    assert!(message.contains("owns the array since 0 s") || message.contains("since 1 s"), "{message}");
    assert!(message.contains("--takeover"), "{message}");
}

#[test]
fn the_same_host_claims_again_at_once_whatever_ended_it() {
    let bench = Bench::new();
    bench.die(1);
    let began = Instant::now();
    let keeper = bench.claim(1, false).unwrap();
    assert!(began.elapsed() < INTERVAL * WAIT_BEATS, "it waited for nobody");
    assert!(keeper.may_write());
}

#[test]
fn a_host_that_is_gone_is_taken_over_and_one_that_is_alive_is_not() {
    let bench = Bench::new();
    let alive = bench.claim(1, false).unwrap();
    let message = refusal(bench.claim(2, true)).to_string();
    assert!(message.contains("host-1") && message.contains("is serving the array now"), "{message}");
    assert!(alive.may_write());
    drop(alive);
    bench.die(1);
    let began = Instant::now();
    let keeper = bench.claim(2, true).unwrap();
    assert!(began.elapsed() >= INTERVAL * (WATCH_BEATS + WAIT_BEATS));
    assert!(keeper.may_write());
}

#[test]
fn heartbeats_move_on_every_member() {
    let bench = Bench::new();
    let keeper = bench.claim(1, false).unwrap();
    let sequences = || bench.owners().into_iter().map(|owner| owner.unwrap().sequence).collect::<Vec<_>>();
    let before = sequences();
    until("a heartbeat on each", || sequences().iter().zip(&before).all(|(now, before)| now > before));
    drop(keeper);
}

/// The result of a power loss, a replaced member or rot: the page names no host, and stops none.
#[test]
fn torn_missing_and_stale_pages_do_not_stop_the_rightful_host() {
    type Ruin = fn(&mut Owner, &mut Vec<u8>);
    let torn: Ruin = |_, page| page[40..].fill(0);
    let missing: Ruin = |_, page| page.fill(0);
    let stale: Ruin = |owner, page| {
        // Another host owned the array long ago, and this member was absent since.
        (owner.host, owner.sequence, owner.is_released) = (Uuid([9; 16]), 0, false);
        owner.encode(page);
    };
    for ruin in [torn, missing, stale] {
        for some in 1..(1 << MEMBERS) - 1 {
            let bench = Bench::new();
            bench.die(1);
            for (nth, (path, owner)) in bench.paths.iter().zip(bench.owners()).enumerate() {
                if some >> nth & 1 == 1 {
                    let (mut owner, mut page) = (owner.unwrap(), vec![0; 4096]);
                    owner.encode(&mut page);
                    ruin(&mut owner, &mut page);
                    let at = u64::from(bench.block.owner.first) * 4096;
                    let file = File::options().write(true).open(path).unwrap();
                    std::os::unix::fs::FileExt::write_all_at(&file, &page, at).unwrap();
                }
            }
            let keeper = bench.claim(1, false).unwrap();
            assert!(keeper.may_write());
            assert!(
                bench.owners().iter().flatten().filter(|owner| owner.host == host(1).id).count() == MEMBERS
            );
        }
    }
}

#[test]
fn two_hosts_that_claim_at_once_do_not_both_get_the_array() {
    let bench = Bench::new();
    let results = thread::scope(|scope| {
        let claims: Vec<_> = [1, 2]
            .map(|host| {
                scope.spawn({
                    let bench = &bench;
                    move || bench.claim(host, false)
                })
            })
            .into();
        claims.into_iter().map(|claim| claim.join().unwrap()).collect::<Vec<_>>()
    });
    let won = results.iter().filter(|result| result.as_ref().is_ok_and(Keeper::may_write)).count();
    assert!(won <= 1, "{results:?}");
    // If the machine paused between two steps, the host that claimed first may lose, and see that at its heartbeat.
    let Some(lost) = results.into_iter().find_map(Result::err) else { return };
    assert!(
        matches!(lost, EngineError::Owner(OwnerError::Contended { .. } | OwnerError::Owned { .. })),
        "{lost}"
    );
}

#[test]
fn an_engine_whose_array_was_taken_over_writes_nothing_more() {
    let bench = Bench::new();
    let mut engine = bench.engine(1);
    engine.write(0, &[7; 4096]).unwrap();
    engine.flush().unwrap();
    // The other host takes the array over, as a host does that saw no heartbeat for long.
    let other = Owner {
        host: host(2).id,
        session: Uuid([2; 16]),
        name: "host-2".into(),
        ..engine.owner().unwrap().clone()
    };
    bench.places().iter_mut().for_each(|(_, place)| place.write(&other).unwrap());
    until("the loss", || engine.is_owner().is_err());
    let before = bench.content();
    let refused = engine.write(4096, &[8; 4096]).expect_err("it is another host's");
    assert!(matches!(refused, EngineError::Submit(_)), "{refused}");
    assert!(!engine.turn());
    let message = engine.close().expect_err("it cannot be closed").to_string();
    assert!(message.starts_with("host \"host-2\"") && message.contains("took the array over"), "{message}");
    assert!(bench.content() == before, "the other host's page and all else is as it was");
}

/// Another host may have taken over from a host that was stopped for long: the stopped host checks before it writes.
#[test]
fn an_engine_that_could_not_confirm_its_page_waits_before_it_writes() {
    let bench = Bench::new();
    let mut engine = bench.engine(1);
    // As if all threads had been stopped for long: no member is confirmed.
    engine.keeper().forget();
    engine.submit(Request::Write { offset: 0, data: (&[7; 4096][..]).into(), fua: false }).unwrap();
    assert!(engine.wake_in().is_some());
    // The next heartbeats confirm the members.
    assert!(engine.poll().is_some_and(|completion| completion.result.is_ok()));
    engine.close().unwrap();
    assert!(bench.owners().iter().flatten().all(|owner| owner.is_released));
}

/// A heartbeat interval longer than any test: forgotten confirmations stay forgotten.
const SELDOM: Duration = Duration::from_secs(60);

#[test]
fn reads_continue_while_ownership_is_not_confirmed_and_nothing_is_written_to_members() {
    for way in [IoMode::Best, IoMode::Plain] {
        let bench = Bench::new();
        let mut engine = bench.engine_with(1, SELDOM, Options { way, ..Options::default() });
        engine.write(0, &[7; 4096]).unwrap();
        engine.flush().unwrap();
        engine.keeper().forget();
        let before = bench.content();
        let write = Request::Write { offset: 4096, data: (&[8; 4096][..]).into(), fua: true };
        let ticket = engine.submit(write).unwrap();
        let mut read = [0; 4096];
        for _ in 0..100 {
            engine.read(0, &mut read).unwrap();
            assert_eq!(read, [7; 4096]);
        }
        assert_eq!(engine.take_completion(), None, "{ticket:?} waits");
        assert!(bench.content() == before, "no member was written to");
        engine.keeper().remember();
        let completion = engine.poll().unwrap();
        assert_eq!((completion.ticket, completion.result), (ticket, Ok(())));
        let incidents: Vec<Incident> = std::iter::from_fn(|| engine.take_incident()).collect();
        assert_eq!(incidents, [Incident::Fenced, Incident::Unfenced]);
        engine.close().unwrap();
    }
}

#[test]
fn members_that_never_confirm_fail_after_the_timeout_and_the_engine_ends() {
    let bench = Bench::new();
    let timeout = Duration::from_millis(200);
    let mut engine = bench.engine_with(1, SELDOM, Options { timeout, ..Options::default() });
    engine.write(0, &[7; 4096]).unwrap();
    engine.flush().unwrap();
    engine.keeper().forget();
    thread::sleep(timeout * 2);
    let before = bench.content();
    let began = Instant::now();
    engine.write(4096, &[8; 4096]).and_then(|()| engine.flush()).expect_err("no member confirms");
    assert!(began.elapsed() >= timeout, "time in which nothing waited does not count");
    let message = engine.failure(MemberNo::new(0)).unwrap().unwrap().to_string();
    assert!(message.contains("did not answer the heartbeat"), "{message}");
    assert!(bench.content() == before, "no member was written to");
    engine.close().expect_err("what was written last is lost");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[test]
fn a_member_that_hangs_has_to_confirm_until_it_fails() {
    let shared = state::Shared::new(OWNER, INTERVAL, 3, Instant::now() - INTERVAL * 1000);
    let hung = state::Beat { confirmed: Some(Duration::ZERO), is_bad: false, is_retired: false };
    shared.lock().beats = [hung; 4].into();
    for nth in [0, 1] {
        shared.note(nth, shared.elapsed(), true);
    }
    assert!(!shared.is_valid(), "two of four confirmed, and three must");
    shared.lock().beats[2].is_retired = true;
    shared.review(&shared.lock());
    assert!(!shared.is_valid(), "another host may have claimed the one that hangs");
    shared.lock().beats[3].is_retired = true;
    shared.review(&shared.lock());
    assert!(shared.is_valid(), "all that serve confirmed");
}

#[test]
fn a_member_that_left_is_left_alone_and_one_that_came_gets_the_page() {
    let bench = Bench::new();
    let mut engine = bench.engine(1);
    engine.fail(MemberNo::new(2)).unwrap();
    let sequence = |nth: usize| bench.owners()[nth].as_ref().map(|owner| owner.sequence);
    thread::sleep(INTERVAL * 2);
    let left = sequence(2);
    let before = sequence(0);
    until("heartbeats of the others", || sequence(0) > before.map(|number| number + 6));
    assert_eq!(sequence(2), left);
    let path = bench.paths[0].with_file_name("new");
    let file = crate::files::MemberFile::create(&path, 1 << 20, 4096).unwrap();
    engine.replace(MemberNo::new(2), file).unwrap();
    until("the page on the new member", || owner_of(&path, &bench.block).is_some());
    engine.close().unwrap();
    assert!(owner_of(&path, &bench.block).is_some_and(|owner| owner.is_released));
}

/// Members that are larger than the part that the array uses have the page behind that part; a member that is not
/// larger has no page.
#[test]
fn a_page_behind_the_array_is_not_written_over_the_superblock_of_a_smaller_member() {
    let bench = Bench::new();
    let block = Superblock { owner: Area { first: bench.block.pages - 1, pages: 1 }, ..bench.block.clone() };
    assert_eq!(block.owner_page(256), Some(254));
    assert_eq!(block.owner_page(255), None);
    let path = &bench.paths[0];
    let mut back = vec![0; SUPERBLOCK_BYTES];
    block.encode(Copy::Back, &mut back);
    File::options().write(true).open(path).unwrap().set_len(255 * 4096).unwrap();
    assert_eq!(owner_of(path, &block), None);
}
