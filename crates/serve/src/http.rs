//! A small HTTP responder on its own thread: metrics for Prometheus, the status as JSON, and a page that shows it.
//!
//! It serves `GET` of four paths, one request a connection, read-only: clients can look and do nothing else. It listens
//! on loopback unless configured otherwise. All connections wait in one `poll`, so a silent connection delays no other.
//! When there are too many, the one that has been silent longest is closed.

mod host;
mod request;

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

pub(crate) use self::host::Hosts;
use self::request::{HEAD_MAX, Site, is_whole};
use crate::control::Answer;
use crate::ending::Ending;
use crate::error::ServeError;
use crate::watch::Watch;

/// Connections at a time.
const CONNECTIONS_MAX: usize = 64;
/// How long a client may take to send its request, and then to read the answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long no connection is accepted after one could not be: the missing resource, descriptors most likely, becomes
/// available again.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A responder. Dropping it closes all connections. The loop's mailbox must have been dropped before.
#[derive(Debug)]
pub(crate) struct Responder {
    address: SocketAddr,
    ending: Arc<Ending>,
    thread: Option<JoinHandle<()>>,
}

impl Responder {
    /// Answers at `address`, to clients that use one of `hosts` as its name, with the current result of `status`.
    ///
    /// # Errors
    /// The errors of the operating system.
    pub(crate) fn start(
        address: SocketAddr,
        hosts: Hosts,
        status: impl Fn() -> Answer + Send + 'static,
    ) -> Result<Self, ServeError> {
        Self::patient(PATIENCE, address, hosts, status)
    }

    fn patient(
        patience: Duration,
        address: SocketAddr,
        hosts: Hosts,
        status: impl Fn() -> Answer + Send + 'static,
    ) -> Result<Self, ServeError> {
        let fail = |error| ServeError::Listen { at: format!("http://{address}"), error };
        let listener = TcpListener::bind(address).map_err(fail)?;
        listener.set_nonblocking(true).map_err(fail)?;
        let address = listener.local_addr().map_err(fail)?;
        let ending = Arc::new(Ending::new()?);
        let site = Site { hosts, status };
        let desk = HttpServer {
            listener,
            ending: ending.clone(),
            patience,
            clients: BTreeMap::new(),
            next: 0,
            accepts_from: None,
        };
        let thread = std::thread::Builder::new().name("http".into()).spawn(move || desk.serve(&site));
        Ok(Self { address, ending, thread: Some(thread.map_err(ServeError::Thread)?) })
    }

    /// The address. If port 0 was requested, with the port that the system chose.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        self.ending.come();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The progress of a client.
#[derive(Debug)]
enum Phase {
    /// It sends the head of its request; the bytes received so far.
    Asks(Vec<u8>),
    /// It receives this answer; the number of bytes sent so far.
    Reads(Vec<u8>, usize),
}

#[derive(Debug)]
struct Client {
    stream: TcpStream,
    phase: Phase,
    /// When its connection is closed.
    until: Instant,
}

/// A descriptor to wait for.
#[derive(Clone, Copy, Debug)]
enum Source {
    Ending,
    Listener,
    Client(u64),
}

/// All clients, and their listener.
#[derive(Debug)]
struct HttpServer {
    listener: TcpListener,
    ending: Arc<Ending>,
    patience: Duration,
    /// By number, in the order of their connections.
    clients: BTreeMap<u64, Client>,
    next: u64,
    /// When connections are accepted again, after one could not be.
    accepts_from: Option<Instant>,
}

impl HttpServer {
    /// Serves until the end.
    fn serve(mut self, site: &Site<impl Fn() -> Answer>) {
        let mut watch = Watch::new();
        loop {
            watch.add(Source::Ending, PollFlags::IN);
            let now = Instant::now();
            self.accepts_from = self.accepts_from.filter(|&from| from > now);
            if self.accepts_from.is_none() {
                watch.add(Source::Listener, PollFlags::IN);
            }
            for (&number, client) in &self.clients {
                let wanted = match client.phase {
                    Phase::Asks(_) => PollFlags::IN,
                    Phase::Reads(..) => PollFlags::OUT,
                };
                watch.add(Source::Client(number), wanted);
            }
            let next = self.clients.values().map(|client| client.until).chain(self.accepts_from).min();
            let at_most = next.map(|until| until.saturating_duration_since(now));
            if let Err(error) = watch.wait(|source| self.descriptor(source), at_most) {
                tracing::error!(%error, "metrics and the status page are not answered any more");
                return;
            }
            while let Some((source, _)) = watch.take() {
                match source {
                    Source::Ending => return,
                    Source::Listener => self.accept(),
                    Source::Client(number) => self.attend(number, site),
                }
            }
            let now = Instant::now();
            self.clients.retain(|_, client| client.until > now);
        }
    }

    fn descriptor(&self, source: Source) -> BorrowedFd<'_> {
        match source {
            Source::Ending => self.ending.as_fd(),
            Source::Listener => self.listener.as_fd(),
            Source::Client(number) => self.clients[&number].stream.as_fd(),
        }
    }

    fn accept(&mut self) {
        let accepted = self.listener.accept().and_then(|(stream, _)| {
            stream.set_nonblocking(true)?;
            Ok(stream)
        });
        match accepted {
            Ok(stream) => {
                if self.clients.len() >= CONNECTIONS_MAX {
                    self.hang_up_on_one();
                }
                let until = Instant::now() + self.patience;
                self.clients.insert(self.next, Client { stream, phase: Phase::Asks(Vec::new()), until });
                self.next += 1;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => self.accepts_from = Some(Instant::now() + ACCEPT_PAUSE),
        }
    }

    /// Closes one connection to make room: the one that has sent no request for longest.
    fn hang_up_on_one(&mut self) {
        let asks = |client: &Client| matches!(client.phase, Phase::Asks(_));
        let silent = self.clients.iter().find(|(_, client)| asks(client));
        if let Some((&number, _)) = silent.or(self.clients.iter().next()) {
            self.clients.remove(&number);
        }
    }

    /// Reads a client's request, or sends it more of its answer.
    fn attend(&mut self, number: u64, site: &Site<impl Fn() -> Answer>) {
        let Some(client) = self.clients.get_mut(&number) else { return };
        match client.attend(site, self.patience) {
            Ok(false) => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            // It has its answer, or it disconnected, which does not concern the others.
            Ok(true) | Err(_) => drop(self.clients.remove(&number)),
        }
    }
}

impl Client {
    /// Returns whether the client is done.
    fn attend(&mut self, site: &Site<impl Fn() -> Answer>, patience: Duration) -> io::Result<bool> {
        if let Phase::Asks(head) = &mut self.phase {
            let mut piece = [0; 4096];
            let read = self.stream.read(&mut piece)?;
            head.extend_from_slice(&piece[..read]);
            if read > 0 && !is_whole(head) && head.len() < HEAD_MAX {
                return Ok(false);
            }
            let answer = site.answer(head, self.stream.local_addr().ok().map(|address| address.ip()));
            self.phase = Phase::Reads(answer, 0);
            self.until = Instant::now() + patience;
        }
        if let Phase::Reads(answer, sent) = &mut self.phase {
            while *sent < answer.len() {
                *sent += self.stream.write(&answer[*sent..])?;
            }
            // Bytes behind the head are read, so that closing the connection does not reset it.
            let _ = self.stream.read(&mut [0; 4096]);
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::request::PAGE;
    use super::*;
    use crate::control::ControlError;

    fn anywhere() -> SocketAddr {
        "127.0.0.1:0".parse().unwrap()
    }

    fn get(address: SocketAddr, request: &str) -> (String, String) {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        (head.to_owned(), body.to_owned())
    }

    fn refused() -> Answer {
        Err(ControlError::new(ControlError::BUSY, "the array waits"))
    }

    /// A connected client that sends byte by byte until it is disconnected.
    fn slow_client(at: SocketAddr) -> JoinHandle<()> {
        let mut stream = TcpStream::connect(at).unwrap();
        std::thread::spawn(move || {
            while stream.write_all(b"x").is_ok() {
                std::thread::sleep(Duration::from_millis(1));
            }
        })
    }

    #[test]
    fn a_slow_client_does_not_keep_others_waiting() {
        let patience = Duration::from_millis(200);
        let responder = Responder::patient(patience, anywhere(), Hosts::default(), refused).unwrap();
        let slow = slow_client(responder.address());
        let begun = Instant::now();
        assert!(get(responder.address(), "GET / HTTP/1.1\r\n\r\n").0.starts_with("HTTP/1.1 200"));
        assert!(begun.elapsed() < Duration::from_secs(8), "not at the end of its head");
        slow.join().unwrap();
    }

    #[test]
    fn silent_clients_delay_no_other_client_however_many_they_are() {
        let long = Duration::from_secs(600);
        let responder = Responder::patient(long, anywhere(), Hosts::default(), refused).unwrap();
        let at = responder.address();
        // More than the limit: those that have been silent longest are closed.
        let silent: Vec<TcpStream> =
            (0..CONNECTIONS_MAX + 4).map(|_| TcpStream::connect(at).unwrap()).collect();
        let begun = Instant::now();
        for _ in 0..3 {
            assert!(get(at, "GET / HTTP/1.1\r\n\r\n").0.starts_with("HTTP/1.1 200"));
        }
        assert!(begun.elapsed() < Duration::from_secs(5), "after {:?}", begun.elapsed());
        drop(responder);
        drop(silent);
    }

    #[test]
    fn a_request_by_another_name_gets_nothing() {
        let status = || Ok(serde_json::json!("secret"));
        let responder =
            Responder::start(anywhere(), Hosts::new(&["storage.example".into()]), status).unwrap();
        let at = responder.address();
        let ask = |host: &str| get(at, &format!("GET /status.json HTTP/1.1\r\n{host}\r\n\r\n"));
        for host in ["Host: evil.example", "hOsT:evil.example:9180", "Host: 10.0.0.1", "Host:"] {
            let (head, body) = ask(host);
            assert!(
                head.starts_with("HTTP/1.1 421") && body.contains("--metrics-host NAME"),
                "{host}: {head}"
            );
            assert!(!body.contains("secret"));
        }
        let (head, body) = ask("Host: localhost\r\nHost: evil.example");
        assert!(head.starts_with("HTTP/1.1 400") && !body.contains("secret"), "{head}");
        for host in ["Host: storage.example", &format!("Host: {at}"), "X-None: 1"] {
            let (head, body) = ask(host);
            assert!(head.starts_with("HTTP/1.1 200") && body.contains("secret"), "{host}: {head}");
        }
    }

    #[test]
    fn a_name_behind_the_limit_of_a_head_gets_nothing() {
        let responder =
            Responder::start(anywhere(), Hosts::default(), || Ok(serde_json::json!("secret"))).unwrap();
        let filler = "x".repeat(HEAD_MAX - 50);
        let request =
            format!("GET /status.json HTTP/1.1\r\nX-Filler: {filler}\r\nHost: evil.example\r\n\r\n");
        let (head, body) = get(responder.address(), &request);
        assert!(head.starts_with("HTTP/1.1 431") && !body.contains("secret"), "{head}");
    }

    #[test]
    fn a_slow_client_does_not_hold_up_the_end() {
        let long = Duration::from_secs(600);
        let responder = Responder::patient(long, anywhere(), Hosts::default(), refused).unwrap();
        let slow = slow_client(responder.address());
        let begun = Instant::now();
        drop(responder);
        assert!(begun.elapsed() < Duration::from_secs(8), "not at the end of its head");
        slow.join().unwrap();
    }

    #[test]
    fn the_page_is_whole_in_itself_and_other_paths_and_methods_are_refused() {
        let responder = Responder::start(anywhere(), Hosts::default(), refused).unwrap();
        let at = responder.address();
        let (head, body) = get(at, "GET / HTTP/1.1\r\nHost: localhost:1\r\n\r\n");
        assert!(head.starts_with("HTTP/1.1 200 OK") && body == PAGE, "{head}");
        for outside in ["http:", "https:", "src=", "@import", "<link"] {
            assert!(!PAGE.contains(outside), "{outside}");
        }
        let (head, body) = get(at, "GET /status.json HTTP/1.1\r\n\r\n");
        assert!(head.starts_with("HTTP/1.1 503") && body == "the array waits\n", "{head} {body}");
        assert!(get(at, "GET /etc/passwd HTTP/1.1\r\n\r\n").0.starts_with("HTTP/1.1 404"));
        assert!(get(at, "POST / HTTP/1.1\r\n\r\n").0.starts_with("HTTP/1.1 405"));
        let (head, body) = get(at, "HEAD / HTTP/1.1\r\n\r\n");
        assert!(head.contains(&format!("Content-Length: {}", PAGE.len())) && body.is_empty(), "{head}");
        // A silent client, and one whose head has no end.
        drop(TcpStream::connect(at).unwrap());
        let mut endless = TcpStream::connect(at).unwrap();
        let _ = endless.write_all(&vec![b'x'; 2 * HEAD_MAX]);
        drop(endless);
        assert!(get(at, "GET / HTTP/1.1\r\n\r\n").0.starts_with("HTTP/1.1 200"));
        drop(responder);
        assert!(TcpStream::connect(at).is_err(), "nobody listens any more");
    }
}
