//! The HPC mix of paper 003 (section 4): 60 % writes, Poisson arrivals with a mean interval of 20 ms, half the
//! requests 4 KB, "17 % of 512 KB and 32 % of 1 MB".
//!
//! The paper's shares add up to 99 %; the default gives the missing one to 1 MB. Its "bi-normal" distribution of
//! sizes is read as these three sizes. The paper gives no addresses: they are uniform and aligned to the request's
//! size.

use std::sync::Arc;

use super::arrival::{self, Arrival};
use super::keys::{Key, Keys};
use super::recipe::{About, Recipe};
use super::size::Size;
use super::synthetic::{REQUESTS, SIZE, SPAN, START, VOLUME, synthetic_with};
use super::uniform::Uniform;
use super::wriw::ALIGN;
use crate::TraceError;

const MIX: Key = Key { default: "4KiB*50+512KiB*17+1MiB*33", ..SIZE };
const WRITE: Key = Key { name: "write", default: "60%", help: "the share of writes, such as `60%`" };
const ARRIVAL: Key = Key { name: "arrival", default: "poisson:20ms", help: arrival::HELP };

pub(super) const ABOUT: About = About {
    name: "hpc",
    summary: "paper 003's HPC mix: 60 % writes, sizes of 4 KiB, 512 KiB and 1 MiB, Poisson arrivals every 20 ms",
    example: "hpc:span=8GiB,requests=100k",
    keys: &[REQUESTS, SPAN, MIX, WRITE, ARRIVAL, ALIGN, START, VOLUME],
    build,
};

fn build(keys: &Keys) -> Result<Arc<dyn Recipe>, TraceError> {
    let law = |_: &_, _: &_| Ok(Uniform);
    synthetic_with(keys, keys.share("write")?, Size::parse(keys)?, Arrival::parse(keys)?, law)
}
