//! Victims that the user of a program chooses.

use crate::flash::Flash;
use crate::map::ftl::{Ftl, OPEN};
use crate::media::Media;

/// A written block of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenBlock {
    /// Its number within the plane.
    pub block: u32,
    /// Its valid pages.
    pub valid: u16,
    /// Pages that the plane has programmed since the block last changed: was filled or lost a page.
    pub age: u32,
    /// Erases.
    pub erases: u32,
}

/// The blocks of a plane that is to be collected.
#[derive(Clone, Copy, Debug)]
pub struct Blocks<'a> {
    pub(crate) ftl: &'a Ftl,
    pub(crate) plane: u32,
    pub(crate) full: u16,
}

impl Blocks<'_> {
    /// The plane, counted over all members.
    pub fn plane(&self) -> u32 {
        self.plane
    }

    /// The pages of a block that hold data.
    pub fn pages(&self) -> u16 {
        self.full
    }

    /// The full blocks, by ascending number. At least one of them has an invalid page.
    pub fn iter(&self) -> impl Iterator<Item = WrittenBlock> {
        let valid = self.ftl.valid_of(self.plane);
        let (first, age) = (self.plane as usize * valid.len(), self.ftl.ages_of(self.plane));
        let full = valid.iter().enumerate().filter(|(_, valid)| **valid < OPEN);
        full.map(move |(block, &valid)| WrittenBlock {
            block: block as u32,
            valid,
            age: age(block),
            erases: self.ftl.wear.erases(first + block),
        })
    }
}

/// Chooses the block that a plane collects.
pub trait ChooseBlock: Send {
    /// The number of a full block; none takes the block with the fewest valid pages.
    fn choose(&mut self, blocks: &Blocks<'_>) -> Option<u32>;
}

/// The user's own policy. A copy of a device has none.
#[derive(Default)]
pub(crate) struct Chooser(pub(crate) Option<Box<dyn ChooseBlock>>);

impl Clone for Chooser {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl std::fmt::Debug for Chooser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Chooser").field(&self.0.is_some()).finish()
    }
}

impl<M: Media> Flash<M> {
    /// Asks `chooser` for the blocks to collect, where the device leaves them to the user ([`crate::Victim::Custom`]); also
    /// while it is preconditioned.
    pub fn install(&mut self, chooser: Box<dyn ChooseBlock>) {
        self.chooser = Chooser(Some(chooser));
    }
}
