//! Where a controller's operations lie until somebody does them: in any order.

use stripewise_array::{
    Acknowledgement, Admission, Driver, ElementState, Operation, OperationId, OperationKind, Outcome,
    PageMemory,
};
use stripewise_base::Nanos;

use super::elements::{Content, Elements, InFlight};

/// An operation under way.
#[derive(Debug)]
pub(crate) struct Flight {
    pub(crate) id: OperationId,
    pub(crate) operation: Operation,
    /// The controller's page that it reads into.
    pub(crate) page: u32,
    /// What it writes.
    content: Option<Content>,
    /// Of a flush: the writes that it covers.
    covers: u64,
}

/// The driver of a controller over modelled elements.
pub(crate) struct SimDriver {
    pub(crate) elements: Elements,
    pub(crate) flights: Vec<Flight>,
    pub(crate) acknowledged: Vec<(Acknowledgement, Box<[u8]>)>,
    /// Elements that the controller has not: nothing may be asked of them.
    pub(crate) absent: u64,
    /// What was asked though nothing may be.
    pub(crate) wrong: Option<String>,
    timers: Vec<Nanos>,
    zeros: Content,
}

impl SimDriver {
    pub(crate) fn new(elements: Elements, absent: u64) -> Self {
        let zeros = vec![0; elements.page_bytes()].into();
        let (flights, acknowledged, timers) = (Vec::new(), Vec::new(), Vec::new());
        Self { elements, flights, acknowledged, absent, wrong: None, timers, zeros }
    }

    /// Puts an operation down; `content` is what it writes.
    pub(crate) fn put(&mut self, id: OperationId, operation: Operation, page: u32, content: Option<&[u8]>) {
        let Operation { element, page: at, kind, .. } = operation;
        if self.absent & 1 << element != 0 {
            self.wrong =
                Some(format!("a {kind:?} of page {at} of element {element}, which the array has not"));
        } else if at >= self.elements.pages() {
            self.wrong =
                Some(format!("a {kind:?} of page {at} of element {element}, which ends before that"));
        }
        let covers = self.elements.answered(element);
        let content = match kind {
            OperationKind::Trim => Some(self.zeros.clone()),
            _ => content.map(Content::from),
        };
        self.flights.push(Flight { id, operation, page, content, covers });
    }

    /// Does the operation of that place in the list, and answers how it ended; a read with what was found.
    pub(crate) fn take(&mut self, nth: usize) -> (Flight, Outcome, Option<Content>) {
        let mut flight = self.flights.swap_remove(nth);
        let Operation { element, page, kind, .. } = flight.operation;
        if self.absent & 1 << element != 0 {
            return (flight, Outcome::Gone, None);
        }
        let (outcome, found) = match kind {
            OperationKind::Read => match self.elements.read(element, page) {
                Ok(content) => (Outcome::Done, Some(content.clone())),
                Err(outcome) => (outcome, None),
            },
            OperationKind::Flush => (self.elements.flush(element, flight.covers), None),
            OperationKind::Write | OperationKind::Trim => {
                let content = flight.content.take().expect("what writes has content");
                (self.elements.write(element, page, content), None)
            }
        };
        (flight, outcome, found)
    }

    /// The earliest timer, taken.
    pub(crate) fn take_timer(&mut self, until: Nanos) -> Option<Nanos> {
        let first = *self.timers.iter().min().filter(|&&at| at <= until)?;
        self.timers.retain(|&at| at != first);
        Some(first)
    }

    /// Writes that are under way.
    pub(crate) fn in_flight(&self) -> Vec<InFlight> {
        let of = |flight: &Flight| {
            let Operation { element, page, .. } = flight.operation;
            flight.content.clone().map(|content| InFlight { element, page, content })
        };
        self.flights.iter().filter_map(of).collect()
    }
}

impl ElementState for SimDriver {}

impl Driver<PageMemory> for SimDriver {
    fn admits(&mut self, _: &Operation) -> Admission {
        Admission::Admitted
    }

    fn start(&mut self, id: OperationId, operation: &Operation, page: u32, memory: &mut PageMemory) {
        let content = (operation.kind == OperationKind::Write).then(|| memory.page(page));
        self.put(id, *operation, page, content);
    }

    fn compute(&mut self, _: u32, _: u32) -> bool {
        true
    }

    fn set_timer(&mut self, at: Nanos) {
        self.timers.push(at);
    }

    fn acknowledge(&mut self, acknowledgement: &Acknowledgement, payload: Box<[u8]>) {
        self.acknowledged.push((*acknowledgement, payload));
    }
}
