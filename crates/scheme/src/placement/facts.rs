//! The facts about each placement that code outside of its folder depends on: one row a placement.
//!
//! Other code asks for a fact and does not compare policies, so a new placement answers all questions in its row. A fact is
//! named by its meaning; its comment says what follows from it.
//!
//! Source: paper 000, section II (in place); Stodolsky, Gibson and Holland, ISCA 1993 (parity logging); paper 001, section II
//! (elastic striping); paper 004, section 3 (zones).

use stripewise_format as format;

use super::{Placement, PlacementPolicy};

/// The facts about a placement.
#[derive(Debug)]
pub struct Facts {
    /// The value of `placement.policy` in a scheme.
    pub name: &'static str,
    /// One sentence for lists of placements.
    pub description: &'static str,
    /// The placement in a superblock. Without one, arrays cannot have `metadata = "on"`, and cannot be assembled again.
    pub format: Option<format::Placement>,
    /// What a controller without metadata needs to find all content after a loss of power.
    pub restart: RestartFrom,
    /// Written chunks form new stripes at the end of a log, and parity is never updated. The section `[elastic]` applies,
    /// stripes may be as deep as they are wide, some room is kept for collection, and new stripes can leave out a member that
    /// hangs.
    pub forms_stripes: bool,
    /// A map has the location of each page and the page of each location. The map takes memory in proportion to the
    /// capacity, a new array is empty and needs no resync, and without the map no data can be found.
    pub keeps_map: bool,
    /// A trim removes pages from the map, and they read as zeros. Zeros then cost no more than a trim, and a discard only
    /// informs a member. If not, a trim has to write zeros.
    pub trims_unmap: bool,
    /// All writes wait in controller memory until their stripe is written: `placement.buffer_persistence` decides whether
    /// they survive a loss of power, and a write can join one that waits.
    pub buffers_writes: bool,
    /// The location of a write is determined when the write is issued. Until then its members are unknown, so dispatch
    /// policies that need them are refused.
    pub locates_on_write: bool,
    /// An update writes the new parity of its row where the old parity is. Persistent memory can then keep the parity of a
    /// row, and write it once for many updates.
    pub updates_parity: bool,
    /// Changes of parity go to log members, one for each parity chunk of a stripe, which stripes do not span. The section
    /// `[parity_logging]` applies, and parity cannot be computed before the write cache.
    pub logs_parity: bool,
    /// The members are divided into zones, and blocks move between them. The section `[zones]` applies and sets the size of
    /// chunks, hosts may fill as many pages as the first zone has, and the map of zones is in controller memory.
    pub has_zones: bool,
    /// The mix of reads and writes of a block decides where the block goes: the section `[mix]` applies.
    pub asks_mix: bool,
    /// The hotness of a block decides where the block goes: the section `[hotness]` applies.
    pub asks_hotness: bool,
}

/// What a controller without metadata needs to find all content after a loss of power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestartFrom {
    /// The content of the members.
    Members,
    /// Also the map in controller memory, whose persistence `placement.buffer_persistence` sets.
    Buffer,
    /// A map in memory that a loss of power erases: such a controller cannot restart.
    Nothing,
}

const IN_PLACE: Facts = Facts {
    name: "in-place",
    description: "a chunk is rewritten where it lies and its stripe's parity is updated (paper 000, section II)",
    format: Some(format::Placement::InPlace),
    restart: RestartFrom::Members,
    forms_stripes: false,
    keeps_map: false,
    trims_unmap: false,
    buffers_writes: false,
    locates_on_write: false,
    updates_parity: true,
    logs_parity: false,
    has_zones: false,
    asks_mix: false,
    asks_hotness: false,
};

const PARITY_LOGGING: Facts = Facts {
    name: "parity-logging",
    description: "a chunk is rewritten where it lies; the change of parity goes to log members (ISCA 1993; \
        paper 001, section V-F)",
    format: None,
    restart: RestartFrom::Nothing,
    forms_stripes: false,
    keeps_map: false,
    trims_unmap: false,
    buffers_writes: false,
    locates_on_write: false,
    updates_parity: false,
    logs_parity: true,
    has_zones: false,
    asks_mix: false,
    asks_hotness: false,
};

const ELASTIC: Facts = Facts {
    name: "elastic",
    description: "written chunks form new stripes at the end of a log: eSAP, and with a hotness policy WAS (paper 001)",
    format: Some(format::Placement::Log),
    restart: RestartFrom::Nothing,
    forms_stripes: true,
    keeps_map: true,
    trims_unmap: true,
    buffers_writes: true,
    locates_on_write: true,
    updates_parity: false,
    logs_parity: false,
    has_zones: false,
    // `elastic.classes` can ask for it too.
    asks_mix: false,
    asks_hotness: true,
};

const MC_RAIS: Facts = Facts {
    name: "mc-rais",
    description: "blocks that are mostly read, mixed or mostly written lie in zones of large, middle and small \
        chunks (paper 004)",
    format: None,
    restart: RestartFrom::Buffer,
    forms_stripes: false,
    keeps_map: false,
    trims_unmap: false,
    buffers_writes: false,
    locates_on_write: true,
    updates_parity: true,
    logs_parity: false,
    has_zones: true,
    asks_mix: true,
    asks_hotness: false,
};

/// The placement policies: name in a scheme, and description.
pub const MEMBERS: &[(&str, &str)] =
    &[IN_PLACE.listed(), PARITY_LOGGING.listed(), ELASTIC.listed(), MC_RAIS.listed()];

impl Facts {
    /// The value of `placement.policy` as a scheme file has it, in quotes.
    pub fn value(&self) -> String {
        format!("\"{}\"", self.name)
    }

    const fn listed(&self) -> (&'static str, &'static str) {
        (self.name, self.description)
    }
}

impl PlacementPolicy {
    /// The facts about this placement.
    pub const fn facts(self) -> &'static Facts {
        match self {
            Self::InPlace => &IN_PLACE,
            Self::ParityLogging => &PARITY_LOGGING,
            Self::Elastic => &ELASTIC,
            Self::McRais => &MC_RAIS,
        }
    }
}

impl Placement {
    /// The facts about the placement of this section.
    pub const fn facts(&self) -> &'static Facts {
        self.policy.facts()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::Scheme;

    fn rows() -> impl Iterator<Item = (PlacementPolicy, &'static Facts)> {
        MEMBERS.iter().map(|(name, _)| {
            let text = format!("name = 'test'\n[placement]\npolicy = '{name}'");
            let scheme = Scheme::from_toml("test", &text).unwrap_or_else(|error| panic!("{error}"));
            (scheme.placement.policy, scheme.placement.facts())
        })
    }

    #[test]
    fn a_placement_has_the_facts_that_bear_its_name() {
        for ((_, facts), (name, description)) in rows().zip(MEMBERS) {
            assert_eq!((facts.name, facts.description), (*name, *description));
        }
        assert_eq!(PlacementPolicy::default().facts().name, MEMBERS[0].0, "the default comes first");
        assert_eq!(PlacementPolicy::Elastic.facts().value(), "\"elastic\"");
    }

    #[test]
    fn the_facts_of_a_placement_agree_with_each_other() {
        for (policy, facts) in rows() {
            let implies = |one: bool, other: bool| assert!(!one || other, "{policy:?}: {facts:?}");
            // A map is for locations that the address alone does not determine.
            implies(facts.keeps_map, facts.locates_on_write);
            implies(facts.trims_unmap, facts.keeps_map);
            implies(facts.keeps_map, facts.restart != RestartFrom::Members);
            implies(facts.forms_stripes, facts.buffers_writes && !facts.updates_parity);
            implies(facts.logs_parity, !facts.updates_parity);
            implies(facts.format == Some(format::Placement::Log), facts.forms_stripes);
        }
    }
}
