//! The victim of device GC.

use pyo3::prelude::*;
use stripewise_flash::{Blocks, ChooseBlock};

use super::method::{Method, place_in};

/// The written blocks of a plane of which one is to be collected. The object is reused for the next collection: copy
/// values that you keep.
#[pyclass(module = "stripewise._stripewise")]
#[derive(Default)]
pub(crate) struct DeviceBlocks {
    /// The plane, counted over all members; 0 while the device is preconditioned.
    #[pyo3(get)]
    plane: u32,
    /// The pages of a block that hold data.
    #[pyo3(get)]
    pages: u32,
    /// The written blocks, by their numbers within the plane, in ascending order.
    #[pyo3(get)]
    blocks: Vec<u32>,
    /// For each of `blocks`: its valid pages.
    #[pyo3(get)]
    valid: Vec<u16>,
    /// For each of `blocks`: the pages that the plane has programmed since the block was filled or last lost a page.
    #[pyo3(get)]
    ages: Vec<u32>,
    /// For each of `blocks`: its erases.
    #[pyo3(get)]
    erases: Vec<u32>,
}

impl ChooseBlock for Method<DeviceBlocks> {
    fn choose(&mut self, blocks: &Blocks<'_>) -> Option<u32> {
        let numbers: Vec<u32> = blocks.iter().map(|one| one.block).collect();
        let fill = |view: &mut DeviceBlocks| {
            (view.plane, view.pages) = (blocks.plane(), blocks.pages().into());
            view.blocks.clone_from(&numbers);
            view.valid = blocks.iter().map(|one| one.valid).collect();
            view.ages = blocks.iter().map(|one| one.age).collect();
            view.erases = blocks.iter().map(|one| one.erases).collect();
        };
        let place =
            self.ask(fill, |answer| place_in(&answer, &numbers, ("block", "blocks.blocks"))).flatten();
        place.map(|place| numbers[place])
    }
}
