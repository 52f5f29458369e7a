//! What the paper only wishes for (section 4, last paragraph): a cache that is WOW or SIW by what the workload does. How far
//! it is from the better of the two at each point of Table 1, and whether it is better than both where the mix changes.

use serde_json::{Value, json};

use super::evidence::{NOTHING, percent};
use super::measured::Measured;
use super::plan::Part;
use super::variant::{Level, Policy, Variant};

/// The hybrid is to be no more than this much slower than the better of the two, anywhere.
pub const LIMIT: f64 = 0.05;

/// The hybrid at a RAID level.
#[derive(Clone, Debug, PartialEq)]
pub struct Hybrid {
    /// The level.
    pub level: Level,
    /// Points of the grid, how many of them are within [`LIMIT`], and the worst with its excess.
    pub points: usize,
    /// Points within the limit.
    pub within: usize,
    /// The point at which it is worst, and by how much.
    pub worst: Option<(String, f64)>,
    /// Points at which WOW is better than SIW.
    pub wow_better: usize,
    /// Each changing mix: how much lower its mean response is than WOW's and than SIW's.
    pub mixes: Vec<(String, [f64; 2])>,
}

impl Hybrid {
    /// What was measured of it, at both levels.
    pub(super) fn all(measured: &[Measured]) -> Vec<Self> {
        Level::ALL.into_iter().map(|level| Self::at(level, measured)).collect()
    }

    fn at(level: Level, measured: &[Measured]) -> Self {
        let of = |part| move |one: &&Measured| one.cell.level == level && one.cell.part == part;
        let grid: Vec<(&Measured, f64)> = measured
            .iter()
            .filter(of(Part::Grid))
            .filter_map(|one| Some((one, one.hybrid_excess()?)))
            .collect();
        let [wow, siw, hybrid] = [Policy::Wow, Policy::Siw, Policy::Hybrid].map(Variant::of);
        let worst = grid.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let mixes = measured.iter().filter(of(Part::Changing));
        Self {
            level,
            points: grid.len(),
            within: grid.iter().filter(|(_, excess)| *excess <= LIMIT).count(),
            worst: worst.map(|(one, excess)| (one.cell.workload.name.clone(), *excess)),
            wow_better: grid
                .iter()
                .filter(|(one, _)| one.gain(siw, wow).is_some_and(|gain| gain < 0.0))
                .count(),
            mixes: mixes
                .filter_map(|one| {
                    Some((one.cell.workload.name.clone(), [one.gain(hybrid, wow)?, one.gain(hybrid, siw)?]))
                })
                .collect(),
        }
    }

    /// A line for people.
    pub(super) fn line(&self) -> String {
        let worst = self.worst.as_ref().map_or(NOTHING.to_owned(), |(name, excess)| {
            format!("{} slower than the better of WOW and SIW, at {name}", percent(Some(*excess)))
        });
        let mixes = self.mixes.iter().map(|(name, [wow, siw])| {
            let both = if *wow > 0.0 && *siw > 0.0 { "better than both" } else { "not better than both" };
            format!("{name}: gains {} on WOW, {} on SIW, {both}", percent(Some(*wow)), percent(Some(*siw)))
        });
        let holds = if self.within == self.points { "holds" } else { "does not hold" };
        format!(
            "- {}: {} of {} points within {:.0} % ({holds}), at worst {worst}; WOW is better than SIW at {}. \
             Changing mixes: {}.\n",
            self.level,
            self.within,
            self.points,
            LIMIT * 100.0,
            self.wow_better,
            mixes.collect::<Vec<_>>().join("; "),
        )
    }

    /// The same for programs.
    pub(super) fn json(&self) -> Value {
        let mix = |(name, [wow, siw]): &(String, [f64; 2])| json!({ "mix": name, "below_wow": wow, "below_siw": siw });
        json!({
            "level": self.level.to_string(), "points": self.points, "within_limit": self.within, "limit": LIMIT,
            "worst_point": self.worst.as_ref().map(|(name, _)| name),
            "worst_excess": self.worst.as_ref().map(|(_, excess)| excess),
            "points_where_wow_is_better": self.wow_better, "mixes": self.mixes.iter().map(mix).collect::<Vec<_>>(),
        })
    }
}
