//! Who is checked: a controller that can be created, opened and asked.

use stripewise_array::format::{Superblock, superblock_pages};
use stripewise_array::placement::elastic::ScrubCounts;
use stripewise_array::{
    Array, Bug, HostRequest, OpenError, Opened, Opening, OperationId, Outcome, PageMemory, Rejoining,
    SubmitError, Timing,
};
use stripewise_base::Nanos;

use super::members::Members;
use super::shape::Shape;
use super::sim_driver::SimDriver;
use super::sim_media::SimMedia;

/// A controller. That of this project is [`Array`]; tests of the checker bring others, with flaws that must be found.
pub(crate) trait SystemUnderTest: Sized {
    /// Writes an empty array.
    fn create(shape: &Shape, media: &mut SimMedia<'_>) -> Result<(), OpenError>;

    /// Opens what is offered.
    fn open(
        shape: &Shape,
        bug: Option<Bug>,
        force: bool,
        media: &mut SimMedia<'_>,
    ) -> Result<(Self, Opened), OpenError>;

    /// Takes a request.
    fn submit(
        &mut self,
        now: Nanos,
        request: HostRequest,
        payload: Box<[u8]>,
        driver: &mut SimDriver,
    ) -> Result<(), (SubmitError, Box<[u8]>)>;

    /// Puts on the desk what can be done now.
    fn dispatch(&mut self, driver: &mut SimDriver);

    /// What an operation has read goes to the page that it named.
    fn fill(&mut self, page: u32, content: &[u8]);

    /// An operation ended.
    fn completed(&mut self, now: Nanos, id: OperationId, outcome: Outcome, driver: &mut SimDriver);

    /// A time has come.
    fn timer(&mut self, now: Nanos, driver: &mut SimDriver);

    /// Bytes that it offers.
    fn bytes(&self) -> u64;

    /// Goes on with what opening the array has begun.
    fn resume(&mut self, _now: Nanos, _desk: &mut SimDriver) {}

    /// Takes `member` in, which it serves without. False if it does not now.
    fn rejoin(&mut self, _now: Nanos, _member: u16, _how: Rejoining, _desk: &mut SimDriver) -> bool {
        false
    }

    /// How `member` returns, with what it holds.
    fn returned(&self, _member: u16, members: &Members) -> Rejoining {
        Rejoining::Returned { pages: members.pages(), stamp: None }
    }

    /// Writes out what waits in memory, and makes a checkpoint.
    fn checkpoint(&mut self, _now: Nanos, _desk: &mut SimDriver) {}

    /// Tells superblocks of a clean stop.
    fn stop(&mut self, _now: Nanos, _desk: &mut SimDriver) {}

    /// The member that is being made whole.
    fn rebuilding(&self) -> Option<u16> {
        None
    }

    /// Whether it does without `member`.
    fn is_without(&self, _member: u16) -> bool {
        false
    }

    /// Begins a scrub.
    fn scrub(&mut self, _now: Nanos, _desk: &mut SimDriver) {}

    /// What the last scrub did, and whether it goes on.
    fn scrubbed(&self) -> (ScrubCounts, bool) {
        (ScrubCounts::default(), false)
    }

    /// The member and page of a page of hosts that always lies there.
    fn home(&self, _page: u64) -> Option<(u16, u32)> {
        None
    }
}

impl SystemUnderTest for Array<PageMemory> {
    fn create(shape: &Shape, media: &mut SimMedia<'_>) -> Result<(), OpenError> {
        stripewise_array::create(&shape.scheme(), shape.members(), &shape.identity(), media)
    }

    fn open(
        shape: &Shape,
        bug: Option<Bug>,
        force: bool,
        media: &mut SimMedia<'_>,
    ) -> Result<(Self, Opened), OpenError> {
        let memory = PageMemory::new(shape.page_bytes);
        let opening = Opening { bug, force, ..Opening::default() };
        #[allow(unused_mut)]
        let (mut array, opened) = Self::open(&shape.scheme(), shape.members(), memory, media, opening)?;
        #[cfg(debug_assertions)]
        array.plant(bug);
        #[cfg(not(debug_assertions))]
        let _ = bug;
        Ok((array, opened))
    }

    fn submit(
        &mut self,
        now: Nanos,
        request: HostRequest,
        payload: Box<[u8]>,
        driver: &mut SimDriver,
    ) -> Result<(), (SubmitError, Box<[u8]>)> {
        self.submit(now, request, payload, driver)
    }

    fn dispatch(&mut self, driver: &mut SimDriver) {
        self.dispatch(driver);
    }

    fn fill(&mut self, page: u32, content: &[u8]) {
        self.memory().page_mut(page).copy_from_slice(content);
    }

    fn completed(&mut self, now: Nanos, id: OperationId, outcome: Outcome, driver: &mut SimDriver) {
        self.completed(now, id, outcome, Timing::default(), driver);
    }

    fn timer(&mut self, now: Nanos, driver: &mut SimDriver) {
        self.timer(now, driver);
    }

    fn bytes(&self) -> u64 {
        self.capacity()
    }

    fn resume(&mut self, now: Nanos, driver: &mut SimDriver) {
        self.resume(now, driver);
    }

    fn rejoin(&mut self, now: Nanos, member: u16, how: Rejoining, driver: &mut SimDriver) -> bool {
        self.rejoin(now, member, how, driver).is_ok()
    }

    fn returned(&self, member: u16, members: &Members) -> Rejoining {
        let pages = members.pages();
        let span = superblock_pages(members.page_bytes() as u32);
        let copy = |first: u32| {
            let its = (first..first + span).map(|page| members.read(member, page).ok());
            let bytes: Vec<u8> =
                its.collect::<Option<Vec<_>>>()?.iter().flat_map(|page| page.iter().copied()).collect();
            Superblock::parse(&bytes).ok()
        };
        let (front, back) = (copy(0), copy(pages - span));
        Rejoining::Returned { pages, stamp: self.stamp_of(member, [front.as_ref(), back.as_ref()]) }
    }

    fn checkpoint(&mut self, now: Nanos, driver: &mut SimDriver) {
        self.drain(now, driver);
        self.checkpoint(now, driver);
    }

    fn stop(&mut self, now: Nanos, driver: &mut SimDriver) {
        self.stop(now, driver);
    }

    fn rebuilding(&self) -> Option<u16> {
        self.rebuilding().map(|(member, ..)| member)
    }

    fn is_without(&self, member: u16) -> bool {
        self.is_failed(member)
    }

    fn scrub(&mut self, now: Nanos, driver: &mut SimDriver) {
        self.scrub(now, driver);
    }

    fn scrubbed(&self) -> (ScrubCounts, bool) {
        self.scrub_counts()
    }

    fn home(&self, page: u64) -> Option<(u16, u32)> {
        let (member, _, at) = self.homes(page * u64::from(self.geometry().page_bytes))?;
        Some((member, at))
    }
}
