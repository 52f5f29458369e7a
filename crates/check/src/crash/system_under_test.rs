//! The system under test: a controller that can create, assemble and serve an array.

use stripewise_array::ScrubCounts;
use stripewise_array::format::{FailReason, Superblock, superblock_pages};
use stripewise_array::health::ArrayState;
use stripewise_array::{
    Array, AssembleError, AssemblyOptions, Bug, Controller, HostRequest, MemberNo, OperationId, Outcome,
    PageMemory, RecoveryReport, Rejoining, SubmitError, Timing,
};
use stripewise_base::Nanos;

use super::members::Members;
use super::oracle::Claims;
use super::shape::Shape;
use super::sim_driver::SimDriver;
use super::sim_media::SimMedia;

/// A controller. This project's controller is [`Array`]; tests of the checker use others, with flaws that must be
/// found.
pub(crate) trait SystemUnderTest: Sized {
    /// Writes an empty array.
    fn create(shape: &Shape, media: &mut SimMedia<'_>) -> Result<(), AssembleError>;

    /// Assembles the offered members.
    fn open(
        shape: &Shape,
        bug: Option<Bug>,
        force: bool,
        media: &mut SimMedia<'_>,
    ) -> Result<(Self, RecoveryReport), AssembleError>;

    /// Accepts a request.
    fn submit(
        &mut self,
        now: Nanos,
        request: HostRequest,
        payload: Box<[u8]>,
        driver: &mut SimDriver,
    ) -> Result<(), (SubmitError, Box<[u8]>)>;

    /// Starts the operations that can start now.
    fn dispatch(&mut self, driver: &mut SimDriver);

    /// Copies the content that an operation has read to the page that the operation named.
    fn fill(&mut self, page: u32, content: &[u8]);

    /// Handles the end of an operation.
    fn completed(&mut self, now: Nanos, id: OperationId, outcome: Outcome, driver: &mut SimDriver);

    /// Handles a timer.
    fn timer(&mut self, now: Nanos, driver: &mut SimDriver);

    /// Capacity in bytes.
    fn bytes(&self) -> u64;

    /// Continues the work that assembly has begun.
    fn resume(&mut self, _now: Nanos, _desk: &mut SimDriver) {}

    /// Whether `member`, which is missing from the array, can be added now.
    fn accepts(&self, _member: MemberNo, _how: Rejoining) -> bool {
        false
    }

    /// Adds `member`, which the array accepts.
    fn rejoin(&mut self, _now: Nanos, _member: MemberNo, _how: Rejoining, _desk: &mut SimDriver) {}

    /// How `member` returns, with its present content.
    fn returned(&self, member: MemberNo, members: &Members) -> Rejoining {
        Rejoining::Returned { pages: members.pages(member), stamp: None }
    }

    /// Writes out the content of memory, and writes a checkpoint.
    fn checkpoint(&mut self, _now: Nanos, _desk: &mut SimDriver) {}

    /// Records a clean stop in the superblocks.
    fn stop(&mut self, _now: Nanos, _desk: &mut SimDriver) {}

    /// Whether `member` joins the array: it was accepted, and it is not rebuilt yet.
    fn is_joining(&self, _member: MemberNo) -> bool {
        false
    }

    /// Whether the array serves without `member`.
    fn is_without(&self, _member: MemberNo) -> bool {
        false
    }

    /// Begins a scrub.
    fn scrub(&mut self, _now: Nanos, _desk: &mut SimDriver) {}

    /// What a scrub has done that reads data now.
    fn scrubbing(&self) -> Option<u32> {
        None
    }

    /// From now on rebuilds and scrubs begin no more work.
    fn halt_walks(&mut self, _now: Nanos, _desk: &mut SimDriver) {}

    /// Reads the superblocks of all members before a stop, and repairs damaged ones.
    fn verify_superblocks(&mut self, _now: Nanos, _desk: &mut SimDriver) {}

    /// The counts of the last scrub, and whether it is still in progress.
    fn scrubbed(&self) -> (ScrubCounts, bool) {
        (ScrubCounts::default(), false)
    }

    /// Takes `member` out.
    fn fail(&mut self, _now: Nanos, _member: MemberNo, _reason: FailReason, _desk: &mut SimDriver) {}

    /// The state on which the health of the array depends.
    fn state(&self) -> Option<ArrayState> {
        None
    }

    /// What the array says about its redundancy.
    fn claims(&self) -> Option<Claims> {
        None
    }

    /// The member and page of a host page that has a fixed place.
    fn home(&self, _page: u64) -> Option<(MemberNo, u32)> {
        None
    }
}

impl SystemUnderTest for Array<PageMemory> {
    fn create(shape: &Shape, media: &mut SimMedia<'_>) -> Result<(), AssembleError> {
        stripewise_array::create(&shape.scheme(), shape.members(), &shape.identity(), media)
    }

    fn open(
        shape: &Shape,
        bug: Option<Bug>,
        force: bool,
        media: &mut SimMedia<'_>,
    ) -> Result<(Self, RecoveryReport), AssembleError> {
        let memory = PageMemory::new(shape.page_bytes);
        let opening = AssemblyOptions { bug, force, serving: media.serving(), ..AssemblyOptions::default() };
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
        Controller::submit(self, now, request, payload, driver)
    }

    fn dispatch(&mut self, driver: &mut SimDriver) {
        Controller::dispatch(self, driver);
    }

    fn fill(&mut self, page: u32, content: &[u8]) {
        self.memory().page_mut(page).copy_from_slice(content);
    }

    fn completed(&mut self, now: Nanos, id: OperationId, outcome: Outcome, driver: &mut SimDriver) {
        Controller::completed(self, now, id, outcome, Timing::default(), driver);
    }

    fn timer(&mut self, now: Nanos, driver: &mut SimDriver) {
        Controller::timer(self, now, driver);
    }

    fn bytes(&self) -> u64 {
        self.capacity()
    }

    fn resume(&mut self, now: Nanos, driver: &mut SimDriver) {
        self.resume(now, driver);
    }

    fn accepts(&self, member: MemberNo, how: Rejoining) -> bool {
        self.check_rejoin(member, how).is_ok()
    }

    fn rejoin(&mut self, now: Nanos, member: MemberNo, how: Rejoining, driver: &mut SimDriver) {
        self.rejoin(now, member, how, driver).expect("the array accepts it");
    }

    fn returned(&self, member: MemberNo, members: &Members) -> Rejoining {
        let pages = members.pages(member);
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

    fn is_joining(&self, member: MemberNo) -> bool {
        self.is_joining(member)
    }

    fn is_without(&self, member: MemberNo) -> bool {
        self.is_failed(member)
    }

    fn scrub(&mut self, now: Nanos, driver: &mut SimDriver) {
        self.scrub(now, driver);
    }

    fn scrubbing(&self) -> Option<u32> {
        let (_, reads_metadata) = self.metadata_scrubbed();
        self.scrubbing().map(|(done, _)| done).filter(|_| !reads_metadata)
    }

    fn halt_walks(&mut self, now: Nanos, driver: &mut SimDriver) {
        self.allow(now, Some(0), driver);
    }

    fn verify_superblocks(&mut self, now: Nanos, driver: &mut SimDriver) {
        self.verify_superblocks(now, driver);
    }

    fn scrubbed(&self) -> (ScrubCounts, bool) {
        self.scrub_counts()
    }

    fn state(&self) -> Option<ArrayState> {
        Some(self.state())
    }

    fn fail(&mut self, now: Nanos, member: MemberNo, reason: FailReason, driver: &mut SimDriver) {
        self.member_failed(now, member, reason, driver);
    }

    fn claims(&self) -> Option<Claims> {
        Some(Claims::of(self))
    }

    fn home(&self, page: u64) -> Option<(MemberNo, u32)> {
        let (member, _, at) = self.homes(page * u64::from(self.geometry().page_bytes))?;
        Some((member, at))
    }
}
