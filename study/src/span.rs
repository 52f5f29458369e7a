//! The span: the range of addresses that requests are folded onto.
//!
//! It belongs to the workload and the device, not to the schemes, so that a scheme gets the same requests whichever others
//! stand beside it.

use stripewise_flash::{DeviceSpec, Shape, SpecError};
use stripewise_sim::{Layout, Precondition};

use crate::error::Error;
use crate::human;

/// How large the span is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Span {
    /// Half of what the members hold at first: half of the pages that they offer, times the share that
    /// [`Precondition`] fills. RAID-6 over four members, of which half is parity, just has room for it.
    #[default]
    HalfOfMembers,
    /// So many bytes.
    Bytes(u64),
    /// What the smallest array of the study holds at first. It depends on the schemes: for evaluations whose set of schemes is
    /// fixed.
    Smallest,
}

impl Span {
    /// Bytes of the span, over arrays that hold `filled` bytes each at first.
    ///
    /// # Errors
    /// When the device cannot be.
    pub(crate) fn bytes(
        self,
        device: &DeviceSpec,
        layout: Layout,
        precondition: Precondition,
        filled: impl Iterator<Item = u64>,
    ) -> Result<u64, SpecError> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Smallest => Ok(filled.min().unwrap_or(0)),
            Self::HalfOfMembers => Ok(whole(self::filled(precondition, offered(device, layout)?) / 2)),
        }
    }

    /// What it is a part of, for people.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::HalfOfMembers => " (half of what the members hold)",
            Self::Bytes(_) => "",
            Self::Smallest => " (what the smallest of these arrays holds)",
        }
    }
}

/// Refuses a span that is more than one of the arrays holds, each by its scheme's name and what it holds at first.
///
/// # Errors
/// The scheme that holds the least, with the span that would fit all.
pub(crate) fn check<'a>(span: u64, arrays: impl Iterator<Item = (&'a str, u64)>) -> Result<(), Error> {
    if span == 0 {
        return Err(Error::spec(
            "a span of 0 bytes: there is nothing to fold onto; give more, as in --span 1GiB",
        ));
    }
    match arrays.min_by_key(|&(_, holds)| holds) {
        Some((scheme, holds)) if holds < span => Err(Error::spec(format!(
            "scheme {scheme} holds {} at first, less than the span of {} that requests are folded onto; give all schemes a \
             span that fits: --span {holds}B",
            human::bytes(holds),
            human::bytes(span),
        ))),
        _ => Ok(()),
    }
}

/// Bytes that the members offer, parity and all.
fn offered(device: &DeviceSpec, layout: Layout) -> Result<u64, SpecError> {
    let shape = Shape::new(device, layout.level, layout.devices)?;
    let pages = u64::from(shape.logical_pages) * u64::from(shape.elements);
    Ok(pages * device.geometry.page_bytes.0)
}

/// The part of an array of so many bytes that holds data before the first request; all of it where nothing does.
pub(crate) fn filled(precondition: Precondition, bytes: u64) -> u64 {
    if precondition == Precondition::Fresh { bytes } else { whole(precondition.pages(bytes)) }
}

/// Whole MiB where there are any, so that no chunk is cut; else whole pages of 4 KiB.
fn whole(bytes: u64) -> u64 {
    if bytes >> 20 > 0 { bytes >> 20 << 20 } else { bytes / 4096 * 4096 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stripewise_flash::{Level, Share, State};

    fn half(members: u32, precondition: Precondition) -> u64 {
        let device = DeviceSpec::preset("ssdsim-5+1").unwrap();
        let layout = Layout { level: Level::Ssd, devices: members };
        Span::HalfOfMembers.bytes(&device, layout, precondition, [1, 2].into_iter()).unwrap()
    }

    #[test]
    fn the_default_is_half_of_what_the_members_hold_whatever_the_arrays_are() {
        let all = half(4, Precondition::Fresh);
        let some = half(4, Precondition::Filled(State::Steady, Share(500_000)));
        assert!(all > 0 && all.is_multiple_of(1 << 20));
        assert!(some.abs_diff(all / 2) <= 1 << 20, "{some} is not half of {all}");
        assert!(half(8, Precondition::Fresh).abs_diff(2 * all) <= 1 << 20);
    }

    #[test]
    fn a_span_that_one_array_does_not_hold_is_refused_with_the_one_that_all_hold() {
        let arrays = [("wide", 9 << 20), ("narrow", 5 << 20)];
        assert!(check(5 << 20, arrays.into_iter()).is_ok());
        let message = check(6 << 20, arrays.into_iter()).unwrap_err().to_string();
        assert!(
            message.contains("scheme narrow holds 5 MiB") && message.contains("--span 5242880B"),
            "{message}"
        );
        assert!(check(0, arrays.into_iter()).is_err());
    }
}
