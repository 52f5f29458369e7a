//! A server of the real program.

#![allow(dead_code, unreachable_pub)]

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Sandbox;
use super::disk::Disk;

/// The output of `stripewise status --json` for the array `pool`.
#[track_caller]
pub fn status(sandbox: &Sandbox) -> Value {
    let output = sandbox.run("status pool --json").stdout;
    serde_json::from_str::<Value>(&output).expect("it says JSON")[0].clone()
}

/// Waits until the status of the array `pool` meets the condition.
#[track_caller]
pub fn wait_until(sandbox: &Sandbox, is_wanted: impl Fn(&Value) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let status = status(sandbox);
        if is_wanted(&status) {
            return;
        }
        assert!(Instant::now() < deadline, "{status}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// `stripewise serve`, ended with its handle.
pub struct Served {
    child: Child,
    name: String,
    socket: PathBuf,
    /// The lines that the server printed before it served.
    pub said: Vec<String>,
}

impl Served {
    /// Starts `stripewise serve NAME OPTIONS` and waits until it serves.
    #[track_caller]
    pub fn start(sandbox: &Sandbox, name: &str, options: &str) -> Self {
        Self::start_by(sandbox.command(), sandbox, name, options)
    }

    /// [`Self::start`], by a command that needs only its arguments.
    #[track_caller]
    pub fn start_by(command: Command, sandbox: &Sandbox, name: &str, options: &str) -> Self {
        Self::start_to(Stdio::inherit(), command, sandbox, name, options)
    }

    /// [`Self::start`], with the log in a file.
    #[track_caller]
    pub fn start_logged(sandbox: &Sandbox, name: &str, options: &str) -> (Self, PathBuf) {
        let path = sandbox.path().join("serve.log");
        let log = File::create(&path).expect("the sandbox can be written");
        (Self::start_to(log.into(), sandbox.command(), sandbox, name, options), path)
    }

    #[track_caller]
    fn start_to(log: Stdio, mut command: Command, sandbox: &Sandbox, name: &str, options: &str) -> Self {
        command.args(["serve", name]).args(options.split_whitespace());
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().expect("the program starts");
        let output = child.stdout.take().expect("it is piped");
        // A line for each address, and one for metrics.
        let words = |wanted: &str| options.split_whitespace().filter(|word| *word == wanted).count();
        let lines = words("--nbd").max(1) + words("--metrics");
        let said: Vec<String> =
            BufReader::new(output).lines().take(lines).map(|line| line.expect("it says lines")).collect();
        let socket = said.iter().find_map(|line| Some(line.split_once(" at unix:")?.1.into()));
        let socket: PathBuf = socket.unwrap_or_else(|| panic!("it serves at a socket: {said:?}"));
        Self { child, name: name.to_owned(), socket: sandbox.path().join(socket), said }
    }

    pub fn disk(&self) -> Disk {
        Disk::connect(&self.socket, &self.name)
    }

    pub fn socket(&self) -> &std::path::Path {
        &self.socket
    }

    /// The server's URI for clients of libnbd.
    pub fn uri(&self) -> String {
        format!("nbd+unix:///?socket={}", self.socket.display())
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills the server, as a loss of power would.
    pub fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    /// Waits for the server's end, which another command caused.
    pub fn wait(mut self) -> i32 {
        self.child.wait().expect("it ends").code().unwrap_or(-1)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // For a test that failed before it ended the server. A server that has ended cannot be killed, which is no
        // error here.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
