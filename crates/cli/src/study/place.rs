//! `stripewise study run --on`: hands a study over to the Python package, which makes runs by Dask on other machines.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::{Failure, Outcome};

/// The variable that names the interpreter.
const PYTHON: &str = "STRIPEWISE_PYTHON";
/// What the interpreter is asked for.
const PROBE: &str = "import stripewise.cluster";
/// Keeps the current folder out of the places of modules: the study may lie in a folder of others, which would run what is
/// called as a module there.
const ONLY_INSTALLED: &str = "-P";
/// The same for the processes that the package starts.
const ONLY_INSTALLED_BELOW: (&str, &str) = ("PYTHONSAFEPATH", "1");

/// Replaces this process by the Python package's command with these arguments.
///
/// # Errors
/// No interpreter that has the package. Does not return otherwise.
pub(super) fn hand_over(arguments: &[String]) -> Outcome {
    let python = python()?;
    let error = interpreter(&python).args(["-m", "stripewise.cluster", "run"]).args(arguments).exec();
    Err(Failure::failed(format!("{}: cannot start it: {error}", python.display())))
}

fn interpreter(python: &Path) -> Command {
    let mut command = Command::new(python);
    let (name, value) = ONLY_INSTALLED_BELOW;
    command.arg(ONLY_INSTALLED).env(name, value);
    command
}

/// The first interpreter that has the package.
fn python() -> Outcome<PathBuf> {
    let of = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let candidates = match of(PYTHON) {
        Some(python) => vec![python],
        None => {
            let active = of("VIRTUAL_ENV").map(|folder| folder.join("bin/python"));
            active.into_iter().chain(["python3", "python"].map(PathBuf::from)).collect()
        }
    };
    let mut reasons = Vec::new();
    for python in candidates {
        match reason_against(&python) {
            None => return Ok(python),
            Some(reason) => reasons.push(format!("{}: {reason}", python.display())),
        }
    }
    Err(Failure::Refused(format!(
        "--on needs the Python package with its extra `study`, in the same build, and no interpreter has it: pip install \
         'stripewise[study]', or name one that has it, as in {PYTHON}=venv/bin/python\n  {}",
        reasons.join("\n  ")
    )))
}

/// Why an interpreter does not have the package; none if it has.
fn reason_against(python: &Path) -> Option<String> {
    let mut probe = interpreter(python);
    probe.args(["-c", PROBE]).stdin(Stdio::null());
    match probe.output() {
        Err(error) => Some(error.to_string()),
        Ok(answer) if answer.status.success() => None,
        Ok(answer) => {
            let text = String::from_utf8_lossy(&answer.stderr);
            let last = text.lines().rfind(|line| !line.trim().is_empty());
            Some(last.map_or_else(|| answer.status.to_string(), str::to_owned))
        }
    }
}
