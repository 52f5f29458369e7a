//! The plain backend executes operations one after the other by blocking calls. It is simple enough to be checked by
//! reading, and is the oracle of faster backends.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use stripewise_array::{MemberNo, Operation, OperationId, OperationKind, PageId};
use stripewise_base::Nanos;
use stripewise_base::prng::Prng;

use crate::backend::{Backend, BackendCompletion, Pages};
use crate::flushing::{Flushes, Unflushed};
use crate::store::Store;

/// How long to wait between checks for permission to write.
const PAUSE: Duration = Duration::from_millis(1);

/// The order in which operations that were started together are executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// In the order in which they were started.
    #[default]
    Started,
    /// At random from this seed: a device may complete operations in any order, and tests cover many orders.
    Shuffled(u64),
}

/// A started operation.
#[derive(Clone, Copy, Debug)]
struct Started {
    id: OperationId,
    operation: Operation,
    page: PageId,
}

/// Executes operations one after the other, each when it is taken.
#[derive(Debug)]
pub struct Plain<S> {
    /// Members that are present, and what may be volatile of each.
    members: Vec<Option<(S, Unflushed)>>,
    /// Which flushes reach them.
    flushes: Flushes,
    /// The path of each member, or its last path.
    paths: Vec<Option<PathBuf>>,
    queue: VecDeque<Started>,
    /// Whether only reads are executed.
    holds_writes: bool,
    shuffle: Option<Prng>,
}

impl<S: Store> Plain<S> {
    /// A backend over these members, some of which may be absent.
    pub fn new(stores: Vec<Option<S>>, order: Order, flushes: Flushes) -> Self {
        let paths = stores.iter().map(|store| Some(store.as_ref()?.path()?.into())).collect();
        let with_state = |store: S| {
            let unflushed = Unflushed::new(flushes, store.writes_through());
            (store, unflushed)
        };
        Self {
            queue: VecDeque::with_capacity(stores.len()),
            paths,
            members: stores.into_iter().map(|store| store.map(with_state)).collect(),
            flushes,
            holds_writes: false,
            shuffle: match order {
                Order::Started => None,
                Order::Shuffled(seed) => Some(Prng::new(seed)),
            },
        }
    }

    fn carry_out(&mut self, operation: &Operation, page: PageId, memory: &mut Pages) -> io::Result<()> {
        let (store, unflushed) = self.members[operation.member.index()].as_mut().ok_or(Errno::NODEV)?;
        match operation.kind {
            OperationKind::Read => store.read(operation.page, memory.page_mut(page)),
            OperationKind::Write => {
                unflushed.changed();
                store.write(operation.page, memory.page(page))
            }
            OperationKind::Trim => {
                unflushed.changed();
                store.trim(operation.page)
            }
            OperationKind::Flush if unflushed.begin() => {
                let result = store.flush();
                unflushed.ended(result.is_ok());
                result
            }
            OperationKind::Flush => Ok(()),
        }
    }
}

impl<S: Store> Backend for Plain<S> {
    type Member = S;

    // The work that follows from the first completion must not wait for the last.
    const BATCH: usize = 1;

    fn start(&mut self, id: OperationId, operation: &Operation, page: PageId, _memory: &mut Pages) {
        self.queue.push_back(Started { id, operation: *operation, page });
    }

    fn submit(&mut self, _memory: &mut Pages) {}

    fn take(&mut self, memory: &mut Pages) -> Option<BackendCompletion> {
        let index = match &mut self.shuffle {
            _ if self.holds_writes => {
                let is_gone = |one: &Operation| self.members[one.member.index()].is_none();
                let may_go = |one: &Operation| one.kind == OperationKind::Read || is_gone(one);
                self.queue.iter().position(|one| may_go(&one.operation))?
            }
            Some(prng) if !self.queue.is_empty() => prng.below(self.queue.len() as u64) as usize,
            _ => 0,
        };
        let Started { id, operation, page } = self.queue.remove(index)?;
        let begun = Instant::now();
        let result = self.carry_out(&operation, page, memory);
        Some(BackendCompletion { id, operation, page, result, took_ns: begun.elapsed().as_nanos() as Nanos })
    }

    fn in_flight(&self) -> usize {
        self.queue.len()
    }

    fn hold_writes(&mut self, holds: bool) {
        self.holds_writes = holds;
    }

    fn wait(&mut self, at_most: Option<Duration>) {
        if self.holds_writes {
            std::thread::sleep(at_most.map_or(PAUSE, |at_most| at_most.min(PAUSE)));
        }
    }

    fn count(&self) -> u16 {
        self.members.len() as u16
    }

    fn path(&self, member: MemberNo) -> Option<&Path> {
        self.paths[member.index()].as_deref()
    }

    fn close(&mut self, member: MemberNo) {
        self.members[member.index()] = None;
    }

    fn put(&mut self, member: MemberNo, store: S) {
        self.paths[member.index()] = store.path().map(Into::into);
        let unflushed = Unflushed::new(self.flushes, store.writes_through());
        self.members[member.index()] = Some((store, unflushed));
    }

    fn is_volatile(&self, member: MemberNo) -> bool {
        self.members[member.index()].as_ref().is_some_and(|(_, unflushed)| unflushed.is_volatile())
    }

    fn into_members(self) -> Vec<Option<S>> {
        self.members.into_iter().map(|member| member.map(|(store, _)| store)).collect()
    }

    fn name(&self) -> &'static str {
        "plain"
    }
}

#[cfg(test)]
mod tests {
    use stripewise_array::Memory as _;

    use super::*;

    /// Counts the flushes that reach it; the first fails.
    #[derive(Default)]
    struct Counting(u32);

    impl Store for Counting {
        fn pages(&self) -> u32 {
            8
        }
        fn read(&mut self, _page: u32, _into: &mut [u8]) -> io::Result<()> {
            Ok(())
        }
        fn write(&mut self, _page: u32, _from: &[u8]) -> io::Result<()> {
            Ok(())
        }
        fn trim(&mut self, _page: u32) -> io::Result<()> {
            Ok(())
        }
        fn flush(&mut self) -> io::Result<()> {
            self.0 += 1;
            if self.0 == 1 { Err(Errno::IO.into()) } else { Ok(()) }
        }
    }

    #[test]
    fn a_flush_reaches_a_member_that_was_written_or_not_flushed_well() {
        let mut memory = Pages::new(4096);
        let page = memory.take();
        for (flushes, reached) in [(Flushes::Auto, 3), (Flushes::Always, 5)] {
            let mut plain = Plain::new(vec![Some(Counting::default())], Order::Started, flushes);
            let mut run = |kind| {
                plain.start(
                    OperationId::new(0),
                    &Operation { kind, ..Operation::default() },
                    page,
                    &mut memory,
                );
                plain.take(&mut memory).expect("it was started").result.is_ok()
            };
            assert!(!run(OperationKind::Flush), "the first fails");
            assert!(run(OperationKind::Flush) && run(OperationKind::Flush));
            assert!(run(OperationKind::Write) && run(OperationKind::Flush));
            assert!(run(OperationKind::Read) && run(OperationKind::Flush));
            let member = plain.into_members().pop().flatten().expect("it is there");
            assert_eq!(member.0, reached, "{flushes:?}");
        }
    }
}
