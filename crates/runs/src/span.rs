//! The span: the range of addresses that requests are folded onto.
//!
//! It belongs to the workload and the device, not to the schemes. So a scheme gets the same requests, whichever other
//! schemes the comparison has.

use stripewise_base::human;
use stripewise_flash::{DeviceSpec, Shape, SpecError};
use stripewise_sim::{Layout, Precondition};

use crate::error::Error;

/// The size of the span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Span {
    /// A fifth of what the members hold at first: a fifth of the pages that they offer, times the share that
    /// [`Precondition`] fills. Every shipped scheme holds that much over the smallest number of members that it
    /// allows. Two schemes set the limit: MC-RAIS has three zones of which each could take all data (2/9 of three
    /// members), and a durable log over RAID-6 keeps a member free in addition to its parity (1/4 of four members,
    /// less its metadata).
    #[default]
    FifthOfMembers,
    /// The address space of the workload's generator, where it is larger than [`Self::FifthOfMembers`] and every array of the
    /// comparison holds it; otherwise a fifth. In a smaller address space a fifth moves no request.
    OfGenerator,
    /// This number of bytes.
    Bytes(u64),
}

/// A span that was chosen, with its reason for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chosen {
    pub(crate) bytes: u64,
    pub(crate) why: String,
}

impl Span {
    /// The span of requests from a generator with addresses up to `end`, for arrays that all hold `least`.
    ///
    /// # Errors
    /// When the device is impossible.
    pub(crate) fn choose(
        self,
        end: Option<u64>,
        least: u64,
        device: &DeviceSpec,
        layout: Layout,
        precondition: Precondition,
    ) -> Result<Chosen, SpecError> {
        if let Self::Bytes(bytes) = self {
            return Ok(Chosen { bytes, why: String::new() });
        }
        let fifth = whole(filled(precondition, offered(device, layout)?) / 5);
        let own = end.filter(|&end| self == Self::OfGenerator && end > fifth);
        // Whole pages, so that the last request needs no shift.
        let fits = own.map(|end| end.div_ceil(4096).saturating_mul(4096)).filter(|&bytes| bytes <= least);
        Ok(match (fits, own) {
            (Some(bytes), _) => Chosen { bytes, why: " (that of the generator)".to_owned() },
            (None, Some(end)) => {
                let (end, least) = (human::bytes(end), human::bytes(least));
                let why = format!(
                    " (a fifth of what the members hold; the generator's {end} do not fit: the smallest array holds {least})"
                );
                Chosen { bytes: fifth, why }
            }
            (None, None) => Chosen { bytes: fifth, why: " (a fifth of what the members hold)".to_owned() },
        })
    }
}

/// Refuses a span larger than the capacity of one of the arrays, each given by its scheme's name and its initial
/// content.
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

/// Bytes that the members offer, parity included.
fn offered(device: &DeviceSpec, layout: Layout) -> Result<u64, SpecError> {
    let shape = Shape::new(device, layout.level, layout.devices)?;
    let pages = u64::from(shape.logical_pages) * u64::from(shape.members);
    Ok(pages * device.geometry.page_bytes.0)
}

/// The part of an array of `bytes` that holds data before the first request; the whole array where none does.
pub(crate) fn filled(precondition: Precondition, bytes: u64) -> u64 {
    if precondition == Precondition::Fresh { bytes } else { whole(precondition.pages(bytes)) }
}

/// Rounds down to whole MiB where there are any, so that no chunk is split; otherwise to whole pages of 4 KiB.
fn whole(bytes: u64) -> u64 {
    if bytes >> 20 > 0 { bytes >> 20 << 20 } else { bytes / 4096 * 4096 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stripewise_flash::{Level, Share, State};

    fn default(members: u32, precondition: Precondition) -> u64 {
        let device = DeviceSpec::preset("ssdsim-5+1").unwrap();
        let layout = Layout { level: Level::Ssd, devices: members };
        Span::default().choose(Some(u64::MAX), u64::MAX, &device, layout, precondition).unwrap().bytes
    }

    #[test]
    fn the_default_is_a_fifth_of_what_the_members_hold() {
        let device = DeviceSpec::preset("ssdsim-5+1").unwrap();
        let pages = u64::from(Shape::new(&device, Level::Ssd, 4).unwrap().logical_pages) * 4;
        let all = default(4, Precondition::Fresh);
        assert!(all.is_multiple_of(1 << 20));
        assert!(all.abs_diff(pages * device.geometry.page_bytes.0 / 5) < 1 << 20);
        let some = default(4, Precondition::Filled(State::Steady, Share(500_000)));
        assert!(some.abs_diff(all / 2) <= 1 << 20, "{some} is not half of {all}");
        assert!(default(8, Precondition::Fresh).abs_diff(2 * all) <= 1 << 20);
    }

    #[test]
    fn the_address_space_of_a_generator_is_used_where_it_is_larger_than_a_fifth_and_fits() {
        let device = DeviceSpec::preset("ssdsim-5+1").unwrap();
        let layout = Layout { level: Level::Ssd, devices: 4 };
        let fifth = default(4, Precondition::Fresh);
        let choose = |span: Span, end: Option<u64>, least: u64| {
            span.choose(end, least, &device, layout, Precondition::Fresh).unwrap()
        };
        let own = |end: u64, least: u64| choose(Span::OfGenerator, Some(end), least);
        assert_eq!(own(2 * fifth, 3 * fifth).bytes, 2 * fifth);
        assert_eq!(own(2 * fifth - 1, 2 * fifth).bytes, 2 * fifth, "whole pages");
        assert!(own(2 * fifth, 3 * fifth).why.contains("that of the generator"));
        assert_eq!(own(2 * fifth, 2 * fifth - 4096).bytes, fifth);
        assert!(own(2 * fifth, 2 * fifth - 4096).why.contains("do not fit: the smallest array holds"));
        assert_eq!(own(u64::MAX, u64::MAX - 8192).bytes, fifth);
        assert_eq!(own(fifth / 2, 3 * fifth), choose(Span::FifthOfMembers, None, 3 * fifth));
        assert_eq!(choose(Span::OfGenerator, None, u64::MAX).bytes, fifth);
        assert_eq!(choose(Span::FifthOfMembers, Some(2 * fifth), 3 * fifth).bytes, fifth);
        assert_eq!(choose(Span::Bytes(7), Some(2 * fifth), 3 * fifth).bytes, 7, "an explicit span wins");
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
