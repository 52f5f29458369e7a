//! Random access: every offset is equally likely.

use stripewise_base::prng::Prng;

use super::keys::Keys;
use super::synthetic::{ALIGN, ARRIVAL, Law, REQUESTS, Range, SIZE, SPAN, START, Synthetic, VOLUME, WRITE};
use super::{About, Recipe};
use crate::TraceError;

pub(super) const ABOUT: About = About {
    name: "uniform",
    summary: "random access, every offset equally likely",
    example: "uniform:write=1,size=8KiB,span=1GiB,requests=3M,arrival=poisson:100us",
    keys: &[REQUESTS, WRITE, SIZE, SPAN, ALIGN, ARRIVAL, START, VOLUME],
    build,
};

fn build(keys: &Keys) -> Result<Recipe, TraceError> {
    Synthetic::parse(keys, |_, _| Ok(Law::Uniform(Uniform))).map(Recipe::Synthetic)
}

/// Every offset is equally likely.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Uniform;

impl Uniform {
    #[inline]
    pub(super) fn place(&self, range: &Range, bytes: u32, prng: &mut Prng) -> u64 {
        range.start + prng.below(range.slots(bytes)) * range.grain(bytes)
    }
}
