//! The sizes of generated requests.

use stripewise_base::prng::Prng;
use stripewise_base::units::parse_bytes;

use super::keys::Keys;
use crate::TraceError;

/// The values of the key `size`.
pub(super) const HELP: &str = "how large requests are: `8KiB`, `4KiB..64KiB` (whole multiples of the smaller, \
    equally likely) or weighted sizes, `4KiB*50+512KiB*17`";

/// The law of sizes, in bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Size {
    /// Always the same.
    Fixed(u32),
    /// `grain` times a number uniform over `1..=most`.
    Multiples { grain: u32, most: u32 },
    /// Sizes with the running sums of their weights; the last sum is the total.
    Weighted(Vec<(u32, u64)>),
}

impl Size {
    /// Parses the key `size`.
    pub(super) fn parse(keys: &Keys) -> Result<Self, TraceError> {
        let fail = |message: &str| keys.fail("size", format!("{message}; it is {HELP}"));
        let size = |text: &str| {
            let bytes = parse_bytes(text.trim()).map_err(|error| keys.fail("size", error))?;
            match u32::try_from(bytes) {
                Ok(bytes) if bytes > 0 => Ok(bytes),
                _ => Err(fail("a request has 1 byte to 4 GiB - 1")),
            }
        };
        let text = keys.text("size");
        if let Some((from, to)) = text.split_once("..") {
            let (grain, to) = (size(from)?, size(to)?);
            if to < grain || to % grain != 0 {
                return Err(fail("the larger size must be a multiple of the smaller"));
            }
            return Ok(Self::Multiples { grain, most: to / grain });
        }
        if !text.contains(['+', '*']) {
            return size(text).map(Self::Fixed);
        }
        let mut total = 0u64;
        let mut sizes = Vec::new();
        for part in text.split('+') {
            let (bytes, weight) = part.split_once('*').ok_or_else(|| fail("a size lacks its weight"))?;
            let weight: u32 = weight.trim().parse().map_err(|_| fail("a weight is a whole number"))?;
            total += u64::from(weight);
            sizes.push((size(bytes)?, total));
        }
        if total == 0 { Err(fail("all weights are zero")) } else { Ok(Self::Weighted(sizes)) }
    }

    /// The size of the next request.
    #[inline]
    pub(crate) fn draw(&self, prng: &mut Prng) -> u32 {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Multiples { grain, most } => grain * (1 + prng.below(u64::from(*most)) as u32),
            Self::Weighted(sizes) => {
                let total = sizes.last().map_or(1, |size| size.1);
                let at = prng.below(total);
                sizes.iter().find(|size| at < size.1).map_or(0, |size| size.0)
            }
        }
    }

    /// The smallest size that can occur.
    pub(crate) fn smallest(&self) -> u32 {
        match self {
            Self::Fixed(bytes) | Self::Multiples { grain: bytes, .. } => *bytes,
            Self::Weighted(sizes) => sizes.iter().map(|size| size.0).min().unwrap_or(1),
        }
    }

    /// The largest size that can occur.
    pub(crate) fn largest(&self) -> u32 {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Multiples { grain, most } => grain * most,
            Self::Weighted(sizes) => sizes.iter().map(|size| size.0).max().unwrap_or(1),
        }
    }
}
