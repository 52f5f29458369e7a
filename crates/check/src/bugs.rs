//! Planted bugs that the checker must find.

use crate::player::Tracer;

/// A bug of the controller or of the flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    /// In the controller.
    Array(stripewise_array::Bug),
    /// In the modelled flash.
    Flash(stripewise_flash::Bug),
}

impl Planted {
    /// All bugs, by name.
    pub fn all() -> Vec<(String, Self)> {
        let array = stripewise_array::Bug::ALL.iter().map(|&bug| Self::Array(bug));
        let flash = stripewise_flash::Bug::ALL.iter().map(|&bug| Self::Flash(bug));
        array.chain(flash).map(|bug| (bug.name(), bug)).collect()
    }

    /// The controller bugs that the crash checker must find, by name: those of metadata, and those of what an array says.
    pub fn of_metadata() -> Vec<(String, Self)> {
        let all = stripewise_array::Bug::METADATA.iter().chain(stripewise_array::Bug::HEALTH);
        let bugs = all.map(|&bug| Self::Array(bug));
        bugs.map(|bug| (bug.name(), bug)).collect()
    }

    /// The controller bugs that only a saved case finds in reasonable time, by name.
    pub fn rare() -> Vec<(String, Self)> {
        let bugs = stripewise_array::Bug::RARE.iter().map(|&bug| Self::Array(bug));
        bugs.map(|bug| (bug.name(), bug)).collect()
    }

    /// The name in the source file that lists the bug.
    pub fn name(self) -> String {
        match self {
            Self::Array(bug) => format!("{bug:?}"),
            Self::Flash(bug) => format!("{bug:?}"),
        }
    }
}

/// Options of a run, in addition to its case.
#[derive(Default)]
pub struct Options {
    /// Receives the trace.
    pub tracer: Option<Tracer>,
    /// The planted bug. Without debug assertions no bug can be planted.
    pub bug: Option<Planted>,
}
