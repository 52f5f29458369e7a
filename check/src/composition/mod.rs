//! Composition: any member of an axis with any member of every other axis.
//!
//! [`axes`] lists the axes. A [`Combination`] has one member of each axis. A combination is *accepted* if the array
//! resolves it, with the same code with which every run begins, and otherwise *refused* with the reason given by that
//! code. [`Pairs`] determines which two members refuse each other; every refusal is due to such a pair, and a test
//! verifies this over all combinations. [`covering()`] builds a covering array of strength 3: a small set of
//! combinations that contains every possible triple of members. [`case()`] builds a case from a combination and a
//! seed, and [`table::document`] builds the document.

pub mod axes;
mod bits;
pub mod case;
pub mod covering;
pub mod pairs;
mod review;
pub mod table;

use std::fmt;

use stripewise_array::geometry::Level as Raid;
use stripewise_array::{Members, Scheme, SchemeError};
use stripewise_flash::Level;

use axes::{AXES, Ability, COUNT, Sets};
pub use case::case;
pub use covering::{covering, is_feasible, shuffle};
pub use pairs::{Pairs, Refusal};
pub use review::{REVIEW, Reviewed, Verdict, review};

/// A member: the number of its axis, and its number on that axis.
pub type At = (usize, u8);

/// One member of each axis, by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Combination(pub [u8; COUNT]);

impl Combination {
    /// The combination with another member on one axis.
    pub fn with(mut self, axis: usize, member: u8) -> Self {
        self.0[axis] = member;
        self
    }

    /// Its member of an axis.
    pub fn member(&self, axis: usize) -> &'static axes::AxisValue {
        &AXES[axis].members[self.0[axis] as usize]
    }

    fn sets(&self) -> impl Iterator<Item = Sets> {
        (0..COUNT).map(|axis| self.member(axis).sets)
    }

    /// The level of the array's members.
    pub fn level(&self) -> Level {
        let level = |sets| if let Sets::Level(level) = sets { Some(level) } else { None };
        self.sets().find_map(level).unwrap_or(Level::Ssd)
    }

    /// Whether devices have preemptive collection.
    pub fn preempts(&self) -> bool {
        self.sets().any(|sets| sets == Sets::Preemption)
    }

    /// The capabilities of the array's members.
    pub fn ability(&self) -> Ability {
        let ability = |sets| if let Sets::Members(ability) = sets { Some(ability) } else { None };
        self.sets().find_map(ability).unwrap_or(Ability::Everything)
    }

    /// Parses the display format of [`Combination`]: `geometry=raid6,cache=wow`; axes not named have their first
    /// member.
    ///
    /// # Errors
    /// The unknown axis or member, and the known ones.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut combination = Self::default();
        for part in text.split(',').filter(|part| !matches!(*part, "" | "defaults")) {
            let (axis, member) =
                part.split_once('=').ok_or_else(|| format!("`{part}`: expected AXIS=MEMBER"))?;
            let names = |names: Vec<&str>| names.join(", ");
            let axis = AXES.iter().position(|known| known.name == axis).ok_or_else(|| {
                format!(
                    "`{axis}` is no axis; there are {}",
                    names(AXES.iter().map(|axis| axis.name).collect())
                )
            })?;
            let members = AXES[axis].members;
            let member = members.iter().position(|known| known.name == member).ok_or_else(|| {
                let known = names(members.iter().map(|member| member.name).collect());
                format!("`{member}` is no member of {}; there are {known}", AXES[axis].name)
            })?;
            combination.0[axis] = member as u8;
        }
        Ok(combination)
    }
}

impl fmt::Display for Combination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let others: Vec<String> = (0..COUNT)
            .filter(|&axis| self.0[axis] != 0)
            .map(|axis| format!("{}={}", AXES[axis].name, self.member(axis).name))
            .collect();
        f.write_str(if others.is_empty() { "defaults" } else { "" })?;
        f.write_str(&others.join(","))
    }
}

/// The schemes of all members, parsed once.
#[derive(Debug)]
pub struct Space {
    /// For each axis and member, a scheme with its keys only.
    schemes: Vec<Vec<Scheme>>,
}

impl Default for Space {
    fn default() -> Self {
        Self::new()
    }
}

impl Space {
    /// Parses the keys that members set.
    ///
    /// # Panics
    /// If a member's keys do not form a scheme.
    pub fn new() -> Self {
        let scheme = |member: &axes::AxisValue| {
            let keys = if let Sets::Keys(keys) = member.sets { keys } else { "" };
            Scheme::from_toml(member.name, &format!("name = 'composed'\n{keys}"))
                .unwrap_or_else(|error| panic!("{error}"))
        };
        Self { schemes: AXES.iter().map(|axis| axis.members.iter().map(scheme).collect()).collect() }
    }

    /// The scheme of a combination, with only the keys that its members set.
    pub fn scheme(&self, combination: &Combination) -> Scheme {
        let mut scheme = self.schemes[0][0].clone();
        for (axis, &member) in combination.0.iter().enumerate().filter(|(_, member)| **member != 0) {
            (AXES[axis].take)(&mut scheme, &self.schemes[axis][member as usize]);
        }
        scheme
    }

    /// Whether a combination is valid.
    ///
    /// # Errors
    /// The reason why it is not.
    pub fn resolve(&self, combination: &Combination) -> Result<(), SchemeError> {
        let scheme = self.scheme(combination);
        let members = members(&scheme, combination.ability());
        scheme.resolve(&members, true).map(|_| ())
    }

    /// Why a combination is refused.
    pub fn why(&self, combination: &Combination) -> Option<Why> {
        Some(match self.resolve(combination).err()? {
            SchemeError::Setting { key: "section", value, reason, .. } => {
                Why { setting: value, reason: reason.into() }
            }
            SchemeError::Setting { key, value, reason, .. } => {
                Why { setting: format!("{key} = {value}"), reason: reason.into() }
            }
            SchemeError::Geometry { reason, .. } => {
                Why { setting: "section [geometry]".into(), reason: reason.to_string() }
            }
            SchemeError::Code { reason, .. } => {
                Why { setting: "section [code]".into(), reason: reason.to_string() }
            }
            SchemeError::Syntax(text) => Why { setting: "the scheme".into(), reason: text },
        })
    }
}

/// The array's reason for refusing a combination.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Why {
    /// The refused setting.
    pub setting: String,
    /// The reason, as a continuation of a sentence that begins with the setting.
    pub reason: String,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.setting, self.reason)
    }
}

/// The array members with which a scheme is resolved: enough for its groups, with the given capabilities. Their size
/// is irrelevant here.
fn members(scheme: &Scheme, ability: Ability) -> Members {
    let members = match scheme.geometry.level {
        Raid::Raid0 => 4,
        Raid::Raid5 | Raid::Raid6 => 3 + scheme.geometry.level.parity(),
    };
    let tells = ability != Ability::Nothing;
    Members {
        count: members * scheme.geometry.groups + scheme.log_members(),
        page_bytes: 4096,
        pages: 256,
        volatile_cache: false,
        discard: true,
        old_versions: if ability == Ability::Everything { 64 } else { 0 },
        gc_control: tells,
        gc_state: tells,
        streams: 1,
    }
}
