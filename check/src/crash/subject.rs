//! Who is checked: a controller that can be created, opened and asked.

use stripewise_array::{
    Array, Bug, HostRequest, OpenError, Opened, Opening, OperationId, Outcome, PageMemory, SubmitError,
    Timing,
};
use stripewise_base::Nanos;

use super::desk::Desk;
use super::offer::Offer;
use super::shape::Shape;

/// A controller. That of this project is [`Array`]; tests of the checker bring others, with flaws that must be found.
pub(crate) trait Subject: Sized {
    /// Writes an empty array.
    fn create(shape: &Shape, offer: &mut Offer<'_>) -> Result<(), OpenError>;

    /// Opens what is offered.
    fn open(shape: &Shape, bug: Option<Bug>, offer: &mut Offer<'_>) -> Result<(Self, Opened), OpenError>;

    /// Takes a request.
    fn submit(
        &mut self,
        now: Nanos,
        request: HostRequest,
        payload: Box<[u8]>,
        desk: &mut Desk,
    ) -> Result<(), (SubmitError, Box<[u8]>)>;

    /// Puts on the desk what can be done now.
    fn dispatch(&mut self, desk: &mut Desk);

    /// What an operation has read goes to the page that it named.
    fn fill(&mut self, page: u32, content: &[u8]);

    /// An operation ended.
    fn completed(&mut self, now: Nanos, id: OperationId, outcome: Outcome, desk: &mut Desk);

    /// A time has come.
    fn timer(&mut self, now: Nanos, desk: &mut Desk);

    /// Bytes that it offers.
    fn bytes(&self) -> u64;
}

impl Subject for Array<PageMemory> {
    fn create(shape: &Shape, offer: &mut Offer<'_>) -> Result<(), OpenError> {
        stripewise_array::create(&shape.scheme(), shape.elements(), &shape.identity(), offer)
    }

    fn open(shape: &Shape, bug: Option<Bug>, offer: &mut Offer<'_>) -> Result<(Self, Opened), OpenError> {
        let memory = PageMemory::new(shape.page_bytes);
        #[cfg(feature = "planted-bugs")]
        let opening = Opening { bug, ..Opening::default() };
        #[cfg(not(feature = "planted-bugs"))]
        let opening = Opening::default();
        #[allow(unused_mut)]
        let (mut array, opened) = Self::open(&shape.scheme(), shape.elements(), memory, offer, opening)?;
        #[cfg(feature = "planted-bugs")]
        array.plant(bug);
        #[cfg(not(feature = "planted-bugs"))]
        let _ = bug;
        Ok((array, opened))
    }

    fn submit(
        &mut self,
        now: Nanos,
        request: HostRequest,
        payload: Box<[u8]>,
        desk: &mut Desk,
    ) -> Result<(), (SubmitError, Box<[u8]>)> {
        self.submit(now, request, payload, desk)
    }

    fn dispatch(&mut self, desk: &mut Desk) {
        self.dispatch(desk);
    }

    fn fill(&mut self, page: u32, content: &[u8]) {
        self.memory().page_mut(page).copy_from_slice(content);
    }

    fn completed(&mut self, now: Nanos, id: OperationId, outcome: Outcome, desk: &mut Desk) {
        self.completed(now, id, outcome, Timing::default(), desk);
    }

    fn timer(&mut self, now: Nanos, desk: &mut Desk) {
        self.timer(now, desk);
    }

    fn bytes(&self) -> u64 {
        self.capacity()
    }
}
