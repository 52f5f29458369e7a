//! `stripewise study batches`: a worker of `study run`.

use std::io;

use clap::Args as ClapArgs;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use stripewise_base::units::Bytes;
use stripewise_study::{Watch, serve};

use crate::examples::{Example, section};
use crate::failure::{Failure, Outcome};
use crate::interrupt;

const EXAMPLES: &[Example] = &[("stripewise study batches < /dev/null", "a worker that gets no batch")];

/// Make the batches of runs that another process sends: `study run` starts it
///
/// Reads batches from the standard input, a line each, and reports on the standard output. `study run` and `study worker`
/// start a process of it for each run at a time, so that a run that ends its process does not end the study. It stops when
/// its input ends.
#[derive(Debug, ClapArgs)]
#[command(after_help = section(EXAMPLES))]
pub(crate) struct Args {
    /// The most address space of this process, as in 2GiB; a run that needs more ends the process
    #[arg(long, value_name = "SIZE")]
    memory: Option<Bytes>,
}

/// Continues until the process is asked to end.
struct Worker;

impl Watch for Worker {
    fn may_continue(&self) -> bool {
        !interrupt::requested()
    }
}

pub(crate) fn run(args: &Args) -> Outcome {
    if let Some(Bytes(memory)) = args.memory {
        let Rlimit { maximum, .. } = getrlimit(Resource::As);
        let current = Some(maximum.map_or(memory, |maximum| maximum.min(memory)));
        setrlimit(Resource::As, Rlimit { current, maximum })
            .map_err(|error| Failure::failed(format!("cannot limit the memory of a worker: {error}")))?;
    }
    let name = format!("process {}", std::process::id());
    // Not through the context: what the other process reads is no text for a terminal.
    match serve(&name, io::stdin(), &mut io::stdout().lock(), &Worker) {
        // The other process has ended.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        served => served.map_err(|error| Failure::failed(format!("cannot report: {error}"))),
    }
}
