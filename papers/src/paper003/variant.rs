//! What is compared: write caches as the paper has them, and in the variants that tell why.

use std::fmt;

/// A RAID level of the paper (section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// RAID-0 over 8 SSDs.
    Raid0,
    /// RAID-5 over 8 SSDs and one.
    Raid5,
}

impl Level {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Raid0, Self::Raid5];

    /// SSDs of the array.
    pub(super) fn ssds(self) -> u32 {
        match self {
            Self::Raid0 => 8,
            Self::Raid5 => 9,
        }
    }

    /// What makes the RAID-5 of the presets this level.
    pub(super) fn settings(self) -> &'static [&'static str] {
        match self {
            Self::Raid0 => &["geometry.level=raid0"],
            Self::Raid5 => &[],
        }
    }

    /// As the paper's labels end: `HPC-G-0`.
    pub(super) fn digit(self) -> char {
        match self {
            Self::Raid0 => '0',
            Self::Raid5 => '5',
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Raid0 => "RAID-0",
            Self::Raid5 => "RAID-5",
        })
    }
}

/// How the SSDs collect garbage (section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gc {
    /// Greedy, a whole block at a time: `G` of the paper's labels.
    Greedy,
    /// The same, stopping between two moves for whoever waits: `P`, after Lee et al.
    Preemptive,
}

impl Gc {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Greedy, Self::Preemptive];

    /// The preset of its SSD.
    pub(super) fn device(self) -> &'static str {
        match self {
            Self::Greedy => "paper003",
            Self::Preemptive => "paper003-preemptive",
        }
    }

    /// As the paper's labels have it.
    pub(super) fn letter(self) -> char {
        match self {
            Self::Greedy => 'G',
            Self::Preemptive => 'P',
        }
    }
}

/// Where the cache is, and how it destages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// No cache.
    None,
    /// A cache in each SSD.
    Isc,
    /// One cache of write groups.
    Wow,
    /// The same, sequential writes apart from others.
    Stow,
    /// A cache for each SSD in the controller, destaged together.
    Siw,
    /// WOW or SIW by what the workload does.
    Hybrid,
}

impl Policy {
    /// All, in the order of the paper's figure 4(b) and the hybrid behind them.
    pub const ALL: [Self; 6] = [Self::None, Self::Isc, Self::Wow, Self::Stow, Self::Siw, Self::Hybrid];

    fn preset(self) -> &'static str {
        match self {
            Self::None => "paper003-none",
            Self::Isc => "paper003-isc",
            Self::Wow => "paper003-wow",
            Self::Stow => "paper003-stow",
            Self::Siw => "paper003-siw",
            Self::Hybrid => "paper003-hybrid",
        }
    }

    /// As the paper calls it.
    pub fn name(self) -> &'static str {
        ["None", "ISC", "WOW", "STOW", "SIW", "hybrid"][self as usize]
    }
}

/// In what a variant differs from its preset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// In nothing.
    AsIs,
    /// One write group under way at most.
    OneGroup,
    /// The same, and a cache of so many MiB.
    OneGroupOf(u32),
    /// How long a strip waits for the others, in microseconds; 0 does not synchronise.
    SyncWait(u32),
    /// Size of the cache in MiB.
    Size(u32),
    /// All SSDs collect when one must.
    GgcReactive,
    /// All SSDs collect when one comes near.
    GgcProactive,
    /// At most one SSD collects at a time.
    Rotating,
    /// Splitting requests and combining parity take no time.
    FreeParity,
}

/// A scheme of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The cache.
    pub policy: Policy,
    /// How it differs.
    pub change: Change,
}

/// Sizes that are swept besides the 32 MiB of the presets, in MiB.
pub(super) const SIZES: [u32; 4] = [8, 16, 64, 128];
/// Waits that are swept besides the 5 ms of the presets, in microseconds; without synchronisation first.
pub(super) const WAITS: [u32; 6] = [0, 500, 1_000, 2_000, 10_000, 20_000];

impl Variant {
    /// A preset as it is.
    pub const fn of(policy: Policy) -> Self {
        Self { policy, change: Change::AsIs }
    }

    /// All that the sweeps take at a level.
    pub(super) fn sweep(level: Level) -> Vec<Self> {
        let of = |policy, change| Self { policy, change };
        let mut all = [Policy::Wow, Policy::Siw, Policy::Hybrid].map(Self::of).to_vec();
        all.push(of(Policy::Wow, Change::OneGroup));
        all.extend(WAITS.map(|wait| of(Policy::Siw, Change::SyncWait(wait))));
        for size in SIZES {
            all.extend([Policy::Wow, Policy::Siw].map(|policy| of(policy, Change::Size(size))));
            all.push(of(Policy::Wow, Change::OneGroupOf(size)));
        }
        all.extend([Change::GgcReactive, Change::GgcProactive].map(|change| of(Policy::Wow, change)));
        if level == Level::Raid5 {
            // Without parity there are no groups within which to take turns, and nothing to combine.
            all.extend([of(Policy::Wow, Change::Rotating)]);
        }
        all.push(of(Policy::Siw, Change::FreeParity));
        all
    }

    /// The scheme: a preset's name with settings, as the command line takes it.
    pub fn scheme(self) -> String {
        let settings = match self.change {
            Change::AsIs => String::new(),
            Change::OneGroup => ",cache.outstanding=1".to_owned(),
            Change::OneGroupOf(mib) => format!(",cache.outstanding=1,cache.size={mib}MiB"),
            Change::SyncWait(us) => format!(",cache.sync_wait={us}us"),
            Change::Size(mib) => format!(",cache.size={mib}MiB"),
            Change::GgcReactive => ",coordination.policy=global,coordination.start=reactive".to_owned(),
            Change::GgcProactive => ",coordination.policy=global,coordination.start=proactive".to_owned(),
            Change::Rotating => ",coordination.policy=rotating".to_owned(),
            Change::FreeParity => ",cache.striping=0ns,parity.combine=0ns".to_owned(),
        };
        format!("{}{settings}", self.policy.preset())
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.policy.name())?;
        match self.change {
            Change::AsIs => Ok(()),
            Change::OneGroup => write!(f, ", one group at a time"),
            Change::OneGroupOf(mib) => write!(f, ", one group at a time, {mib} MiB"),
            Change::SyncWait(0) => write!(f, ", not synchronised"),
            Change::SyncWait(us) => write!(f, ", waits {} ms", f64::from(us) / 1e3),
            Change::Size(mib) => write!(f, ", {mib} MiB"),
            Change::GgcReactive => write!(f, ", GGC reactive"),
            Change::GgcProactive => write!(f, ", GGC proactive"),
            Change::Rotating => write!(f, ", rotating"),
            Change::FreeParity => write!(f, ", splitting and parity free"),
        }
    }
}
