//! W(R,I,W) of paper 003 (Table 1): requests of size R, Poisson arrivals with mean interval I, W % writes.
//!
//! The paper gives no addresses; they are uniform and aligned to the request's size, which the keys may change.

use std::sync::Arc;

use super::arrival::Arrival;
use super::keys::{Key, Keys};
use super::recipe::{About, Recipe};
use super::size::Size;
use super::synthetic::{REQUESTS, SIZE, SPAN, START, VOLUME, synthetic_with};
use super::uniform::Uniform;
use crate::TraceError;

pub(super) const SIZE_R: Key = Key { default: "1MiB", ..SIZE };
const INTERVAL: Key =
    Key { name: "interval", default: "20ms", help: "I: the mean interval between requests, such as `20ms`" };
const WRITE: Key = Key { name: "write", default: "60%", help: "W: the share of writes, such as `60%`" };
pub(super) const ALIGN: Key = Key {
    name: "align",
    default: "size",
    help: "what offsets are multiples of: `size` (each request's own), `smallest` or a size such as `4KiB`",
};

pub(super) const ABOUT: About = About {
    name: "wriw",
    summary: "paper 003's W(R,I,W): size R, Poisson arrivals with mean interval I, W % writes",
    example: "wriw:size=1MiB,interval=20ms,write=60%,span=8GiB,requests=100k",
    keys: &[SIZE_R, INTERVAL, WRITE, REQUESTS, SPAN, ALIGN, START, VOLUME],
    build,
};

fn build(keys: &Keys) -> Result<Arc<dyn Recipe>, TraceError> {
    let arrival = Arrival::Poisson(keys.duration("interval")? as f64);
    let law = |_: &_, _: &_| Ok(Uniform);
    synthetic_with(keys, keys.share("write")?, Size::parse(keys)?, arrival, law)
}
