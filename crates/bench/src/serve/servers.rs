//! The measured servers.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::Arguments;

/// How long a server may take until it listens.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server process that ends with its handle.
pub(crate) struct Server(Child);

impl Server {
    /// Starts the server and waits until it listens at `socket`.
    fn start(command: &mut Command, socket: &Path) -> Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        let child = command.stdout(Stdio::null()).spawn().with_context(|| format!("cannot start {name}"))?;
        let mut server = Self(child);
        let deadline = Instant::now() + PATIENCE;
        while !socket.exists() {
            if let Some(status) = server.0.try_wait()? {
                bail!("{name} ended: {status}");
            }
            ensure!(Instant::now() < deadline, "{name} does not listen at `{}`", socket.display());
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(server)
    }

    /// Processor time of all threads of the server.
    pub(crate) fn cpu_seconds(&self) -> Result<f64> {
        let mut nanoseconds = 0;
        for task in std::fs::read_dir(format!("/proc/{}/task", self.0.id()))? {
            // A thread may end meanwhile.
            let Ok(text) = std::fs::read_to_string(task?.path().join("schedstat")) else { continue };
            let first = text.split_whitespace().next().context("schedstat is empty")?;
            nanoseconds += first.parse::<u64>()?;
        }
        Ok(nanoseconds as f64 / 1e9)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The server's data are discarded.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An array in `folder`, served at its `nbd.sock`, with additional `options`.
pub(crate) fn array(program: &Path, folder: &Path, arguments: &Arguments, options: &str) -> Result<Server> {
    let command = |line: &str| {
        let mut command = Command::new(program);
        command.current_dir(folder).args(line.split_whitespace());
        command.env("STRIPEWISE_STATE_DIR", folder.join("state"));
        command.env("STRIPEWISE_RUNTIME_DIR", folder.join("run"));
        command
    };
    let Arguments { members, mib, .. } = arguments;
    let mut create = command(&format!("create pool --files pool --count {members} --size {mib}MiB"));
    let made = create.args(["--scheme", &arguments.scheme]).output()?;
    ensure!(made.status.success(), "no array is made: {}", String::from_utf8_lossy(&made.stderr));
    let mut serve = command(&format!("serve pool --nbd unix:nbd.sock {options}"));
    Server::start(serve.stderr(Stdio::inherit()), &folder.join("nbd.sock"))
}

/// nbdkit with a file of `bytes` bytes in `folder`, at its `nbdkit.sock`.
pub(crate) fn nbdkit(folder: &Path, bytes: u64) -> Result<Server> {
    let file = folder.join("nbdkit.img");
    File::create(&file)?.set_len(bytes)?;
    let socket = folder.join("nbdkit.sock");
    let mut command = Command::new("nbdkit");
    command.arg("--foreground").arg("--unix").arg(&socket).arg("file").arg(&file);
    Server::start(&mut command, &socket)
}
