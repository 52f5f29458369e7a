//! NBD: listening sockets, and a session for each connection.

mod extents;
mod session;

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use rustix::event::PollFlags;
use stripewise_array::Controller;
use stripewise_base::Nanos;
use stripewise_base::text::visible;
use stripewise_engine::Engine;
use stripewise_nbd::{BlockSizes, Export};

use self::extents::pages_each;
use self::session::{Over, Session};
use crate::buffers::Buffers;
use crate::error::ServeError;
use crate::frontend::{Frontend, Source};
use crate::listen::Listener;
use crate::outages::Outages;
use crate::service::{Completion, FrontendNo, ReplyTo, Service};
use crate::settings::Settings;

/// Connections at a time. Each may have 128 requests and 32 MiB of payloads in flight.
const SESSIONS_MAX: usize = 16;
/// The longest payload of a request: the default that clients assume.
const PAYLOAD_BYTES_MAX: u32 = 32 << 20;
/// How long no connection is accepted after one could not be: the missing resource, descriptors most likely, becomes
/// available when others end.
const ACCEPT_PAUSE_NS: Nanos = 100_000_000;

/// The parts of a [`Source`]: a listener, by its position, or the socket of a session, by its number.
const LISTENER: u32 = 0;
const SESSION: u32 = 1;

/// All listeners and connections.
#[derive(Debug)]
struct Nbd {
    number: FrontendNo,
    export: Arc<Export>,
    // Before the listeners: connections are closed first.
    sessions: BTreeMap<u64, Session>,
    listeners: Vec<Listener>,
    /// The number of the next session. None is used twice.
    next_session: u64,
    /// When connections are accepted again, after one could not be.
    accepts_from: Option<Nanos>,
    is_ending: bool,
}

/// Listens at the addresses for NBD clients.
///
/// # Errors
/// When an address is not available.
pub(crate) fn start(
    number: FrontendNo,
    settings: &Settings,
    engine: &Engine,
) -> Result<Option<Box<dyn Frontend>>, ServeError> {
    let listeners = settings.nbd.iter().map(Listener::bind).collect::<Result<_, _>>()?;
    Ok(Some(Box::new(Nbd {
        number,
        export: Arc::new(export(&settings.name, engine)),
        sessions: BTreeMap::new(),
        listeners,
        next_session: 0,
        accepts_from: None,
        is_ending: false,
    })))
}

fn export(name: &str, engine: &Engine) -> Export {
    let scheme = engine.array().scheme();
    Export {
        name: name.to_owned(),
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
    }
}

impl Nbd {
    fn accept(&mut self, listener: usize, service: &mut Service) {
        let id = self.next_session;
        let now = service.now();
        let reply_to = ReplyTo { frontend: self.number, client: id, request: 0 };
        let accepted = Session::accept(&self.listeners[listener], &self.export, reply_to, now);
        let again = accepted.is_err().then_some(now + ACCEPT_PAUSE_NS);
        let is_known = std::mem::replace(&mut self.accepts_from, again).is_some();
        match accepted {
            Ok(Some(_)) if self.sessions.len() >= SESSIONS_MAX => {
                service.drop_connection(format!("there are {SESSIONS_MAX} already"));
            }
            Ok(Some(mut session)) => {
                session.outages = Outages::before(service.engine.outages());
                self.next_session += 1;
                self.sessions.insert(id, session);
                tracing::debug!(connection = id, "a client came");
            }
            Ok(None) => {}
            Err(_) if is_known => {}
            Err(error) => tracing::warn!(%error, "a connection could not be accepted; it is tried again"),
        }
    }

    /// Ends a connection. Its requests in the engine complete, in the order in which they arrived, and their
    /// completions are dropped.
    fn drop_session(&mut self, id: u64, why: &Over, service: &mut Service) {
        let Some(mut session) = self.sessions.remove(&id) else { return };
        if let Some(submission) = session.take_held() {
            service.discard(submission);
        }
        match why {
            Over::Left => tracing::debug!(connection = id, "a client left"),
            why => {
                tracing::debug!(connection = id, reason = %why, "a connection was dropped");
                service.drop_connection(why.to_string());
            }
        }
    }

    /// When connections are accepted again, if none is now.
    fn paused_until(&self, now: Nanos) -> Option<Nanos> {
        self.accepts_from.filter(|&from| from > now)
    }
}

impl Frontend for Nbd {
    fn addresses(&self) -> Vec<String> {
        let known = self.listeners.iter().filter_map(|listener| listener.address().ok());
        known.map(|address| address.to_string()).collect()
    }

    fn connections(&self) -> usize {
        self.sessions.len()
    }

    fn complete(&mut self, completion: Completion, buffers: &mut Buffers) {
        match self.sessions.get_mut(&completion.reply_to.client) {
            Some(session) => session.answer(completion, buffers),
            None => buffers.give_back(completion.payload),
        }
    }

    fn exchange(&mut self, service: &mut Service) {
        let pages = pages_each(self.sessions.len());
        let exchanged = self.sessions.iter_mut().filter_map(|(&id, session)| {
            session.begin_turn(pages);
            Some((id, session.exchange(service).err()?))
        });
        let over: Vec<(u64, Over)> = exchanged.collect();
        for (id, why) in over {
            self.drop_session(id, &why, service);
        }
    }

    /// Pages are still to be looked up.
    fn arm(&mut self) -> bool {
        self.sessions.values().any(Session::is_walking)
    }

    fn watch(&mut self, now: Nanos, add: &mut dyn FnMut(Source, PollFlags)) {
        if !self.is_ending && self.paused_until(now).is_none() {
            (0..self.listeners.len() as u64)
                .for_each(|nth| add(Source { owner: nth, part: LISTENER }, PollFlags::IN));
        }
        for (&id, session) in &mut self.sessions {
            add(Source { owner: id, part: SESSION }, session.wanted());
        }
    }

    fn descriptor(&self, source: Source) -> Option<BorrowedFd<'_>> {
        match source.part {
            LISTENER => self.listeners.get(source.owner as usize).map(AsFd::as_fd),
            _ => self.sessions.get(&source.owner).map(AsFd::as_fd),
        }
    }

    fn hear(&mut self, source: Source, flags: PollFlags, service: &mut Service) {
        let id = source.owner;
        if source.part == LISTENER {
            return self.accept(id as usize, service);
        }
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let is_gone = flags.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
        let heard = match flags.contains(PollFlags::IN) {
            true => session.receive(service),
            // It takes no more replies either.
            false if is_gone => Err(Over::Left),
            false => Ok(()),
        };
        if let Err(why) = heard {
            self.drop_session(id, &why, service);
        }
    }

    /// The end of a handshake's time, or of a pause without connections.
    fn wake_at(&self, now: Nanos) -> Option<Nanos> {
        let handshakes = self.sessions.values().filter_map(Session::handshake_ends);
        handshakes.chain(self.paused_until(now)).min()
    }

    /// Clients are notified with their next requests, and new ones are not accepted.
    fn end(&mut self) {
        self.is_ending = true;
        self.sessions.values_mut().for_each(|session| session.connection.shut_down());
    }

    fn is_idle(&self) -> bool {
        self.sessions.values().all(Session::is_idle)
    }
}
