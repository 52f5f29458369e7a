//! The model of an array: its groups, and the rates at which its members fail and are repaired.

use std::fmt;
use std::str::FromStr;

use stripewise_base::suggest;

use crate::chain;

/// How the failed members of one group are repaired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repair {
    /// One after the other, in the order of their failures.
    ///
    /// Source: paper 001, section V-E.
    #[default]
    Single,
    /// Each separately, all at the same time.
    Parallel,
    /// All by one repair, like a rebuild that decodes several lost members in one pass. A member that fails meanwhile
    /// joins it.
    Together,
}

impl Repair {
    /// All ways, in the order in which they are listed.
    pub const ALL: [Self; 3] = [Self::Single, Self::Parallel, Self::Together];
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Single => "single",
            Self::Parallel => "parallel",
            Self::Together => "together",
        })
    }
}

impl FromStr for Repair {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = Self::ALL.map(|repair| repair.to_string());
        let found = Self::ALL.into_iter().find(|repair| repair.to_string() == text);
        found.ok_or_else(|| suggest::unknown("way of repair", text, &names.each_ref().map(String::as_str)))
    }
}

/// An array of equal parity groups. Members fail independently of each other and of their age: lifetimes and repairs
/// are exponential.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// Members of a group, parity included.
    pub members: u32,
    /// The number of members that a group can lose: 0 for RAID-0, 1 for RAID-5, 2 for RAID-6.
    pub parity: u32,
    /// Groups of the array. Each repairs separately, and the array loses data with the first group that does.
    pub groups: u32,
    /// Failures a year of one working member.
    pub failures_per_year: f64,
    /// Repairs a year, while a repair is in progress.
    pub repairs_per_year: f64,
    /// How a group repairs.
    pub repair: Repair,
}

/// The most members of a group, and the most groups.
const MOST: u32 = 4096;

/// Why such an array is impossible.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// More parities than the members can hold beside data.
    #[error("{parity} parities leave no data on {members} members; a group has at least {} members", parity + 1)]
    NoData {
        /// Members of a group.
        members: u32,
        /// Parities.
        parity: u32,
    },
    /// An invalid number of members or groups.
    #[error("{count} {what}: use 1 to {MOST}")]
    Count {
        /// The name of the number.
        what: &'static str,
        /// The requested number.
        count: u32,
    },
    /// An invalid rate.
    #[error("the rate of {what} is {rate} a year; it must be above 0 and finite")]
    Rate {
        /// The name of the rate.
        what: &'static str,
        /// The requested rate.
        rate: f64,
    },
}

impl Model {
    /// The setting of paper 001's evaluation, with one parity: 8 members that live four years each, and 10,000 repairs
    /// a year.
    ///
    /// Source: paper 001, section V-E.
    pub const PAPER001: Self = Self {
        members: 8,
        parity: 1,
        groups: 1,
        failures_per_year: 0.25,
        repairs_per_year: 1e4,
        repair: Repair::Single,
    };

    /// Checks that such an array is possible; all other functions expect it.
    ///
    /// # Errors
    /// When counts or rates have no meaning.
    pub fn check(&self) -> Result<(), ModelError> {
        for (what, count) in [("members", self.members), ("groups", self.groups)] {
            if !(1..=MOST).contains(&count) {
                return Err(ModelError::Count { what, count });
            }
        }
        if self.parity >= self.members {
            return Err(ModelError::NoData { members: self.members, parity: self.parity });
        }
        for (what, rate) in [("failures", self.failures_per_year), ("repairs", self.repairs_per_year)] {
            if !(rate.is_finite() && rate > 0.0) {
                return Err(ModelError::Rate { what, rate });
            }
        }
        Ok(())
    }

    /// The same array with members that fail `alpha` times as often: paper 001 uses the ratio of erases for it.
    ///
    /// Source: paper 001, section V-E.
    #[must_use]
    pub fn aged(self, alpha: f64) -> Self {
        Self { failures_per_year: self.failures_per_year * alpha, ..self }
    }

    /// The mean time to data loss in years, by the chain of one group. Rates of loss add over groups. That is exact
    /// for one group; for many groups the error is small as long as losses are much rarer than repairs.
    ///
    /// # Panics
    /// If such an array is impossible ([`Model::check`]).
    pub fn mttdl_years(&self) -> f64 {
        let Self { members, parity, repair, .. } = *self;
        let group =
            chain::mean_time_to_loss(members, parity, repair, self.failures_per_year, self.repairs_per_year);
        group / f64::from(self.groups)
    }
}
