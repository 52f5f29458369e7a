//! The crash checker: arrays that lose power at any moment, with any of what was not flushed, and are opened again.
//!
//! `docs/fault-contract.md` is what it holds them to. A [`Case`] is all that decides one life of an array; seeds are cases
//! that are drawn, and a [`Script`] stands for all crashes of a few requests.

mod case;
mod corruption;
mod counts;
mod draw;
mod keep;
mod members;
#[cfg(test)]
mod mirror;
mod scenario;
mod server;
mod shape;
mod shrink;
mod sim_driver;
mod sim_media;
mod small;
mod system_under_test;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use stripewise_array::{Array, Bug, PageMemory};

pub use case::{Case, Comeback, Cut, Era, Moment, PutBack, Strike};
pub use corruption::{Corruption, Target};
pub use counts::Counts;
pub use keep::Keep;
pub use members::Wrong;
pub use shape::{Kind, Shape};
pub use small::{Effort, Script};

use crate::run::words_of_panic;
use scenario::Scenario;

/// A case that breaks a promise.
#[derive(Clone, Debug)]
pub struct Broken {
    /// The case.
    pub case: Case,
    /// What is wrong.
    pub what: String,
}

/// Tries cases, one after the other. New arrays are made once and copied.
pub struct Checker {
    bug: Option<Bug>,
    corruption: Option<Target>,
    arrays: BTreeMap<Shape, Scenario>,
}

/// Who is checked.
type Checked = Array<PageMemory>;

impl Checker {
    /// A checker of controllers in which `bug` is planted; without debug assertions there is none to plant.
    pub fn new(bug: Option<Bug>) -> Self {
        Self { bug, corruption: None, arrays: BTreeMap::new() }
    }

    /// Every life of a seed ends with corruption of `target`, if the array has it.
    pub fn corrupts(mut self, target: Option<Target>) -> Self {
        self.corruption = target;
        self
    }

    fn array(&mut self, shape: &Shape) -> Result<&Scenario, String> {
        if !self.arrays.contains_key(shape) {
            let array = guarded(|| Scenario::new::<Checked>(shape, 0, self.bug))?;
            self.arrays.insert(shape.clone(), array);
        }
        Ok(&self.arrays[shape])
    }

    /// The case of a seed.
    ///
    /// # Errors
    /// When there can be no such array.
    pub fn drawn(&mut self, seed: u64, kinds: &[Kind]) -> Result<Case, Broken> {
        let shape = draw::shape(seed, kinds);
        let case = Case::new(seed, shape.clone());
        let sectors = self.array(&shape).map_err(|what| Broken { case, what })?.model.sectors();
        let mut case = draw::case(seed, shape, sectors);
        if let Some(target) = self.corruption {
            let has_it = Target::of(case.shape.kind).contains(&target);
            case.corruption = has_it.then(|| draw::corruption(seed, target));
        }
        Ok(case)
    }

    /// Lives the life of `case`.
    ///
    /// # Errors
    /// The first promise that was broken; a panic is one too.
    pub fn case(&mut self, case: &Case) -> Result<Counts, String> {
        let mut scenario = self.array(&case.shape)?.reseeded(case.seed);
        guarded(move || scenario.whole::<Checked>(case).map(|()| scenario.counts))
    }

    /// Lives the life of a seed.
    ///
    /// # Errors
    /// Its case, and what is wrong.
    pub fn seed(&mut self, seed: u64, kinds: &[Kind]) -> Result<Counts, Broken> {
        let case = self.drawn(seed, kinds)?;
        self.case(&case).map_err(|what| Broken { case, what })
    }

    /// Tries every crash of `script` on the smallest array of `kind`; `told` is told how it gets on.
    ///
    /// # Errors
    /// The first case that breaks a promise.
    pub fn script(
        &mut self,
        kind: Kind,
        script: Script,
        effort: Effort,
        told: &mut dyn FnMut(&Counts),
    ) -> Result<Counts, Broken> {
        let shape = small::shape(kind);
        let whole = |what| Broken { case: Case::new(0, small::shape(kind)), what };
        let array = self.array(&shape).map_err(whole)?;
        let result = guarded(|| Ok(small::enumerate::<Checked>(array, &shape, script, effort, told)));
        result.map_err(whole)?
    }

    /// A smaller case that breaks a promise too.
    pub fn shrink(&mut self, broken: &Broken) -> Broken {
        let case = shrink::shrink(&broken.case, 1_000, |case| self.case(case).is_err());
        let what = self.case(&case).err().unwrap_or_else(|| broken.what.clone());
        Broken { case, what }
    }
}

/// A panic is a promise that was broken: the controller's own assertions are checks too.
fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(words_of_panic(panic.as_ref())))
}
