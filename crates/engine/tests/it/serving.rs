//! Members that leave and return while the array serves, damage that is found, and durability.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use stripewise_array::format::Superblock;
use stripewise_array::{AssemblyOptions, MemberNo, Scheme, SubmitError};
use stripewise_base::prng::Prng;
use stripewise_engine::{
    Engine, EngineError, Failed, FileMedia, FileTrouble, IoMode, MemberCondition, MemberFile, Options, Rate,
    Request, Ticket, Timekeeping,
};
use tempfile::TempDir;

use crate::support::arrays::{IN_PLACE, LOG, created, opened, ways};

const MEMBER_BYTES: u64 = 4 << 20;
const PAGE: u64 = 4096;
const THIRD: MemberNo = MemberNo::new(2);

/// A log of four members, where every page contains its number and a round.
struct Bench {
    folder: TempDir,
    scheme: Scheme,
    paths: Vec<PathBuf>,
    rounds: Vec<u8>,
}

impl Bench {
    /// With the pages of the first three quarters written and durable.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let scheme = Scheme::from_toml("test", LOG).unwrap();
        let paths = created(&scheme, folder.path(), 4, MEMBER_BYTES);
        let mut bench = Self { folder, scheme, paths, rounds: Vec::new() };
        let mut engine = bench.open(Options::default());
        bench.rounds = vec![0; (engine.capacity() / PAGE) as usize];
        for page in 0..bench.rounds.len() * 3 / 4 {
            bench.write(&mut engine, page);
        }
        engine.close().unwrap();
        bench
    }

    fn open(&self, options: Options) -> Engine {
        opened(&self.scheme, &self.paths, options).unwrap()
    }

    fn new_file(&self, name: &str, bytes: u64) -> MemberFile {
        MemberFile::create(&self.folder.path().join(name), bytes, 4096).unwrap()
    }

    fn write(&mut self, engine: &mut Engine, page: usize) {
        self.rounds[page] += 1;
        engine.write(page as u64 * PAGE, &self.content(page)).unwrap();
    }

    fn content(&self, page: usize) -> Vec<u8> {
        if self.rounds[page] == 0 {
            return vec![0; PAGE as usize];
        }
        let mut content = vec![self.rounds[page]; PAGE as usize];
        content[..8].copy_from_slice(&(page as u64).to_le_bytes());
        content
    }

    fn check(&self, engine: &mut Engine) {
        let mut found = vec![0; PAGE as usize];
        for page in 0..self.rounds.len() {
            engine.read(page as u64 * PAGE, &mut found).unwrap();
            assert!(found == self.content(page), "page {page} in round {}", self.rounds[page]);
        }
    }

    /// Writes pages at random until the rebuild is complete. Returns how many.
    fn serve_until_rebuilt(&mut self, engine: &mut Engine) -> u32 {
        let mut prng = Prng::new(3);
        let mut writes = 0;
        while engine.status().rebuild.is_some() {
            let page = prng.below(self.rounds.len() as u64 / 2) as usize;
            self.write(engine, page);
            engine.step();
            writes += 1;
            assert!(writes < 100_000, "rebuilding does not end: {:?}", engine.status().rebuild);
        }
        writes
    }

    /// Checks that no member is out of service, and that all content is there with any one of them lost.
    fn check_tolerates_any(&self, options: Options) {
        let engine = self.open(options);
        assert!(engine.status().members.iter().all(|member| member.state == MemberCondition::Active));
        engine.close().unwrap();
        for member in 0..4 {
            let mut others = self.paths.clone();
            others.remove(member);
            let media = FileMedia::open_to_read(&others, 4096).unwrap();
            let opening = AssemblyOptions { read_only: true, ..AssemblyOptions::default() };
            let (mut engine, _) = Engine::resume(&self.scheme, media, options, opening).unwrap();
            self.check(&mut engine);
        }
    }
}

#[test]
fn a_member_that_was_away_gets_what_it_missed() {
    for options in ways() {
        let mut bench = Bench::new();
        let away = bench.paths.remove(2);
        let mut engine = bench.open(options);
        assert_eq!(engine.opened().positions[2], None);
        assert_eq!(engine.status().members[2].state, MemberCondition::Failed);
        for page in 0..100 {
            bench.write(&mut engine, page);
        }
        bench.check(&mut engine);
        let other = bench.new_file("other", MEMBER_BYTES);
        let refused = engine.rejoin(MemberNo::new(2), other);
        assert!(matches!(refused, Err(EngineError::NotThat { member: THIRD, .. })), "{refused:?}");
        // Larger than before: it ends elsewhere, and so does its second superblock.
        File::options().write(true).open(&away).unwrap().set_len(MEMBER_BYTES + (1 << 20)).unwrap();
        engine.rejoin(MemberNo::new(2), MemberFile::open(&away, 4096).unwrap()).unwrap();
        assert!(matches!(engine.status().rebuild, Some((THIRD, _))));
        bench.serve_until_rebuilt(&mut engine);
        bench.check(&mut engine);
        engine.close().unwrap();
        let content = std::fs::read(&away).unwrap();
        assert!(Superblock::parse(&content[content.len() - 4096..]).is_ok());
        bench.paths.insert(2, away);
        bench.check_tolerates_any(options);
    }
}

#[test]
fn a_replacement_is_made_whole_while_hosts_write() {
    for options in ways() {
        let mut bench = Bench::new();
        let mut engine = bench.open(options);
        assert!(matches!(
            engine.replace(MemberNo::new(1), bench.new_file("early", MEMBER_BYTES)),
            Err(EngineError::Rejoin(_))
        ));
        engine.fail(MemberNo::new(1)).unwrap();
        let small = bench.new_file("small", MEMBER_BYTES / 2);
        assert!(matches!(engine.replace(MemberNo::new(1), small), Err(EngineError::Rejoin(_))));
        let before = engine.status().members[1].uuid;
        engine.replace(MemberNo::new(1), bench.new_file("new", MEMBER_BYTES + (1 << 20))).unwrap();
        assert_eq!(engine.status().members[1].state, MemberCondition::Rebuilding);
        assert_ne!(engine.status().members[1].uuid, before);
        assert!(bench.serve_until_rebuilt(&mut engine) > 10, "hosts are served meanwhile");
        bench.check(&mut engine);
        engine.close().unwrap();
        bench.paths[1] = bench.folder.path().join("new");
        bench.check_tolerates_any(options);
    }
}

#[test]
fn a_rebuild_that_was_interrupted_continues() {
    let mut bench = Bench::new();
    let mut engine = bench.open(Options::default());
    engine.fail(MemberNo::new(0)).unwrap();
    engine.set_rate(Rate::BytesPerSecond(0));
    engine.replace(MemberNo::new(0), bench.new_file("new", MEMBER_BYTES)).unwrap();
    for page in 0..50 {
        bench.write(&mut engine, page);
    }
    engine.flush().unwrap();
    let (member, progress) = engine.status().rebuild.expect("nothing is allowed, so it does not end");
    assert!(member == MemberNo::new(0) && progress.done < progress.total / 2, "{progress:?}");
    drop(engine);
    bench.paths[0] = bench.folder.path().join("new");
    let mut engine = bench.open(Options::default());
    assert!(engine.status().rebuild.is_some());
    while engine.step() {}
    assert_eq!(engine.status().rebuild, None);
    engine.close().unwrap();
    bench.check_tolerates_any(Options::default());
}

#[test]
fn a_spare_takes_the_place_of_the_first_that_fails() {
    let mut bench = Bench::new();
    let mut engine = bench.open(Options::default());
    let small = bench.new_file("small", MEMBER_BYTES / 2);
    assert!(matches!(engine.add_spare(small), Err(EngineError::Rejoin(_))));
    engine.add_spare(bench.new_file("spare", MEMBER_BYTES)).unwrap();
    assert_eq!(engine.status().spares, 1);
    engine.fail(MemberNo::new(3)).unwrap();
    bench.write(&mut engine, 7);
    while engine.step() {}
    let status = engine.status();
    assert_eq!((status.spares, status.rebuild, status.members[3].state), (0, None, MemberCondition::Active));
    assert!(status.members[3].path.as_ref().unwrap().ends_with("spare"));
    engine.close().unwrap();
    bench.paths[3] = bench.folder.path().join("spare");
    bench.check_tolerates_any(Options::default());
}

#[test]
fn a_scrub_finds_damage_and_repairs_it() {
    for options in ways() {
        let bench = Bench::new();
        // A quarter of a member, after the metadata.
        let file = std::fs::OpenOptions::new().write(true).open(&bench.paths[1]).unwrap();
        file.write_all_at(&vec![0xDB; 1 << 20], 2 << 20).unwrap();
        drop(file);
        let mut engine = bench.open(options);
        engine.scrub();
        assert!(engine.status().scrub.progress.is_some());
        while engine.step() {}
        let scrub = engine.status().scrub;
        assert_eq!((scrub.progress, scrub.lost), (None, 0));
        assert!(scrub.bad > 20 && scrub.repaired == scrub.bad, "{scrub:?}");
        engine.scrub();
        while engine.step() {}
        let scrub = engine.status().scrub;
        assert_eq!((scrub.bad, scrub.repaired), (0, 0), "everything was repaired");
        bench.check(&mut engine);
        engine.close().unwrap();
        bench.check_tolerates_any(options);
    }
}

#[test]
fn a_rebuild_takes_the_time_that_its_rate_says() {
    let bench = Bench::new();
    let rate = 4 << 20;
    // Counted time: operations take almost none, and waiting passes at once.
    let time = Timekeeping::Counted(1);
    let mut engine = bench.open(Options {
        time,
        way: IoMode::Plain,
        rate: Rate::BytesPerSecond(rate),
        ..Options::default()
    });
    let begun = engine.status().age_ns;
    let before = engine.status();
    engine.fail(MemberNo::new(2)).unwrap();
    engine.replace(MemberNo::new(2), bench.new_file("new", MEMBER_BYTES)).unwrap();
    while engine.step() {}
    let after = engine.status();
    assert_eq!(after.rebuild, None);
    let pages = |status: &stripewise_engine::Status| {
        status.members.iter().map(|member| member.counts.reads + member.counts.writes).sum::<u64>()
    };
    let expected_ns = (pages(&after) - pages(&before)) * PAGE * 1_000_000_000 / rate;
    let took_ns = after.age_ns - begun;
    assert!(
        took_ns > expected_ns / 2 && took_ns < expected_ns * 3 / 2,
        "{took_ns} instead of about {expected_ns}"
    );
    assert!(expected_ns > 500_000_000, "so much that it means something: {expected_ns}");
}

#[test]
fn forced_data_survives_a_sudden_end_of_the_engine() {
    for options in ways() {
        let mut bench = Bench::new();
        let mut engine = bench.open(options);
        let run = |engine: &mut Engine, request: Request| {
            let ticket = engine.submit(request).unwrap();
            let completion = engine.poll().unwrap();
            assert_eq!((completion.ticket, completion.result), (ticket, Ok(())));
        };
        bench.rounds[5] += 1;
        let data = bench.content(5)[..].into();
        run(&mut engine, Request::Write { offset: 5 * PAGE, data, fua: true });
        // More than a part, with edges that are not whole pages.
        let bytes = 10 * PAGE + 1024;
        run(&mut engine, Request::Zero { offset: 20 * PAGE - 512, bytes, fua: true, keep_space: false });
        drop(engine);
        let mut engine = bench.open(options);
        let mut found = vec![0; PAGE as usize];
        engine.read(5 * PAGE, &mut found).unwrap();
        assert_eq!(found, bench.content(5));
        for page in 19..=30 {
            engine.read(page * PAGE, &mut found).unwrap();
            let mut expected = bench.content(page as usize);
            let zeros = match page {
                19 => 3584..4096,
                30 => 0..512,
                _ => 0..4096,
            };
            expected[zeros].fill(0);
            assert!(found == expected, "page {page}");
        }
    }
}

#[test]
fn requests_of_any_length_are_done_whole() {
    let bench = Bench::new();
    let mut engine = bench.open(Options::default());
    let capacity = engine.capacity();
    assert!(capacity > 5 << 20, "several parts");
    let data: Vec<u8> = (0..capacity / 8).flat_map(|word| (word * 7).to_le_bytes()).collect();
    engine.write(0, &data).unwrap();
    let mut found = vec![0; capacity as usize];
    engine.read(0, &mut found).unwrap();
    assert!(found == data);
    engine.trim(0, capacity).unwrap();
    engine.read(0, &mut found).unwrap();
    assert!(found.iter().all(|&byte| byte == 0));
    assert_eq!(engine.status().used, Some(0));
}

#[test]
fn a_read_only_engine_changes_nothing() {
    let bench = Bench::new();
    let contents = || bench.paths.iter().map(|path| std::fs::read(path).unwrap()).collect::<Vec<_>>();
    let before = contents();
    let media = FileMedia::open_to_read(&bench.paths, 4096).unwrap();
    let opening = AssemblyOptions { read_only: true, ..AssemblyOptions::default() };
    let (mut engine, _) = Engine::resume(&bench.scheme, media, Options::default(), opening).unwrap();
    bench.check(&mut engine);
    let refused = engine.submit(Request::write(0, &[1; 512])).unwrap_err();
    assert_eq!((refused.error, refused.request), (SubmitError::ReadOnly, Request::write(0, &[1; 512])));
    engine.close().unwrap();
    assert!(contents() == before);
}

#[test]
fn too_much_that_is_lost_fails_requests_and_not_the_engine() {
    let bench = Bench::new();
    let mut engine = bench.open(Options::default());
    engine.fail(MemberNo::new(0)).unwrap();
    engine.fail(MemberNo::new(1)).unwrap();
    let mut page = vec![0; 4096];
    let lost = (0..100).filter(|&number| engine.read(number * PAGE, &mut page).is_err()).count();
    assert!(lost > 0);
    assert!(matches!(engine.flush(), Err(EngineError::Failed(Failed::Lost))));
}

#[test]
fn a_device_belongs_to_one_and_its_blocks_fit_into_pages() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    File::create(&image).unwrap().set_len(1 << 20).unwrap();
    let losetup = |arguments: &[&str]| {
        let output = std::process::Command::new("losetup").args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let attached = losetup(&["--find", "--show", "--sector-size", "4096", image.to_str().unwrap()]);
    let Some(device) = attached else {
        println!("skipped: no loop device can be made here");
        return;
    };
    let path = PathBuf::from(&device);
    let file = MemberFile::open(&path, 4096);
    let again = MemberFile::open(&path, 4096);
    let small = MemberFile::open(&path, 512);
    let bytes = file.as_ref().map(MemberFile::bytes);
    losetup(&["--detach", &device]);
    assert_eq!(bytes.unwrap(), 1 << 20);
    assert!(matches!(again.unwrap_err().trouble, FileTrouble::Busy));
    drop(file);
    let trouble = small.unwrap_err().trouble;
    assert!(
        matches!(trouble, FileTrouble::Busy | FileTrouble::Blocks { block_bytes: 4096, .. }),
        "{trouble}"
    );
}

/// A file system in memory that can be enlarged, and is unmounted with this value.
struct Small(TempDir);

impl Small {
    /// None if it cannot be mounted.
    fn new(mib: u32) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        mount(&["-t", "tmpfs", "-o", &format!("size={mib}m"), "tmpfs"], folder.path()).then_some(Self(folder))
    }

    fn grow(&self, mib: u32) {
        assert!(mount(&["-o", &format!("remount,size={mib}m")], self.0.path()));
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(self.0.path()).output();
    }
}

fn mount(arguments: &[&str], at: &std::path::Path) -> bool {
    let output = std::process::Command::new("mount").args(arguments).arg(at).output();
    output.is_ok_and(|output| output.status.success())
}

/// The result of a request, which must come soon.
#[track_caller]
fn answer(engine: &mut Engine, ticket: Ticket) -> Result<(), Failed> {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        match engine.take_completion() {
            Some(completion) if completion.ticket == ticket => return completion.result,
            Some(_) => {}
            None => assert!(engine.step() && Instant::now() < until, "a request is left without an answer"),
        }
    }
}

#[test]
fn thin_files_that_run_out_of_space_lose_nothing_and_continue_when_there_is_some() {
    for options in ways() {
        let Some(small) = Small::new(10) else {
            println!("skipped: no file system can be mounted here");
            return;
        };
        let scheme = Scheme::from_toml("test", LOG).unwrap();
        let paths = created(&scheme, small.0.path(), 4, 8 << 20);
        let mut engine = opened(&scheme, &paths, options).unwrap();
        let pages = engine.capacity() / PAGE;
        let content = |page: u64| vec![(page % 251) as u8 + 1; PAGE as usize];
        let mut written = 0;
        let refused = loop {
            assert!(written < pages, "8 MiB do not take what is written");
            let ticket = engine.submit(Request::write(written * PAGE, &content(written))).unwrap();
            // A request that came before the lack of space was known fails as well.
            match answer(&mut engine, ticket) {
                Ok(()) => written += 1,
                Err(error) => break error,
            }
        };
        assert_eq!(refused, Failed::NoSpace);
        assert!(written > 500, "{written}");
        let status = engine.status();
        assert!(
            status.is_out_of_space
                && status.members.iter().all(|member| member.state == MemberCondition::Active)
        );
        assert!(matches!(engine.flush(), Err(EngineError::Failed(Failed::NoSpace))));
        let check = |engine: &mut Engine, until: u64| {
            let mut found = vec![0; PAGE as usize];
            for page in 0..until {
                engine.read(page * PAGE, &mut found).unwrap();
                assert!(found == content(page), "page {page}");
            }
        };
        check(&mut engine, written);
        small.grow(100);
        while engine.status().is_out_of_space {
            engine.step();
        }
        engine.write(written * PAGE, &content(written)).unwrap();
        engine.flush().unwrap();
        drop(engine);
        let mut engine = opened(&scheme, &paths, options).unwrap();
        assert!(engine.status().members.iter().all(|member| member.state == MemberCondition::Active));
        check(&mut engine, written + 1);
        engine.close().unwrap();
    }
}

/// Writes and a flush are in flight together when space ends. Each is answered. Writes that succeeded are read at once
/// and after the next assembly. The others may still be done later, and do no harm to later writes.
#[test]
fn what_came_before_anybody_knew_of_want_of_space_is_answered_too() {
    for (options, scheme) in ways().into_iter().flat_map(|options| [(options, LOG), (options, IN_PLACE)]) {
        let Some(small) = Small::new(10) else {
            println!("skipped: no file system can be mounted here");
            return;
        };
        let scheme = Scheme::from_toml("test", scheme).unwrap();
        let paths = created(&scheme, small.0.path(), 4, 8 << 20);
        let mut engine = opened(&scheme, &paths, options).unwrap();
        let content = |page: u64, round: u8| vec![(page % 125) as u8 * 2 + round; PAGE as usize];
        let mut next = 0;
        let refused = loop {
            assert!(next + 8 <= engine.capacity() / PAGE, "8 MiB do not take what is written");
            let write = |page| Request::write(page * PAGE, &content(page, 1));
            let mut tickets: Vec<_> =
                (next..next + 8).map(|page| (engine.submit(write(page)).unwrap(), Some(page))).collect();
            tickets.push((engine.submit(Request::Flush).unwrap(), None));
            let mut refused = Vec::new();
            let until = Instant::now() + Duration::from_secs(20);
            while !tickets.is_empty() {
                let Some(completion) = engine.take_completion() else {
                    assert!(
                        engine.step() && Instant::now() < until,
                        "{tickets:?} are left without an answer"
                    );
                    continue;
                };
                let at = tickets.iter().position(|&(ticket, _)| ticket == completion.ticket).unwrap();
                let (_, page) = tickets.swap_remove(at);
                match completion.result {
                    Ok(()) => {}
                    Err(error) => {
                        assert_eq!(error, Failed::NoSpace);
                        refused.push(page);
                    }
                }
            }
            next += 8;
            if !refused.is_empty() {
                break refused;
            }
        };
        // In place the journal has the answered writes, and a flush has nothing to write.
        assert!(scheme.name != "log" || refused.contains(&None), "a flush has to write what memory took");
        let refused: Vec<u64> = refused.into_iter().flatten().collect();
        assert!(engine.status().is_out_of_space && next > 400, "{next}");
        let check = |engine: &mut Engine, of_refused: u8| {
            let mut found = vec![0; PAGE as usize];
            for page in 0..next {
                let is_refused = refused.contains(&page);
                if !is_refused || of_refused > 0 {
                    engine.read(page * PAGE, &mut found).unwrap();
                    let round = if is_refused { of_refused } else { 1 };
                    assert!(found == content(page, round), "page {page}, round {round}");
                }
            }
        };
        check(&mut engine, 0);
        small.grow(100);
        while engine.status().is_out_of_space {
            engine.step();
        }
        for &page in &refused {
            engine.write(page * PAGE, &content(page, 2)).unwrap();
        }
        engine.flush().unwrap();
        check(&mut engine, 2);
        drop(engine);
        let mut engine = opened(&scheme, &paths, options).unwrap();
        assert!(engine.status().members.iter().all(|member| member.state == MemberCondition::Active));
        check(&mut engine, 2);
        engine.close().unwrap();
    }
}
