//! The settings of hotness in a scheme's file, and their checks.
//!
//! Source: paper 001, sections III-A, IV-A, V-B and V-G; our choices are marked.

use serde::{Deserialize, Serialize};
use stripewise_base::share::Share;
use stripewise_base::units::Bytes;

use super::glru;

/// The largest number of tiers: paper 001, section III-A, has two to four.
pub const TIERS_MAX: u32 = 4;
/// Thresholds if a scheme names none. Paper 001, section V-B, prints 2 for two tiers and nothing for more; the others are
/// our choice, powers of two below the limit of a 4-bit counter.
const THRESHOLDS: [u32; TIERS_MAX as usize - 1] = [2, 4, 8];
/// The largest number of items of a list: it is searched from end to end.
const ITEMS_MAX: u32 = 64;
/// The largest number of lists.
const LISTS_MAX: u32 = 1 << 20;

/// The hotness section of a scheme.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HotnessSection {
    /// The scheme.
    pub policy: HotnessPolicy,
    /// The number of tiers, 1 to 4; `none` always has one.
    pub tiers: u32,
    /// GLRU and direct counting: the numbers of writes at which a chunk enters tier 1, 2 and 3. Absent means 2, 4 and 8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thresholds: Option<Vec<u32>>,
    /// GLRU: the number of lists of its table.
    pub lists: u32,
    /// GLRU: the number of items of a list.
    pub items: u32,
    /// GLRU: the probability that a chunk without an item replaces the last item of a full list.
    pub replace: Share,
    /// GLRU and direct counting: every counter is halved once in this number of look-ups of chunks; 0 means never. An
    /// extension: paper 001 has no decay.
    pub halve_every: u64,
    /// GLRU: the seed of the coin of `replace`.
    pub seed: u64,
    /// HCA: the aligned extent that represents a file, since block traces name no files. A chunk larger than the extent is
    /// a file.
    pub extent: Bytes,
    /// Whether a request that starts where the previous request ended takes that request's tier.
    pub sequential_shortcut: bool,
}

impl Default for HotnessSection {
    fn default() -> Self {
        Self {
            policy: HotnessPolicy::default(),
            tiers: 2,
            thresholds: None,
            // Printed (sections III-A and V-B).
            lists: 128,
            items: 8,
            replace: Share(500_000),
            halve_every: 0,
            seed: 0,
            // Choice.
            extent: Bytes(1 << 20),
            // Printed (section IV-A).
            sequential_shortcut: true,
        }
    }
}

/// Hotness schemes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HotnessPolicy {
    /// All chunks are treated alike.
    #[default]
    None,
    /// Grouping-based lists of least recently updated chunks.
    Glru,
    /// The hotness computation algorithm.
    Hca,
    /// A counter for each chunk.
    Direct,
    /// The user's own, which only a program can give.
    #[serde(skip_deserializing)]
    Custom,
}

/// The values of this axis: name in a scheme, and description.
pub const MEMBERS: &[(&str, &str)] = &[
    ("none", "all chunks are alike"),
    (
        "glru",
        "a small table of recently written chunks with counters, of fixed size (paper 001, section III-A)",
    ),
    (
        "hca",
        "writes of a chunk over their interval, and of its file; 10 bytes a chunk (paper 001, section V-G)",
    ),
    ("direct", "a counter for each chunk: what glru approximates (paper 001, section V-B)"),
];

/// A refused setting: section and key, the value given, and the reason with the remedy.
pub type Refusal = (&'static str, String, &'static str);

impl HotnessSection {
    /// Whether the hotness section has only defaults.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The thresholds of all tiers except the coldest.
    pub(super) fn thresholds(&self) -> &[u32] {
        let above_coldest = (self.tiers as usize).saturating_sub(1).min(THRESHOLDS.len());
        self.thresholds.as_deref().unwrap_or(&THRESHOLDS[..above_coldest])
    }

    /// Checks that these settings have a meaning for an array of `pages` logical chunks.
    ///
    /// # Errors
    /// The first setting that has none.
    pub fn check(&self, pages: u64) -> Result<(), Refusal> {
        self.check_idle()?;
        if self.tiers == 0 || self.tiers > TIERS_MAX {
            return Err(("hotness.tiers", self.tiers.to_string(), "must be 1 to 4"));
        }
        self.check_thresholds()?;
        if self.policy == HotnessPolicy::Glru {
            self.check_table(pages)?;
        }
        if self.policy == HotnessPolicy::Hca && pages > 1 << 32 {
            let reason = "keeps 10 bytes a chunk, of at most 4294967296 chunks; use \"glru\"";
            return Err(("hotness.policy", "\"hca\"".into(), reason));
        }
        let extent = self.extent.0;
        if !extent.is_power_of_two() || !(512..=1 << 40).contains(&extent) {
            let reason = "must be a power of two from 512 bytes to 1 TiB";
            return Err(("hotness.extent", format!("\"{}\"", self.extent), reason));
        }
        Ok(())
    }

    /// Refuses settings that the policy never uses: a setting without effect would mislead.
    fn check_idle(&self) -> Result<(), Refusal> {
        let is = |policies: &[HotnessPolicy]| policies.contains(&self.policy);
        let default = Self::default();
        let in_glru = "has a meaning only with hotness.policy = \"glru\"; leave it out";
        let in_counting = "has a meaning only with hotness.policy = \"glru\" or \"direct\"; leave it out";
        let in_hca = "has a meaning only with hotness.policy = \"hca\"; leave it out";
        let in_any = "has no meaning without a hotness.policy; leave it out";
        let counts = is(&[HotnessPolicy::Glru, HotnessPolicy::Direct]);
        let (glru, hca, any) =
            (is(&[HotnessPolicy::Glru]), is(&[HotnessPolicy::Hca]), !is(&[HotnessPolicy::None]));
        let thresholds = self.thresholds.as_ref().map(|given| format!("{given:?}"));
        let given = |is_given: bool, value: &dyn ToString| is_given.then(|| value.to_string());
        let settings = [
            ("hotness.tiers", any, given(self.tiers != default.tiers, &self.tiers), in_any),
            ("hotness.thresholds", counts, thresholds, in_counting),
            ("hotness.lists", glru, given(self.lists != default.lists, &self.lists), in_glru),
            ("hotness.items", glru, given(self.items != default.items, &self.items), in_glru),
            ("hotness.replace", glru, given(self.replace != default.replace, &self.replace), in_glru),
            ("hotness.halve_every", counts, given(self.halve_every != 0, &self.halve_every), in_counting),
            ("hotness.seed", glru, given(self.seed != default.seed, &self.seed), in_glru),
            ("hotness.extent", hca, given(self.extent != default.extent, &self.extent), in_hca),
            ("hotness.sequential_shortcut", any, given(!self.sequential_shortcut, &false), in_any),
        ];
        for (key, is_read, given, reason) in settings {
            if let (false, Some(value)) = (is_read, given) {
                return Err((key, value, reason));
            }
        }
        Ok(())
    }

    fn check_thresholds(&self) -> Result<(), Refusal> {
        let thresholds = self.thresholds();
        let refuse = |reason| Err(("hotness.thresholds", format!("{thresholds:?}"), reason));
        if thresholds.len() + 1 != self.tiers as usize {
            return refuse("must be one fewer than hotness.tiers; leave it out for 2, 4 and 8");
        }
        if !thresholds.is_sorted_by(|lower, upper| lower < upper) {
            return refuse("must ascend, from the tier above the coldest to the hottest");
        }
        if thresholds.first().is_some_and(|&lowest| lowest < 2) {
            return refuse("must be at least 2: a chunk that is written has been written once");
        }
        let highest = thresholds.last().copied().unwrap_or(0);
        match self.policy {
            HotnessPolicy::Glru if highest > u32::from(glru::COUNTER_MAX) => {
                refuse("must be at most 15, where counters of 4 bits end; policy = \"direct\" counts to 255")
            }
            HotnessPolicy::Direct if highest > u32::from(u8::MAX) => {
                refuse("must be at most 255, where counters of 8 bits end")
            }
            _ => Ok(()),
        }
    }

    fn check_table(&self, pages: u64) -> Result<(), Refusal> {
        if self.items == 0 || self.items > ITEMS_MAX {
            return Err((
                "hotness.items",
                self.items.to_string(),
                "must be 1 to 64; for more use more lists",
            ));
        }
        if self.lists == 0 || self.lists > LISTS_MAX {
            return Err(("hotness.lists", self.lists.to_string(), "must be 1 to 1048576"));
        }
        if pages.div_ceil(u64::from(self.lists)) > 1 << 32 {
            let reason =
                "is too few: an item distinguishes the 4294967296 chunks of one list; use more lists";
            return Err(("hotness.lists", self.lists.to_string(), reason));
        }
        Ok(())
    }
}
