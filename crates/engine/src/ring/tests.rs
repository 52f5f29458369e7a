use std::os::unix::fs::OpenOptionsExt;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_getfl};
use stripewise_array::{Class, MemberNo, Memory, OperationId, PageId};

use super::*;
use crate::store::outcome_of;

const PAGE: usize = 4096;

/// A ring over one file of `pages` pages. None, with a message, if the system has no io_uring. The temporary folder may
/// lie on a disk.
fn ring(pages: u64, limit: Duration) -> Option<(tempfile::TempDir, Ring, Pages)> {
    ring_in(tempfile::tempdir().unwrap(), pages, limit)
}

/// The same over a file in this folder.
fn ring_in(
    folder: tempfile::TempDir,
    pages: u64,
    limit: Duration,
) -> Option<(tempfile::TempDir, Ring, Pages)> {
    let file = MemberFile::create(&folder.path().join("member"), pages * PAGE as u64, PAGE as u32).unwrap();
    match Ring::new(vec![Some(file)], PAGE as u32, limit, Trims::Zeros, Flushes::Auto) {
        Ok(ring) => Some((folder, ring, Pages::new(PAGE as u32))),
        Err((error, _)) => {
            println!("skipped: no io_uring: {error}");
            None
        }
    }
}

const LONG: Duration = Duration::from_secs(60);

fn operation(kind: OperationKind, page: u32) -> Operation {
    Operation { kind, page, class: Class::HostRead, ..Operation::default() }
}

/// Executes operations together. Returns the result of each, by its number.
fn all(
    ring: &mut Ring,
    memory: &mut Pages,
    operations: &[(OperationKind, u32, PageId)],
) -> Vec<io::Result<()>> {
    for (id, &(kind, page, buffer)) in (0..).zip(operations) {
        ring.start(OperationId::new(id), &operation(kind, page), buffer, memory);
    }
    let mut results: Vec<Option<io::Result<()>>> = operations.iter().map(|_| None).collect();
    while ring.in_flight() > 0 {
        ring.submit(memory);
        while let Some(ended) = ring.take(memory) {
            let before = results[ended.id.index()].replace(ended.result);
            assert!(before.is_none(), "operation {} ended twice", ended.id);
        }
        if ring.in_flight() > 0 {
            ring.wait(None);
        }
    }
    results.into_iter().map(|result| result.expect("it ended")).collect()
}

#[test]
fn pages_side_by_side_in_any_order_and_apart_keep_their_content() {
    // Most likely on a disk, and in memory.
    for folder in [tempfile::tempdir(), tempfile::tempdir_in("/dev/shm")] {
        if let Some((_folder, mut ring, mut memory)) =
            folder.ok().and_then(|folder| ring_in(folder, 2000, LONG))
        {
            check_places(&mut ring, &mut memory);
        }
    }
}

fn check_places(ring: &mut Ring, memory: &mut Pages) {
    // Every second page of a range, all pages of another, and more pages than a run takes.
    let places: Vec<u32> = (0..40).map(|nth| nth * 2).chain(100..140).chain(500..1900).rev().collect();
    let writes: Vec<_> = places
        .iter()
        .map(|&page| {
            let buffer = memory.take();
            memory.page_mut(buffer).fill((page % 251) as u8);
            (OperationKind::Write, page, buffer)
        })
        .collect();
    assert!(all(ring, memory, &writes).iter().all(Result::is_ok));
    assert!(all(ring, memory, &[(OperationKind::Flush, 0, 0)])[0].is_ok());
    writes.iter().for_each(|&(_, _, buffer)| memory.give(buffer));
    let reads: Vec<_> = places.iter().map(|&page| (OperationKind::Read, page, memory.take())).collect();
    assert!(all(ring, memory, &reads).iter().all(Result::is_ok));
    for &(_, page, buffer) in &reads {
        assert!(memory.page(buffer).iter().all(|&byte| byte == (page % 251) as u8), "page {page}");
    }
    let runs = ring.runs.most();
    assert!(runs < places.len() / 2, "{runs} runs for {} pages", places.len());
}

/// The runs of three flushes, with a write before the first and before the second, where `folder` has the file.
fn flush_runs(folder: io::Result<tempfile::TempDir>) -> Option<([usize; 3], bool)> {
    let (_folder, mut ring, mut memory) = ring_in(folder.ok()?, 8, LONG)?;
    let buffer = memory.take();
    let runs = [true, true, false].map(|writes| {
        if writes {
            assert!(all(&mut ring, &mut memory, &[(OperationKind::Write, 0, buffer)])[0].is_ok());
        }
        ring.start(OperationId::new(0), &operation(OperationKind::Flush, 0), 0, &mut memory);
        let mut most = 0;
        while ring.in_flight() > 0 {
            ring.make_runs(&mut memory);
            most = most.max(ring.runs.count());
            ring.submit(&mut memory);
            while let Some(ended) = ring.take(&mut memory) {
                assert!(ended.result.is_ok());
            }
            if ring.in_flight() > 0 {
                ring.wait(None);
            }
        }
        most
    });
    Some((runs, ring.is_volatile(MemberNo::new(0))))
}

#[test]
fn flushes_reach_a_file_on_a_disk_once_after_each_write_and_one_in_memory_once() {
    for folder in ["/dev/shm", "/var/tmp"] {
        let in_folder = tempfile::tempdir_in(folder);
        let kind = in_folder
            .as_ref()
            .ok()
            .and_then(|folder| Some(Kind::of(&std::fs::File::create(folder.path().join("probe")).ok()?)));
        let Some((runs, is_volatile)) = flush_runs(in_folder) else { continue };
        let is_memory = kind == Some(Kind::Memory);
        assert_eq!(runs, if is_memory { [1, 0, 0] } else { [1, 1, 0] }, "{folder}");
        assert_eq!(is_volatile, !is_memory, "{folder}");
    }
}

#[test]
fn a_retry_does_not_wait_for_the_caller() {
    let Some((folder, mut ring, mut memory)) = ring(64, LONG) else { return };
    // A run crosses the end of the file, and is retried page by page.
    std::fs::File::options()
        .write(true)
        .open(folder.path().join("member"))
        .unwrap()
        .set_len(8 << 12)
        .unwrap();
    for page in 0..16 {
        let buffer = memory.take();
        ring.start(OperationId::new(page), &operation(OperationKind::Read, page), buffer, &mut memory);
    }
    let mut ended = Vec::new();
    while ring.in_flight() > 0 {
        ring.submit(&mut memory);
        let before = ended.len();
        ended.extend(std::iter::from_fn(|| ring.take(&mut memory)));
        // A caller that waits on the ring's descriptor, as servers do, is woken for work that the kernel has not been
        // given.
        let fd = ring.kernel.fd();
        let mut fds = [PollFd::new(&fd, PollFlags::IN)];
        let waits = ring.in_flight() > 0 && before == ended.len();
        if waits && ring.patience() == Some(PATIENCE) {
            let timeout = rustix::time::Timespec { tv_sec: 0, tv_nsec: 500_000_000 };
            assert!(poll(&mut fds, Some(&timeout)).unwrap() > 0, "{} of 16 ended", ended.len());
        }
    }
    assert_eq!(ended.iter().filter(|one| one.result.is_ok()).count(), 8);
}

#[test]
fn trimmed_pages_read_as_zeros_and_their_neighbours_stay() {
    let Some((_folder, mut ring, mut memory)) = ring(64, LONG) else { return };
    let pieces =
        Discards::Granules { bytes: 8 * PAGE as u64, first: 0, most: 8 * PAGE as u64, makes_zeros: true };
    for discards in [Discards::Any, pieces, Discards::Never] {
        let buffer = memory.take();
        memory.page_mut(buffer).fill(9);
        let writes: Vec<_> = (0..64).map(|page| (OperationKind::Write, page, buffer)).collect();
        assert!(all(&mut ring, &mut memory, &writes).iter().all(Result::is_ok));
        if let Some(open) = &mut ring.open[0] {
            open.discards = discards;
        }
        let trims: Vec<_> = (10..30).map(|page| (OperationKind::Trim, page, 0)).collect();
        assert!(all(&mut ring, &mut memory, &trims).iter().all(Result::is_ok));
        for (page, byte) in [(9, 9), (10, 0), (29, 0), (30, 9)] {
            assert!(all(&mut ring, &mut memory, &[(OperationKind::Read, page, buffer)])[0].is_ok());
            assert!(memory.page(buffer).iter().all(|&found| found == byte), "page {page}");
        }
        memory.give(buffer);
    }
}

#[test]
fn of_a_log_whole_pieces_become_holes_and_the_rest_stays() {
    let Some((_folder, mut ring, mut memory)) = ring(64, LONG) else { return };
    ring.trims = Trims::Advice;
    let buffer = memory.take();
    memory.page_mut(buffer).fill(9);
    let writes: Vec<_> = (0..64).map(|page| (OperationKind::Write, page, buffer)).collect();
    let trims: Vec<_> = (10..39).map(|page| (OperationKind::Trim, page, 0)).collect();
    let pieces =
        Discards::Granules { bytes: 8 * PAGE as u64, first: 4096, most: 8 * PAGE as u64, makes_zeros: true };
    for (discards, holes) in [(Discards::Never, 0..0), (pieces, 17..33)] {
        assert!(all(&mut ring, &mut memory, &writes).iter().all(Result::is_ok));
        if let Some(open) = &mut ring.open[0] {
            open.discards = discards;
        }
        assert!(all(&mut ring, &mut memory, &trims).iter().all(Result::is_ok));
        for page in 0..64 {
            assert!(all(&mut ring, &mut memory, &[(OperationKind::Read, page, buffer)])[0].is_ok());
            let byte = if holes.contains(&page) { 0 } else { 9 };
            assert!(memory.page(buffer).iter().all(|&found| found == byte), "page {page}");
        }
        memory.page_mut(buffer).fill(9);
    }
}

/// A loop device makes holes in its file, with granules as sysfs reports them. Discards, as of a device that makes no
/// zeros, do the same.
#[test]
fn of_a_device_whole_pieces_become_holes() {
    check_pieces_of_a_device(true);
    check_pieces_of_a_device(false);
}

fn check_pieces_of_a_device(makes_zeros: bool) {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    std::fs::write(&image, vec![9; 64 * PAGE]).unwrap();
    let losetup = |arguments: &[&str]| {
        let output = std::process::Command::new("losetup").args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(device) = losetup(&["--find", "--show", image.to_str().unwrap()]) else {
        println!("skipped: no loop device can be made here");
        return;
    };
    let file = MemberFile::open(device.as_ref(), PAGE as u32).unwrap();
    let mut discards = file.discards();
    if let Discards::Granules { makes_zeros: own, .. } = &mut discards {
        *own = makes_zeros;
    }
    let made = Ring::new(vec![Some(file)], PAGE as u32, LONG, Trims::Advice, Flushes::Auto);
    let read = made.map(|mut ring| {
        let mut memory = Pages::new(PAGE as u32);
        ring.open[0].as_mut().unwrap().discards = discards;
        let trims: Vec<_> = (10..30).map(|page| (OperationKind::Trim, page, 0)).collect();
        assert!(all(&mut ring, &mut memory, &trims).iter().all(Result::is_ok));
        let pages: Vec<_> = (8..32).map(|page| (OperationKind::Read, page, memory.take())).collect();
        assert!(all(&mut ring, &mut memory, &pages).iter().all(Result::is_ok));
        pages.iter().map(|&(_, page, buffer)| (page, memory.page(buffer)[0])).collect::<Vec<_>>()
    });
    losetup(&["--detach", &device]);
    let Discards::Granules { bytes, first: 0, .. } = discards else {
        println!("skipped: holes cannot be made here: {discards:?}");
        return;
    };
    let piece = (bytes as u32 / PAGE as u32).max(1);
    let holes = 10u32.next_multiple_of(piece)..30 / piece * piece;
    for (page, byte) in read.unwrap_or_default() {
        let expected = if holes.contains(&page) { 0 } else { 9 };
        assert_eq!(byte, expected, "page {page}, pieces of {piece} pages, zeros: {makes_zeros}");
    }
}

#[test]
fn what_knows_no_discards_is_tried_once_and_left_as_it_is() {
    let Some((_folder, mut ring, mut memory)) = ring(8, LONG) else { return };
    ring.trims = Trims::Advice;
    let buffer = memory.take();
    memory.page_mut(buffer).fill(9);
    assert!(all(&mut ring, &mut memory, &[(OperationKind::Write, 3, buffer)])[0].is_ok());
    // A file: it can have holes, and accepts no commands of block devices.
    let bytes = PAGE as u64;
    ring.open[0].as_mut().unwrap().discards =
        Discards::Granules { bytes, first: 0, most: bytes, makes_zeros: false };
    assert!(all(&mut ring, &mut memory, &[(OperationKind::Trim, 3, 0)])[0].is_ok());
    assert_eq!(ring.open[0].as_ref().unwrap().discards, Discards::Never);
    assert!(all(&mut ring, &mut memory, &[(OperationKind::Read, 3, buffer)])[0].is_ok());
    assert_eq!(memory.page(buffer), [9; PAGE]);
}

#[test]
fn of_a_run_over_the_end_of_a_file_that_was_cut_the_rest_fails_page_by_page() {
    let Some((folder, mut ring, mut memory)) = ring(32, LONG) else { return };
    let file = std::fs::OpenOptions::new().write(true).open(folder.path().join("member")).unwrap();
    file.set_len(20 * PAGE as u64 + 100).unwrap();
    let reads: Vec<_> = (10..30).map(|page| (OperationKind::Read, page, memory.take())).collect();
    for ((_, page, _), result) in reads.iter().zip(all(&mut ring, &mut memory, &reads)) {
        match result {
            Ok(()) => assert!(*page < 20, "page {page} is not there"),
            Err(error) => {
                assert!(*page >= 20, "page {page}: {error}");
                assert_eq!(outcome_of(&error), stripewise_array::Outcome::Corrupt);
            }
        }
    }
}

#[test]
fn a_member_that_was_closed_does_nothing_and_lets_its_file_go() {
    let Some((folder, mut ring, mut memory)) = ring(8, LONG) else { return };
    let buffer = memory.take();
    ring.start(OperationId::new(0), &operation(OperationKind::Write, 3), buffer, &mut memory);
    ring.submit(&mut memory);
    ring.close(MemberNo::new(0));
    while ring.take(&mut memory).is_none() {
        ring.wait(None);
        ring.submit(&mut memory);
    }
    let error = all(&mut ring, &mut memory, &[(OperationKind::Write, 3, buffer)]).pop().unwrap().unwrap_err();
    assert_eq!(outcome_of(&error), stripewise_array::Outcome::Gone);
    let file = MemberFile::open(&folder.path().join("member"), PAGE as u32).expect("its lock is free");
    ring.put(MemberNo::new(0), file);
    assert!(all(&mut ring, &mut memory, &[(OperationKind::Write, 3, buffer)])[0].is_ok());
}

/// Bytes that this thread has read from files.
fn bytes_read() -> Option<u64> {
    let counters = std::fs::read_to_string("/proc/thread-self/io").ok()?;
    counters.lines().find_map(|line| line.strip_prefix("rchar: "))?.parse().ok()
}

/// A member is added while the array serves, and its device may be slow to answer.
#[test]
fn taking_a_member_does_not_wait_for_its_device() {
    let Some((folder, mut ring, _memory)) = ring(8, LONG) else { return };
    ring.close(MemberNo::new(0));
    let path = folder.path().join("member");
    let before_opening = bytes_read();
    let file = MemberFile::open(&path, PAGE as u32).unwrap();
    let before = bytes_read();
    ring.put(MemberNo::new(0), file);
    let (Some(before_opening), Some(before), Some(after)) = (before_opening, before, bytes_read()) else {
        println!("skipped: the system does not count what is read");
        return;
    };
    // Reading the counters counts too, but is less than a page.
    assert!(after - before < PAGE as u64, "{} bytes were read", after - before);
    let is_direct = |open: &Open| fcntl_getfl(&open.file).unwrap().contains(OFlags::DIRECT);
    let mut options = std::fs::OpenOptions::new();
    let may_be = options.read(true).custom_flags(OFlags::DIRECT.bits().cast_signed()).open(&path).is_ok();
    assert_eq!(ring.open.iter().flatten().map(is_direct).collect::<Vec<_>>(), [may_be]);
    assert!(!may_be || before - before_opening >= PAGE as u64, "opening it showed whether it may be");
}

/// The page of an operation that has timed out is not used again before the kernel is done with it.
#[test]
fn what_times_out_keeps_its_memory_until_it_returns() {
    let Some((_folder, mut ring, mut memory)) = ring(4096, LONG) else { return };
    let buffer = memory.take();
    let writes: Vec<_> = (0..4096).map(|page| (OperationKind::Write, page, buffer)).collect();
    assert!(all(&mut ring, &mut memory, &writes).iter().all(Result::is_ok));
    memory.give(buffer);
    ring.limit = Duration::ZERO;
    let reads: Vec<_> = (0..512).map(|page| (page * 8, memory.take())).collect();
    for (id, &(page, buffer)) in (0..).zip(&reads) {
        ring.start(OperationId::new(id), &operation(OperationKind::Read, page), buffer, &mut memory);
    }
    ring.make_runs(&mut memory);
    ring.kernel.enter(false).unwrap();
    ring.now = Instant::now();
    ring.time_out(&mut memory);
    for _ in &reads {
        let error = ring.take(&mut memory).expect("whatever the kernel does").result.unwrap_err();
        assert_eq!(outcome_of(&error), stripewise_array::Outcome::Timeout);
    }
    assert_eq!((ring.in_flight(), memory.in_use()), (0, 2 * reads.len()));
    reads.iter().for_each(|&(_, buffer)| memory.page_mut(buffer).fill(5));
    // In the end all operations have returned, and the pages belong to the caller alone.
    while ring.runs.count() > 0 {
        ring.wait(None);
        ring.reap(&mut memory);
    }
    assert_eq!(memory.in_use(), reads.len());
    assert!(reads.iter().all(|&(_, buffer)| memory.page(buffer) == [5; PAGE]), "the kernel wrote elsewhere");
    assert!(ring.take(&mut memory).is_none(), "they ended once");
}

/// Otherwise a caller that polls the ring is woken permanently, and the file stays locked.
#[test]
fn what_returns_after_it_timed_out_is_taken_in_and_lets_its_file_go() {
    let Some((folder, mut ring, mut memory)) = ring(64, LONG) else { return };
    ring.limit = Duration::ZERO;
    let page = memory.take();
    ring.start(OperationId::new(0), &operation(OperationKind::Read, 3), page, &mut memory);
    ring.make_runs(&mut memory);
    ring.kernel.enter(false).unwrap();
    ring.now = Instant::now();
    ring.time_out(&mut memory);
    let error = ring.take(&mut memory).expect("it has timed out").result.unwrap_err();
    assert_eq!(outcome_of(&error), stripewise_array::Outcome::Timeout);
    ring.close(MemberNo::new(0));
    ring.kernel.wait(Some(LONG)).unwrap();
    assert!(ring.kernel.has_answers());
    ring.submit(&mut memory);
    assert!(!ring.kernel.has_answers(), "the ring is readable as long as there are any");
    assert!(ring.take(&mut memory).is_none(), "it ended once");
    assert_eq!(memory.in_use(), 1);
    MemberFile::open(&folder.path().join("member"), PAGE as u32).expect("its lock is free");
}

/// The engine takes a member that hangs out of service, and gets it back when it answers.
#[test]
fn a_member_that_is_suspended_ends_its_operations_at_once_and_comes_back_when_the_kernel_is_done() {
    let Some((folder, mut ring, mut memory)) = ring(64, LONG) else { return };
    let page = memory.take();
    let open = ring.open[0].as_mut().unwrap();
    open.crew(|| ring.kernel.hear_crews()).unwrap().hold();
    for (id, kind) in [(0, OperationKind::Write), (1, OperationKind::Flush)] {
        ring.start(OperationId::new(id), &operation(kind, 3), page, &mut memory);
    }
    ring.make_runs(&mut memory);
    ring.kernel.enter(false).unwrap();
    ring.suspend(MemberNo::new(0), &mut memory);
    for _ in 0..2 {
        let error = ring.take(&mut memory).expect("it does not wait").result.unwrap_err();
        assert_eq!(outcome_of(&error), stripewise_array::Outcome::Timeout);
    }
    ring.start(OperationId::new(2), &operation(OperationKind::Read, 3), page, &mut memory);
    ring.submit(&mut memory);
    assert!(ring.take(&mut memory).expect("there is no such member").result.is_err());
    let until = Instant::now() + LONG;
    let (member, file) = loop {
        ring.submit(&mut memory);
        match ring.take_answered() {
            Some(answered) => break answered,
            None => assert!(Instant::now() < until),
        }
        ring.wait(Some(SOON));
    };
    assert_eq!((member, file.path()), (MemberNo::new(0), &*folder.path().join("member")));
    assert!(ring.take(&mut memory).is_none(), "each operation ended once");
    ring.put(MemberNo::new(0), file);
    assert!(all(&mut ring, &mut memory, &[(OperationKind::Write, 3, page)])[0].is_ok());
    assert!(ring.take_answered().is_none());
}

/// Copies of a record or a page of metadata are written from one page, each to its own member.
#[test]
fn memory_that_several_runs_have_is_free_when_the_last_of_them_is_over() {
    let mut memory = Pages::new(PAGE as u32);
    let mut runs = Runs::default();
    let page = memory.take();
    let [one, other] = [0, 1].map(|id| {
        let started =
            Started { id: OperationId::new(id), operation: operation(OperationKind::Write, 3), page };
        runs.take(id as usize, &[started], Instant::now(), PAGE as u32, &mut memory)
    });
    runs.get_mut(one).abandon(&mut memory);
    runs.give(one, &mut memory);
    assert_eq!(memory.in_use(), 2, "the other one is read from it yet");
    runs.give(other, &mut memory);
    assert_eq!(memory.in_use(), 1);
}

/// How operations on the file are executed: its kind, whether it is non-blocking, and whether it has a crew.
fn issued(ring: &Ring) -> (Kind, bool, bool) {
    let open = ring.open[0].as_ref().unwrap();
    let flags = fcntl_getfl(&open.file).unwrap();
    (open.file.kind(), flags.contains(OFlags::NONBLOCK), open.crew.is_some())
}

/// To the kernel a file without `O_NONBLOCK` may block, and one with it is read and written in the calling thread.
#[test]
fn only_files_that_are_memory_are_read_and_written_in_the_serving_thread() {
    let folders = [("/dev/shm", Kind::Memory), ("/tmp", Kind::Other), ("/var/tmp", Kind::Other)];
    for (place, expected) in folders {
        let Ok(folder) = tempfile::tempdir_in(place) else { continue };
        let Some((_folder, mut ring, mut memory)) = ring_in(folder, 8, LONG) else { return };
        let page = memory.take();
        assert!(all(&mut ring, &mut memory, &[(OperationKind::Write, 3, page)])[0].is_ok());
        let is_memory = issued(&ring).0 == Kind::Memory;
        // Temporary files may be in memory too; the kinds are still distinguished.
        assert!(is_memory == (expected == Kind::Memory) || place != "/dev/shm", "{place}");
        assert_eq!(issued(&ring), (issued(&ring).0, is_memory, !is_memory), "{place}");
    }
}

/// A task that a crew has not begun must not reach a member out of service, which another program may use then.
#[test]
fn what_no_thread_has_begun_is_not_done_after_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("member");
    std::fs::write(&path, vec![1; PAGE]).unwrap();
    let file = std::fs::File::options().read(true).write(true).open(&path).unwrap();
    let answers = Arc::new(Answers::new().unwrap());
    let mut crew = Crew::new(answers.clone(), file.into());
    crew.hold();
    let piece = kernel::Piece { at: ZEROS.0.as_ptr() as usize, bytes: PAGE };
    // SAFETY: the written memory is never changed.
    unsafe { crew.push(7, Action::Write, 0, &[piece]) }.unwrap();
    crew.cancel();
    let mut taken = VecDeque::new();
    answers.take(&mut taken);
    assert_eq!(taken, [(7, -libc::ECANCELED)]);
    drop(crew);
    assert_eq!(std::fs::read(&path).unwrap(), vec![1; PAGE]);
}

/// Another file gets the number of one that is closed: a task that has not begun must not reach it.
#[test]
fn a_task_reaches_its_own_file_when_another_one_has_got_its_number() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let open = |name: &str| std::fs::File::options().read(true).write(true).open(path(name)).unwrap();
    let ours = vec![1; PAGE];
    std::fs::write(path("ours"), &ours).unwrap();
    std::fs::write(path("others"), &ours).unwrap();
    let answers = Arc::new(Answers::new().unwrap());
    let file = open("ours");
    let mut crew = Crew::new(answers.clone(), file.as_fd().try_clone_to_owned().unwrap());
    crew.hold();
    let piece = kernel::Piece { at: ZEROS.0.as_ptr() as usize, bytes: PAGE };
    // SAFETY: the written memory is never changed.
    unsafe { crew.push(7, Action::Write, 0, &[piece]) }.unwrap();
    // The lowest numbers that are free, among them that of the closed file.
    drop(file);
    let others: Vec<_> = (0..16).map(|_| open("others")).collect();
    crew.unhold();
    // SAFETY: as above.
    unsafe { crew.push(8, Action::Flush, 0, &[]) }.unwrap();
    let (mut taken, until) = (VecDeque::new(), Instant::now() + Duration::from_secs(60));
    while taken.len() < 2 && Instant::now() < until {
        answers.take(&mut taken);
        std::thread::yield_now();
    }
    assert_eq!(taken.len(), 2);
    assert_eq!(std::fs::read(path("others")).unwrap(), ours);
    assert_eq!(std::fs::read(path("ours")).unwrap(), vec![0; PAGE]);
    drop(others);
}
