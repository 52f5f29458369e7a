//! Read policies: the source of a chunk that is on one member and can be decoded from others.
//!
//! One file for each published scheme. A policy gets the waiting time that a read of each column of a stripe would have, and
//! returns the columns to decode from the others instead of reading them, or the time at which to ask the others too. The
//! handling of plans, row locks and buffers is in the controller (`crates/exec/src/redirect.rs`, `hedge.rs`), and the
//! same for all policies.

pub mod brr;
pub mod gc_avoiding;
pub mod hedged;
pub mod least_finish;
mod median;
pub mod observed;

use serde::{Deserialize, Serialize};
use stripewise_base::Nanos;
use stripewise_base::units::Span;
use stripewise_core::geometry::Level;

use hedged::Hedges;
use observed::Observed;

/// The greatest allowed factor between a slow read and the median.
const SLOW_MAX: u32 = 1_000;

/// The read section of a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReadSection {
    /// The read policy.
    pub policy: ReadPolicy,
    /// The source of the state of members.
    pub state: StateSource,
    /// For `brr`: the next arrival at a member that it would read instead.
    pub at: NextArrival,
    /// For `brr`: what it expects a read to wait for.
    #[serde(skip_serializing_if = "ReadWait::is_default")]
    pub wait: ReadWait,
    /// For `hedged`: when it asks the other members.
    pub hedge: HedgeMode,
    /// For `hedged`, and for all policies that use observed state: a member is slow if it takes more than this multiple of the
    /// median time of reads (printed: twice, Hao et al., FAST 2016).
    pub slow: u32,
    /// For `least-finish`: how much earlier the others must be done, to compensate for the cost of their reads to other
    /// requests. Absent means the time of one read, which is rule (a) of `brr`; a choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain: Option<Span>,
}

impl Default for ReadSection {
    fn default() -> Self {
        Self {
            policy: ReadPolicy::default(),
            state: StateSource::default(),
            at: NextArrival::default(),
            wait: ReadWait::default(),
            hedge: HedgeMode::default(),
            slow: 2,
            gain: None,
        }
    }
}

impl ReadSection {
    /// Whether all keys have their defaults, which a scheme leaves out.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Checks the section with this redundancy, over members that report their state or do not. The error has the key, its
    /// value and the reason.
    pub fn check(
        &self,
        level: Level,
        reports_state: bool,
    ) -> Result<(), (&'static str, String, &'static str)> {
        let Self { policy, state, at, wait, hedge, slow, gain } = *self;
        let name = |value: &str| format!("\"{value}\"");
        if level == Level::Raid0 && policy != ReadPolicy::Direct {
            let reason = "has nothing to decode a chunk from without parity; use \"direct\" with RAID-0";
            return Err(("read.policy", name(policy.name()), reason));
        }
        if slow == 0 || slow > SLOW_MAX {
            return Err(("read.slow", slow.to_string(), "must be 1 to 1000 times the median"));
        }
        if at != NextArrival::default() && policy != ReadPolicy::Brr {
            let reason = "is a rule of read.policy = \"brr\"; use that, or leave it out";
            return Err(("read.at", name(at.name()), reason));
        }
        if !wait.is_default() && policy != ReadPolicy::Brr {
            let reason = "is a rule of read.policy = \"brr\"; use that, or leave it out";
            return Err(("read.wait", name(wait.name()), reason));
        }
        if hedge != HedgeMode::default() && policy != ReadPolicy::Hedged {
            let reason = "is about read.policy = \"hedged\"; use that, or leave it out";
            return Err(("read.hedge", name(hedge.name()), reason));
        }
        if let Some(gain) = gain.filter(|_| policy != ReadPolicy::LeastFinish) {
            let reason = "is about read.policy = \"least-finish\"; use that, or leave it out";
            return Err(("read.gain", name(&gain.to_string()), reason));
        }
        let asks = matches!(policy, ReadPolicy::Brr | ReadPolicy::GcAvoiding | ReadPolicy::LeastFinish);
        if asks && state == StateSource::Model && !reports_state {
            let reason =
                "needs members that tell what they do, and these tell nothing; use read.state = \"observed\"";
            return Err(("read.policy", name(policy.name()), reason));
        }
        Ok(())
    }

    /// Whether the policy uses the times of operations, so that they must be recorded.
    pub fn observes(&self) -> bool {
        match self.policy {
            ReadPolicy::Direct => false,
            // The last of these counts operations in flight.
            ReadPolicy::Hedged | ReadPolicy::LeastFinish => true,
            ReadPolicy::Brr | ReadPolicy::GcAvoiding => self.state == StateSource::Observed,
            ReadPolicy::Custom => false,
        }
    }
}

/// Read policies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadPolicy {
    /// From the member that has the chunk, unless it is lost.
    #[default]
    Direct,
    /// Decoded if each of the other members would be done before a direct read would begin.
    Brr,
    /// Decoded if the member collects garbage and would delay the read longer than the others would.
    GcAvoiding,
    /// From the member, and, if that takes too long, from the others as well; the first result is used.
    Hedged,
    /// The way that is predicted to finish first, with all delays counted.
    LeastFinish,
    /// The user's own, which only a program can give.
    #[serde(skip_deserializing)]
    Custom,
}

impl ReadPolicy {
    /// The name in a scheme.
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Brr => "brr",
            Self::GcAvoiding => "gc-avoiding",
            Self::Hedged => "hedged",
            Self::LeastFinish => "least-finish",
            Self::Custom => "custom",
        }
    }
}

/// The read policies: name in a scheme, and description.
pub const MEMBERS: &[(&str, &str)] = &[
    ("direct", "from the member that has the chunk, unless it is lost"),
    (
        "brr",
        "decoded from idler members when all of them are done before a direct read would begin (paper 002)",
    ),
    (
        "gc-avoiding",
        "decoded from others when the member collects garbage (IODA, SOSP 2021; TTFLASH, FAST 2017)",
    ),
    ("hedged", "directly, and when that takes too long from the others as well (ToleRAID, FAST 2016)"),
    ("least-finish", "whichever way is predicted to be done first, queues and garbage collection counted"),
];

/// The source of the state of members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StateSource {
    /// The members report it: modelled flash, or a device that reports its garbage collection.
    #[default]
    Model,
    /// Derived from the times of operations; a real SSD reports nothing else.
    Observed,
}

/// The value that `brr` uses for AT, the next arrival at a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NextArrival {
    /// The earliest request that waits in the controller and targets the member; never, if there is none. A choice.
    #[default]
    Pending,
    /// The next request of the trace that targets the member: more than any controller can know, as a bound of the rule's
    /// gain.
    Oracle,
    /// Never: rule (b) of Algorithm 2 is left out.
    Off,
}

impl NextArrival {
    /// The name in a scheme.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Oracle => "oracle",
            Self::Off => "off",
        }
    }
}

/// What the waiting time WT of `brr` counts (paper 002, section III-D).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadWait {
    /// The operations queued and in service, as printed: WT = L_r C_r + L_w C_w. A member that collects garbage and has no
    /// operations seems idle.
    #[default]
    Queue,
    /// Also the time by which garbage collection would delay the read.
    QueueAndCollection,
}

impl ReadWait {
    /// The name in a scheme.
    pub fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::QueueAndCollection => "queue-and-collection",
        }
    }

    /// Whether it is the printed one, which a scheme leaves out.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// When a hedged read asks the other members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HedgeMode {
    /// When the direct read has taken `slow` times the median time of reads.
    #[default]
    Reactive,
    /// At once.
    Proactive,
    /// At once if the member's last reads were slow, else as `reactive`.
    Adaptive,
}

impl HedgeMode {
    /// The name in a scheme.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reactive => "reactive",
            Self::Proactive => "proactive",
            Self::Adaptive => "adaptive",
        }
    }
}

/// Counters of redirected and hedged reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCounts {
    /// Chunks that were decoded by choice.
    pub redirected: u64,
    /// Chunks that would have been, if their row had not been locked.
    pub not_held: u64,
    /// Chunks for which the other members were asked too.
    pub hedged: u64,
    /// Of those: chunks that the other members returned first.
    pub hedges_won: u64,
    /// Operations of the slower side that had not begun and were dropped.
    pub cut: u64,
}

impl ReadCounts {
    /// The counts since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            redirected: self.redirected - before.redirected,
            not_held: self.not_held - before.not_held,
            hedged: self.hedged - before.hedged,
            hedges_won: self.hedges_won - before.hedges_won,
            cut: self.cut - before.cut,
        }
    }
}

/// State of the controller for its read policy.
#[derive(Debug)]
pub struct Reads {
    /// Whether a read may take another way than the direct one: otherwise plans never have a path, and it is not examined.
    pub is_active: bool,
    /// What the policy has done so far.
    pub counts: ReadCounts,
    /// The times of operations that were observed.
    pub observed: Observed,
    /// Whether the times of operations must be recorded.
    pub observes: bool,
    /// The hedged reads that wait for their limit.
    pub hedges: Hedges,
}

impl Reads {
    /// The state of a policy over `members` members.
    pub fn new(section: &ReadSection, members: u32) -> Self {
        Self {
            is_active: section.policy != ReadPolicy::Direct,
            counts: ReadCounts::default(),
            observed: Observed::new(members, section.slow),
            observes: section.observes(),
            hedges: Hedges::default(),
        }
    }
}

/// The waiting times of the columns of a stripe, from which the ways around them are computed.
pub struct Ways<'a> {
    /// For each column: nanoseconds, whose meaning the policy defines.
    pub costs: &'a [Nanos],
    /// Data columns that hosts want.
    pub wanted: u64,
    /// Number of columns that may be missing in its code.
    pub parity: u32,
}

impl Ways<'_> {
    /// The greatest cost among columns `mask`; the lowest-numbered of equals.
    fn greatest(&self, mask: u64) -> Option<(Nanos, u32)> {
        let costs = stripewise_core::bits::columns(mask).map(|column| (self.costs[column as usize], column));
        costs.max_by_key(|&(cost, column)| (cost, std::cmp::Reverse(column)))
    }

    /// The columns to avoid so that the greatest cost of the columns read is least, that cost, and the cost of reading the
    /// wanted columns directly. It avoids the costliest wanted column, then the costliest of the rest. `sources` returns the
    /// columns to read without some columns.
    fn least(&self, sources: impl Fn(u64) -> u64) -> Option<ReadPath> {
        let (direct, worst) = self.greatest(self.wanted)?;
        let mut avoided = 1 << worst;
        let mut best = ReadPath { avoided: 0, cost: direct, direct };
        for _ in 0..self.parity {
            let read = sources(avoided);
            let (cost, costliest) = self.greatest(read)?;
            if cost < best.cost {
                best = ReadPath { avoided, cost, direct };
            }
            avoided |= 1 << costliest;
        }
        (best.avoided != 0).then_some(best)
    }
}

/// A way around columns of a stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadPath {
    /// The columns that it avoids.
    pub avoided: u64,
    /// Its cost.
    pub cost: Nanos,
    /// The cost of the direct way.
    pub direct: Nanos,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str, level: Level) -> String {
        let section: ReadSection = toml::from_str(text).unwrap_or_else(|error| panic!("{error}"));
        let (key, value, reason) = section.check(level, false).expect_err("a refusal");
        format!("{key} = {value} {reason}")
    }

    #[test]
    fn a_read_policy_without_meaning_is_refused_with_the_reason() {
        let raid5 = |text: &str| refused(text, Level::Raid5);
        assert!(refused("policy = 'hedged'", Level::Raid0).contains("nothing to decode a chunk from"));
        assert!(raid5("slow = 0").contains("1 to 1000 times"));
        assert!(raid5("at = 'oracle'").contains("is a rule of read.policy"));
        assert!(raid5("wait = 'queue-and-collection'").contains("read.wait = \"queue-and-collection\""));
        assert!(
            raid5("policy = 'brr'\nstate = 'observed'\nhedge = 'adaptive'")
                .contains("read.hedge = \"adaptive\"")
        );
        assert!(raid5("policy = 'hedged'\ngain = '1us'").contains("read.gain = \"1us\""));
        assert!(raid5("policy = 'gc-avoiding'").contains("use read.state = \"observed\""));
    }

    #[test]
    fn what_members_need_not_report_is_accepted() {
        for policy in ["direct", "hedged"] {
            let section: ReadSection = toml::from_str(&format!("policy = '{policy}'")).unwrap();
            assert_eq!(section.check(Level::Raid5, false), Ok(()));
        }
    }
}
