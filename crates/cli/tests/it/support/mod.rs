//! Runs the program as a user does, in a directory of its own, and checks its output.

#![allow(dead_code, unreachable_pub)]

pub mod disk;
pub mod served;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A directory for one test.
pub struct Sandbox {
    folder: tempfile::TempDir,
}

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Sandbox {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("there is room for temporary files") }
    }

    /// A sandbox with a small trace in MSR format, `trace.csv`.
    pub fn with_trace() -> Self {
        let sandbox = Self::new();
        sandbox.write("trace.csv", &msr_trace(400));
        sandbox
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, text).expect("the sandbox can be written");
        path
    }

    pub fn command(&self) -> Command {
        self.within(Command::new(env!("CARGO_BIN_EXE_stripewise")))
    }

    /// `command` in the directory, and with its folders.
    pub fn within(&self, mut command: Command) -> Command {
        command
            .current_dir(self.path())
            .stdin(Stdio::null())
            .env("STRIPEWISE_STATE_DIR", self.path().join("state"))
            .env("STRIPEWISE_RUNTIME_DIR", self.path().join("run"))
            .env("STRIPEWISE_CACHE_DIR", self.path().join("cache"))
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR_FORCE");
        command
    }

    /// Runs the program with the words of `line`.
    pub fn run(&self, line: &str) -> Ended {
        self.run_words(line.split_whitespace())
    }

    pub fn run_words<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Ended {
        let output = self.command().args(words).output().expect("the program starts");
        Ended {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).expect("the output is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("the errors are UTF-8"),
        }
    }
}

impl Ended {
    /// The standard output of a command that must have succeeded.
    #[track_caller]
    pub fn success(self) -> String {
        assert_eq!(self.code, 0, "{}{}", self.stdout, self.stderr);
        self.stdout
    }

    /// The standard error of a command that must have failed with `code` and a message, without a panic.
    #[track_caller]
    pub fn failure(self, code: i32) -> String {
        assert_eq!(self.code, code, "{}{}", self.stdout, self.stderr);
        assert!(self.stderr.starts_with("error: "), "{}", self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self.stderr
    }
}

/// Requests with a spread of sizes, offsets and intervals, in MSR format.
pub fn msr_trace(requests: u64) -> String {
    let mut text = String::new();
    for n in 0..requests {
        let time = 128_166_372_000_000_000 + n * n % 97 * 10 + n * 2_000;
        let kind = if n % 3 == 0 { "Read" } else { "Write" };
        let offset = n * 7919 % 4096 * 4096;
        let size = 4096 * (1 + n % 5);
        text.push_str(&format!("{time},host,{},{kind},{offset},{size},100\n", n % 2));
    }
    text
}

/// Compares `actual` with the file `golden/NAME`; with STRIPEWISE_BLESS=1 writes that file instead.
#[track_caller]
pub fn golden(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("STRIPEWISE_BLESS").is_some() {
        std::fs::write(&path, actual).expect("the golden file can be written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(actual, expected, "{name} differs; if that is meant, run the test with STRIPEWISE_BLESS=1");
}

/// `text` without run digests and measured times: the rest is the same on every machine.
pub fn masked(text: &str) -> String {
    let mut masked = String::new();
    for line in text.lines() {
        let line = match line.find("computed in ") {
            Some(at) => format!("{}computed in <time>", &line[..at]),
            None => line.to_owned(),
        };
        let mut rest = line.as_str();
        while let Some(at) = digest(rest) {
            masked.push_str(&rest[..at]);
            masked.push_str("<digest>");
            rest = &rest[at + 64..];
        }
        masked.push_str(rest);
        masked.push('\n');
    }
    masked
}

/// Where a digest begins in `text`.
fn digest(text: &str) -> Option<usize> {
    text.as_bytes().windows(64).position(|window| window.iter().all(u8::is_ascii_hexdigit))
}
