//! Creation of an array, and opening one again: what is on the elements becomes a controller that serves.

use crate::controller::Array;
use crate::format::Uuid;
use crate::media::Media;
use crate::memory::Memory;
use crate::scheme::{Elements, Scheme, SchemeError};

/// What an array is known by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The array's.
    pub array: Uuid,
    /// Those of its elements, in order.
    pub elements: Vec<Uuid>,
    /// What people call it; at most 64 bytes.
    pub name: String,
}

/// How to open an array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opening {
    /// Nothing is written: no new epoch, no repair. Such an array takes no writes.
    pub read_only: bool,
    /// Opens what would be refused because something is lost, without that. What was refused stands in [`Opened::losses`].
    pub force: bool,
}

/// What was found when an array was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opened {
    /// The epoch that began.
    pub epoch: u32,
    /// Which offered element each of the array's elements is; none where it is absent or stale.
    pub positions: Vec<Option<u16>>,
    /// Batches, or records of the journal, behind the last checkpoint that count.
    pub replayed: u64,
    /// Those that were begun and not finished: nobody was promised anything of them.
    pub dropped: u64,
    /// What was lost though it had been promised, in words.
    pub losses: Vec<String>,
    /// Pages read.
    pub pages_read: u64,
}

/// Why an array is not created or not opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The scheme has no meaning over these elements.
    #[error(transparent)]
    Scheme(#[from] SchemeError),
    /// What is offered is no array, or too little of one, or opening it would lose what was promised: the reason, and the remedy.
    #[error("{0}")]
    Refused(String),
    /// An element failed so that it cannot go on.
    #[error("{0}")]
    Failed(String),
}

/// Writes an empty array of `scheme` over all that `media` offers.
///
/// # Errors
/// When the scheme has no meaning over these elements, or an element cannot be written.
pub fn create(
    _scheme: &Scheme,
    _elements: Elements,
    _identity: &Identity,
    _media: &mut dyn Media,
) -> Result<(), OpenError> {
    Err(OpenError::Refused("not yet".into()))
}

impl<M: Memory> Array<M> {
    /// The controller of the array that `media` offers, in whatever order, with at most as many of its elements absent, stale
    /// or failed as its parity bears. It serves as soon as it is there.
    ///
    /// # Errors
    /// Why it is not opened, and what would help.
    pub fn open(
        _scheme: &Scheme,
        _elements: Elements,
        _memory: M,
        _media: &mut dyn Media,
        _opening: Opening,
    ) -> Result<(Self, Opened), OpenError> {
        Err(OpenError::Refused("not yet".into()))
    }
}
