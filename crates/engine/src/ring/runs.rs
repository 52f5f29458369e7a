//! Runs: operations of one kind on adjacent pages of a member, submitted to the kernel as one.

use std::time::{Duration, Instant};

use bytes::BytesMut;
use stripewise_array::{Operation, OperationId, OperationKind, PageId};
use stripewise_base::Nanos;

use super::kernel::Piece;
use crate::backend::Pages;

/// A started operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Started {
    pub(super) id: OperationId,
    pub(super) operation: Operation,
    pub(super) page: PageId,
}

/// Operations that are submitted together.
#[derive(Debug)]
pub(super) struct OperationRun {
    /// The file.
    pub(super) open: usize,
    pub(super) kind: OperationKind,
    pub(super) started: Vec<Started>,
    /// The memory of each page; empty for trims and flushes.
    pieces: Vec<Piece>,
    /// The single piece for pages that are adjacent in memory too.
    joined: Option<Piece>,
    /// Pages that are done.
    pub(super) done: usize,
    /// Tries since it last made progress.
    pub(super) tries: u32,
    begun: Instant,
    /// Buffers that the kernel still uses, of a run that has timed out.
    kept: Vec<BytesMut>,
    is_abandoned: bool,
    is_taken: bool,
}

impl OperationRun {
    /// The first page that is not done.
    pub(super) fn page(&self) -> u32 {
        self.started[0].operation.page + self.done as u32
    }

    /// Pages that are not done.
    pub(super) fn left(&self) -> usize {
        self.started.len() - self.done
    }

    /// The pieces that are not done.
    pub(super) fn pieces_left(&self) -> &[Piece] {
        match &self.joined {
            Some(piece) if self.done == 0 => std::slice::from_ref(piece),
            _ => &self.pieces[self.done.min(self.pieces.len())..],
        }
    }

    /// How long it has been in flight.
    pub(super) fn age_ns(&self, now: Instant) -> Nanos {
        now.duration_since(self.begun).as_nanos() as Nanos
    }

    /// Whether its operations have timed out.
    pub(super) fn is_abandoned(&self) -> bool {
        self.is_abandoned
    }

    /// Turns a trim into a write of zeros.
    pub(super) fn write_zeros(&mut self, zeros: &'static [u8], page_bytes: u32) {
        let piece = Piece { at: zeros.as_ptr() as usize, bytes: page_bytes as usize };
        self.pieces.clear();
        self.pieces.resize(self.started.len(), piece);
        self.tries = 0;
    }

    /// Times out its operations and returns them. Their pages have other memory now.
    pub(super) fn abandon(&mut self, memory: &mut Pages) -> Vec<Started> {
        self.is_abandoned = true;
        if self.has_pages() {
            self.kept.extend(self.started.iter().map(|one| memory.withdraw(one.page)));
        }
        self.started.clone()
    }

    fn has_pages(&self) -> bool {
        matches!(self.kind, OperationKind::Read | OperationKind::Write)
    }
}

/// All runs. Finished runs and their memory are used again.
#[derive(Debug, Default)]
pub(super) struct Runs {
    runs: Vec<OperationRun>,
    free: Vec<u32>,
}

impl Runs {
    /// A run of operations on adjacent pages of the file.
    pub(super) fn take(
        &mut self,
        open: usize,
        started: &[Started],
        begun: Instant,
        page_bytes: u32,
        memory: &mut Pages,
    ) -> u32 {
        let kind = started[0].operation.kind;
        let number = self.free.pop().unwrap_or_else(|| {
            self.runs.push(OperationRun {
                open,
                kind,
                started: Vec::new(),
                pieces: Vec::new(),
                joined: None,
                done: 0,
                tries: 0,
                begun,
                kept: Vec::new(),
                is_abandoned: false,
                is_taken: false,
            });
            self.runs.len() as u32 - 1
        });
        let run = &mut self.runs[number as usize];
        (run.open, run.kind, run.begun) = (open, kind, begun);
        (run.done, run.tries, run.is_abandoned, run.is_taken) = (0, 0, false, true);
        run.started.clear();
        run.started.extend_from_slice(started);
        run.pieces.clear();
        run.joined = None;
        if run.has_pages() {
            let bytes = page_bytes as usize;
            let piece = |one: &Started| Piece { at: memory.page_mut(one.page).as_mut_ptr() as usize, bytes };
            run.pieces.extend(started.iter().map(piece));
            let is_one = run.pieces.windows(2).all(|two| two[0].end() == two[1].at);
            run.joined = is_one.then(|| Piece { at: run.pieces[0].at, bytes: bytes * run.pieces.len() });
        }
        number
    }

    pub(super) fn get(&self, number: u32) -> &OperationRun {
        &self.runs[number as usize]
    }

    pub(super) fn get_mut(&mut self, number: u32) -> &mut OperationRun {
        &mut self.runs[number as usize]
    }

    /// Finishes a run. Buffers that were kept for it are freed, except those that another run uses too: copies of one
    /// page are written from the same memory.
    pub(super) fn give(&mut self, number: u32, memory: &mut Pages) {
        self.drop_one(number);
        let mut kept = std::mem::take(&mut self.runs[number as usize].kept);
        for buffer in kept.drain(..) {
            let at = buffer.as_ptr() as usize;
            let has_it =
                |run: &&mut OperationRun| run.is_taken && run.pieces.iter().any(|piece| piece.at == at);
            match self.runs.iter_mut().find(has_it) {
                Some(run) => run.kept.push(buffer),
                None => memory.take_back(buffer),
            }
        }
        self.runs[number as usize].kept = kept;
    }

    /// Finishes a run without freeing its buffers: the ring is being dropped.
    pub(super) fn drop_one(&mut self, number: u32) {
        self.runs[number as usize].is_taken = false;
        self.free.push(number);
    }

    /// Leaves the memory of runs that have timed out to the kernel permanently: the kernel may still use it.
    pub(super) fn leave(&mut self) {
        for run in self.runs.iter_mut().filter(|run| run.is_taken && run.is_abandoned) {
            run.kept.drain(..).for_each(std::mem::forget);
        }
    }

    /// Runs of a file that are in flight and have not timed out.
    pub(super) fn of(&self, open: usize) -> Vec<u32> {
        let is_its = |run: &OperationRun| run.is_taken && !run.is_abandoned && run.open == open;
        (0..).zip(&self.runs).filter(|(_, run)| is_its(run)).map(|(number, _)| number).collect()
    }

    /// Runs in flight that have not timed out.
    pub(super) fn wanted(&self) -> usize {
        self.runs.iter().filter(|run| run.is_taken && !run.is_abandoned).count()
    }

    /// Runs in flight.
    pub(super) fn count(&self) -> usize {
        self.runs.len() - self.free.len()
    }

    /// The largest number of runs that were ever in flight.
    #[cfg(test)]
    pub(super) fn most(&self) -> usize {
        self.runs.len()
    }

    /// Runs that have been in flight longer than `limit` and have not timed out.
    pub(super) fn older_than(&self, now: Instant, limit: Duration) -> Vec<u32> {
        let is_old =
            |run: &OperationRun| run.is_taken && !run.is_abandoned && now.duration_since(run.begun) > limit;
        (0..).zip(&self.runs).filter(|(_, run)| is_old(run)).map(|(number, _)| number).collect()
    }
}
