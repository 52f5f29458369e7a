//! SSDsim ASCII (Hu et al., ICS 2011): `time device lsn sectors operation`, operation 0 = write, 1 = read.
//!
//! The simulator reads times as nanoseconds. Several forks ship traces in microseconds. Such a file does not show it,
//! so the user must name the variant.

use super::sectors::WholeTimes;
use super::{Format, Separator, Variant};

pub(super) const FORMAT: Format = Format {
    name: "ssdsim",
    about: "SSDsim ASCII: time ns, device, address (512 B), size (512 B), 0 = write 1 = read",
    variants: &[
        Variant { name: "ns", about: "SSDsim ASCII with times in nanoseconds", visible: true },
        Variant { name: "us", about: "SSDsim ASCII with times in microseconds", visible: false },
    ],
    same_as: None,
    separator: Separator::Blanks,
    fields: 5,
    make: |variant| Box::new(WholeTimes { tick_ns: [1, 1_000][variant] }),
};
