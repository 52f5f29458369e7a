//! MQSim ASCII (Tavakkol et al., FAST 2018): `time device lba sectors type`, type 0 = write, 1 = read, times in
//! nanoseconds as MQSim's traces have them.
//!
//! Columns, units and meaning are those of SSDsim, so detection reports `ssdsim` for these files; the requests are
//! the same.

use super::sectors::WholeTimes;
use super::{Format, Separator};

pub(super) const FORMAT: Format = Format {
    name: "mqsim",
    about: "MQSim ASCII: time ns, device, LBA (512 B), size (512 B), 0 = write 1 = read",
    variants: &[],
    same_as: Some("ssdsim"),
    separator: Separator::Blanks,
    fields: 5,
    make: |_| Box::new(WholeTimes { tick_ns: 1 }),
};
