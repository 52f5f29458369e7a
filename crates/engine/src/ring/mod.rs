//! Operations on files and block devices through io_uring. One system call submits many operations, and operations on
//! adjacent pages of a member become one.

#![allow(
    unsafe_code,
    reason = "pages are lent to the kernel: calls of `kernel` and of a crew, whose promises are kept here"
)]

mod backend;
mod crew;
mod kernel;
mod runs;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use stripewise_array::{MemberNo, Operation, OperationKind};
use stripewise_base::Nanos;

use crate::backend::{Backend, BackendCompletion, Pages};
use crate::discards::{Cut, Discards, Trims};
use crate::files::MemberFile;
use crate::flushing::{Flushes, Unflushed};
use crate::handle::Kind;
use crew::{Answers, Crew};
use kernel::{Action, Issue, Kernel, Target};
use runs::{Runs, Started};

/// Most pages of one run.
const RUN_PAGES: usize = 256;
/// Tries of a run that makes no progress.
const TRIES: u32 = 4;
/// How often a turn submits retries: of a run, and then page by page.
const ROUNDS: u32 = 3 * TRIES;
/// How long to wait before entries are submitted again that the kernel did not accept.
const SOON: Duration = Duration::from_millis(1);
/// Longest time between two checks for timeouts.
const PATIENCE: Duration = Duration::from_secs(1);
/// Turns between two looks at the clock for that check, while many operations are in flight.
const TURNS: u32 = 64;
/// How long dropping a ring waits for operations that timed out.
const FAREWELL: Duration = Duration::from_millis(100);
/// The data to write where a file system makes no holes; as long as the longest page.
static ZEROS: Zeros = Zeros([0; 32 << 10]);

#[repr(align(4096))]
struct Zeros([u8; 32 << 10]);

/// An open file and its address in the ring.
///
/// A file that is not in memory may block its caller, and the thread that serves must not be blocked. A device gets
/// through the ring only operations that it can execute at once; threads of the file's own execute everything else.
#[derive(Debug)]
struct Open {
    // Before the file: tasks that its threads have not begun are cancelled before the descriptor can be used for
    // another file.
    crew: Option<Crew>,
    file: MemberFile,
    target: Target,
    /// Whether it is a device that does not report beforehand when an operation would block.
    always_waits: bool,
    /// Runs in flight.
    in_flight: u32,
    /// How it handles trims, as far as is known.
    discards: Discards,
    /// What it may have in volatile memory.
    unflushed: Unflushed,
    is_wanted: bool,
    /// The member that it was, if that is returned once nothing is in flight.
    suspended: Option<MemberNo>,
}

impl Open {
    /// The threads of the file, with a descriptor of their own.
    fn crew(&mut self, answers: impl FnOnce() -> Arc<Answers>) -> io::Result<&mut Crew> {
        let crew = match self.crew.take() {
            Some(crew) => crew,
            None => Crew::new(answers(), self.file.as_fd().try_clone_to_owned()?),
        };
        Ok(self.crew.insert(crew))
    }
}

/// Files and block devices behind a ring.
///
/// Pages of started operations belong to the kernel until their operations are taken. Dropping the ring waits for them.
pub struct Ring {
    kernel: Kernel,
    open: Vec<Option<Open>>,
    /// The entry of `open` for each member.
    members: Vec<Option<usize>>,
    /// The path of each member, or its last path.
    paths: Vec<Option<PathBuf>>,
    started: Vec<Started>,
    runs: Runs,
    /// Runs that could not be submitted, or are held back, by number.
    again: Vec<u32>,
    /// Whether only reads are submitted.
    holds_writes: bool,
    /// Whether there is work that the kernel has not been given yet.
    is_behind: bool,
    ended: VecDeque<BackendCompletion>,
    /// Members that were suspended and have nothing in flight any more.
    answered: Vec<(MemberNo, MemberFile)>,
    in_flight: usize,
    page_bytes: u32,
    limit: Duration,
    trims: Trims,
    flushes: Flushes,
    /// A reading of the clock that serves for a batch.
    now: Instant,
    checked_at: Instant,
    turns: u32,
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ring")
            .field("open", &self.open)
            .field("in_flight", &self.in_flight)
            .finish_non_exhaustive()
    }
}

impl Ring {
    /// A ring over these files, some of which may be absent. An operation that takes longer than `limit` has timed out.
    /// `trims` is the purpose of trims, and `flushes` says which flushes reach the files.
    ///
    /// # Errors
    /// The files, and why there is no ring.
    pub fn new(
        files: Vec<Option<MemberFile>>,
        page_bytes: u32,
        limit: Duration,
        trims: Trims,
        flushes: Flushes,
    ) -> Result<Self, (io::Error, Vec<Option<MemberFile>>)> {
        let kernel = match Kernel::new() {
            Ok(kernel) => kernel,
            Err(error) => return Err((error, files)),
        };
        let mut ring = Self {
            kernel,
            open: Vec::new(),
            members: vec![None; files.len()],
            paths: vec![None; files.len()],
            started: Vec::new(),
            runs: Runs::default(),
            again: Vec::new(),
            holds_writes: false,
            is_behind: false,
            ended: VecDeque::new(),
            answered: Vec::new(),
            in_flight: 0,
            page_bytes,
            limit,
            trims,
            flushes,
            now: Instant::now(),
            checked_at: Instant::now(),
            turns: 0,
        };
        for (member, file) in (0..).map(MemberNo::new).zip(files) {
            if let Some(file) = file {
                file.forget_cache();
                ring.put(member, file);
            }
        }
        Ok(ring)
    }

    /// Combines started operations into runs, and submits them.
    fn make_runs(&mut self, memory: &mut Pages) {
        self.now = Instant::now();
        // The kernel gets pages by address: operations on adjacent pages of a member become one run.
        let mut started = std::mem::take(&mut self.started);
        started.sort_unstable_by_key(|one| (one.operation.member, one.operation.kind, one.operation.page));
        let mut rest = &started[..];
        while let Some(first) = rest.first() {
            let follows = |(before, after): (&Started, &Started)| {
                let (before, after) = (&before.operation, &after.operation);
                (before.member, before.kind, before.page + 1) == (after.member, after.kind, after.page)
            };
            let behind = rest.iter().zip(&rest[1..]).take_while(|&(before, after)| follows((before, after)));
            let (count, is_left) = match first.operation.kind {
                OperationKind::Read | OperationKind::Write => (behind.take(RUN_PAGES - 1).count() + 1, false),
                OperationKind::Trim => self.cut(&first.operation, behind.count() as u32 + 1),
                OperationKind::Flush => (1, !self.begins_flush(first.operation.member)),
            };
            let (one, others) = rest.split_at(count);
            rest = others;
            match is_left {
                true => one.iter().for_each(|one| self.end(one, Ok(()), 0)),
                false => self.begin(one, memory),
            }
        }
        started.clear();
        self.started = started;
    }

    /// Whether a flush must reach a member, which then has it.
    fn begins_flush(&mut self, member: MemberNo) -> bool {
        let open = self.members[member.index()].and_then(|open| self.open[open].as_mut());
        // Operations on a missing member are failed later.
        open.is_none_or(|open| open.unflushed.begin())
    }

    /// How many of `pages` adjacent trimmed pages are one run, and whether they are left as they are.
    fn cut(&self, first: &Operation, pages: u32) -> (usize, bool) {
        let open = self.members[first.member.index()].and_then(|open| self.open[open].as_ref());
        // Operations on a missing member are failed later.
        let discards = open.map_or(Discards::Any, |open| open.discards);
        match discards.cut(self.trims, self.page_bytes, first.page, pages) {
            Cut::Leave(pages) => (pages as usize, true),
            Cut::Hole(pages) => (pages as usize, false),
            Cut::Zeros(pages) => ((pages as usize).min(RUN_PAGES), false),
        }
    }

    /// Begins a run of operations on adjacent pages.
    fn begin(&mut self, started: &[Started], memory: &mut Pages) {
        let member = started[0].operation.member;
        let Some(open) = self.members[member.index()] else {
            for one in started {
                self.end(one, Err(Errno::NODEV.into()), 0);
            }
            return;
        };
        let run = self.runs.take(open, started, self.now, self.page_bytes, memory);
        if let Some(open) = &mut self.open[open] {
            open.in_flight += 1;
            // In a log, pages that cannot be discarded have been left alone already.
            let is_trim = started[0].operation.kind == OperationKind::Trim;
            if is_trim && self.trims == Trims::Zeros && !open.discards.makes_zeros() {
                self.runs.get_mut(run).write_zeros(&ZEROS.0, self.page_bytes);
            }
        }
        self.push(run);
    }

    /// Submits a run, from its first page that is not done.
    fn push(&mut self, number: u32) {
        let run = self.runs.get(number);
        let Some(open) = &mut self.open[run.open] else { return };
        // A retry of a write whose first try was before the hold.
        if self.holds_writes && run.kind != OperationKind::Read {
            return self.again.push(number);
        }
        let offset = u64::from(run.page()) * u64::from(self.page_bytes);
        let action = match run.kind {
            OperationKind::Read => Action::Read,
            OperationKind::Write => Action::Write,
            OperationKind::Trim if run.pieces_left().is_empty() => {
                let bytes = run.left() as u64 * u64::from(self.page_bytes);
                match open.discards {
                    // Only in a log. In place the run writes zeros instead.
                    Discards::Granules { makes_zeros: false, .. } => Action::Discard(bytes),
                    _ => Action::Trim(bytes),
                }
            }
            OperationKind::Trim => Action::Write,
            OperationKind::Flush => Action::Flush,
        };
        let issue = match (open.file.kind(), action) {
            (Kind::Memory, Action::Discard(_)) => None,
            (Kind::Memory, _) if run.tries > 0 => Some(Issue::Worker),
            (Kind::Memory, _) => Some(Issue::Here),
            (Kind::Device, Action::Read | Action::Write) if run.tries == 0 && !open.always_waits => {
                Some(Issue::NoWait)
            }
            (Kind::Device | Kind::Other, _) => None,
        };
        // SAFETY: several pieces are a vector of the run's own, which is left alone until its answer has come; a crew
        // has a copy. Their memory is pages that the controller gave away until their operations are reported as over,
        // or that were withdrawn from it when they timed out; or zeros that are never modified. The memory outlives the
        // ring: `Engine` drops it later, and dropping a ring waits for all answers, or leaves withdrawn memory to the
        // kernel permanently. The file is open as long as a run of it is in flight.
        let pushed = unsafe {
            match issue {
                Some(issue) => {
                    self.kernel.push(number.into(), open.target, action, offset, run.pieces_left(), issue)
                }
                None => open
                    .crew(|| self.kernel.hear_crews())
                    .and_then(|crew| crew.push(number.into(), action, offset, run.pieces_left())),
            }
        };
        if pushed.is_err() {
            self.again.push(number);
        }
    }

    /// Adds a completed operation.
    fn end(&mut self, started: &Started, result: io::Result<()>, took_ns: Nanos) {
        self.ended.push_back(BackendCompletion {
            id: started.id,
            operation: started.operation,
            page: started.page,
            result,
            took_ns,
        });
    }

    /// Processes the kernel's answers.
    fn reap(&mut self, memory: &mut Pages) {
        if self.kernel.has_answers() {
            self.now = Instant::now();
        }
        while let Some((tag, answer)) = self.kernel.pop() {
            self.answered(tag as u32, answer, memory);
        }
    }

    fn answered(&mut self, number: u32, answer: i32, memory: &mut Pages) {
        let run = self.runs.get_mut(number);
        if run.is_abandoned() {
            return self.finish(number, memory);
        }
        let is_transfer = !run.pieces_left().is_empty();
        match usize::try_from(answer) {
            Ok(bytes) if is_transfer => {
                let pages = bytes / self.page_bytes as usize;
                if pages == 0 {
                    // The end of the file or of the device. In rare cases the operation only stopped short.
                    run.tries += 1;
                    if run.tries >= TRIES {
                        let kind = match run.kind {
                            OperationKind::Read => io::ErrorKind::UnexpectedEof,
                            _ => io::ErrorKind::WriteZero,
                        };
                        return self.part(number, || kind.into(), memory);
                    }
                } else {
                    run.done += pages;
                    run.tries = 0;
                }
                if run.left() > 0 {
                    return self.push(number);
                }
                self.succeed(number, memory);
            }
            Ok(_) => self.succeed(number, memory),
            Err(_) => self.refused(number, -answer, memory),
        }
    }

    /// The kernel could not execute a run, or not at once.
    fn refused(&mut self, number: u32, errno: i32, memory: &mut Pages) {
        let run = self.runs.get_mut(number);
        let errno = Errno::from_raw_os_error(errno);
        let is_passing = matches!(errno, Errno::AGAIN | Errno::INTR | Errno::NOMEM);
        if is_passing && run.tries < TRIES && run.kind != OperationKind::Flush {
            // On the retry another thread may wait for the operation.
            run.tries += 1;
            return self.push(number);
        }
        let is_transfer = !run.pieces_left().is_empty();
        if errno == Errno::OPNOTSUPP
            && is_transfer
            && let Some(open) = self.open[run.open].as_mut().filter(|open| open.file.kind() == Kind::Device)
            && !std::mem::replace(&mut open.always_waits, true)
        {
            return self.push(number);
        }
        let makes_none = matches!(errno, Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL | Errno::NOTTY);
        if run.kind == OperationKind::Trim && makes_none && run.pieces_left().is_empty() {
            if let Some(open) = &mut self.open[run.open] {
                open.discards = Discards::Never;
            }
            if self.trims == Trims::Advice {
                return self.succeed(number, memory);
            }
            run.write_zeros(&ZEROS.0, self.page_bytes);
            return self.push(number);
        }
        self.part(number, || errno.into(), memory);
    }

    /// Retries a run of several pages page by page, so that only the page with the error fails. A run of a single page
    /// has failed.
    fn part(&mut self, number: u32, error: impl Fn() -> io::Error, memory: &mut Pages) {
        let run = self.runs.get(number);
        let took_ns = run.age_ns(self.now);
        if run.left() == 1 || run.kind == OperationKind::Flush {
            let done: Vec<Started> = run.started.clone();
            let failed = run.done;
            for (nth, one) in done.iter().enumerate() {
                self.end(one, if nth == failed { Err(error()) } else { Ok(()) }, took_ns);
            }
            self.flushed(number, false);
            return self.finish(number, memory);
        }
        let (done, left) = run.started.split_at(run.done);
        let (done, left) = (done.to_vec(), left.to_vec());
        for one in &done {
            self.end(one, Ok(()), took_ns);
        }
        for one in &left {
            self.begin(std::slice::from_ref(one), memory);
        }
        self.finish(number, memory);
    }

    fn succeed(&mut self, number: u32, memory: &mut Pages) {
        let run = self.runs.get(number);
        let took_ns = run.age_ns(self.now);
        let ended = run.started.iter().map(|one| BackendCompletion {
            id: one.id,
            operation: one.operation,
            page: one.page,
            result: Ok(()),
            took_ns,
        });
        self.ended.extend(ended);
        self.flushed(number, true);
        self.finish(number, memory);
    }

    /// A run is over, well or not: if it is a flush, its file has been flushed, or not.
    fn flushed(&mut self, number: u32, is_good: bool) {
        let run = self.runs.get(number);
        if run.kind == OperationKind::Flush
            && let Some(open) = &mut self.open[run.open]
        {
            open.unflushed.ended(is_good);
        }
    }

    /// A run has nothing in flight any more.
    fn finish(&mut self, number: u32, memory: &mut Pages) {
        let run = self.runs.get(number);
        let (open, kind) = (run.open, run.kind);
        self.runs.give(number, memory);
        if let Some(place) = &mut self.open[open] {
            place.in_flight -= 1;
            if matches!(kind, OperationKind::Write | OperationKind::Trim) {
                place.unflushed.changed();
            }
        }
        self.forget(open);
    }

    /// Closes a file that is no longer used, once it has nothing in flight.
    fn forget(&mut self, open: usize) {
        let is_over = |open: &mut Open| open.in_flight == 0 && !open.is_wanted;
        if let Some(open) = self.open[open].take_if(is_over) {
            self.kernel.forget_file(open.target);
            self.answered.extend(open.suspended.map(|member| (member, open.file)));
        }
    }

    /// Times out all operations of a file.
    fn abandon_all(&mut self, open: usize, memory: &mut Pages) {
        self.now = Instant::now();
        for number in self.runs.of(open) {
            self.abandon(number, memory);
        }
    }

    /// Times out the operations of a run. Their pages get other memory, because the kernel may still use the old memory.
    fn abandon(&mut self, number: u32, memory: &mut Pages) {
        let run = self.runs.get_mut(number);
        let took_ns = run.age_ns(self.now);
        for one in run.abandon(memory) {
            self.end(&one, Err(io::ErrorKind::TimedOut.into()), took_ns);
        }
    }

    /// Time between two checks for timeouts.
    fn pause(&self) -> Duration {
        PATIENCE.min(self.limit / 8)
    }

    /// Times out operations that have taken too long.
    fn time_out(&mut self, memory: &mut Pages) {
        if self.now.duration_since(self.checked_at) < self.pause() {
            return;
        }
        self.checked_at = self.now;
        for number in self.runs.older_than(self.now, self.limit) {
            self.abandon(number, memory);
        }
    }

    /// Registers the memory of pages.
    fn add_slabs(&mut self, memory: &Pages) {
        // SAFETY: pages never move, and the memory outlives the ring; see above.
        unsafe { self.kernel.add_slabs(memory.slabs()) };
    }
}
