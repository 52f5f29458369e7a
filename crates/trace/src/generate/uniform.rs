//! Random access: every offset is equally likely.

use std::sync::Arc;

use stripewise_base::prng::Prng;

use super::keys::Keys;
use super::recipe::{About, Recipe};
use super::synthetic::{ALIGN, ARRIVAL, Law, REQUESTS, Range, SIZE, SPAN, START, VOLUME, WRITE, synthetic};
use crate::TraceError;

pub(super) const ABOUT: About = About {
    name: "uniform",
    summary: "random access, every offset equally likely",
    example: "uniform:write=1,size=8KiB,span=1GiB,requests=3M,arrival=poisson:100us",
    keys: &[REQUESTS, WRITE, SIZE, SPAN, ALIGN, ARRIVAL, START, VOLUME],
    build,
};

fn build(keys: &Keys) -> Result<Arc<dyn Recipe>, TraceError> {
    synthetic(keys, |_, _| Ok(Uniform))
}

/// Every offset is equally likely.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Uniform;

impl Law for Uniform {
    #[inline]
    fn place(&mut self, range: &Range, bytes: u32, prng: &mut Prng) -> u64 {
        range.start + prng.below(range.slots(bytes)) * range.grain(bytes)
    }
}
