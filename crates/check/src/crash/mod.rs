//! The crash checker: arrays lose power at any time, keep any part of their unflushed writes, and are assembled
//! again.
//!
//! The reference is `docs/design/fault-contract.md`. A [`CrashCase`] contains everything that determines one life of an array.
//! Seeds are cases that are drawn at random; a [`Script`] stands for all crashes of a few requests.

mod case;
mod corruption;
mod counts;
mod draw;
mod faults;
mod joining;
mod members;
#[cfg(test)]
mod mirror;
mod monitor;
mod oracle;
mod scenario;
mod server;
mod shape;
mod shrink;
mod sim_driver;
mod sim_media;
mod small;
mod survival;
mod system_under_test;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use stripewise_array::{Array, Bug, PageMemory};

pub use case::{Comeback, CrashCase, Cut, Era, Moment, PutBack, Strike};
pub use corruption::{Corruption, Target};
pub use counts::Counts;
pub use faults::{Fault, NewFault};
pub use members::Wrong;
pub use monitor::Policy;
pub use oracle::Question;
pub use shape::{Kind, Shape};
pub use small::{Effort, Script};
pub use survival::Survival;

use crate::run::words_of_panic;
use scenario::Scenario;

/// A case that breaks a promise.
#[derive(Clone, Debug)]
pub struct Broken {
    /// The case.
    pub case: Box<CrashCase>,
    /// The violation.
    pub what: String,
}

/// Runs cases, one after the other. New arrays are created once and copied.
pub struct Checker {
    bug: Option<Bug>,
    corruption: Option<Target>,
    faults: Vec<Fault>,
    /// The share of lives that end with one of the new faults.
    faults_percent: u64,
    questions: Vec<Question>,
    arrays: BTreeMap<Shape, Scenario>,
}

/// The number of new arrays that a checker keeps. All shapes that seeds draw in an hour would take some gigabytes.
const MOST_ARRAYS: usize = 256;

/// The system under test.
type Checked = Array<PageMemory>;

impl Checker {
    /// A checker of controllers with planted `bug`; without debug assertions no bug can be planted.
    pub fn new(bug: Option<Bug>) -> Self {
        Self {
            bug,
            corruption: None,
            faults: Fault::ALL.to_vec(),
            faults_percent: 10,
            questions: Question::ALL.to_vec(),
            arrays: BTreeMap::new(),
        }
    }

    /// Ends every life of a seed with corruption of `target`, if the array has that structure.
    pub fn corrupts(mut self, target: Option<Target>) -> Self {
        self.corruption = target;
        self
    }

    /// Ends every life of a seed with one of `faults`, as far as its array can have them.
    pub fn strikes(self, faults: &[Fault]) -> Self {
        Self { faults: faults.to_vec(), faults_percent: 100, ..self }
    }

    /// Asks these questions about redundancy, instead of the default ones.
    pub fn asks(self, questions: &[Question]) -> Self {
        Self { questions: questions.to_vec(), ..self }
    }

    fn array(&mut self, shape: &Shape) -> Result<&Scenario, String> {
        if !self.arrays.contains_key(shape) {
            if self.arrays.len() == MOST_ARRAYS {
                self.arrays.clear();
            }
            let array = guarded(|| Scenario::new::<Checked>(shape, 0, self.bug))?;
            self.arrays.insert(shape.clone(), array);
        }
        Ok(&self.arrays[shape])
    }

    /// The case of a seed.
    ///
    /// # Errors
    /// If no such array is possible.
    pub fn drawn(&mut self, seed: u64, kinds: &[Kind]) -> Result<CrashCase, Broken> {
        let shape = draw::shape(seed, kinds);
        let case = CrashCase::new(seed, shape.clone());
        let sectors = self.array(&shape).map_err(|what| Broken { case: case.into(), what })?.model.sectors();
        let mut case = draw::case(seed, shape, sectors);
        if let Some(target) = self.corruption {
            let has_it = Target::of(case.shape.kind).contains(&target);
            case.corruption = has_it.then(|| draw::corruption(seed, target));
        }
        case.fault = draw::fault(seed, case.shape.kind, &self.faults, self.faults_percent);
        Ok(case)
    }

    /// Runs the life of `case`.
    ///
    /// # Errors
    /// The first broken promise; a panic counts as one.
    pub fn case(&mut self, case: &CrashCase) -> Result<Counts, String> {
        let scenario = self.array(&case.shape)?.reseeded(case.seed);
        let mut scenario = scenario.with_questions(&self.questions);
        guarded(move || scenario.whole::<Checked>(case).map(|()| scenario.counts))
    }

    /// Runs the life of a seed.
    ///
    /// # Errors
    /// Its case, and the violation.
    pub fn seed(&mut self, seed: u64, kinds: &[Kind]) -> Result<Counts, Broken> {
        let case = self.drawn(seed, kinds)?;
        self.case(&case).map_err(|what| Broken { case: case.into(), what })
    }

    /// Tries every crash of `script` on the smallest array of `kind`, and reports progress to `report`.
    ///
    /// # Errors
    /// The first case that breaks a promise.
    pub fn script(
        &mut self,
        kind: Kind,
        script: Script,
        effort: Effort,
        report: &mut dyn FnMut(&Counts),
    ) -> Result<Counts, Broken> {
        let shape = small::shape(kind);
        let whole = |what| Broken { case: CrashCase::new(0, small::shape(kind)).into(), what };
        let array = self.array(&shape).map_err(whole)?;
        let result = guarded(|| Ok(small::enumerate::<Checked>(array, &shape, script, effort, report)));
        result.map_err(whole)?
    }

    /// A smaller case that also breaks a promise.
    pub fn shrink(&mut self, broken: &Broken) -> Broken {
        let case = shrink::shrink(&broken.case, 1_000, |case| self.case(case).is_err());
        let what = self.case(&case).err().unwrap_or_else(|| broken.what.clone());
        Broken { case: case.into(), what }
    }
}

/// A panic counts as a broken promise, because the controller's own assertions are checks too.
fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(words_of_panic(panic.as_ref())))
}
