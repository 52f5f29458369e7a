//! The loop: one thread runs the engine, the sockets of its clients, and the requests of other threads.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};
use stripewise_array::Controller;

use rustix::event::PollFlags;
use sd_notify::NotifyState;
use serde_json::Value;
use stripewise_base::Nanos;
use stripewise_base::text::visible;
use stripewise_engine::owner::OwnerError;
use stripewise_engine::{Engine, EngineError, FailMode, Failed};
use stripewise_nbd::{BlockSizes, Export};

use crate::control::{Answer, Command, Control, ControlError, ControlRequest, ask};
use crate::error::ServeError;
use crate::extents::pages_each;
use crate::http::{Hosts, Responder};
use crate::listen::{Address, Listener};
use crate::lookout::Notice;
use crate::mailbox::{Mailbox, Sender, mailbox};
use crate::members::Members;
use crate::monitor::Monitor;
use crate::outages::Outages;
use crate::record::{Recorder, UUID_NOTE};
use crate::service::{FrontendNo, ReplyTo, Service};
use crate::session::{Over, Session};
use crate::settings::Settings;
use crate::signals;
use crate::tally::Surroundings;
use crate::vhost::{Disk, Guests, Kick, VhostRequest};
use crate::watch::Watch;

/// Connections at a time. Each may have 128 requests and 32 MiB of payloads in flight.
const SESSIONS_MAX: usize = 16;
/// The longest payload of a request: the default that clients assume.
const PAYLOAD_BYTES_MAX: u32 = 32 << 20;
/// How long clients have to read their replies when the server ends.
const FAREWELL: Duration = Duration::from_secs(5);
/// How long no connection is accepted after one could not be: the missing resource, descriptors most likely, becomes
/// available when others end.
const ACCEPT_PAUSE_NS: Nanos = 100_000_000;

/// The frontends of requests.
const NBD: FrontendNo = FrontendNo(0);
const GUESTS: FrontendNo = FrontendNo(1);

/// A message of another thread.
#[derive(Debug)]
enum Message {
    /// A command, with the channel for its answer.
    Control(ControlRequest),
    /// A request of a guest's host.
    Vhost(VhostRequest),
    /// A finding about a member.
    Noticed(Notice),
}

impl From<ControlRequest> for Message {
    fn from(asked: ControlRequest) -> Self {
        Self::Control(asked)
    }
}

impl From<VhostRequest> for Message {
    fn from(job: VhostRequest) -> Self {
        Self::Vhost(job)
    }
}

/// A descriptor that the loop waits for.
#[derive(Clone, Copy, Debug)]
enum Source {
    Bell,
    Ring,
    Listener(usize),
    Session(u64),
    Guest(Kick),
}

/// A server of an array.
#[derive(Debug)]
pub struct Server {
    service: Service,
    members: Members,
    monitor: Monitor,
    name: String,
    export: Arc<Export>,
    listeners: Vec<Listener>,
    sessions: BTreeMap<u64, Session>,
    next_session: u64,
    /// When connections are accepted again, after one could not be.
    accepts_from: Option<Nanos>,
    watch: Watch<Source>,
    mailbox: Mailbox<Message>,
    // Behind the mailbox: a thread that waits there for an answer of the loop is notified first that there is none.
    guests: Guests,
    sender: Sender<Message>,
    /// When it stops waiting for clients, once it is ending.
    ending: Option<Instant>,
    // Last: dropped when all else is done.
    http: Option<Responder>,
    control: Control,
}

impl Server {
    /// Opens the sockets of a server for `engine`. [`Server::run`] answers clients.
    ///
    /// # Errors
    /// When a socket, the recording folder or a thread is not available.
    pub fn start(mut engine: Engine, settings: &Settings) -> Result<Self, ServeError> {
        let (sender, mailbox) = mailbox().map_err(ServeError::Poll)?;
        // First of all, because it detects another server with this name.
        let control = Control::start(&settings.control, sender.clone())?;
        let listeners = settings.nbd.iter().map(Listener::bind).collect::<Result<_, _>>()?;
        let status = {
            let sender = sender.clone();
            move || ask(Command::Status, &sender)
        };
        let http = settings
            .metrics
            .map(|address| Responder::start(address, Hosts::new(&settings.metrics_hosts), status))
            .transpose()?;
        let scheme = engine.array().scheme();
        let uuid = engine.status().uuid.map_or_else(|| settings.name.clone(), |uuid| uuid.to_string());
        let notes = vec![
            (UUID_NOTE.into(), uuid),
            ("stripewise.array".into(), settings.name.clone()),
            ("stripewise.scheme".into(), scheme.name.clone()),
        ];
        let recorder = settings.record.as_ref().map(|path| Recorder::start(path, notes)).transpose()?;
        let export = Export {
            name: settings.name.clone(),
            // Clients display it.
            description: format!("{}, {}", scheme.geometry.level, visible(&scheme.name)),
            bytes: engine.capacity(),
            block: BlockSizes {
                minimum: 512,
                preferred: engine.page_bytes().max(512),
                maximum: PAYLOAD_BYTES_MAX,
            },
            read_only: engine.status().is_read_only,
            // Where trims do not unmap, zeros are written.
            zeroes_fast: scheme.placement.facts().trims_unmap,
        };
        let disk = Disk {
            bytes: export.bytes,
            page_bytes: engine.page_bytes(),
            read_only: export.read_only,
            name: settings.name.clone(),
        };
        let guests = Guests::start(GUESTS, &settings.vhost_user, &disk, &sender)?;
        let monitor = {
            let sender = sender.clone();
            Monitor::start(&engine, settings, move |notice| {
                sender.send_patiently(Message::Noticed(notice)).is_ok()
            })?
        };
        let mut members = Members::default();
        for path in &settings.spares {
            if let Err(error) = members.add_spare(path, &mut engine) {
                tracing::warn!(path = %path.display(), %error, "a spare that is remembered is not taken");
            }
        }
        Ok(Self {
            service: Service::new(engine, recorder),
            members,
            monitor,
            name: settings.name.clone(),
            export: Arc::new(export),
            listeners,
            sessions: BTreeMap::new(),
            next_session: 0,
            accepts_from: None,
            guests,
            watch: Watch::new(),
            mailbox,
            sender,
            ending: None,
            http,
            control,
        })
    }

    /// Lets SIGTERM and SIGINT end the server.
    ///
    /// # Errors
    /// When the system provides no thread or no handler.
    pub fn obey_signals(&self) -> Result<(), ServeError> {
        let sender = self.sender.clone();
        signals::obey(move || {
            // A closed mailbox means that the server is ending.
            let _ = sender.send_patiently(ControlRequest::Stop.into());
        })
    }

    /// The addresses for NBD clients, with the ports that the system chose.
    pub fn addresses(&self) -> Vec<Address> {
        self.listeners.iter().filter_map(|listener| listener.address().ok()).collect()
    }

    /// All addresses, as text.
    pub fn told_addresses(&self) -> Vec<String> {
        let nbd = self.addresses().into_iter().map(|address| address.to_string());
        nbd.chain(self.guests.addresses()).collect()
    }

    /// The address of metrics and the status page.
    pub fn metrics(&self) -> Option<SocketAddr> {
        self.http.as_ref().map(Responder::address)
    }

    /// Waits until the events of the start are written, up to a limit: a server in the background leaves the terminal of its
    /// caller then.
    pub fn catch_up(&self) {
        self.monitor.catch_up();
    }

    /// Serves until a stop is requested: then finishes the requests in flight, makes them durable, and closes the
    /// array.
    ///
    /// # Errors
    /// When the array cannot be closed, or the recording cannot be written. Data that was flushed before is durable all
    /// the same.
    pub fn run(mut self) -> Result<(), ServeError> {
        // Without a service manager there is no one to notify.
        let _ = sd_notify::notify(&[NotifyState::Ready]);
        let served = self.serve();
        let _ = sd_notify::notify(&[NotifyState::Stopping]);
        let Self { service, monitor, sessions, listeners, guests, mailbox, http, control, .. } = self;
        drop((mailbox, sessions, listeners, guests));
        let Service { mut engine, recorder, .. } = service;
        let settled = engine.settle_for_good();
        if let Ok(found) = &settled
            && found.damaged > 0
        {
            let (damaged, repaired) = (found.damaged, found.repaired);
            tracing::warn!(damaged, repaired, "superblocks were damaged when the array was stopped");
        }
        let whole =
            settled.map_err(ServeError::from).and_then(|found| match found.damaged - found.repaired {
                0 => Ok(()),
                left => Err(ServeError::Superblocks { left }),
            });
        let closed = whole.and(engine.end().map(drop).map_err(ServeError::from));
        let recorded = recorder.map_or(Ok(None), |recorder| recorder.finish().map(Some));
        let ended = served.and(closed).and_then(|()| recorded.map(drop));
        let told = ended.as_ref().map(|()| Value::Null);
        // All events are in the file before `stripewise stop` returns.
        let programs = monitor.finish();
        control.ended(told.map_err(|error| ControlError::refused(error.to_string())));
        drop((http, control));
        programs.wait();
        ended
    }

    fn serve(&mut self) -> Result<(), ServeError> {
        loop {
            // After another host took the array over, this one must not continue.
            if let Err(error) = self.service.engine.is_owner() {
                if let EngineError::Owner(OwnerError::TakenOver { owner }) = &error {
                    self.monitor.taken_over(owner.to_string());
                }
                return Err(error.into());
            }
            let pages = pages_each(self.sessions.len());
            self.sessions.values_mut().for_each(|session| session.begin_turn(pages));
            let mut is_busy = self.service.engine.turn();
            is_busy |= self.complete();
            self.exchange();
            // Replies that were sent may have made room for requests that the engine has not looked at yet.
            is_busy |= self.service.take_submitted();
            self.service.look_at_the_recorder();
            self.watch_members();
            if is_busy {
                self.service.tally.sample(self.service.now(), &self.service.engine);
            }
            if let Some(deadline) = self.ending {
                let is_done = self.sessions.values().all(Session::is_idle)
                    && self.guests.is_idle()
                    && self.service.under_way() == 0;
                if is_done || Instant::now() >= deadline {
                    return Ok(());
                }
            }
            let is_walking = self.sessions.values().any(Session::is_walking);
            self.wait(is_busy || is_walking)?;
        }
    }

    /// Passes the engine's completions to their clients. Returns whether there were any.
    fn complete(&mut self) -> bool {
        let mut is_any = false;
        self.service.look_at_the_clock();
        while let Some(completion) = self.service.take_completion() {
            is_any = true;
            if completion.result == Err(Failed::NoSpace) {
                self.monitor.no_space();
            }
            let buffers = &mut self.service.buffers;
            let ReplyTo { frontend, client, .. } = completion.reply_to;
            if frontend == GUESTS {
                self.guests.complete(completion, buffers);
                continue;
            }
            match self.sessions.get_mut(&client) {
                Some(session) => session.answer(completion, buffers),
                None => buffers.give_back(completion.payload),
            }
        }
        is_any
    }

    /// Turns incidents and errors into events, and acts on the health of members.
    fn watch_members(&mut self) {
        let now = self.service.now();
        let Service { engine, tally, .. } = &mut self.service;
        self.monitor.look(now, engine, tally.dropped_connections);
    }

    /// Sends replies, takes the requests that had no room before, and ends connections that are over.
    fn exchange(&mut self) {
        let service = &mut self.service;
        let sessions = self.sessions.iter_mut();
        let over: Vec<(u64, Over)> =
            sessions.filter_map(|(&id, session)| Some((id, session.exchange(service).err()?))).collect();
        self.guests.exchange(service, self.ending.is_some());
        for (id, why) in over {
            self.drop_session(id, &why);
        }
    }

    /// Ends a connection. Its requests in the engine complete, in the order in which they arrived, and their
    /// completions are dropped.
    fn drop_session(&mut self, id: u64, why: &Over) {
        let Some(mut session) = self.sessions.remove(&id) else { return };
        if let Some(submission) = session.take_held() {
            self.service.discard(submission);
        }
        match why {
            Over::Left => tracing::debug!(connection = id, "a client left"),
            why => {
                self.service.tally.dropped_connections += 1;
                tracing::debug!(connection = id, reason = %why, "a connection was dropped");
                self.monitor.refused(why.to_string());
            }
        }
    }

    /// Waits until a socket, a member, a timer or another thread has an event, or only polls while `is_busy`; then
    /// handles the events.
    fn wait(&mut self, is_busy: bool) -> Result<(), ServeError> {
        // The bells of guests are armed only before waiting. At the end no more requests are taken.
        let is_busy = is_busy || (self.ending.is_none() && self.guests.arm());
        let at_most = if is_busy { Some(Duration::ZERO) } else { self.patience() };
        let mut watch = std::mem::replace(&mut self.watch, Watch::new());
        watch.add(Source::Bell, PollFlags::IN);
        if self.service.engine.fd().is_some() {
            watch.add(Source::Ring, PollFlags::IN);
        }
        if self.ending.is_none() && self.accepts_in().is_none() {
            (0..self.listeners.len()).for_each(|nth| watch.add(Source::Listener(nth), PollFlags::IN));
        }
        for (&id, session) in &mut self.sessions {
            watch.add(Source::Session(id), session.wanted());
        }
        self.guests.kicks().for_each(|kick| watch.add(Source::Guest(kick), PollFlags::IN));
        watch.wait(|source| self.descriptor(source), at_most)?;
        self.service.look_at_the_clock();
        while let Some((source, flags)) = watch.take() {
            match source {
                // The next turn polls the members anyway.
                Source::Ring => {}
                Source::Bell => {
                    while let Some(message) = self.mailbox.take() {
                        self.take(message);
                    }
                }
                Source::Listener(nth) => self.accept(nth),
                Source::Session(id) => self.hear(id, flags),
                Source::Guest(kick) => self.guests.hear(kick, flags),
            }
        }
        self.watch = watch;
        Ok(())
    }

    fn descriptor(&self, source: Source) -> BorrowedFd<'_> {
        match source {
            Source::Bell => self.mailbox.bell(),
            // The descriptor existed when it was added, like all of them.
            Source::Ring => self.service.engine.fd().unwrap_or_else(|| self.mailbox.bell()),
            Source::Listener(nth) => self.listeners[nth].as_fd(),
            Source::Session(id) => self.sessions[&id].as_fd(),
            Source::Guest(kick) => self.guests.descriptor(kick).unwrap_or_else(|| self.mailbox.bell()),
        }
    }

    /// How long there is nothing to do without an event.
    fn patience(&self) -> Option<Duration> {
        let farewell = self.ending.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let strangers = self.sessions.values().filter_map(Session::handshake_ends).min();
        let recorded = self.service.recorder.as_ref().and_then(Recorder::until);
        let until = |time: u64| Duration::from_nanos(time.saturating_sub(self.service.now()));
        let (stranger, recorded) = (strangers.map(until), recorded.map(until));
        let wake = self.service.engine.wake_in();
        let watched = self.monitor.wake_in(self.service.now(), &self.service.engine);
        [wake, watched, farewell, stranger, recorded, self.accepts_in()].into_iter().flatten().min()
    }

    /// How long no connection is accepted, if none is now.
    fn accepts_in(&self) -> Option<Duration> {
        let left = self.accepts_from?.checked_sub(self.service.now())?;
        (left > 0).then(|| Duration::from_nanos(left))
    }

    /// Handles an event of a client's socket.
    fn hear(&mut self, id: u64, flags: PollFlags) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let is_gone = flags.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
        let heard = match flags.contains(PollFlags::IN) {
            true => session.receive(&mut self.service),
            // It takes no more replies either.
            false if is_gone => Err(Over::Left),
            false => Ok(()),
        };
        if let Err(why) = heard {
            self.drop_session(id, &why);
        }
    }

    fn accept(&mut self, listener: usize) {
        let id = self.next_session;
        let now = self.service.now();
        let reply_to = ReplyTo { frontend: NBD, client: id, request: 0 };
        let accepted = Session::accept(&self.listeners[listener], &self.export, reply_to, now);
        let outages = self.service.engine.outages();
        let again = accepted.is_err().then_some(now + ACCEPT_PAUSE_NS);
        let is_known = std::mem::replace(&mut self.accepts_from, again).is_some();
        match accepted {
            Ok(Some(_)) if self.sessions.len() >= SESSIONS_MAX => {
                self.service.tally.dropped_connections += 1;
                self.monitor.refused(format!("there are {SESSIONS_MAX} already"));
            }
            Ok(Some(mut session)) => {
                session.outages = Outages::before(outages);
                self.next_session += 1;
                self.sessions.insert(id, session);
                tracing::debug!(connection = id, "a client came");
            }
            Ok(None) => {}
            Err(_) if is_known => {}
            Err(error) => tracing::warn!(%error, "a connection could not be accepted; it is tried again"),
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Control(asked) => self.obey(asked),
            Message::Vhost(job) => self.guests.obey(job),
            Message::Noticed(notice) => self.monitor.notice(notice, &self.service.engine),
        }
    }

    /// Begins to end: clients are notified with their next requests, and new ones are not accepted.
    fn end(&mut self) {
        if self.ending.is_none() {
            tracing::info!("ending: finishing what is under way");
            self.ending = Some(Instant::now() + FAREWELL);
            // What waits for members is answered before the end.
            self.service.engine.set_failmode(FailMode::Error);
            self.sessions.values_mut().for_each(|session| session.connection.shut_down());
        }
    }

    fn obey(&mut self, asked: ControlRequest) {
        let engine = &mut self.service.engine;
        // The client may have left: then the answer is dropped.
        match asked {
            ControlRequest::Stop => self.end(),
            ControlRequest::Command { command, answer } => drop(answer.send(self.carry_out(&command))),
            ControlRequest::Vacancy { place, answer } => drop(answer.send(Members::vacancy(engine, place))),
            ControlRequest::Candidate { candidate, answer } => {
                let (place, path) = (candidate.place, candidate.file.path().to_owned());
                let taken = self.members.take(*candidate, engine);
                if taken.is_ok() {
                    tracing::info!(?place, path = %path.display(), "taken");
                }
                drop(answer.send(taken.map(|()| Value::Null).map_err(ControlError::from)));
            }
        }
    }

    fn carry_out(&mut self, command: &Command) -> Answer {
        if *command == Command::Status {
            return self.status();
        }
        let Service { engine, tally, .. } = &mut self.service;
        let (is_scrubbing, before) = (engine.array().scrubbing().is_some(), tally.last_scrub(engine));
        Members::obey(command, engine)?;
        tracing::info!(?command, "done as asked");
        match command {
            // A running scrub continues.
            Command::Scrub if !is_scrubbing => tally.scrub_begins(before),
            Command::StopScrub if is_scrubbing => tally.scrub_stops(),
            _ => {}
        }
        Ok(Value::Null)
    }

    fn status(&mut self) -> Answer {
        let surroundings = Surroundings {
            name: self.name.clone(),
            spares: self.members.spares(&self.service.engine),
            connections: (self.sessions.len() + self.guests.count()) as u64,
            addresses: self.told_addresses(),
            recording: self.service.recorder.as_ref().map(|recorder| recorder.told().clone()),
        };
        let now = self.service.now();
        let status = self.service.tally.status(now, &self.service.engine, &self.monitor, surroundings);
        serde_json::to_value(status).map_err(|error| ControlError::refused(error.to_string()))
    }
}
