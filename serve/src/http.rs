//! A small HTTP responder on a thread of its own: metrics for Prometheus, the status as JSON, and a page that shows it.
//!
//! `GET` of four paths, one request a connection, read-only: whoever reaches it can look and do nothing else. It listens on
//! loopback unless told otherwise.

use std::borrow::Cow;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::control::Answer;
use crate::deadline::Deadline;
use crate::error::ServeError;
use crate::metrics;

/// Longest head of a request that is read, in bytes.
const HEAD_MAX: u64 = 16 << 10;
/// How long a client may take to ask, and then to read.
const PATIENCE: Duration = Duration::from_secs(5);

const PAGE: &str = include_str!("page.html");

/// A responder; dropped, it hangs up on whoever is there. The loop's mailbox must have been dropped before.
#[derive(Debug)]
pub(crate) struct Responder {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    ended: AtomicBool,
    /// Whoever is there.
    stream: Mutex<Option<TcpStream>>,
}

impl Shared {
    fn keep(&self, stream: Option<TcpStream>) -> Option<TcpStream> {
        std::mem::replace(&mut *self.stream.lock().unwrap_or_else(PoisonError::into_inner), stream)
    }
}

impl Responder {
    /// Answers at `address` with what `status` says at that moment.
    ///
    /// # Errors
    /// What the operating system refuses.
    pub(crate) fn start(
        address: SocketAddr,
        status: impl Fn() -> Answer + Send + 'static,
    ) -> Result<Self, ServeError> {
        Self::patient(PATIENCE, address, status)
    }

    fn patient(
        patience: Duration,
        address: SocketAddr,
        status: impl Fn() -> Answer + Send + 'static,
    ) -> Result<Self, ServeError> {
        let fail = |error| ServeError::Listen { at: format!("http://{address}"), error };
        let listener = TcpListener::bind(address).map_err(fail)?;
        let address = listener.local_addr().map_err(fail)?;
        let shared = Arc::new(Shared::default());
        let inner = shared.clone();
        let serve = move || {
            for stream in listener.incoming() {
                let kept = stream.and_then(|stream| Ok((stream.try_clone()?, stream)));
                let Ok((own, stream)) = kept else {
                    // Out of descriptors, most likely: they come back.
                    std::thread::sleep(Duration::from_millis(100));
                    continue;
                };
                inner.keep(Some(own));
                if inner.ended.load(Ordering::Acquire) {
                    return;
                }
                // A client that hangs up early is no concern of the others.
                let _ = answer(&stream, patience, &status);
                inner.keep(None);
            }
        };
        let thread = std::thread::Builder::new().name("http".into()).spawn(serve);
        Ok(Self { address, shared, thread: Some(thread.map_err(ServeError::Thread)?) })
    }

    /// The address, with the port that the system chose where 0 was asked for.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Release);
        let woken = TcpStream::connect_timeout(&self.address, PATIENCE).is_ok();
        if let Some(stream) = self.shared.keep(None) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        if let Some(thread) = self.thread.take().filter(|_| woken) {
            let _ = thread.join();
        }
    }
}

fn answer(stream: &TcpStream, patience: Duration, status: &impl Fn() -> Answer) -> std::io::Result<()> {
    let mut head = BufReader::new(Deadline::after(patience, stream)).take(HEAD_MAX);
    let mut first = String::new();
    head.read_line(&mut first)?;
    // The rest of the head is read, so that closing the connection does not reset it.
    let mut line = String::new();
    while head.read_line(&mut line)? > 0 && !line.trim_end().is_empty() {
        line.clear();
    }
    let mut words = first.split_whitespace();
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = target.split('?').next().unwrap_or_default();
    let (code, kind, body) = reply(method, path, status);
    let head = format!(
        "HTTP/1.1 {code}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let mut out = Deadline::after(patience, stream);
    out.write_all(head.as_bytes())?;
    if method == "HEAD" { Ok(()) } else { out.write_all(body.as_bytes()) }
}

const TEXT: &str = "text/plain; charset=utf-8";

/// The status code, the type of the body, and the body.
fn reply(
    method: &str,
    path: &str,
    status: &impl Fn() -> Answer,
) -> (&'static str, &'static str, Cow<'static, str>) {
    if method != "GET" && method != "HEAD" {
        return ("405 Method Not Allowed", TEXT, "only GET\n".into());
    }
    match path {
        "/" => ("200 OK", "text/html; charset=utf-8", PAGE.into()),
        "/metrics" | "/status.json" => match (status(), path) {
            (Ok(value), "/status.json") => ("200 OK", "application/json", value.to_string().into()),
            (Ok(value), _) => match serde_json::from_value(value).map(|status| metrics::text(&status)) {
                Ok(Ok(text)) => ("200 OK", metrics::CONTENT_TYPE, text.into()),
                Ok(Err(error)) => ("500 Internal Server Error", TEXT, format!("{error}\n").into()),
                Err(error) => ("500 Internal Server Error", TEXT, format!("{error}\n").into()),
            },
            (Err(error), _) => ("503 Service Unavailable", TEXT, format!("{error}\n").into()),
        },
        _ => ("404 Not Found", TEXT, "there are /, /metrics and /status.json\n".into()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::control::ControlError;

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

    /// A client that sends byte by byte until it is hung up on, and is there already.
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
        let responder = Responder::patient(patience, "127.0.0.1:0".parse().unwrap(), refused).unwrap();
        let slow = slow_client(responder.address());
        let begun = Instant::now();
        assert!(get(responder.address(), "GET / HTTP/1.1\r\n\r\n").0.starts_with("HTTP/1.1 200"));
        assert!(begun.elapsed() < Duration::from_secs(8), "not at the end of its head");
        slow.join().unwrap();
    }

    #[test]
    fn a_slow_client_does_not_hold_up_the_end() {
        let long = Duration::from_secs(600);
        let responder = Responder::patient(long, "127.0.0.1:0".parse().unwrap(), refused).unwrap();
        let slow = slow_client(responder.address());
        let begun = Instant::now();
        drop(responder);
        assert!(begun.elapsed() < Duration::from_secs(8), "not at the end of its head");
        slow.join().unwrap();
    }

    #[test]
    fn the_page_is_whole_in_itself_and_other_paths_and_methods_are_refused() {
        let responder = Responder::start("127.0.0.1:0".parse().unwrap(), refused).unwrap();
        let at = responder.address();
        let (head, body) = get(at, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
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
        // One that says nothing, and one whose head has no end.
        drop(TcpStream::connect(at).unwrap());
        let mut endless = TcpStream::connect(at).unwrap();
        let _ = endless.write_all(&vec![b'x'; 2 * HEAD_MAX as usize]);
        drop(endless);
        assert!(get(at, "GET / HTTP/1.1\r\n\r\n").0.starts_with("HTTP/1.1 200"));
        drop(responder);
        assert!(TcpStream::connect(at).is_err(), "nobody listens any more");
    }
}
