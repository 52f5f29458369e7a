//! A proxy before a server of S3 that does to requests what networks and busy servers do.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::server::{exchange, head_of};

/// What befalls a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// 503 SlowDown, and the server never sees it.
    Busy,
    /// The connection ends before the server sees it.
    Dropped,
    /// The server does what it says, and the connection ends before the answer.
    Unanswered,
    /// The server does what it says, and the answer is 503.
    Denied,
    /// The connection ends within the answer.
    Cut,
    /// The answer comes late.
    Slow,
    /// The server gets it twice, and the second answer counts: after a put that won, 412.
    Twice,
}

impl Fault {
    pub(crate) const ALL: [Self; 7] =
        [Self::Busy, Self::Dropped, Self::Unanswered, Self::Denied, Self::Cut, Self::Slow, Self::Twice];
}

/// One request in this many meets a fault.
const ONE_IN: u64 = 3;
const BUSY: &str =
    "<?xml version=\"1.0\"?><Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>";

#[derive(Default)]
struct Counts {
    seed: AtomicU64,
    requests: AtomicU64,
    faults: [AtomicU64; Fault::ALL.len()],
    refused_puts: AtomicU64,
}

pub(crate) struct Proxy {
    port: u16,
    counts: Arc<Counts>,
}

impl Proxy {
    pub(crate) fn start(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let counts = Arc::new(Counts::default());
        let shared = Arc::clone(&counts);
        // Ends with the process.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let counts = Arc::clone(&shared);
                // A client that goes away is no error of the proxy.
                std::thread::spawn(move || drop(pass(stream, server, &counts)));
            }
        });
        Self { port, counts }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// From now on the faults are those of a seed: which request meets which one depends on its number.
    pub(crate) fn begin(&self, seed: u64) {
        self.counts.seed.store(seed, Ordering::Relaxed);
        self.counts.requests.store(0, Ordering::Relaxed);
    }

    pub(crate) fn count(&self, fault: Fault) -> u64 {
        self.counts.faults[fault as usize].load(Ordering::Relaxed)
    }

    /// Puts that the server refused because of an earlier put of the same object.
    pub(crate) fn refused_puts(&self) -> u64 {
        self.counts.refused_puts.load(Ordering::Relaxed)
    }

    pub(crate) fn counts(&self) -> String {
        let faults = Fault::ALL.map(|fault| format!("{fault:?} {}", self.count(fault)));
        format!("{}, puts refused {}", faults.join(", "), self.refused_puts())
    }
}

fn fault(counts: &Counts) -> Option<Fault> {
    let number = counts.requests.fetch_add(1, Ordering::Relaxed);
    // SplitMix64.
    let mut mixed = counts.seed.load(Ordering::Relaxed).wrapping_mul(1 << 32).wrapping_add(number);
    mixed = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    let found = mixed.is_multiple_of(ONE_IN).then(|| Fault::ALL[(mixed >> 8) as usize % Fault::ALL.len()])?;
    counts.faults[found as usize].fetch_add(1, Ordering::Relaxed);
    Some(found)
}

/// Passes one request on, and its answer back.
fn pass(mut client: TcpStream, server: u16, counts: &Counts) -> std::io::Result<()> {
    let Some(request) = request(&mut client)? else { return Ok(()) };
    let fault = fault(counts);
    if fault == Some(Fault::Slow) {
        std::thread::sleep(Duration::from_millis(150));
    }
    let mut answer = match fault {
        Some(Fault::Dropped) => return client.shutdown(Shutdown::Both),
        Some(Fault::Busy) => busy(),
        _ => exchange(server, &request)?,
    };
    match fault {
        Some(Fault::Unanswered) => return client.shutdown(Shutdown::Both),
        Some(Fault::Denied) => answer = busy(),
        Some(Fault::Twice) => answer = exchange(server, &request)?,
        Some(Fault::Cut) => answer.truncate(answer.len() / 2),
        _ => {}
    }
    if request.starts_with(b"PUT ") && matches!(answer.get(9..12), Some(b"412" | b"409")) {
        counts.refused_puts.fetch_add(1, Ordering::Relaxed);
    }
    client.write_all(&answer)?;
    client.shutdown(Shutdown::Both)
}

fn busy() -> Vec<u8> {
    let head =
        "HTTP/1.1 503 Slow Down\r\nContent-Type: application/xml\r\nConnection: close\r\nContent-Length:";
    format!("{head} {}\r\n\r\n{BUSY}", BUSY.len()).into_bytes()
}

/// A request whose answer ends the connection; none if the client sends none. Lists come in pages of two.
fn request(client: &mut TcpStream) -> std::io::Result<Option<Vec<u8>>> {
    let (mut message, mut part) = (Vec::new(), [0; 1 << 16]);
    let head = loop {
        let read = client.read(&mut part)?;
        if read == 0 {
            return Ok(None);
        }
        message.extend_from_slice(&part[..read]);
        if let Some(head) = head_of(&message) {
            break head;
        }
    };
    let text = String::from_utf8_lossy(&message[..head]).into_owned();
    let mut lines = text.trim_end().split("\r\n");
    let (mut kept, mut length) = (Vec::new(), 0);
    let first = lines.next().unwrap_or_default();
    kept.push(first.replacen("list-type=2", "list-type=2&max-keys=2", 1));
    for line in lines {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        match name.to_ascii_lowercase().as_str() {
            "connection" => continue,
            "content-length" => length = value.trim().parse().unwrap_or(0),
            _ => {}
        }
        kept.push(line.to_owned());
    }
    kept.push("Connection: close\r\n\r\n".to_owned());
    let mut body = message.split_off(head);
    while body.len() < length {
        let read = client.read(&mut part)?;
        if read == 0 {
            return Ok(None);
        }
        body.extend_from_slice(&part[..read]);
    }
    Ok(Some([kept.join("\r\n").as_bytes(), &body].concat()))
}
