//! What the commands about studies share: the file, its store, and how their errors end.

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use stripewise_study::{Error, Plan, StudyFile, StudyStore};

use crate::comparison::Patient;
use crate::failure::{Failure, Outcome};

/// The study that a command is about.
#[derive(Debug, ClapArgs)]
pub(crate) struct FileArgs {
    /// The study file
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl FileArgs {
    /// Reads and resolves the file.
    pub(crate) fn plan(&self) -> Outcome<Plan> {
        Ok(Plan::new(StudyFile::read(&self.file)?, &Patient)?)
    }
}

/// The study and its store.
#[derive(Debug, ClapArgs)]
pub(crate) struct StoreArgs {
    #[command(flatten)]
    study: FileArgs,

    /// The results: a folder, or a URL as in s3://BUCKET/PREFIX [default: what the study file names]
    ///
    /// Also gs://BUCKET/PREFIX and az://CONTAINER/PREFIX. Credentials are in the environment variables of the vendor's own
    /// programs, such as AWS_ACCESS_KEY_ID.
    #[arg(long, value_name = "PLACE")]
    store: Option<PathBuf>,
}

impl StoreArgs {
    /// The study of a file, with its results at `store` or where the file says.
    pub(crate) fn of(file: &Path, store: Option<&Path>) -> Self {
        Self { study: FileArgs { file: file.to_owned() }, store: store.map(Path::to_owned) }
    }

    pub(crate) fn open(&self) -> Outcome<(Plan, StudyStore)> {
        let plan = self.study.plan()?;
        let store = self.store_of(plan.file())?;
        Ok((plan, store))
    }

    /// The study file and the place of results, as arguments of another command.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![self.study.file.display().to_string()];
        arguments.extend(self.store.iter().map(|store| format!("--store={}", store.display())));
        arguments
    }

    /// The store alone: no trace is read.
    pub(crate) fn store(&self) -> Outcome<StudyStore> {
        self.store_of(&StudyFile::read(&self.study.file)?)
    }

    fn store_of(&self, file: &StudyFile) -> Outcome<StudyStore> {
        Ok(StudyStore::open(self.store.as_ref().unwrap_or(&file.store))?)
    }
}

/// What the texts of an option stand for.
pub(crate) fn given<T>(
    option: &str,
    texts: &[String],
    of: impl Fn(&str) -> Result<T, String>,
) -> Outcome<Vec<T>> {
    let one = |text: &String| of(text).map_err(|message| Failure::usage(format!("{option}: {message}")));
    texts.iter().map(one).collect()
}

/// Processor time in the unit that fits.
pub(crate) fn cpu(ns: u128) -> String {
    let seconds = ns as f64 / 1e9;
    if seconds < 120.0 {
        format!("{seconds:.0} s")
    } else if seconds < 7200.0 {
        format!("{:.0} min", seconds / 60.0)
    } else {
        format!("{:.0} core hours", seconds / 3600.0)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Runs(error) => error.into(),
            Error::Text(_) | Error::Spec(_) => Self::Refused(error.to_string()),
            other => Self::Failed(other.to_string()),
        }
    }
}
