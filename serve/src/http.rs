//! A small HTTP responder on a thread of its own: metrics for Prometheus, the status as JSON, and a page that shows it.
//!
//! `GET` of four paths, one request a connection, read-only: whoever reaches it can look and do nothing else. It listens on
//! loopback unless told otherwise.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::control::Answer;
use crate::error::ServeError;
use crate::metrics;

/// Longest head of a request that is read, in bytes.
const HEAD_MAX: u64 = 16 << 10;
/// How long a client may take to ask, and to read.
const PATIENCE: Duration = Duration::from_secs(5);

const PAGE: &str = include_str!("page.html");

/// A responder; it ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Responder {
    address: SocketAddr,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
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
        let fail = |error| ServeError::Listen { at: format!("http://{address}"), error };
        let listener = TcpListener::bind(address).map_err(fail)?;
        let address = listener.local_addr().map_err(fail)?;
        let ended = Arc::new(AtomicBool::new(false));
        let end = ended.clone();
        let serve = move || {
            for stream in listener.incoming() {
                if end.load(Ordering::Acquire) {
                    return;
                }
                match stream {
                    // A client that hangs up early is no concern of the others.
                    Ok(stream) => drop(answer(&stream, &status)),
                    Err(_) => std::thread::sleep(Duration::from_millis(100)),
                }
            }
        };
        let thread = std::thread::Builder::new().name("http".into()).spawn(serve);
        Ok(Self { address, ended, thread: Some(thread.map_err(ServeError::Thread)?) })
    }

    /// The address, with the port that the system chose where 0 was asked for.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        let woken = TcpStream::connect_timeout(&self.address, PATIENCE).is_ok();
        if let Some(thread) = self.thread.take().filter(|_| woken) {
            let _ = thread.join();
        }
    }
}

fn answer(stream: &TcpStream, status: &impl Fn() -> Answer) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut head = BufReader::new(stream).take(HEAD_MAX);
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
    if method != "GET" && method != "HEAD" {
        return respond(stream, "405 Method Not Allowed", TEXT, "only GET\n", method);
    }
    match path {
        "/" => respond(stream, "200 OK", "text/html; charset=utf-8", PAGE, method),
        "/metrics" | "/status.json" => {
            let (code, kind, body) = match (status(), path) {
                (Ok(value), "/status.json") => ("200 OK", "application/json", value.to_string()),
                (Ok(value), _) => match serde_json::from_value(value).map(|status| metrics::text(&status)) {
                    Ok(Ok(text)) => ("200 OK", metrics::CONTENT_TYPE, text),
                    Ok(Err(error)) => ("500 Internal Server Error", TEXT, format!("{error}\n")),
                    Err(error) => ("500 Internal Server Error", TEXT, format!("{error}\n")),
                },
                (Err(error), _) => ("503 Service Unavailable", TEXT, format!("{error}\n")),
            };
            respond(stream, code, kind, &body, method)
        }
        _ => respond(stream, "404 Not Found", TEXT, "there are /, /metrics and /status.json\n", method),
    }
}

const TEXT: &str = "text/plain; charset=utf-8";

fn respond(mut stream: &TcpStream, code: &str, kind: &str, body: &str, method: &str) -> std::io::Result<()> {
    let head = format!(
        "HTTP/1.1 {code}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    if method == "HEAD" { Ok(()) } else { stream.write_all(body.as_bytes()) }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn the_page_is_whole_in_itself_and_other_paths_and_methods_are_refused() {
        let refused = || Err(ControlError::new(ControlError::BUSY, "the array waits"));
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
