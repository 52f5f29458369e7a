//! The plain driver: operations are carried out one after the other by blocking calls.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::{fmt, io};

use stripewise_array::update::ElementState;
use stripewise_array::{
    Acknowledgement, Admission, Class, Driver, Memory, Operation, OperationId, OperationKind, Outcome,
    PageId, PageMemory, PlanView,
};
use stripewise_base::Nanos;
use stripewise_base::prng::Prng;

use crate::engine::Ticket;
use crate::error::Lost;
use crate::store::{Store, outcome_of};

/// In which order operations that were started together are carried out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// As they were started.
    #[default]
    Started,
    /// At random from this seed: a device may complete what it was given in any order, and tests want them all.
    Shuffled(u64),
}

/// Is shown every plan that the controller makes.
pub type Observer = Box<dyn FnMut(&PlanView<'_>)>;

/// A request that is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Which one.
    pub ticket: Ticket,
    /// The bytes that it brought; of a read, filled. Or why it failed.
    pub result: Result<Box<[u8]>, Lost>,
    /// Nanoseconds from submission to acknowledgement.
    pub response_ns: Nanos,
}

/// Why an element is out of service.
#[derive(Debug)]
pub enum Failure {
    /// [`crate::Engine::fail`] said so.
    Asked,
    /// The controller gave it up after an error that an element must not have.
    Error {
        /// What was tried.
        operation: Operation,
        /// What the operating system said.
        error: io::Error,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Error { operation, error } = self else {
            return f.write_str("it was taken out of service");
        };
        match operation.kind {
            OperationKind::Read => write!(f, "reading page {}: {error}", operation.page),
            OperationKind::Write => write!(f, "writing page {}: {error}", operation.page),
            OperationKind::Trim => write!(f, "trimming page {}: {error}", operation.page),
            OperationKind::Flush => write!(f, "flushing: {error}"),
        }
    }
}

/// What the driver did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Operations that succeeded, by [`Class`].
    pub done: [u64; Class::COUNT],
    /// Operations that failed.
    pub errors: u64,
}

/// A started operation.
#[derive(Clone, Copy, Debug)]
struct Started {
    id: OperationId,
    operation: Operation,
    page: PageId,
}

/// One element's side of the driver.
#[derive(Debug)]
struct Element<S> {
    store: S,
    /// Operations started and not carried out.
    in_flight: u32,
    /// Whether it refused an operation since it was last reported ready.
    refused: bool,
    failure: Option<Failure>,
    last_error: Option<(Operation, io::Error)>,
}

/// A driver that carries operations out one after the other, each when [`PlainDriver::execute`] is called.
pub struct PlainDriver<S> {
    elements: Vec<Element<S>>,
    /// Operations that an element admits at once.
    window: u32,
    queue: VecDeque<Started>,
    shuffle: Option<Prng>,
    timers: BinaryHeap<Reverse<Nanos>>,
    completions: VecDeque<Completion>,
    pub(crate) observer: Option<Observer>,
    counts: Counts,
}

impl<S> fmt::Debug for PlainDriver<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlainDriver").field("queue", &self.queue).finish_non_exhaustive()
    }
}

impl<S: Store> PlainDriver<S> {
    /// A driver over `stores`; each admits at most `window` operations at once, at least one.
    pub fn new(stores: Vec<S>, window: u32, order: Order) -> Self {
        let element =
            |store| Element { store, in_flight: 0, refused: false, failure: None, last_error: None };
        let window = window.max(1);
        Self {
            queue: VecDeque::with_capacity(stores.len() * window as usize),
            elements: stores.into_iter().map(element).collect(),
            window,
            shuffle: match order {
                Order::Started => None,
                Order::Shuffled(seed) => Some(Prng::new(seed)),
            },
            timers: BinaryHeap::new(),
            completions: VecDeque::new(),
            observer: None,
            counts: Counts::default(),
        }
    }

    /// Carries out the next started operation; the result is for [`stripewise_array::Array::completed`].
    pub fn execute(&mut self, memory: &mut PageMemory) -> Option<(OperationId, Operation, Outcome)> {
        let index = match &mut self.shuffle {
            Some(prng) if !self.queue.is_empty() => prng.below(self.queue.len() as u64) as usize,
            _ => 0,
        };
        let Started { id, operation, page } = self.queue.remove(index)?;
        let element = &mut self.elements[operation.element as usize];
        element.in_flight -= 1;
        if element.failure.is_some() {
            return Some((id, operation, Outcome::Gone));
        }
        let result = match operation.kind {
            OperationKind::Read => element.store.read(operation.page, memory.page_mut(page)),
            OperationKind::Write => element.store.write(operation.page, memory.page(page)),
            OperationKind::Trim => element.store.trim(operation.page),
            OperationKind::Flush => element.store.flush(),
        };
        let outcome = match result {
            Ok(()) => {
                self.counts.done[operation.class as usize] += 1;
                Outcome::Done
            }
            Err(error) => {
                self.counts.errors += 1;
                let outcome = outcome_of(&error);
                element.last_error = Some((operation, error));
                outcome
            }
        };
        Some((id, operation, outcome))
    }

    /// Whether `element` refused an operation since this was last asked, so that it must be reported ready.
    pub fn take_refusal(&mut self, element: u16) -> bool {
        std::mem::take(&mut self.elements[element as usize].refused)
    }

    /// The earliest time that the controller asked for.
    pub fn next_timer(&self) -> Option<Nanos> {
        self.timers.peek().map(|&Reverse(at)| at)
    }

    /// Forgets the earliest time that the controller asked for.
    pub fn take_timer(&mut self) {
        self.timers.pop();
    }

    /// The request that was acknowledged first of those not yet taken.
    pub fn take_completion(&mut self) -> Option<Completion> {
        self.completions.pop_front()
    }

    /// The completion of one request, if it is done.
    pub fn take_completion_of(&mut self, ticket: Ticket) -> Option<Completion> {
        let index = self.completions.iter().position(|completion| completion.ticket == ticket)?;
        self.completions.remove(index)
    }

    /// Takes an element out of service: what it was given and has not done ends as gone.
    pub fn fail(&mut self, element: u16) {
        self.elements[element as usize].failure.get_or_insert(Failure::Asked);
    }

    /// Why an element is out of service; `None` while it serves.
    pub fn failure(&self, element: u16) -> Option<&Failure> {
        self.elements[element as usize].failure.as_ref()
    }

    /// What was done so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The stores, in the order of their elements.
    pub fn into_stores(self) -> Vec<S> {
        self.elements.into_iter().map(|element| element.store).collect()
    }
}

impl<S> ElementState for PlainDriver<S> {}

impl<S: Store> Driver<PageMemory> for PlainDriver<S> {
    const OBSERVES: bool = true;

    fn admits(&mut self, operation: &Operation) -> Admission {
        let element = &mut self.elements[operation.element as usize];
        if element.in_flight < self.window {
            return Admission::Admitted;
        }
        element.refused = true;
        Admission::Closed
    }

    fn start(&mut self, id: OperationId, operation: &Operation, page: PageId, _memory: &mut PageMemory) {
        self.elements[operation.element as usize].in_flight += 1;
        self.queue.push_back(Started { id, operation: *operation, page });
    }

    fn compute(&mut self, _plan: u32, _pages: u32) -> bool {
        // The controller has the bytes and computes them itself; there is nothing to wait for.
        true
    }

    fn set_timer(&mut self, at: Nanos) {
        self.timers.push(Reverse(at));
    }

    fn acknowledge(&mut self, acknowledgement: &Acknowledgement, payload: <PageMemory as Memory>::Host) {
        self.completions.push_back(Completion {
            ticket: Ticket(acknowledgement.tag),
            result: if acknowledgement.failed { Err(Lost) } else { Ok(payload) },
            response_ns: acknowledgement.at - acknowledgement.arrival,
        });
    }

    fn gave_up(&mut self, element: u16) {
        let element = &mut self.elements[element as usize];
        element.failure = Some(match element.last_error.take() {
            Some((operation, error)) => Failure::Error { operation, error },
            None => Failure::Asked,
        });
    }

    fn planned(&mut self, plan: &PlanView<'_>) {
        if let Some(observer) = &mut self.observer {
            observer(plan);
        }
    }
}
