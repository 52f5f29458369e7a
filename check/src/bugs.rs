//! Bugs on purpose, which the checker must find.

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
    /// All of them, by name.
    pub fn all() -> Vec<(String, Self)> {
        let array = stripewise_array::Bug::ALL.iter().map(|&bug| Self::Array(bug));
        let flash = stripewise_flash::Bug::ALL.iter().map(|&bug| Self::Flash(bug));
        array.chain(flash).map(|bug| (bug.name(), bug)).collect()
    }

    /// Those of the controller that the crash checker must find, by name.
    pub fn of_metadata() -> Vec<(String, Self)> {
        let bugs = stripewise_array::Bug::METADATA.iter().map(|&bug| Self::Array(bug));
        bugs.map(|bug| (bug.name(), bug)).collect()
    }

    /// The name in the file that lists it.
    pub fn name(self) -> String {
        match self {
            Self::Array(bug) => format!("{bug:?}"),
            Self::Flash(bug) => format!("{bug:?}"),
        }
    }
}

/// What a run is started with, beside its case.
#[derive(Default)]
pub struct Options {
    /// Who reads along.
    pub tracer: Option<Tracer>,
    /// The bug that is planted. Without debug assertions there is none to plant.
    pub bug: Option<Planted>,
}
