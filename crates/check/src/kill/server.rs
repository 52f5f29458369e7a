//! The server process, and other commands on its array.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use serde::Deserialize;
use stripewise_base::prng::Prng;

use super::Broken;
use super::link::Link;
use super::power::Power;

/// The array's name.
const NAME: &str = "killed";
/// How long a process whose connection is closed takes to end.
const ENDING_TIME: Duration = Duration::from_millis(500);
/// How long a server may take to stop.
const STOPPING_TIME: Duration = Duration::from_secs(60);

/// The folder of an array, and the command for it.
#[derive(Debug)]
pub(super) struct ArrayFolder {
    program: PathBuf,
    folder: PathBuf,
}

impl ArrayFolder {
    pub(super) fn new(program: &Path, folder: &Path) -> Self {
        Self { program: program.into(), folder: folder.into() }
    }

    fn members(&self) -> PathBuf {
        self.folder.join("members")
    }

    fn socket(&self) -> PathBuf {
        self.folder.join("nbd.sock")
    }

    fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// The command, with its state kept inside the folder.
    fn command(&self, verb: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(verb).arg(NAME).stdin(Stdio::null());
        command.env("STRIPEWISE_STATE_DIR", self.folder.join("state"));
        command.env("STRIPEWISE_RUNTIME_DIR", self.folder.join("run"));
        command
    }

    /// Creates the array.
    pub(super) fn create(&self, scheme: &str, members: u16, size: &str) -> anyhow::Result<()> {
        let mut command = self.command("create");
        command.arg("--files").arg(self.members()).arg("--scheme").arg(scheme);
        command.args(["--count", &members.to_string(), "--size", size]);
        self.run(command).context("the array could not be made")
    }

    /// The array's members for a power loss.
    pub(super) fn power(&self, deaf: Option<usize>, random: Prng) -> Power {
        Power::new(self.members(), self.folder.join("unflushed"), deaf, random)
    }

    /// A file in the folder of members.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.members().join(name)
    }

    /// Sends a command to the server.
    pub(super) fn ask(&self, verb: &str, arguments: &[&str]) -> anyhow::Result<()> {
        let mut command = self.command(verb);
        command.args(arguments);
        self.run(command).map_err(|error| Broken(format!("`{verb}` fails: {error:#}")).into())
    }

    /// The status of the served array.
    pub(super) fn status(&self) -> anyhow::Result<Status> {
        let mut command = self.command("status");
        // The command succeeds only if the array is clean.
        let output = command.arg("--json").output().with_context(|| format!("cannot run {command:?}"))?;
        let [status] = serde_json::from_slice(&output.stdout).with_context(|| {
            format!("`status` said what is not understood: {}", String::from_utf8_lossy(&output.stdout))
        })?;
        Ok(status)
    }

    /// Checks the array while no server is running.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        self.run(self.command("check"))
            .map_err(|error| Broken(format!("`check` is not clean: {error:#}")).into())
    }

    fn run(&self, mut command: Command) -> anyhow::Result<()> {
        let output = command.output().with_context(|| format!("cannot run {}", self.program.display()))?;
        if output.status.success() {
            return Ok(());
        }
        let said = [output.stdout, output.stderr].concat();
        Err(anyhow!("{command:?} ended with {}: {}", output.status, String::from_utf8_lossy(&said)))
    }
}

/// The status of an array, as far as this test needs it.
#[derive(Debug, Deserialize)]
pub(super) struct Status {
    pub(super) health: String,
    /// Whether the array has no space: it is then not clean, and as redundant as before.
    #[serde(default)]
    pub(super) full: bool,
    #[serde(default)]
    pub(super) last_scrub: Option<Scrubbed>,
    #[serde(alias = "elements")]
    pub(super) members: Vec<MemberStatus>,
}

/// The state of a member.
#[derive(Debug, Deserialize)]
pub(super) struct MemberStatus {
    pub(super) number: u16,
    pub(super) state: String,
    /// By kind, since the server started.
    #[serde(default)]
    pub(super) total_errors: BTreeMap<String, u64>,
}

/// The counts of a scrub.
#[derive(Debug, Deserialize)]
pub(super) struct Scrubbed {
    pub(super) damaged: u64,
    pub(super) lost: u64,
    #[serde(default)]
    pub(super) metadata_damaged: u64,
}

impl Status {
    /// A member that is out of service and not being replaced.
    pub(super) fn out_of_service(&self) -> Option<u16> {
        let is_out = |member: &&MemberStatus| matches!(member.state.as_str(), "failed" | "absent" | "stale");
        self.members.iter().find(is_out).map(|member| member.number)
    }
}

/// A running server.
#[derive(Debug)]
pub(super) struct Server<'a> {
    child: Child,
    place: &'a ArrayFolder,
}

impl<'a> Server<'a> {
    /// Starts a server; `power` records its writes.
    pub(super) fn start(place: &'a ArrayFolder, power: Option<&mut Power>) -> anyhow::Result<Self> {
        let log = || -> io::Result<File> { OpenOptions::new().create(true).append(true).open(place.log()) };
        let mut command = place.command("serve");
        command.arg("--nbd").arg(format!("unix:{}", place.socket().display()));
        if let Some(power) = power {
            power.on()?;
            command.arg("--record-unflushed").arg(power.recordings());
        }
        command.stdout(log()?).stderr(log()?);
        let child = command.spawn().with_context(|| format!("cannot run {}", place.program.display()))?;
        Ok(Self { child, place })
    }

    /// Opens `count` connections, once the server accepts them.
    pub(super) fn connect(&mut self, count: usize, until: Instant) -> anyhow::Result<Vec<Link>> {
        let mut links = Vec::new();
        while links.len() < count {
            match UnixStream::connect(self.place.socket()) {
                Ok(socket) => links.push(Link::new(socket)?),
                Err(error) => {
                    self.lives()?;
                    if Instant::now() > until {
                        return Err(self.broken(&format!("the server takes no connection: {error}")));
                    }
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        }
        Ok(links)
    }

    /// Fails if the server has ended by itself.
    pub(super) fn lives(&mut self) -> anyhow::Result<()> {
        match self.child.try_wait()? {
            Some(status) => Err(self.broken(&format!("the server ended by itself with {status}"))),
            None => Ok(()),
        }
    }

    /// The cause of an error: if the server ended by itself, this says more than the errors of its connections.
    pub(super) fn why(&mut self, error: anyhow::Error) -> anyhow::Error {
        let until = Instant::now() + ENDING_TIME;
        while Instant::now() < until {
            if let Err(ended) = self.lives() {
                return ended;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        error
    }

    /// Kills the server with SIGKILL, so that it cannot clean up.
    pub(super) fn kill(&mut self) -> anyhow::Result<()> {
        self.lives()?;
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Asks the server to stop, and requires a clean exit.
    pub(super) fn stop(mut self) -> anyhow::Result<()> {
        self.place.run(self.place.command("stop"))?;
        let until = Instant::now() + STOPPING_TIME;
        loop {
            match self.child.try_wait()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => {
                    return Err(self.broken(&format!("asked to stop, the server ended with {status}")));
                }
                None if Instant::now() > until => {
                    return Err(self.broken("asked to stop, the server continues"));
                }
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    /// A broken promise, with the end of the server's output.
    fn broken(&self, what: &str) -> anyhow::Error {
        let log = std::fs::read(self.place.log()).unwrap_or_default();
        let end = String::from_utf8_lossy(&log[log.len().saturating_sub(2000)..]).into_owned();
        Broken(format!("{what}; the end of its log:\n{end}")).into()
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        // The server has already ended, or a failure is about to be reported; in either case no process is left
        // behind.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
