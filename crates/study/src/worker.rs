//! A worker: makes batches that a coordinator elsewhere has handed out.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::batch::{Received, Report};
use crate::error::Error;
use crate::file::StudyFile;
use crate::make::{Watch, Watching, make_all};
use crate::plan::Plan;
use crate::schedule::Task;
use crate::store::StudyStore;

/// Plans that a worker keeps between batches.
const PLANS_KEPT: usize = 16;

/// The digests of a plan and of the text of its file.
type PlanKey = ([u8; 32], [u8; 32]);

/// Makes batches. Resolves the plan of a batch once.
#[derive(Debug)]
pub struct Worker {
    name: String,
    build: String,
    /// By the digests of the plan and of the study file, which says more than the plan: how long a run may take, for example.
    plans: Mutex<BTreeMap<PlanKey, Arc<Plan>>>,
}

impl Worker {
    /// A worker, which errors call `name`: its host and process, for example.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), build: stripewise_runs::version(), plans: Mutex::default() }
    }

    /// Makes the runs of a batch and commits them to the store of its study. After each commit `each` gets a report for
    /// [`crate::Coordinator::report`]: the last one when all runs have ended, earlier ones if the batch takes longer than
    /// the study's time between commits.
    ///
    /// # Errors
    /// [`Error::OtherBuild`]; a trace that is not here, or not the same; a store that cannot be written; those of `each`;
    /// [`stripewise_runs::Error::Stopped`], after finished runs were committed and reported.
    pub fn execute(
        &self,
        batch: &[u8],
        watch: &dyn Watch,
        each: &mut dyn FnMut(Vec<u8>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let received = Received::from_bytes(batch, &self.name, &self.build)?;
        let plan = self.plan(&received, watch)?;
        let store = StudyStore::open(Path::new(&received.store))?;
        let mut tasks = Vec::with_capacity(received.runs.len());
        for (index, scheme, seed) in received.runs {
            let cell = plan.cell(index).filter(|cell| scheme < 64 && cell.schemes >> scheme & 1 == 1);
            let wrong = || Error::Spec(format!("the plan has no point {index} with a scheme {scheme}"));
            tasks.push(Task::new(&plan, cell.ok_or_else(wrong)?, scheme, seed, 0));
        }
        make_all(&plan, &store, &tasks, received.commit, watch, &mut |ended| {
            each(Report { batch: received.id, ended }.to_bytes())
        })
    }

    /// The plan of a batch.
    fn plan(&self, batch: &Received, watch: &dyn Watch) -> Result<Arc<Plan>, Error> {
        let lock = || self.plans.lock().expect("no thread panics while it holds the plans");
        let key = (batch.plan.0, *blake3::hash(batch.text.as_bytes()).as_bytes());
        if let Some(known) = lock().get(&key) {
            return Ok(Arc::clone(known));
        }
        let file = StudyFile::parse_given(&batch.file, &batch.text, batch.texts.clone())?;
        let plan = Arc::new(Plan::elsewhere(file, &batch.traces, &Watching(watch))?);
        if plan.digest() != batch.plan {
            return Err(Error::Spec(format!(
                "worker {} resolves the study to plan {}, and its coordinator to {}; report this as a mistake of the program",
                self.name,
                plan.digest(),
                batch.plan
            )));
        }
        let mut plans = lock();
        if plans.len() >= PLANS_KEPT {
            plans.clear();
        }
        plans.insert(key, Arc::clone(&plan));
        Ok(plan)
    }
}
