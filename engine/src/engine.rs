//! The engine: the controller, its driver and a clock, behind reads and writes.

use std::path::Path;

use stripewise_array::cache::CachePolicy;
use stripewise_array::placement::{Commit, FirstWrites, Persistence, PlacementPolicy};
use stripewise_array::{
    Array, Elements, HostRequest, Memory, OpenError, Opened, Opening, PageMemory, PlanView, RequestKind,
    Scheme, SchemeError, SubmitError, Timing,
};

use crate::clock::{Clock, Timekeeping};
use crate::error::EngineError;
use crate::files::ElementFile;
use crate::media::FileMedia;
use crate::plain::{Completion, Counts, Failure, Order, PlainDriver};
use crate::store::Store;

/// How the engine runs; none of it changes what it stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The page, the unit of reads and writes of elements: 512 to 32768 bytes.
    pub page_bytes: u32,
    /// Operations that an element is given at once.
    pub window: u32,
    /// In which order they are carried out.
    pub order: Order,
    /// Where time comes from.
    pub time: Timekeeping,
}

impl Default for Options {
    fn default() -> Self {
        Self { page_bytes: 4096, window: 32, order: Order::default(), time: Timekeeping::default() }
    }
}

/// What a host asks for. Offsets and lengths are whole sectors of 512 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Read bytes.
    Read {
        /// First byte.
        offset: u64,
        /// How many.
        bytes: u32,
    },
    /// Write bytes.
    Write {
        /// First byte.
        offset: u64,
        /// What to write.
        data: Box<[u8]>,
    },
    /// Declare bytes unused. They read as before or as zeros from then on.
    Trim {
        /// First byte.
        offset: u64,
        /// How many.
        bytes: u32,
    },
    /// Make durable what was acknowledged before.
    Flush,
}

/// Names a request in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(pub(crate) u64);

/// An array over elements with real bytes.
///
/// One request at a time: [`Engine::read`], [`Engine::write`], [`Engine::trim`], [`Engine::flush`]. Several in flight:
/// [`Engine::submit`], then [`Engine::poll`] until it says `None`. Work is done only inside these calls.
#[derive(Debug)]
pub struct Engine<S: Store = ElementFile> {
    array: Array<PageMemory>,
    driver: PlainDriver<S>,
    clock: Clock,
    next_ticket: u64,
    elements: u16,
}

impl Engine<ElementFile> {
    /// Makes new element files of `element_bytes` each, and an array over them that reads as zeros.
    ///
    /// # Errors
    /// When the scheme cannot run over such elements, and when a file cannot be made; no file is left behind then.
    pub fn create(
        scheme: &Scheme,
        paths: &[impl AsRef<Path>],
        element_bytes: u64,
        options: Options,
    ) -> Result<Self, EngineError> {
        let pages = element_bytes / u64::from(options.page_bytes.max(1));
        let pages = u32::try_from(pages).unwrap_or(u32::MAX);
        keeps_what_it_has(scheme)?;
        scheme.resolve(&capabilities(paths.len(), pages, options.page_bytes), PageMemory::CARRIES_DATA)?;
        let stores = ElementFile::create_all(paths, element_bytes, options.page_bytes)?;
        if scheme.placement.policy == PlacementPolicy::Elastic
            || scheme.placement.first_writes == FirstWrites::Encode
        {
            // Nothing is written yet: a log begins empty, and every row waits to be encoded.
            return Self::scratch(scheme, stores, options);
        }
        Self::new(scheme, stores, options)
    }

    /// Opens an array that was made by [`Engine::create`]: the same scheme, the same files in the same order.
    ///
    /// # Errors
    /// When a file is missing, in use or of another size than the rest, and when the scheme cannot run over them.
    pub fn open(scheme: &Scheme, paths: &[impl AsRef<Path>], options: Options) -> Result<Self, EngineError> {
        Self::new(scheme, ElementFile::open_all(paths, options.page_bytes)?, options)
    }

    /// Opens an array whose scheme has `metadata = "on"`, over the files of all its elements in whatever order, and says what
    /// was found. What was durable is there, however the engine before ended.
    ///
    /// # Errors
    /// Why it is not opened. One that is degraded is not: every element needs its file.
    pub fn resume(
        scheme: &Scheme,
        mut media: FileMedia,
        options: Options,
    ) -> Result<(Self, Opened), EngineError> {
        let elements = media.elements();
        let memory = PageMemory::new(elements.page_bytes);
        let (array, opened) = Array::open(scheme, elements, memory, &mut media, Opening::default())?;
        let mut files: Vec<Option<ElementFile>> = media.into_files().into_iter().map(Some).collect();
        let at = |position: &Option<u16>| files[usize::from((*position)?)].take();
        let stores = opened.positions.iter().map(at).collect::<Option<Vec<_>>>();
        let stores = stores.ok_or_else(|| {
            let reason = "an element is absent, failed or stale; this engine serves whole arrays alone, offer all of them";
            OpenError::Refused(reason.into())
        })?;
        let engine = Self {
            array,
            driver: PlainDriver::new(stores, options.window, options.order),
            clock: Clock::new(options.time),
            next_ticket: 0,
            elements: elements.count as u16,
        };
        Ok((engine, opened))
    }
}

impl<S: Store> Engine<S> {
    /// An array over `stores`, whose content outlives the engine.
    ///
    /// # Errors
    /// When the scheme cannot run over these elements, with the reason.
    pub fn new(scheme: &Scheme, stores: Vec<S>, options: Options) -> Result<Self, EngineError> {
        keeps_what_it_has(scheme)?;
        if scheme.placement.policy == PlacementPolicy::Elastic {
            return Err(EngineError::Scheme(SchemeError::Setting {
                scheme: scheme.name.clone(),
                key: "placement.policy",
                value: "\"elastic\"".into(),
                reason: "keeps its map in memory only, and without a map on the media the data could not be found again; \
                         create a new array, or use \"in-place\"",
            }));
        }
        let mut engine = Self::scratch(scheme, stores, options)?;
        // Nothing tells what was written before.
        let pages = engine.array.geometry().pages();
        engine.array.assume_written(pages);
        Ok(engine)
    }

    /// An array over zeroed `stores` whose content nobody needs after the engine is gone. Takes schemes too that
    /// [`Engine::new`] refuses because they could not find their data again.
    ///
    /// # Errors
    /// When the scheme cannot run over these elements, with the reason.
    pub fn scratch(scheme: &Scheme, stores: Vec<S>, options: Options) -> Result<Self, EngineError> {
        let pages = stores.iter().map(Store::pages).min().unwrap_or(0);
        let elements = capabilities(stores.len(), pages, options.page_bytes);
        // The controller judges the page size; only then is there memory of such pages.
        scheme.resolve(&elements, PageMemory::CARRIES_DATA)?;
        Ok(Self {
            array: Array::new(scheme, elements, PageMemory::new(options.page_bytes))?,
            driver: PlainDriver::new(stores, options.window, options.order),
            clock: Clock::new(options.time),
            next_ticket: 0,
            elements: elements.count as u16,
        })
    }

    /// Bytes that the array offers.
    pub fn capacity(&self) -> u64 {
        self.array.capacity()
    }

    /// The controller.
    pub fn array(&self) -> &Array<PageMemory> {
        &self.array
    }

    /// Operations done so far.
    pub fn counts(&self) -> Counts {
        self.driver.counts()
    }

    /// Shows every plan to `observer` from now on.
    pub fn observe(&mut self, observer: impl FnMut(&PlanView<'_>) + 'static) {
        self.driver.observer = Some(Box::new(observer));
    }

    /// Fills `into` from the array's bytes at `offset`.
    ///
    /// # Errors
    /// When the range is not made of the array's sectors, or too much of it is lost.
    pub fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<(), EngineError> {
        let bytes = length(into.len() as u64)?;
        into.copy_from_slice(&self.run(Request::Read { offset, bytes })?);
        Ok(())
    }

    /// Writes `from` to the array's bytes at `offset`.
    ///
    /// # Errors
    /// Those of [`Engine::read`].
    pub fn write(&mut self, offset: u64, from: &[u8]) -> Result<(), EngineError> {
        self.run(Request::Write { offset, data: from.into() }).map(drop)
    }

    /// Declares the `bytes` at `offset` unused.
    ///
    /// # Errors
    /// Those of [`Engine::read`].
    pub fn trim(&mut self, offset: u64, bytes: u64) -> Result<(), EngineError> {
        self.run(Request::Trim { offset, bytes: length(bytes)? }).map(drop)
    }

    /// Makes every request that was completed before durable.
    ///
    /// # Errors
    /// When more elements are lost than parity can bear, so that durability is not to be had.
    pub fn flush(&mut self) -> Result<(), EngineError> {
        self.run(Request::Flush).map(drop)
    }

    /// Takes a request; its completion comes from [`Engine::poll`].
    ///
    /// # Errors
    /// [`SubmitError::Busy`] when the queue of requests is full, and what is wrong with the request.
    pub fn submit(&mut self, request: Request) -> Result<Ticket, EngineError> {
        let (host, payload) = self.prepare(request)?;
        match self.offer(host, payload) {
            Ok(()) => Ok(Ticket(host.tag)),
            Err((error, _)) => Err(error.into()),
        }
    }

    /// Works until a request is done, and returns it. `None` when nothing is left to do.
    pub fn poll(&mut self) -> Option<Completion> {
        loop {
            if let Some(completion) = self.driver.take_completion() {
                return Some(completion);
            }
            if !self.step() {
                return None;
            }
        }
    }

    /// The request that was acknowledged first of those not yet returned, without working for it.
    pub fn take_completion(&mut self) -> Option<Completion> {
        self.driver.take_completion()
    }

    /// Carries out one operation, or lets time pass to the next thing to do. False when nothing is left to do.
    pub fn step(&mut self) -> bool {
        self.array.dispatch(&mut self.driver);
        let begun = self.clock.now();
        if let Some((id, operation, outcome)) = self.driver.execute(self.array.memory()) {
            self.clock.tick();
            let now = self.clock.now();
            let timing = Timing { cell_ns: now - begun, ..Timing::default() };
            self.array.completed(now, id, outcome, timing, &mut self.driver);
            if self.driver.take_refusal(operation.element) {
                self.array.element_ready(operation.element);
            }
            self.fire_timers();
            return true;
        }
        match self.driver.next_timer() {
            Some(at) => {
                self.clock.wait_until(at);
                self.fire_timers();
                true
            }
            None => false,
        }
    }

    /// Takes an element out of service; what lies on it is decoded from the others from now on.
    ///
    /// # Errors
    /// When there is no such element.
    pub fn fail(&mut self, element: u16) -> Result<(), EngineError> {
        self.check(element)?;
        self.driver.fail(element);
        self.array.element_failed(self.clock.now(), element, &mut self.driver);
        Ok(())
    }

    /// Why `element` is out of service; `None` while it serves.
    ///
    /// # Errors
    /// When there is no such element.
    pub fn failure(&self, element: u16) -> Result<Option<&Failure>, EngineError> {
        self.check(element)?;
        Ok(self.driver.failure(element))
    }

    /// Finishes what is in flight, makes it durable, and returns the stores. Dropping an engine instead loses requests
    /// in flight, as a loss of power does.
    ///
    /// # Errors
    /// Those of [`Engine::flush`].
    pub fn close(mut self) -> Result<Vec<S>, EngineError> {
        while self.step() {}
        self.array.drain(self.clock.now(), &mut self.driver);
        while self.step() {}
        self.flush()?;
        Ok(self.driver.into_stores())
    }

    /// Whether nothing is in flight.
    pub fn is_quiet(&self) -> bool {
        self.array.is_quiet()
    }

    fn check(&self, element: u16) -> Result<(), EngineError> {
        if element < self.elements {
            return Ok(());
        }
        Err(EngineError::NoElement { element, elements: self.elements.into() })
    }

    /// Runs one request to its end.
    fn run(&mut self, request: Request) -> Result<Box<[u8]>, EngineError> {
        let (host, mut payload) = self.prepare(request)?;
        while let Err((error, back)) = self.offer(host, payload) {
            if error != SubmitError::Busy {
                return Err(error.into());
            }
            payload = back;
            assert!(self.step(), "an array that is busy has something to do");
        }
        loop {
            if let Some(completion) = self.driver.take_completion_of(Ticket(host.tag)) {
                return Ok(completion.result?);
            }
            assert!(self.step(), "a request that is not done waits for something");
        }
    }

    /// Numbers a request, and gives it its arrival and its payload.
    fn prepare(&mut self, request: Request) -> Result<(HostRequest, Box<[u8]>), EngineError> {
        let (kind, offset, bytes, payload) = match request {
            Request::Read { offset, bytes } => {
                (RequestKind::Read, offset, bytes, vec![0; bytes as usize].into_boxed_slice())
            }
            Request::Write { offset, data } => (RequestKind::Write, offset, length(data.len() as u64)?, data),
            Request::Trim { offset, bytes } => (RequestKind::Trim, offset, bytes, Box::default()),
            Request::Flush => (RequestKind::Flush, 0, 0, Box::default()),
        };
        let tag = self.next_ticket;
        self.next_ticket += 1;
        Ok((HostRequest { tag, arrival: self.clock.now(), offset, bytes, kind }, payload))
    }

    fn offer(&mut self, host: HostRequest, payload: Box<[u8]>) -> Result<(), (SubmitError, Box<[u8]>)> {
        self.array.submit(self.clock.now(), host, payload, &mut self.driver)
    }

    fn fire_timers(&mut self) {
        let now = self.clock.now();
        while self.driver.next_timer().is_some_and(|at| at <= now) {
            self.driver.take_timer();
            self.array.timer(now, &mut self.driver);
        }
    }
}

/// What files are as elements.
pub(crate) fn capabilities(count: usize, pages: u32, page_bytes: u32) -> Elements {
    Elements {
        count: count as u32,
        page_bytes,
        pages,
        volatile_cache: true,
        discard: true,
        old_versions: 0,
        gc_control: false,
        gc_state: false,
        streams: 1,
    }
}

/// Refuses a scheme whose data could not be found again, that calls durable what is in memory alone, or whose parity
/// would be in a log that nobody can read.
fn keeps_what_it_has(scheme: &Scheme) -> Result<(), SchemeError> {
    let refuse = |key, value: &str, reason| {
        Err(SchemeError::Setting { scheme: scheme.name.clone(), key, value: value.into(), reason })
    };
    if scheme.placement.first_writes == FirstWrites::Encode
        && scheme.placement.buffer_persistence == Persistence::Persistent
    {
        let reason = "is not true of this program's memory, which a flush must drain; use \"volatile\"";
        return refuse("placement.buffer_persistence", "\"persistent\"", reason);
    }
    if scheme.placement.first_writes == FirstWrites::Gather {
        let reason = "keeps its map in memory only, and without a map on the media the data could not be found again; \
                      use \"in-place\"";
        return refuse("placement.first_writes", "\"gather\"", reason);
    }
    if scheme.placement.policy == PlacementPolicy::Elastic
        && scheme.placement.buffer_persistence == Persistence::Persistent
    {
        let reason = "is not true of this program's memory, which a flush must drain; use \"volatile\"";
        return refuse("placement.buffer_persistence", "\"persistent\"", reason);
    }
    if scheme.cache.policy != CachePolicy::None && scheme.cache.persistence == Persistence::Persistent {
        let reason = "is not true of this program's memory, which a flush must drain; use \"volatile\"";
        return refuse("cache.persistence", "\"persistent\"", reason);
    }
    if scheme.log_elements() > 0 && scheme.log.commit == Commit::Never {
        let reason = "leaves parity in a log of which only memory knows what it holds; use \"watermark\"";
        return refuse("log.commit", "\"never\"", reason);
    }
    Ok(())
}

fn length(bytes: u64) -> Result<u32, EngineError> {
    u32::try_from(bytes).map_err(|_| EngineError::TooLong { bytes })
}
