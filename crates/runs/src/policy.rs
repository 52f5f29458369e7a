//! Policies of the caller, on the axes of a scheme and of a device.

use std::error::Error as StdError;
use std::fmt;
use std::sync::{Arc, Mutex};

use stripewise_array::cache::{CachePolicy, CacheSection};
use stripewise_array::custom::{self, ChooseGroup, ChooseRead, ChooseSegment, ChooseTier, RankOperation};
use stripewise_array::dispatch::QueueOrder;
use stripewise_array::hotness::{HotnessPolicy, HotnessSection};
use stripewise_array::placement::SegmentVictim;
use stripewise_array::read::{ReadPolicy, ReadSection};
use stripewise_array::update::{Choice, Routine, Update};
use stripewise_array::{MemberLoad, Scheme};
use stripewise_flash::ChooseBlock;
use stripewise_flash::spec::Victim;
use stripewise_sim::{Chooser, RunConfig};

/// Why a policy could not choose.
pub type PolicyFailure = Box<dyn StdError + Send + Sync>;

/// What a policy decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// The routine of parity updates.
    Update,
    /// The source of reads.
    Read,
    /// The order of the queues of members.
    Order,
    /// What leaves a write cache.
    Destage,
    /// The victim of array GC.
    Segment,
    /// The victim of device GC.
    Block,
    /// Hotness.
    Hotness,
}

impl Axis {
    /// Leaves the choice on this axis to the policy. Keys of the policy that it replaces get their defaults.
    pub(crate) fn leave(self, config: &mut RunConfig) {
        if self == Self::Block {
            config.device.gc.victim = Victim::Custom;
        }
        self.leave_in(&mut config.scheme);
    }

    /// The part of this that is the scheme's.
    pub fn leave_in(self, scheme: &mut Scheme) {
        match self {
            Self::Update => scheme.update = Update::Custom {},
            Self::Read => {
                scheme.read = ReadSection { policy: ReadPolicy::Custom, ..ReadSection::default() };
            }
            Self::Order => scheme.dispatch.order = QueueOrder::Custom,
            Self::Destage => {
                if matches!(scheme.cache.policy, CachePolicy::None | CachePolicy::ParityCaching) {
                    scheme.cache = CacheSection::default();
                }
                scheme.cache.policy = CachePolicy::Custom;
            }
            Self::Segment => scheme.elastic.victim = SegmentVictim::Custom,
            Self::Block => {}
            Self::Hotness => {
                let HotnessSection { tiers, sequential_shortcut, .. } = scheme.hotness;
                let policy = HotnessPolicy::Custom;
                scheme.hotness =
                    HotnessSection { policy, tiers, sequential_shortcut, ..HotnessSection::default() };
            }
        }
    }
}

/// A policy of the caller. Its run is stored under a digest that includes [`Policy::identity`].
pub trait Policy: Send + Sync {
    /// Everything that decides its choices: its source, its settings.
    fn identity(&self) -> String;

    /// A text that is known before the policy is, and that is another one if the policy may choose differently: plans find runs
    /// by it.
    fn key(&self) -> String {
        self.identity()
    }

    /// Makes the policy, if that has not been done. Before, nothing of its code has run.
    ///
    /// # Errors
    /// Why it cannot be made.
    fn load(&self) -> Result<(), String> {
        Ok(())
    }

    /// What it decides.
    fn axes(&self) -> Vec<Axis>;

    /// Called once for each run, on the thread that makes it. The parts of the policy report to `failures` that they cannot
    /// choose.
    ///
    /// # Errors
    /// The reason why the policy cannot begin; it ends the run.
    fn begin(&self, failures: &Failures) -> Result<Vec<Part>, PolicyFailure>;
}

/// A policy during one run, on one axis.
pub enum Part {
    /// [`Axis::Update`].
    Update(Box<dyn Choosing>),
    /// [`Axis::Read`].
    Read(Box<dyn ChooseRead>),
    /// [`Axis::Order`].
    Order(Box<dyn RankOperation>),
    /// [`Axis::Destage`].
    Destage(Box<dyn ChooseGroup>),
    /// [`Axis::Segment`].
    Segment(Box<dyn ChooseSegment>),
    /// [`Axis::Block`].
    Block(Box<dyn ChooseBlock>),
    /// [`Axis::Hotness`].
    Hotness(Box<dyn ChooseTier>),
}

/// A policy during one run, for parity updates.
pub trait Choosing {
    /// RMW or RCW; none takes Baseline's choice.
    fn choose(&mut self, choice: &Choice<'_>, state: &dyn MemberLoad) -> Option<Routine>;
}

/// The first failure of a policy in a run. The run is stopped soon after it.
#[derive(Clone, Default)]
pub struct Failures(Arc<Mutex<Option<PolicyFailure>>>);

impl Failures {
    /// Whether the policy failed.
    pub fn is_any(&self) -> bool {
        self.0.lock().is_ok_and(|first| first.is_some())
    }

    /// Records a failure, unless there is one.
    pub fn add(&self, failure: PolicyFailure) {
        if let Ok(mut first) = self.0.lock() {
            first.get_or_insert(failure);
        }
    }

    pub(crate) fn take(&self) -> Option<PolicyFailure> {
        self.0.lock().ok()?.take()
    }
}

impl fmt::Debug for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failures").field("is_any", &self.is_any()).finish()
    }
}

/// A policy and the name that its scheme has in results.
#[derive(Clone)]
pub struct NamedPolicy {
    /// The name.
    pub name: String,
    /// The policy.
    pub policy: Arc<dyn Policy>,
}

impl fmt::Debug for NamedPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamedPolicy").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The part of a policy that chooses routines.
pub(crate) struct Routines(Option<Box<dyn Choosing>>);

impl Routines {
    /// Sorts the parts of a policy. The part that chooses routines is set apart, because it is called by reference.
    pub(crate) fn sort(parts: Vec<Part>) -> (Self, custom::Policies, Option<Box<dyn ChooseBlock>>) {
        let (mut routines, mut array, mut chosen) = (None, custom::Policies::default(), None);
        for part in parts {
            match part {
                Part::Update(update) => routines = Some(update),
                Part::Read(read) => array.read = Some(read),
                Part::Order(order) => array.order = Some(order),
                Part::Destage(destage) => array.destage = Some(destage),
                Part::Segment(segment) => array.segment = Some(segment),
                Part::Block(block) => chosen = Some(block),
                Part::Hotness(hotness) => array.hotness = Some(hotness),
            }
        }
        (Self(routines), array, chosen)
    }
}

impl Chooser for Routines {
    fn choose(&mut self, choice: &Choice<'_>, state: &dyn MemberLoad) -> Option<Routine> {
        self.0.as_mut()?.choose(choice, state)
    }
}
