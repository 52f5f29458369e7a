//! A server of S3 on the loopback interface, and plain requests to it.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) const BUCKET: &str = "lab";

pub(crate) struct Server {
    process: Child,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The interpreter that has moto.
fn python() -> PathBuf {
    let named = std::env::var_os("STRIPEWISE_MOTO").map(PathBuf::from);
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let made = target.join("moto/bin/python");
    named.or_else(|| made.exists().then_some(made)).unwrap_or_else(|| "python3".into())
}

impl Server {
    /// A server with an empty bucket.
    pub(crate) fn start() -> Result<Self, String> {
        let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).unwrap().port();
        let python = python();
        let mut command = Command::new(&python);
        command.args(["-m", "moto.server", "-H", "127.0.0.1", "-p", &port.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().map_err(|error| format!("{}: {error}", python.display()))?;
        let mut server = Self { process, port };
        let ends = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if let Some(status) = server.process.try_wait().unwrap() {
                return Err(format!("{} -m moto.server: {status}", python.display()));
            }
            assert!(Instant::now() < ends, "the server does not answer");
            std::thread::sleep(Duration::from_millis(100));
        }
        server.request("PUT", &format!("/{BUCKET}"), &[]);
        Ok(server)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The keys that begin with a prefix.
    pub(crate) fn keys(&self, prefix: &str) -> Vec<String> {
        let listed =
            self.request("GET", &format!("/{BUCKET}?list-type=2&max-keys=1000&prefix={prefix}/"), &[]);
        let text = String::from_utf8(listed).unwrap();
        let keys = text.split("<Key>").skip(1);
        keys.map(|rest| rest.split_once("</Key>").unwrap().0.to_owned()).collect()
    }

    pub(crate) fn get(&self, key: &str) -> Vec<u8> {
        self.request("GET", &format!("/{BUCKET}/{key}"), &[])
    }

    pub(crate) fn put(&self, key: &str, bytes: &[u8]) {
        self.request("PUT", &format!("/{BUCKET}/{key}"), bytes);
    }

    fn request(&self, method: &str, path: &str, body: &[u8]) -> Vec<u8> {
        let signed = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {signed}\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n",
            body.len()
        );
        let answer = exchange(self.port, &[head.as_bytes(), body].concat()).unwrap();
        let head = head_of(&answer).unwrap_or_else(|| panic!("no answer to {method} {path}"));
        let status = String::from_utf8_lossy(&answer[..head.min(12)]).into_owned();
        assert!(status.ends_with("200"), "{method} {path}: {}", String::from_utf8_lossy(&answer));
        answer[head..].to_vec()
    }
}

/// The answer to a request that closes the connection.
pub(crate) fn exchange(port: u16, request: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.write_all(request)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(answer)
}

/// The length of the head of a message; none if it is not whole.
pub(crate) fn head_of(message: &[u8]) -> Option<usize> {
    message.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4)
}
