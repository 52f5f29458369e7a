//! The verifying client finds servers that break a promise. This is a separate program: called like `stripewise`, it
//! is the server of a disk that is simple enough to be known to be correct, or of a disk with a flaw.

use std::fs;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use stripewise_check::kill::{Broken, Settings, run};
use stripewise_nbd::{BlockSizes, Command, Connection, Export, Fault, Limits, Reply};

const BYTES: usize = 1 << 20;

/// Flaws, by the name of the scheme with which the disk was created, and a part of the error message for each.
const FLAWS: [(&str, &str); 12] = [
    ("flush-dropped", "; admissible: "),
    ("fua-dropped", "; admissible: "),
    ("flush-leaves-out-the-last-block", "; admissible: "),
    ("stale-read", "; admissible: "),
    ("trim-lost", "admissible: zeros by trim"),
    ("torn", "; admissible: "),
    ("next-sector", "content of another sector"),
    ("fails", "a request failed with Io"),
    ("dies", "the server ended by itself"),
    ("dirty", "`check` is not clean"),
    ("degraded", "`status` says that the array is degraded"),
    ("charged", "`status` says that member 0 has errors"),
];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1)
    };
    let folder = || PathBuf::from(std::env::var_os("STRIPEWISE_STATE_DIR").expect("a folder of state"));
    match arguments.get(1).map(String::as_str) {
        Some("create") => {
            fs::create_dir_all(folder()).expect("a new folder");
            fs::write(folder().join("flaw"), value("--scheme").expect("a scheme")).expect("a new file");
            fs::write(folder().join("disk"), vec![0; BYTES]).expect("a new file");
        }
        Some("serve") => {
            let address = value("--nbd").expect("an address").strip_prefix("unix:").expect("of a socket");
            serve(&folder(), Path::new(address));
        }
        Some("stop") => fs::write(folder().join("stop"), []).expect("a new file"),
        Some("status") => println!("{}", status(&flaw(&folder()))),
        Some("scrub") => {}
        Some("check") => std::process::exit((flaw(&folder()) == "dirty").into()),
        _ => test(),
    }
}

fn test() {
    let kills = |flaw: &str, seed: u64, kills: u64| {
        let folder = tempfile::tempdir().expect("a folder");
        let settings = Settings {
            program: std::env::current_exe().expect("a path"),
            folder: folder.path().into(),
            scheme: flaw.into(),
            members: 1,
            size: "1MiB".into(),
            connections: 3,
            depth: 8,
            kills,
            longest: Duration::from_millis(40),
            trims: true,
            losses: false,
            drops: false,
            deaf: None,
            seed,
        };
        run(&settings, &mut |_| {}).map_err(|error| error.downcast::<Broken>().expect("a broken promise").0)
    };
    let counts = kills("none", 1, 30).expect("a sound server keeps every promise");
    println!("a sound server:\n{counts}");
    assert!(counts.kills_while_opening > 0 && counts.later > 0 && counts.cut_short > 0, "{counts}");
    for (flaw, expected) in FLAWS {
        let said = (0..5).find_map(|seed| kills(flaw, seed, 20).err());
        let said = said.unwrap_or_else(|| panic!("{flaw}: not found"));
        assert!(said.contains(expected), "{flaw}: {said}");
        println!("{flaw}: {}", said.lines().next().unwrap_or_default());
    }
}

/// What the server says of itself. The array has one member.
fn status(flaw: &str) -> String {
    let health = if flaw == "degraded" { "degraded" } else { "clean" };
    let errors = u64::from(flaw == "charged");
    let member = format!(r#"{{"number": 0, "state": "active", "total_errors": {{"checksum": {errors}}}}}"#);
    let scrub = r#"{"damaged": 0, "lost": 0, "metadata_damaged": 0}"#;
    format!(r#"[{{"health": "{health}", "members": [{member}], "last_scrub": {scrub}}}]"#)
}

fn flaw(folder: &Path) -> String {
    fs::read_to_string(folder.join("flaw")).expect("the disk was made")
}

/// A disk with a volatile cache: the content of memory is lost with the process.
struct Disk {
    flaw: String,
    memory: Vec<u8>,
    /// The content before the latest write.
    before: Vec<u8>,
    file: fs::File,
    requests: u64,
}

impl Disk {
    fn store(&self, offset: usize, bytes: usize) {
        self.file.write_all_at(&self.memory[offset..offset + bytes], offset as u64).expect("it is written");
    }

    fn change(&mut self, offset: usize, data: &[u8], fua: bool) {
        if self.requests.is_multiple_of(16) {
            self.before.copy_from_slice(&self.memory);
        }
        let end = if self.flaw == "torn" && self.requests.is_multiple_of(64) {
            data.len() - 100
        } else {
            data.len()
        };
        self.memory[offset..offset + end].copy_from_slice(&data[..end]);
        if self.flaw == "next-sector" && self.requests.is_multiple_of(64) {
            self.memory[offset..offset + end].rotate_left(512);
        }
        if fua && self.flaw != "fua-dropped" {
            self.store(offset, data.len());
        }
    }

    fn answer(&mut self, command: Command<Vec<u8>>) -> Reply<'static, Vec<u8>> {
        self.requests += 1;
        match (self.flaw.as_str(), self.requests) {
            ("fails", 500) => return Reply::Failed(Fault::Io, "it fails"),
            ("dies", 500) => std::process::exit(3),
            _ => {}
        }
        match command {
            Command::Read { offset, bytes } => {
                let is_stale = self.flaw == "stale-read" && self.requests % 16 == 15;
                let content = if is_stale { &self.before } else { &self.memory };
                return Reply::Data(content[offset as usize..][..bytes as usize].to_vec());
            }
            Command::Write { offset, data, bytes, fua } => {
                self.change(offset as usize, &data[..bytes as usize], fua);
            }
            Command::Flush => match self.flaw.as_str() {
                "flush-dropped" => {}
                "flush-leaves-out-the-last-block" => self.store(0, BYTES - 65536),
                _ => self.store(0, BYTES),
            },
            Command::Trim { .. } if self.flaw == "trim-lost" => {}
            Command::Trim { offset, bytes, fua } | Command::WriteZeroes { offset, bytes, fua, .. } => {
                self.change(offset as usize, &vec![0; bytes as usize], fua);
            }
            Command::BlockStatus { .. } => return Reply::Failed(Fault::NotSupported, "it is not asked for"),
        }
        Reply::Done
    }
}

/// Serves until it is killed or asked to stop; in the latter case it saves the content of memory.
fn serve(folder: &Path, address: &Path) {
    let memory = fs::read(folder.join("disk")).expect("the disk was made");
    let file = fs::File::options().write(true).open(folder.join("disk")).expect("the disk was made");
    let disk = Disk { flaw: flaw(folder), before: memory.clone(), memory, file, requests: 0 };
    let disk = Arc::new(Mutex::new(disk));
    let (stopped, file) = (Arc::clone(&disk), folder.join("stop"));
    std::thread::spawn(move || {
        while !file.exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let disk = stopped.lock().unwrap_or_else(PoisonError::into_inner);
        disk.store(0, BYTES);
        std::process::exit(0);
    });
    fs::remove_file(address).ok();
    let listener = UnixListener::bind(address).expect("a new socket");
    while let Ok((socket, _)) = listener.accept() {
        let disk = Arc::clone(&disk);
        std::thread::spawn(move || talk(socket, &disk));
    }
}

fn talk(mut socket: UnixStream, disk: &Mutex<Disk>) -> io::Result<()> {
    let export = Export {
        name: "disk".into(),
        description: String::new(),
        bytes: BYTES as u64,
        block: BlockSizes { minimum: 512, preferred: 4096, maximum: 1 << 20 },
        read_only: false,
        zeroes_fast: true,
    };
    let mut connection: Connection<Vec<u8>> = Connection::new(Arc::new(export), Limits::default());
    while !connection.is_over() {
        while let Some(request) =
            connection.next_request(|bytes| Some(vec![0; bytes])).map_err(io::Error::other)?
        {
            let reply = disk.lock().unwrap_or_else(PoisonError::into_inner).answer(request.command);
            connection.reply(request.pending, reply);
        }
        if connection.wants_to_send() {
            let mut slices = [IoSlice::new(&[]); 16];
            let count = connection.slices(&mut slices);
            let bytes = socket.write_vectored(&slices[..count])?;
            connection.sent(bytes, drop);
            continue;
        }
        match socket.read_vectored(&mut connection.space().map(IoSliceMut::new))? {
            0 => break,
            bytes => connection.received(bytes),
        }
    }
    Ok(())
}
