//! A server of S3 or of Azure on the loopback interface, and plain requests to it.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const BUCKET: &str = "lab";
/// The account of every Azurite.
const ACCOUNT: &str = "devstoreaccount1";
/// A signature with its published key, for all requests until 2099.
const SIGNED: &str = "sv=2021-08-06&ss=b&srt=sco&sp=rwdlac&se=2099-01-01T00:00:00Z&spr=https,http\
    &sig=kV1%2FDJNn7340SUtIltqF6L9gEwifTOYTqBxfQeMSrhM%3D";

/// What the server speaks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Protocol {
    S3,
    Azure,
}

pub(crate) struct Server {
    process: Child,
    port: u16,
    protocol: Protocol,
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
    /// A server with an empty bucket: Azurite if `$STRIPEWISE_AZURITE` names it, moto otherwise.
    pub(crate) fn start() -> Result<Self, String> {
        let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).unwrap().port();
        let (protocol, program, line) = match std::env::var_os("STRIPEWISE_AZURITE") {
            Some(azurite) => {
                let line = format!(
                    "--blobHost 127.0.0.1 --blobPort {port} --inMemoryPersistence --silent --skipApiVersionCheck \
                     --disableTelemetry"
                );
                (Protocol::Azure, PathBuf::from(azurite), line)
            }
            None => (Protocol::S3, python(), format!("-m moto.server -H 127.0.0.1 -p {port}")),
        };
        let mut command = Command::new(&program);
        command.args(line.split_whitespace());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().map_err(|error| format!("{}: {error}", program.display()))?;
        let mut server = Self { process, port, protocol };
        let ends = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if let Some(status) = server.process.try_wait().unwrap() {
                return Err(format!("{} {line}: {status}", program.display()));
            }
            assert!(Instant::now() < ends, "the server does not answer");
            std::thread::sleep(Duration::from_millis(100));
        }
        match protocol {
            Protocol::S3 => server.request("PUT", "", "", &[]),
            Protocol::Azure => server.request("PUT", "", "restype=container", &[]),
        };
        Ok(server)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    fn scheme(&self) -> &'static str {
        match self.protocol {
            Protocol::S3 => "s3",
            Protocol::Azure => "az",
        }
    }

    /// The URL of what is in the bucket under a prefix.
    pub(crate) fn url(&self, prefix: &str) -> String {
        format!("{}://{BUCKET}/{prefix}", self.scheme())
    }

    /// The URL of a bucket that is not there.
    pub(crate) fn nowhere(&self) -> String {
        format!("{}://nowhere/x", self.scheme())
    }

    /// The keys that begin with a prefix.
    pub(crate) fn keys(&self, prefix: &str) -> Vec<String> {
        let (query, from, to) = match self.protocol {
            Protocol::S3 => (format!("list-type=2&max-keys=1000&prefix={prefix}/"), "<Key>", "</Key>"),
            Protocol::Azure => (format!("restype=container&comp=list&prefix={prefix}/"), "<Name>", "</Name>"),
        };
        let text = String::from_utf8(self.request("GET", "", &query, &[])).unwrap();
        text.split(from).skip(1).map(|rest| rest.split_once(to).unwrap().0.to_owned()).collect()
    }

    pub(crate) fn get(&self, key: &str) -> Vec<u8> {
        self.request("GET", &format!("/{key}"), "", &[])
    }

    pub(crate) fn put(&self, key: &str, bytes: &[u8]) {
        self.request("PUT", &format!("/{key}"), "", bytes);
    }

    fn request(&self, method: &str, key: &str, query: &str, body: &[u8]) -> Vec<u8> {
        let (target, header) = match self.protocol {
            Protocol::S3 => {
                let signed =
                    "Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";
                (format!("/{BUCKET}{key}?{query}"), format!("Authorization: AWS4-HMAC-SHA256 {signed}"))
            }
            Protocol::Azure => {
                (format!("/{ACCOUNT}/{BUCKET}{key}?{query}&{SIGNED}"), "x-ms-blob-type: BlockBlob".to_owned())
            }
        };
        let head = format!(
            "{method} {} HTTP/1.1\r\nHost: 127.0.0.1\r\n{header}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            target.replace("?&", "?").trim_end_matches('?'),
            body.len()
        );
        let answer = exchange(self.port, &[head.as_bytes(), body].concat()).unwrap();
        let head = head_of(&answer).unwrap_or_else(|| panic!("no answer to {method} {target}"));
        let status = String::from_utf8_lossy(&answer[..head.min(12)]).into_owned();
        let is_well = status.ends_with("200") || status.ends_with("201");
        assert!(is_well, "{method} {target}: {}", String::from_utf8_lossy(&answer));
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
