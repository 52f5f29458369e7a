//! The ring as a backend of the engine.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use stripewise_array::{MemberNo, Operation, OperationId, PageId};

use super::kernel::Target;
use super::runs::Started;
use super::{FAREWELL, Open, ROUNDS, Ring, SOON, TURNS};
use crate::backend::{Backend, BackendCompletion, Pages};
use crate::files::MemberFile;
use crate::flushing::Unflushed;
use crate::handle::Kind;
use crate::store::Store as _;

impl Backend for Ring {
    type Member = MemberFile;

    const BATCH: usize = 256;

    #[inline]
    fn start(&mut self, id: OperationId, operation: &Operation, page: PageId, _memory: &mut Pages) {
        self.in_flight += 1;
        self.started.push(Started { id, operation: *operation, page });
    }

    fn submit(&mut self, memory: &mut Pages) {
        // An operation that has timed out no longer counts as in flight, but the kernel still has it. Its answer is
        // taken like any other.
        if self.in_flight == 0 && self.runs.count() == 0 && !self.kernel.has_answers() {
            return;
        }
        self.add_slabs(memory);
        for number in std::mem::take(&mut self.again) {
            match self.runs.get(number).is_abandoned() {
                true => self.finish(number, memory),
                false => self.push(number),
            }
        }
        if !self.started.is_empty() {
            self.make_runs(memory);
        }
        for _ in 0..ROUNDS {
            if let Err(error) = self.kernel.enter(true) {
                // Without its ring the backend can do nothing: operations in flight time out, and their members fail.
                debug_assert!(false, "the ring takes nothing: {error}");
            }
            self.reap(memory);
            // A retry does not wait for the next turn: nothing might wake a thread that waits for the ring.
            if !self.kernel.is_prepared() {
                break;
            }
        }
        self.is_behind = self.kernel.is_prepared() || !self.again.is_empty();
        self.turns = self.turns.wrapping_add(1);
        if self.turns.is_multiple_of(TURNS) || self.ended.is_empty() {
            self.now = Instant::now();
            self.time_out(memory);
        }
    }

    #[inline]
    fn take(&mut self, _memory: &mut Pages) -> Option<BackendCompletion> {
        let ended = self.ended.pop_front()?;
        self.in_flight -= 1;
        Some(ended)
    }

    fn is_over_before_taken(&self) -> bool {
        true
    }

    fn hold_writes(&mut self, holds: bool) {
        self.holds_writes = holds;
    }

    fn in_flight(&self) -> usize {
        self.in_flight
    }

    fn wait(&mut self, at_most: Option<Duration>) {
        if !self.ended.is_empty() {
            return;
        }
        let at_most = at_most.map_or(self.pause(), |at_most| at_most.min(self.pause()));
        if self.kernel.wait(Some(at_most)).is_err() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn patience(&self) -> Option<Duration> {
        let patience = if self.is_behind { SOON } else { self.pause() };
        (self.in_flight > 0).then_some(patience)
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.kernel.fd())
    }

    fn count(&self) -> u16 {
        self.members.len() as u16
    }

    fn path(&self, member: MemberNo) -> Option<&Path> {
        self.paths[member.index()].as_deref()
    }

    fn close(&mut self, member: MemberNo) {
        let Some(open) = self.members[member.index()].take() else { return };
        if let Some(place) = &mut self.open[open] {
            place.is_wanted = false;
            if let Some(crew) = &mut place.crew {
                crew.cancel();
            }
        }
        self.forget(open);
    }

    fn suspend(&mut self, member: MemberNo, memory: &mut Pages) {
        let Some(open) = self.members[member.index()] else { return };
        if let Some(place) = &mut self.open[open] {
            place.suspended = Some(member);
        }
        self.abandon_all(open, memory);
        self.close(member);
    }

    fn take_answered(&mut self) -> Option<(MemberNo, MemberFile)> {
        self.answered.pop()
    }

    fn file_system(&self, member: MemberNo) -> Option<u64> {
        self.open[self.members[member.index()]?].as_ref()?.file.file_system()
    }

    fn is_volatile(&self, member: MemberNo) -> bool {
        let open = self.members[member.index()].and_then(|open| self.open[open].as_ref());
        open.is_some_and(|open| open.unflushed.is_volatile())
    }

    fn put(&mut self, member: MemberNo, mut file: MemberFile) {
        self.close(member);
        file.serve();
        self.paths[member.index()] = Some(file.path().into());
        // The ring releases a registered file at a time of its own, so it must not have the last handle of a file with
        // a close that may block.
        let target = match file.kind() {
            Kind::Memory => self.kernel.add_file(file.as_fd()),
            Kind::Device | Kind::Other => Target::unknown(file.as_fd()),
        };
        let discards = file.discards();
        let unflushed = Unflushed::new(self.flushes, file.writes_through());
        let open = Some(Open {
            crew: None,
            file,
            target,
            always_waits: false,
            in_flight: 0,
            discards,
            unflushed,
            is_wanted: true,
            suspended: None,
        });
        let place = self.open.iter().position(Option::is_none).unwrap_or(self.open.len());
        if place == self.open.len() {
            self.open.push(None);
        }
        self.open[place] = open;
        self.members[member.index()] = Some(place);
    }

    fn into_members(mut self) -> Vec<Option<MemberFile>> {
        let members = std::mem::take(&mut self.members);
        let mut take = |place: usize| {
            // A stalled member keeps its file while it has operations.
            let mut open = self.open[place].take_if(|open| open.in_flight == 0)?;
            self.kernel.forget_file(open.target);
            open.file.serve_no_more();
            Some(open.file)
        };
        members.into_iter().map(|place| take(place?)).collect()
    }

    fn let_go(&mut self, memory: &mut Pages) {
        let until = Instant::now() + self.limit;
        while self.runs.wanted() > self.again.len() && Instant::now() < until {
            self.wait(None);
            self.reap(memory);
        }
        for number in self.runs.older_than(Instant::now(), Duration::ZERO) {
            self.runs.get_mut(number).abandon(memory);
        }
    }

    fn name(&self) -> &'static str {
        "io_uring"
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // Pages that the kernel uses must not be used again, so the ring waits for them, unless they were withdrawn. It
        // does not wait for withdrawn pages of a stalled member.
        let until = Instant::now() + FAREWELL;
        while self.runs.count() > self.again.len() && (self.runs.wanted() > 0 || Instant::now() < until) {
            if self.kernel.wait(Some(FAREWELL)).is_err() {
                std::thread::sleep(FAREWELL);
            }
            while let Some((tag, _)) = self.kernel.pop() {
                self.runs.drop_one(tag as u32);
            }
        }
        self.runs.leave();
        for open in self.open.iter().flatten() {
            self.kernel.forget_file(open.target);
        }
    }
}
