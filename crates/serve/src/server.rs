//! The loop: one thread runs the engine, the sockets of its clients, and the requests of other threads.

use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};
use stripewise_array::Controller;

use rustix::event::PollFlags;
use sd_notify::NotifyState;
use serde_json::Value;
use stripewise_engine::owner::OwnerError;
use stripewise_engine::{Engine, EngineError, FailMode, Failed};

use crate::background_checks::Notice;
use crate::control::{Answer, Command, Control, ControlError, ControlRequest, ask};
use crate::counters::Surroundings;
use crate::error::ServeError;
use crate::frontend::{Frontend, Source};
use crate::frontends;
use crate::http::{Hosts, Responder};
use crate::mailbox::{Mailbox, Sender, mailbox};
use crate::members::Members;
use crate::monitor::Monitor;
use crate::record::{Recorder, UUID_NOTE};
use crate::service::{FrontendNo, Service};
use crate::settings::Settings;
use crate::signals;
use crate::watch::Watch;

/// How long clients have to read their replies when the server ends.
const FAREWELL: Duration = Duration::from_secs(5);

/// A message of another thread.
#[derive(Debug)]
enum Message {
    /// A command, with the channel for its answer.
    Control(ControlRequest),
    /// A finding about a member.
    Noticed(Notice),
}

impl From<ControlRequest> for Message {
    fn from(request: ControlRequest) -> Self {
        Self::Control(request)
    }
}

/// A descriptor that the loop waits for.
#[derive(Clone, Copy, Debug)]
enum Waker {
    Bell,
    Ring,
    Frontend(FrontendNo, Source),
}

/// A server of an array.
#[derive(Debug)]
pub struct Server {
    service: Service,
    members: Members,
    monitor: Monitor,
    name: String,
    watch: Watch<Waker>,
    mailbox: Mailbox<Message>,
    /// By their numbers.
    frontends: Vec<Box<dyn Frontend>>,
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
        let frontends = frontends::start(settings, &engine)?;
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
            watch: Watch::new(),
            mailbox,
            frontends,
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

    /// The addresses for clients, as text, with the ports that the system chose.
    pub fn addresses(&self) -> Vec<String> {
        self.frontends.iter().flat_map(|frontend| frontend.addresses()).collect()
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
        let Self { service, monitor, frontends, mailbox, http, control, .. } = self;
        drop((mailbox, frontends));
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
        let answer = ended.as_ref().map(|()| Value::Null);
        // All events are in the file before `stripewise stop` returns.
        let programs = monitor.finish();
        control.ended(answer.map_err(|error| ControlError::refused(error.to_string())));
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
            let mut is_busy = self.service.engine.turn();
            is_busy |= self.complete();
            self.frontends.iter_mut().for_each(|frontend| frontend.exchange(&mut self.service));
            // Replies that were sent may have made room for requests that the engine has not looked at yet.
            is_busy |= self.service.take_submitted();
            self.service.poll_recorder();
            self.watch_members();
            if is_busy {
                self.service.counters.sample(self.service.now(), &self.service.engine);
            }
            if let Some(deadline) = self.ending {
                let is_idle = self.frontends.iter().all(|frontend| frontend.is_idle());
                let is_done = is_idle && self.service.under_way() == 0;
                if is_done || Instant::now() >= deadline {
                    return Ok(());
                }
            }
            self.wait(is_busy)?;
        }
    }

    /// Passes the engine's completions to their clients. Returns whether there were any.
    fn complete(&mut self) -> bool {
        let mut is_any = false;
        self.service.read_clock();
        while let Some(completion) = self.service.take_completion() {
            is_any = true;
            if completion.result == Err(Failed::NoSpace) {
                self.monitor.no_space();
            }
            let frontend = &mut self.frontends[completion.reply_to.frontend.index()];
            frontend.complete(completion, &mut self.service.buffers);
        }
        is_any
    }

    /// Turns incidents and errors into events, and acts on the health of members.
    fn watch_members(&mut self) {
        let now = self.service.now();
        if let Some(reason) = self.service.take_dropped_for() {
            self.monitor.refused(reason);
        }
        let Service { engine, counters, .. } = &mut self.service;
        self.monitor.look(now, engine, counters.dropped_connections);
    }

    /// Waits until a socket, a member, a timer or another thread has an event, or only polls while `is_busy`; then
    /// handles the events.
    fn wait(&mut self, is_busy: bool) -> Result<(), ServeError> {
        // Only before a wait: notifications of a busy loop cost clients time, and change nothing.
        let is_busy = is_busy || self.frontends.iter_mut().any(|frontend| frontend.arm());
        let at_most = if is_busy { Some(Duration::ZERO) } else { self.patience() };
        let mut watch = std::mem::replace(&mut self.watch, Watch::new());
        watch.add(Waker::Bell, PollFlags::IN);
        if self.service.engine.fd().is_some() {
            watch.add(Waker::Ring, PollFlags::IN);
        }
        let now = self.service.now();
        for (number, frontend) in (0..).map(FrontendNo).zip(&mut self.frontends) {
            frontend.watch(now, &mut |source, flags| watch.add(Waker::Frontend(number, source), flags));
        }
        watch.wait(|waker| self.descriptor(waker), at_most)?;
        self.service.read_clock();
        while let Some((waker, flags)) = watch.take() {
            match waker {
                // The next turn polls the members anyway.
                Waker::Ring => {}
                Waker::Bell => {
                    while let Some(message) = self.mailbox.take() {
                        self.take(message);
                    }
                }
                Waker::Frontend(number, source) => {
                    self.frontends[number.index()].hear(source, flags, &mut self.service);
                }
            }
        }
        self.watch = watch;
        Ok(())
    }

    fn descriptor(&self, waker: Waker) -> BorrowedFd<'_> {
        let known = match waker {
            Waker::Bell => None,
            Waker::Ring => self.service.engine.fd(),
            Waker::Frontend(number, source) => self.frontends[number.index()].descriptor(source),
        };
        // All descriptors existed when they were added.
        known.unwrap_or_else(|| self.mailbox.bell())
    }

    /// How long there is nothing to do without an event.
    fn patience(&self) -> Option<Duration> {
        let farewell = self.ending.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let now = self.service.now();
        let clients = self.frontends.iter().filter_map(|frontend| frontend.wake_at(now)).min();
        let recorded = self.service.recorder.as_ref().and_then(Recorder::until);
        let until = |time: u64| Duration::from_nanos(time.saturating_sub(now));
        let wake = self.service.engine.wake_in();
        let watched = self.monitor.wake_in(now, &self.service.engine);
        [wake, watched, farewell, clients.map(until), recorded.map(until)].into_iter().flatten().min()
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Control(request) => self.obey(request),
            Message::Noticed(notice) => self.monitor.notice(notice, &self.service.engine),
        }
    }

    /// Begins to end: clients are notified as far as their protocol allows it, and new ones are not accepted.
    fn end(&mut self) {
        if self.ending.is_none() {
            tracing::info!("ending: finishing what is under way");
            self.ending = Some(Instant::now() + FAREWELL);
            // What waits for members is answered before the end.
            self.service.engine.set_failmode(FailMode::Error);
            self.frontends.iter_mut().for_each(|frontend| frontend.end());
        }
    }

    fn obey(&mut self, request: ControlRequest) {
        let engine = &mut self.service.engine;
        // The client may have left: then the answer is dropped.
        match request {
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
        let Service { engine, counters, .. } = &mut self.service;
        let (is_scrubbing, before) = (engine.array().scrub_progress().is_some(), counters.last_scrub(engine));
        Members::obey(command, engine)?;
        tracing::info!(?command, "done as asked");
        match command {
            // A running scrub continues.
            Command::Scrub if !is_scrubbing => counters.scrub_begins(before),
            Command::StopScrub if is_scrubbing => counters.scrub_stops(),
            _ => {}
        }
        Ok(Value::Null)
    }

    fn status(&mut self) -> Answer {
        let surroundings = Surroundings {
            name: self.name.clone(),
            spares: self.members.spares(&self.service.engine),
            connections: self.frontends.iter().map(|frontend| frontend.connections() as u64).sum(),
            addresses: self.addresses(),
            recording: self.service.recorder.as_ref().map(|recorder| recorder.progress().clone()),
        };
        let now = self.service.now();
        let status = self.service.counters.status(now, &self.service.engine, &self.monitor, surroundings);
        serde_json::to_value(status).map_err(|error| ControlError::refused(error.to_string()))
    }
}
