//! A client's connection: its socket, and its NBD state machine.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rustix::event::PollFlags;
use stripewise_array::SubmitError;
use stripewise_base::Nanos;
use stripewise_engine::{Failed, Payload, Request};
use stripewise_nbd::{self as nbd, Command, Connection, Export, Fault, Limits, Pending, Reply, Violation};

use super::extents::Walk;
use crate::buffers::Buffers;
use crate::listen::Listener;
use crate::outages::Outages;
use crate::service::{Completion, ReplyTo, Service, Submission, Unsubmitted};
use crate::slots::Slots;

/// Slices of a vectored write.
const SLICES: usize = 64;
/// Reads of one connection before others get their turn.
const READS: usize = 16;

/// The time limit of a handshake.
const HANDSHAKE_NS: Nanos = 10_000_000_000;

/// A socket, of either kind.
#[derive(Debug)]
enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Socket {
    fn read_vectored(&mut self, into: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        match self {
            Self::Unix(socket) => socket.read_vectored(into),
            Self::Tcp(socket) => socket.read_vectored(into),
        }
    }

    fn write_vectored(&mut self, from: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Unix(socket) => socket.write_vectored(from),
            Self::Tcp(socket) => socket.write_vectored(from),
        }
    }
}

/// Why a connection is over.
#[derive(Debug, thiserror::Error)]
pub(super) enum Over {
    /// The client disconnected, cleanly or not.
    #[error("the client left")]
    Left,
    /// The client broke the protocol.
    #[error("the client broke the protocol: {0}")]
    Violation(#[from] Violation),
    /// The socket failed.
    #[error("the socket failed: {0}")]
    Socket(io::Error),
    /// Connections are few: a silent one is not kept.
    #[error("the client did not finish the handshake within {} s", HANDSHAKE_NS / 1_000_000_000)]
    Silent,
}

impl From<io::Error> for Over {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // With replies in flight that it did not wait for.
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Self::Left,
            _ => Self::Socket(error),
        }
    }
}

/// A connection.
#[derive(Debug)]
pub(super) struct Session {
    socket: Socket,
    /// The receiver of its answers, but for the number of the request.
    reply_to: ReplyTo,
    pub(super) connection: Connection<Payload>,
    /// Requests that were passed to the service.
    in_flight: Slots<Pending>,
    /// A request that the array was too busy for. Later requests wait, to keep the order.
    held: Option<Submission>,
    /// An extents request, which is looked up a few pages a turn. Later requests wait too.
    walk: Option<(Pending, Walk)>,
    /// Pages that may still be looked up in this turn.
    pages_left: u64,
    /// Whether the socket takes no more bytes for now.
    is_clogged: bool,
    /// The deadline of the handshake, until it is complete.
    handshake_ends: Option<Nanos>,
    pub(super) outages: Outages,
}

impl Session {
    /// Accepts a connection that waits at `listener`. `None` if there is none.
    ///
    /// # Errors
    /// The errors of the operating system.
    pub(super) fn accept(
        listener: &Listener,
        export: &Arc<Export>,
        reply_to: ReplyTo,
        now: Nanos,
    ) -> io::Result<Option<Self>> {
        let socket = match listener {
            Listener::Unix(socket) => socket.listener().accept().and_then(|(socket, _)| {
                socket.set_nonblocking(true)?;
                Ok(Socket::Unix(socket))
            }),
            Listener::Tcp(listener) => listener.accept().and_then(|(socket, _)| {
                socket.set_nonblocking(true)?;
                // Replies are written when they are complete; waiting for more gains nothing.
                socket.set_nodelay(true)?;
                Ok(Socket::Tcp(socket))
            }),
        };
        let socket = match socket {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            other => other?,
        };
        Ok(Some(Self::over(socket, export, reply_to, now)))
    }

    fn over(socket: Socket, export: &Arc<Export>, reply_to: ReplyTo, now: Nanos) -> Self {
        Self {
            socket,
            reply_to,
            connection: Connection::new(export.clone(), Limits::default()),
            in_flight: Slots::new(),
            held: None,
            walk: None,
            pages_left: 0,
            is_clogged: false,
            handshake_ends: Some(now + HANDSHAKE_NS),
            outages: Outages::before(0),
        }
    }

    /// Begins a turn of the loop, with the number of pages that may be looked up.
    pub(super) fn begin_turn(&mut self, pages: u64) {
        self.pages_left = pages;
    }

    /// Whether pages are still to be looked up, so that the loop does not wait.
    pub(super) fn is_walking(&self) -> bool {
        self.walk.is_some()
    }

    /// Whether a request waits, and so all later ones.
    fn is_waiting(&self) -> bool {
        self.held.is_some() || self.walk.is_some()
    }

    /// Receives the available bytes, and passes complete requests to `service`.
    ///
    /// # Errors
    /// Why the connection is over.
    pub(super) fn receive(&mut self, service: &mut Service) -> Result<(), Over> {
        for _ in 0..READS {
            if self.is_waiting() {
                return Ok(());
            }
            let mut space = self.connection.space().map(IoSliceMut::new);
            let room: usize = space.iter().map(|slice| slice.len()).sum();
            if room == 0 {
                return Ok(());
            }
            match self.socket.read_vectored(&mut space) {
                Ok(0) => return Err(Over::Left),
                Ok(bytes) => {
                    self.connection.received(bytes);
                    self.requests(service)?;
                    if bytes < room {
                        // The socket is empty, or nearly.
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Passes the complete requests among the received bytes to `service`, until it is too busy.
    ///
    /// # Errors
    /// The client's protocol violation.
    pub(super) fn requests(&mut self, service: &mut Service) -> Result<(), Over> {
        if let Some(submission) = self.held.take() {
            self.submit(submission, service);
        }
        self.walk_on(service);
        while !self.is_waiting() {
            let room = |bytes| Some(service.buffers.take(bytes));
            let Some(nbd::Request { command, pending }) = self.connection.next_request(room)? else { break };
            let request = match command {
                Command::Read { offset, bytes } => {
                    Request::Read { offset, into: service.buffers.take(bytes as usize) }
                }
                Command::Write { offset, mut data, bytes, fua } => {
                    data.truncate(bytes as usize);
                    Request::Write { offset, data, fua }
                }
                Command::Flush => Request::Flush,
                Command::Trim { offset, bytes, fua } => Request::Trim { offset, bytes: bytes.into(), fua },
                Command::WriteZeroes { offset, bytes, fua, keep_space } => {
                    Request::Zero { offset, bytes: bytes.into(), fua, keep_space }
                }
                Command::BlockStatus { offset, bytes, one } => {
                    let page_bytes = service.engine.page_bytes().into();
                    self.walk = Some((pending, Walk::new(offset, bytes.into(), page_bytes, one)));
                    self.walk_on(service);
                    continue;
                }
            };
            let reply_to = ReplyTo { request: self.in_flight.put(pending), ..self.reply_to };
            let submission = service.admit(request, reply_to);
            self.submit(submission, service);
        }
        if self.connection.is_transmitting() {
            self.handshake_ends = None;
        }
        Ok(())
    }

    /// Looks up the pages that this turn has left, and answers when all are looked up.
    fn walk_on(&mut self, service: &Service) {
        let Some((pending, mut walk)) = self.walk.take() else { return };
        // A request in flight may be reported either way; writes acknowledged before are in the log's map.
        let array = service.engine.array();
        match walk.advance(&mut self.pages_left, |page| array.is_hole(page)) {
            true => self.connection.reply(pending, Reply::Extents(walk.runs())),
            false => self.walk = Some((pending, walk)),
        }
    }

    /// Submits a request to the engine, or keeps it while the engine is too busy.
    fn submit(&mut self, submission: Submission, service: &mut Service) {
        match service.submit(submission) {
            Ok(()) => {}
            Err(Unsubmitted::Busy(submission)) => self.held = Some(submission),
            Err(Unsubmitted::Refused(error, reply_to)) => {
                let takes_none = matches!(error, SubmitError::ReadOnly | SubmitError::EpochOver);
                let fault = if takes_none { Fault::Permission } else { Fault::Invalid };
                let pending = self.in_flight.take(reply_to.request);
                self.connection.reply(pending, Reply::Failed(fault, &error.to_string()));
            }
        }
    }

    /// Answers a completed request.
    pub(super) fn answer(&mut self, completion: Completion, buffers: &mut Buffers) {
        let Completion { reply_to, result, payload, outages } = completion;
        let pending = self.in_flight.take(reply_to.request);
        match self.outages.judge(result, outages) {
            Ok(()) if pending.is_read() => return self.connection.reply(pending, Reply::Data(payload)),
            Ok(()) => self.connection.reply(pending, Reply::Done),
            Err(failed) => {
                let fault = if failed == Failed::NoSpace { Fault::NoSpace } else { Fault::Io };
                self.connection.reply(pending, Reply::Failed(fault, &failed.to_string()));
            }
        }
        buffers.give_back(payload);
    }

    /// Sends replies, as far as the socket takes them, and takes the requests that had no room before.
    ///
    /// # Errors
    /// Why the connection is over.
    pub(super) fn exchange(&mut self, service: &mut Service) -> Result<(), Over> {
        while self.connection.wants_to_send() || self.is_waiting() {
            self.send(&mut service.buffers)?;
            let was_waiting = self.is_waiting();
            self.requests(service)?;
            // Replies that are ready are sent before the loop waits: nothing would wake it for them.
            let is_stuck = self.is_waiting() && was_waiting && !self.connection.wants_to_send();
            if is_stuck || self.is_clogged {
                break;
            }
        }
        if self.is_over() {
            return Err(Over::Left);
        }
        match self.handshake_ends {
            Some(end) if end <= service.now() => Err(Over::Silent),
            _ => Ok(()),
        }
    }

    /// Sends replies, as far as the socket takes them.
    fn send(&mut self, buffers: &mut Buffers) -> Result<(), Over> {
        self.is_clogged = false;
        while self.connection.wants_to_send() {
            let mut slices = [IoSlice::new(&[]); SLICES];
            let count = self.connection.slices(&mut slices);
            match self.socket.write_vectored(&slices[..count]) {
                Ok(bytes) => {
                    self.connection.sent(bytes, |buffer| buffers.give_back(buffer));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.is_clogged = true;
                    break;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// The deadline of the handshake, if it is not complete.
    pub(super) fn handshake_ends(&self) -> Option<Nanos> {
        self.handshake_ends
    }

    /// Whether it is over: the client disconnected cleanly, and has its replies.
    fn is_over(&self) -> bool {
        !self.is_waiting() && self.connection.is_over()
    }

    /// Whether every request is answered and every reply sent.
    pub(super) fn is_idle(&self) -> bool {
        !self.is_waiting() && self.connection.is_idle()
    }

    /// Takes the waiting request away.
    pub(super) fn take_held(&mut self) -> Option<Submission> {
        self.held.take()
    }

    /// The socket events to wait for.
    pub(super) fn wanted(&mut self) -> PollFlags {
        let mut wanted = PollFlags::empty();
        let has_space = self.connection.space().iter().any(|space| !space.is_empty());
        wanted.set(PollFlags::IN, !self.is_waiting() && has_space);
        wanted.set(PollFlags::OUT, self.is_clogged);
        wanted
    }
}

impl AsFd for Session {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Socket::Unix(socket) => socket.as_fd(),
            Socket::Tcp(socket) => socket.as_fd(),
        }
    }
}

#[cfg(test)]
mod tests {
    use stripewise_array::Scheme;
    use stripewise_engine::{Engine, Options};
    use stripewise_nbd::BlockSizes;
    use stripewise_nbd::client::{Client, Found, Wishes};

    use super::*;
    use crate::nbd::extents::{PAGES_A_TURN, pages_each};
    use crate::service::FrontendNo;

    const PAGE: u32 = 512;

    /// An empty log behind sessions.
    struct Bench {
        _folder: tempfile::TempDir,
        service: Service,
        export: Arc<Export>,
        clients: Vec<(Session, Client, UnixStream)>,
    }

    impl Bench {
        fn new(clients: u64) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let text = "name = \"log\"\n[geometry]\nlevel = \"raid5\"\n[placement]\npolicy = \"elastic\"\n\
                        buffer_persistence = \"volatile\"\n";
            let scheme = Scheme::from_toml("test", text).unwrap();
            let paths: Vec<_> = (0..4).map(|nth| folder.path().join(nth.to_string())).collect();
            let options = Options { page_bytes: PAGE, ..Options::default() };
            let engine = Engine::create(&scheme, &paths, 4 << 20, options).unwrap();
            let export = Arc::new(Export {
                name: "x".into(),
                description: String::new(),
                bytes: engine.capacity(),
                block: BlockSizes { minimum: 512, preferred: 512, maximum: 1 << 20 },
                read_only: false,
                zeroes_fast: true,
            });
            let service = Service::new(engine, None);
            let mut bench = Self { _folder: folder, service, export, clients: Vec::new() };
            bench.clients = (0..clients).map(|id| bench.connected(id)).collect();
            bench
        }

        fn connected(&self, id: u64) -> (Session, Client, UnixStream) {
            let (ours, theirs) = UnixStream::pair().unwrap();
            ours.set_nonblocking(true).unwrap();
            theirs.set_nonblocking(true).unwrap();
            let reply_to = ReplyTo { frontend: FrontendNo(0), client: id, request: 0 };
            let session = Session::over(Socket::Unix(ours), &self.export, reply_to, 0);
            (session, Client::new("x", Wishes::default()), theirs)
        }

        /// A turn of the loop, with a number of pages for each client. Returns how many pages were looked up.
        fn turn(&mut self, pages: u64) -> u64 {
            let mut looked_at = 0;
            for (session, client, theirs) in &mut self.clients {
                session.begin_turn(pages);
                theirs.write_all(&client.take_outgoing()).unwrap();
                session.receive(&mut self.service).unwrap();
                session.exchange(&mut self.service).unwrap();
                looked_at += pages - session.pages_left;
                let sleeps = !session.is_walking() && !session.wanted().contains(PollFlags::OUT);
                assert!(
                    !sleeps || !session.connection.wants_to_send(),
                    "nothing wakes the loop to send a reply"
                );
                let mut piece = [0; 4096];
                while let Ok(read @ 1..) = theirs.read(&mut piece) {
                    client.receive(&piece[..read]).unwrap();
                }
            }
            looked_at
        }

        /// Completes the handshakes of all clients.
        fn shake_hands(&mut self) {
            while self.clients.iter().any(|(_, client, _)| client.export().is_none()) {
                self.turn(1);
            }
        }
    }

    /// For each answer, the bytes of all its extents together.
    fn answered(client: &mut Client) -> Vec<u64> {
        let sum = |answer: stripewise_nbd::client::Answer| match answer.outcome {
            Ok(Found::Extents(runs)) => runs.iter().map(|run| run.bytes).sum(),
            other => panic!("{other:?}"),
        };
        std::iter::from_fn(|| client.next_answer()).map(sum).collect()
    }

    #[test]
    fn where_data_is_takes_the_loop_a_few_pages_a_turn() {
        let mut bench = Bench::new(1);
        bench.shake_hands();
        let bytes = 10 * 512 * PAGE;
        for _ in 0..2 {
            bench.clients[0].1.block_status(0, bytes);
        }
        let mut turns_walking = 0;
        for _ in 0..200 {
            assert!(bench.turn(512) <= 512);
            turns_walking += u32::from(bench.clients[0].0.is_walking());
        }
        let (session, client, _) = &mut bench.clients[0];
        assert_eq!(answered(client), [u64::from(bytes); 2], "both are answered");
        assert!((19..=20).contains(&turns_walking), "{turns_walking} turns for 20 times what one may take");
        assert!(!session.is_walking() && session.is_idle());
    }

    #[test]
    fn a_turn_of_64_clients_looks_at_no_more_pages_than_one_of_a_single_client_and_serves_all_of_them_alike()
    {
        let mut bench = Bench::new(64);
        bench.shake_hands();
        let pages = 10 * pages_each(64);
        let bytes = u32::try_from(pages).unwrap() * PAGE;
        for (_, client, _) in &mut bench.clients {
            client.block_status(0, bytes);
        }
        for turn in 0..10 {
            let is_walking = bench.clients.iter().filter(|(session, ..)| session.is_walking()).count();
            assert_eq!(is_walking, if turn == 0 { 0 } else { 64 }, "none is ahead of the others");
            assert_eq!(bench.turn(pages_each(64)), PAGES_A_TURN);
        }
        bench.turn(pages_each(64));
        for (session, client, _) in &mut bench.clients {
            assert!(!session.is_walking());
            assert_eq!(answered(client), [u64::from(bytes)]);
        }
        assert_eq!((pages_each(0), pages_each(1)), (PAGES_A_TURN, PAGES_A_TURN));
    }
}
