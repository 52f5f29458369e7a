//! Makes the runs of a plan in worker processes, so that a run that ends its process does not end the study.
//!
//! A worker gets batches by its standard input, one a line. By its standard output it sends lines: first `worker` and its
//! build, then for each batch its reports (`report JSON`) and `done`, or `error` and a text as JSON, after which it ends. A
//! worker stops when its input ends, so it does not outlive the command that started it, however that ended.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;

use crate::batch::Batch;
use crate::coordinator::{Options, Outcome};
use crate::error::Error;
use crate::make::Watch;
use crate::plan::Plan;
use crate::run::{Hand, drive};
use crate::store::StudyStore;
use crate::worker::Worker;

/// Workers of a thread that end one after the other before they are ready, at which the study ends. One may be killed by
/// chance.
const STARTS: u32 = 8;
/// Bytes of a worker's last errors that are kept.
const ERRORS_KEPT: usize = 2048;

/// The command of a worker, which calls [`serve`]. Its standard streams are set by the caller.
pub type Start<'a> = dyn Fn() -> Result<Command, Error> + Sync + 'a;

/// Makes the runs of `plan` that `store` lacks in worker processes, and commits them in batches. The batch of a worker that
/// dies is handed out again, as often as the study retries a run; then it is halved until the run that kills its worker is
/// alone and fails. What another command commits meanwhile is made twice, with equal results.
///
/// # Errors
/// A worker that cannot be started; a store that cannot be read or written; a trace that has changed;
/// [`Error::NotReproduced`]; [`stripewise_runs::Error::Stopped`].
pub fn run_in_processes(
    plan: &Arc<Plan>,
    store: &StudyStore,
    options: &Options,
    watch: &dyn Watch,
    start: &Start<'_>,
) -> Result<Outcome, Error> {
    let inputs: Vec<Input> = (0..options.workers.max(1)).map(|_| Input::default()).collect();
    let work = |hand: &Hand<'_>, at: usize| -> Result<(), Error> {
        let mut idle = None;
        while let Some(batch) = hand.next() {
            let started = || Process::start(start, &inputs[at]);
            let mut process = idle.take().map_or_else(started, Ok)?;
            match process.make(&batch, hand)? {
                Made::Done => idle = Some(process),
                Made::Died(_) if !hand.may_continue() => break,
                Made::Died(reason) => {
                    hand.report(|coordinator| coordinator.lost(batch.id, &reason))?;
                }
            }
        }
        Ok(())
    };
    drive(plan, store, options, watch, &work, &|| inputs.iter().for_each(Input::close))
}

/// The standard input of the worker of a thread. Another thread closes it to stop the worker.
#[derive(Debug, Default)]
struct Input(Mutex<Option<ChildStdin>>);

impl Input {
    fn lock(&self) -> MutexGuard<'_, Option<ChildStdin>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        drop(self.lock().take());
    }
}

/// A worker process. It is stopped and waited for when this is dropped.
#[derive(Debug)]
struct Process<'a> {
    child: Child,
    input: &'a Input,
    output: BufReader<ChildStdout>,
    /// Reads what the worker writes to its standard error.
    errors: Option<JoinHandle<String>>,
}

/// The end of a batch.
#[derive(Debug)]
enum Made {
    Done,
    /// The worker is dead, for this reason.
    Died(String),
}

impl Drop for Process<'_> {
    fn drop(&mut self) {
        self.input.close();
        // A worker that has ended already is no error.
        let _ = self.child.wait();
    }
}

impl<'a> Process<'a> {
    /// Starts a worker, and waits until it is ready.
    fn start(start: &Start<'_>, input: &'a Input) -> Result<Self, Error> {
        for _ in 1..STARTS {
            if let Ok(process) = Self::started(start, input)? {
                return Ok(process);
            }
        }
        Self::started(start, input)?
            .map_err(|reason| Error::Worker(format!("workers end before they are ready: {reason}")))
    }

    /// A worker that is ready, or why it is dead.
    fn started(start: &Start<'_>, input: &'a Input) -> Result<Result<Self, String>, Error> {
        let mut command = start()?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // The reason of its death is a line.
        command.env("RUST_BACKTRACE", "0");
        // Ctrl-C on the terminal is for the command, which stops its workers.
        command.process_group(0);
        let program = command.get_program().to_owned();
        let mut child = command.spawn().map_err(Error::io(program.as_ref(), "start a worker"))?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = streams else {
            unreachable!("the streams of a worker are pipes")
        };
        *input.lock() = Some(stdin);
        let errors = Some(std::thread::spawn(move || last_errors(stderr)));
        let mut process = Self { child, input, output: BufReader::new(stdout), errors };
        match process.line().as_deref().and_then(|line| line.strip_prefix("worker ")) {
            Some(build) if build == stripewise_runs::version() => Ok(Ok(process)),
            Some(build) => {
                let (worker, has) = (process.name(), build.to_owned());
                Err(Error::OtherBuild { worker, has, needs: stripewise_runs::version() })
            }
            None => Ok(Err(process.reason())),
        }
    }

    fn name(&self) -> String {
        format!("process {}", self.child.id())
    }

    /// A line of the worker; none if it is dead.
    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        self.output.read_line(&mut line).ok()?;
        // A line without end is one that the worker died over.
        line.strip_suffix('\n').map(str::to_owned)
    }

    /// Lets the worker make a batch.
    fn make(&mut self, batch: &Batch, hand: &Hand<'_>) -> Result<Made, Error> {
        let mut bytes = batch.to_bytes();
        bytes.push(b'\n');
        let is_sent = self.input.lock().as_mut().is_some_and(|input| input.write_all(&bytes).is_ok());
        while is_sent && let Some(line) = self.line() {
            match line.split_once(' ').unwrap_or((line.as_str(), "")) {
                ("report", report) => hand.report(|coordinator| coordinator.report(report.as_bytes()))?,
                ("done", "") => return Ok(Made::Done),
                ("error", text) => {
                    let text = serde_json::from_str(text).unwrap_or_else(|_| text.to_owned());
                    return Err(Error::Worker(text));
                }
                _ => return Err(Error::Worker(format!("{} sends no report: {line}", self.name()))),
            }
        }
        Ok(Made::Died(self.reason()))
    }

    /// Why the worker is dead.
    fn reason(&mut self) -> String {
        self.input.close();
        let ended = self.child.wait().map_or_else(|error| error.to_string(), how);
        let errors = self.errors.take().and_then(|errors| errors.join().ok()).unwrap_or_default();
        // Rust's notes are about its own options.
        match errors.lines().rfind(|line| !line.trim().is_empty() && !line.starts_with("note: ")) {
            Some(last) => format!("{ended}: {last}"),
            None => ended,
        }
    }
}

/// How a process ended.
fn how(status: ExitStatus) -> String {
    let name = |signal| {
        [(6, " (SIGABRT)"), (9, " (SIGKILL)"), (11, " (SIGSEGV)")].iter().find(|(its, _)| *its == signal)
    };
    match (status.signal(), status.code()) {
        (Some(signal), _) => {
            format!("it was ended by signal {signal}{}", name(signal).map_or("", |(_, name)| name))
        }
        (_, Some(code)) => format!("it ended with code {code}"),
        _ => status.to_string(),
    }
}

/// Reads to the end, and keeps the last of it.
fn last_errors(mut errors: ChildStderr) -> String {
    let (mut kept, mut piece) = (Vec::new(), [0; 1024]);
    while let Ok(count @ 1..) = errors.read(&mut piece) {
        kept.extend_from_slice(&piece[..count]);
        let surplus = kept.len().saturating_sub(ERRORS_KEPT);
        kept.drain(..surplus);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// Stops a worker when its input has ended.
struct Serving<'a> {
    has_ended: &'a AtomicBool,
    watch: &'a dyn Watch,
}

impl Watch for Serving<'_> {
    fn may_continue(&self) -> bool {
        !self.has_ended.load(Ordering::Relaxed) && self.watch.may_continue()
    }
}

/// Works for [`run_in_processes`]: makes the batches of `input`, until it ends, and reports by `output`. `name` is what errors
/// call this worker.
///
/// # Errors
/// None: the process that started this one gets them all. If that has ended, the results are committed all the same.
pub fn serve(
    name: &str,
    input: impl Read + Send + 'static,
    output: &mut dyn Write,
    watch: &dyn Watch,
) -> io::Result<()> {
    let has_ended = Arc::new(AtomicBool::new(false));
    let (sender, batches) = mpsc::channel();
    let ended = Arc::clone(&has_ended);
    // A thread of its own, so that the end of the input is noticed while a run is made.
    std::thread::spawn(move || {
        let mut lines = BufReader::new(input).split(b'\n');
        while let Some(Ok(batch)) = lines.next() {
            if sender.send(batch).is_err() {
                break;
            }
        }
        ended.store(true, Ordering::Relaxed);
    });
    let mut send = |line: &str| -> io::Result<()> {
        writeln!(output, "{line}")?;
        output.flush()
    };
    send(&format!("worker {}", stripewise_runs::version()))?;
    let (worker, watch) = (Worker::new(name), Serving { has_ended: &has_ended, watch });
    for batch in batches {
        let made = worker.execute(&batch, &watch, &mut |report| {
            send(&format!("report {}", String::from_utf8_lossy(&report)))
                .map_err(|error| Error::Worker(error.to_string()))
        });
        match made {
            Ok(()) => send("done")?,
            Err(Error::Runs(stripewise_runs::Error::Stopped)) => break,
            Err(error) => {
                let text = serde_json::Value::from(error.to_string());
                return send(&format!("error {text}"));
            }
        }
    }
    Ok(())
}
