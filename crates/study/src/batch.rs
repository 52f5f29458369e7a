//! Batches and reports as bytes: what passes between a coordinator and workers in other processes and on other machines.
//!
//! A batch is all that a worker needs beside the program: the study file with the texts of its files, the digests of its
//! traces, the place of the store, and the runs. It names the build that it was made by, and the digest of the plan, which a
//! worker compares with its own before it runs anything.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use stripewise_results::Digest;

use crate::error::Error;
use crate::make::{Ended, Made, Reason};
use crate::plan::Plan;
use crate::row::{hex, unhex};
use crate::schedule::Task;
use crate::sources::Texts;
use crate::store::{KnownRow, StudyStore};

/// The form of the bytes. Workers refuse another one.
const FORMAT: u64 = 1;

/// Runs that are to be made by one worker.
#[derive(Clone, Debug)]
pub struct Batch {
    pub(crate) id: u64,
    pub(crate) plan: Arc<Plan>,
    pub(crate) store: StudyStore,
    /// The time between two commits.
    pub(crate) batch: Duration,
    pub(crate) tasks: Vec<Task>,
}

impl Batch {
    /// Its number, unique for its coordinator.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The number of its runs, at least one.
    pub fn runs(&self) -> usize {
        self.tasks.len()
    }

    /// The batch as self-contained bytes, for [`crate::Worker::execute`] in any process of the same build.
    pub fn to_bytes(&self) -> Vec<u8> {
        let file = self.plan.file();
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let run = |task: &Task| json!([task.cell.index, task.scheme, task.seed]);
        let traces: BTreeMap<&str, &str> = self.plan.trace_digests().collect();
        json!({
            "format": FORMAT,
            "build": self.plan.version(),
            "plan": hex(&self.plan.digest().0),
            "id": self.id,
            "store": self.store.place(),
            "file": absolute(&file.path),
            "text": file.text,
            "texts": file.texts,
            "traces": traces,
            "commit_ns": self.batch.as_nanos() as u64,
            "runs": self.tasks.iter().map(run).collect::<Vec<_>>(),
        })
        .to_string()
        .into_bytes()
    }
}

/// A batch that a worker has received.
pub(crate) struct Received {
    pub(crate) id: u64,
    pub(crate) plan: Digest,
    pub(crate) store: String,
    pub(crate) file: PathBuf,
    pub(crate) text: String,
    pub(crate) texts: Texts,
    pub(crate) traces: BTreeMap<String, String>,
    pub(crate) commit: Duration,
    /// Point, scheme and seed of each run.
    pub(crate) runs: Vec<(u64, usize, u64)>,
}

fn wrong(what: &str) -> Error {
    Error::Spec(format!("this is no batch or report of a study: {what}"))
}

fn text(value: &Value, key: &str) -> Result<String, Error> {
    Ok(value[key].as_str().ok_or_else(|| wrong(&format!("it has no `{key}`")))?.to_owned())
}

fn number(value: &Value, key: &str) -> Result<u64, Error> {
    value[key].as_u64().ok_or_else(|| wrong(&format!("it has no `{key}`")))
}

fn texts(value: &Value, key: &str) -> Result<BTreeMap<String, String>, Error> {
    let map = value[key].as_object().ok_or_else(|| wrong(&format!("it has no `{key}`")))?;
    let pair = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
    map.iter().map(pair).collect::<Option<_>>().ok_or_else(|| wrong(key))
}

fn parsed(bytes: &[u8]) -> Result<Value, Error> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| wrong(&error.to_string()))?;
    Ok(value)
}

impl Received {
    /// Reads a batch for the worker `name` of this `build`.
    pub(crate) fn from_bytes(bytes: &[u8], name: &str, build: &str) -> Result<Self, Error> {
        let value = parsed(bytes)?;
        // First of all: another build may have another form of the rest.
        let needs = text(&value, "build")?;
        if needs != build || number(&value, "format")? != FORMAT {
            let (worker, has) = (name.to_owned(), build.to_owned());
            return Err(Error::OtherBuild { worker, has, needs });
        }
        let run = |run: &Value| {
            let scheme = usize::try_from(run[1].as_u64()?).ok()?;
            Some((run[0].as_u64()?, scheme, run[2].as_u64()?))
        };
        let runs = value["runs"].as_array().ok_or_else(|| wrong("it has no `runs`"))?;
        Ok(Self {
            id: number(&value, "id")?,
            plan: unhex(&text(&value, "plan")?).map(Digest).ok_or_else(|| wrong("`plan` is no digest"))?,
            store: text(&value, "store")?,
            file: text(&value, "file")?.into(),
            text: text(&value, "text")?,
            texts: texts(&value, "texts")?,
            traces: texts(&value, "traces")?,
            commit: Duration::from_nanos(number(&value, "commit_ns")?),
            runs: runs.iter().map(run).collect::<Option<_>>().ok_or_else(|| wrong("a run is damaged"))?,
        })
    }
}

/// Runs of a batch that have ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Report {
    pub(crate) batch: u64,
    pub(crate) ended: Vec<Ended>,
}

impl Report {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let run = |Ended { key, outcome }: &Ended| match outcome {
            Ok(Made { row, value }) => json!({
                "key": hex(key),
                "run": hex(&row.run.0),
                "results": hex(&row.results.0),
                "drifting": row.is_drifting,
                "cpu_ns": row.cpu_ns,
                // All bits of the value: decisions must not depend on who made the run.
                "value": format!("{:016x}", value.to_bits()),
            }),
            Err(reason) => {
                json!({ "key": hex(key), "failed": reason.message, "refused": reason.is_refused })
            }
        };
        let ended: Vec<Value> = self.ended.iter().map(run).collect();
        json!({ "report": self.batch, "ended": ended }).to_string().into_bytes()
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let value = parsed(bytes)?;
        let run = |run: &Value| -> Result<Ended, Error> {
            let key = unhex(&text(run, "key")?).ok_or_else(|| wrong("a key is damaged"))?;
            if let Some(message) = run["failed"].as_str() {
                let is_refused = run["refused"].as_bool().unwrap_or_default();
                return Ok(Ended { key, outcome: Err(Reason { message: message.to_owned(), is_refused }) });
            }
            let digest =
                |name: &str| unhex(&text(run, name)?).map(Digest).ok_or_else(|| wrong("a digest is damaged"));
            let value =
                u64::from_str_radix(&text(run, "value")?, 16).map_err(|_| wrong("`value` is damaged"))?;
            let row = KnownRow {
                run: digest("run")?,
                results: digest("results")?,
                is_drifting: run["drifting"].as_bool().unwrap_or_default(),
                cpu_ns: number(run, "cpu_ns")?,
            };
            Ok(Ended { key, outcome: Ok(Made { row, value: f64::from_bits(value) }) })
        };
        let ended = value["ended"].as_array().ok_or_else(|| wrong("it has no `ended`"))?;
        Ok(Self { batch: number(&value, "report")?, ended: ended.iter().map(run).collect::<Result<_, _>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn outcome() -> impl Strategy<Value = Result<Made, Reason>> {
        let made = (any::<[u8; 32]>(), any::<[u8; 32]>(), any::<bool>(), any::<u64>(), any::<u64>());
        let made = made.prop_map(|(run, results, is_drifting, cpu_ns, bits)| {
            let value = Some(f64::from_bits(bits)).filter(|value| !value.is_nan()).unwrap_or(0.1);
            Ok(Made {
                row: KnownRow { run: Digest(run), results: Digest(results), is_drifting, cpu_ns },
                value,
            })
        });
        let failed = (any::<String>(), any::<bool>())
            .prop_map(|(message, is_refused)| Err(Reason { message, is_refused }));
        prop_oneof![made, failed]
    }

    proptest! {
        #[test]
        fn a_report_is_read_as_it_was_written(
            batch: u64,
            ended in prop::collection::vec((any::<[u8; 16]>(), outcome()), 0..20),
        ) {
            let ended = ended.into_iter().map(|(key, outcome)| Ended { key, outcome }).collect();
            let report = Report { batch, ended };
            prop_assert_eq!(Report::from_bytes(&report.to_bytes()).unwrap(), report);
        }

        #[test]
        fn bytes_that_are_no_report_or_batch_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(Report::from_bytes(&bytes).is_err());
            prop_assert!(Received::from_bytes(&bytes, "here", "1").is_err());
        }
    }
}
