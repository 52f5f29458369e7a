//! What the array says to a combination: it resolves it, or refuses it with a reason.

use std::fmt;

use stripewise_array::geometry::Level as Raid;
use stripewise_array::{Members, Scheme, SchemeError};

use super::axes::{AXES, Ability, AxisValue, Sets};
use super::combination::Combination;

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
        let scheme = |member: &AxisValue| {
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
    let reports = ability != Ability::Nothing;
    Members {
        count: members * scheme.geometry.groups + scheme.parity_log_members(),
        page_bytes: 4096,
        pages: 256,
        volatile_cache: false,
        discard: true,
        old_versions: if ability == Ability::Everything { 64 } else { 0 },
        gc_control: reports,
        gc_state: reports,
        streams: 1,
    }
}
