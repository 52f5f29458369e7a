//! Media that fail on demand: any store, with faults that a test sets while the array runs.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::rc::Rc;

use rustix::io::Errno;
use stripewise_engine::Store;

/// Faults and their observations, shared by the test and the members.
#[derive(Clone, Default)]
pub struct Faults(Rc<RefCell<State>>);

#[derive(Default)]
struct State {
    /// Reads of a page fail until it is written or trimmed: a latent sector error.
    bad_reads: BTreeMap<(u16, u32), Errno>,
    /// Every write of a page fails.
    bad_writes: BTreeMap<(u16, u32), Errno>,
    /// Every flush of a member fails.
    bad_flushes: BTreeMap<u16, Errno>,
    /// Every operation of a member fails.
    dead: BTreeMap<u16, Errno>,
    /// Pages written or trimmed since the member's last flush.
    unflushed: BTreeSet<(u16, u32)>,
}

impl Faults {
    /// `stores` with these faults.
    pub fn around<S: Store>(&self, stores: Vec<S>) -> Vec<Faulty<S>> {
        let wrap = |(member, inner)| Faulty { inner, member: member as u16, faults: self.clone() };
        stores.into_iter().enumerate().map(wrap).collect()
    }

    /// The page cannot be read until it is written.
    pub fn rot(&self, member: u16, page: u32, errno: Errno) {
        self.0.borrow_mut().bad_reads.insert((member, page), errno);
    }

    /// The page can be read again.
    pub fn heal(&self, member: u16, page: u32) {
        self.0.borrow_mut().bad_reads.remove(&(member, page));
    }

    /// Whether the page still cannot be read.
    pub fn is_rotten(&self, member: u16, page: u32) -> bool {
        self.0.borrow().bad_reads.contains_key(&(member, page))
    }

    /// Pages that cannot be read.
    pub fn rotten(&self) -> Vec<(u16, u32)> {
        self.0.borrow().bad_reads.keys().copied().collect()
    }

    /// The page cannot be written.
    pub fn refuse_writes(&self, member: u16, page: u32, errno: Errno) {
        self.0.borrow_mut().bad_writes.insert((member, page), errno);
    }

    /// The page can be written again.
    pub fn allow_writes(&self, member: u16, page: u32) {
        self.0.borrow_mut().bad_writes.remove(&(member, page));
    }

    /// The member cannot make anything durable.
    pub fn refuse_flushes(&self, member: u16, errno: Errno) {
        self.0.borrow_mut().bad_flushes.insert(member, errno);
    }

    /// The member answers everything with this error.
    pub fn kill(&self, member: u16, errno: Errno) {
        self.0.borrow_mut().dead.insert(member, errno);
    }

    /// Pages of `member` that a loss of power might lose.
    pub fn unflushed(&self, member: u16) -> usize {
        self.0.borrow().unflushed.range((member, 0)..=(member, u32::MAX)).count()
    }
}

/// A store with faults.
pub struct Faulty<S> {
    inner: S,
    member: u16,
    faults: Faults,
}

impl<S: Store> Faulty<S> {
    fn state(&self) -> std::cell::RefMut<'_, State> {
        self.faults.0.borrow_mut()
    }

    fn alive(&self) -> io::Result<()> {
        self.state().dead.get(&self.member).map_or(Ok(()), |&errno| Err(errno.into()))
    }
}

impl<S: Store> Store for Faulty<S> {
    fn pages(&self) -> u32 {
        self.inner.pages()
    }

    fn read(&mut self, page: u32, into: &mut [u8]) -> io::Result<()> {
        self.alive()?;
        if let Some(&errno) = self.state().bad_reads.get(&(self.member, page)) {
            // The content of the buffer after a failed read must not matter.
            into.fill(0xBD);
            return Err(errno.into());
        }
        self.inner.read(page, into)
    }

    fn write(&mut self, page: u32, from: &[u8]) -> io::Result<()> {
        self.alive()?;
        let at = (self.member, page);
        if let Some(&errno) = self.state().bad_writes.get(&at) {
            return Err(errno.into());
        }
        self.inner.write(page, from)?;
        self.state().bad_reads.remove(&at);
        self.state().unflushed.insert(at);
        Ok(())
    }

    fn trim(&mut self, page: u32) -> io::Result<()> {
        self.alive()?;
        let at = (self.member, page);
        self.inner.trim(page)?;
        self.state().bad_reads.remove(&at);
        self.state().unflushed.insert(at);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.alive()?;
        if let Some(&errno) = self.state().bad_flushes.get(&self.member) {
            return Err(errno.into());
        }
        // The store's own flush is skipped: these files need not survive a loss of power, and a flush is slow.
        let member = self.member;
        self.state().unflushed.retain(|&(other, _)| other != member);
        Ok(())
    }
}
