//! Combinations: one member of each axis.

use std::fmt;

use stripewise_flash::Level;

use super::axes::{AXES, Ability, AxisValue, COUNT, Sets};

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
    pub fn member(&self, axis: usize) -> &'static AxisValue {
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
