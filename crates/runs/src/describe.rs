//! Descriptions of devices, members, pacing and states.

use stripewise_base::human;
use stripewise_flash::{DeviceSpec, Level, Shape, SpecError, State};
use stripewise_sim::{Layout, Pacing, Precondition};

/// Bytes of flash in total, and those that a host sees.
pub(crate) fn sizes(spec: &DeviceSpec) -> Result<(u64, u64), SpecError> {
    let shape = Shape::new(spec, Level::Channel, 1)?;
    let page = spec.geometry.page_bytes.0;
    let bytes = |pages: u32| u64::from(pages) * u64::from(shape.members) * page;
    Ok((bytes(shape.pages_per_member), bytes(shape.logical_pages)))
}

/// The components of a device, in a line.
///
/// # Errors
/// When the device is impossible.
pub fn describe_device(spec: &DeviceSpec) -> Result<String, SpecError> {
    let g = &spec.geometry;
    let parts = [
        (g.channels, "channel"),
        (g.chips, "chip"),
        (g.dies, "die"),
        (g.planes, "plane"),
        (g.blocks, "block"),
        (g.pages, "page"),
    ];
    let parts = parts.map(|(count, name)| format!("{count} {name}{}", if count == 1 { "" } else { "s" }));
    let (raw, _) = sizes(spec)?;
    let streams = match spec.ftl.streams {
        1 => String::new(),
        streams => format!(", {streams} streams"),
    };
    Ok(format!(
        "{}: {} of {}, {} raw, {} over-provisioning{streams}",
        spec.name,
        parts.join(" x "),
        human::bytes(g.page_bytes.0),
        human::bytes(raw),
        spec.ftl.over_provisioning
    ))
}

/// The number of members, and their kind.
///
/// # Errors
/// When the device is impossible.
pub fn describe_members(layout: Layout, device: &DeviceSpec) -> Result<String, SpecError> {
    let shape = Shape::new(device, layout.level, layout.devices)?;
    let size = human::bytes(u64::from(shape.logical_pages) * device.geometry.page_bytes.0);
    Ok(format!("{layout} ({} members of {size})", shape.members))
}

/// A pacing, and its meaning.
pub(crate) fn pacing(pacing: Pacing) -> String {
    let meaning = match pacing {
        Pacing::Open { numerator, denominator } if numerator == denominator => {
            "at the requests' own times".into()
        }
        Pacing::Open { numerator, denominator: 1 } => {
            format!("at the requests' times, {numerator} times as fast")
        }
        Pacing::Open { .. } => "at the requests' times, scaled".to_owned(),
        Pacing::Closed { depth } => format!("{depth} at a time"),
        Pacing::Think { users, think_ns } => {
            format!("{users} users who pause {} after each request", human::time(think_ns))
        }
    };
    format!("{pacing} ({meaning})")
}

/// A state of the devices, and its meaning.
pub(crate) fn state(precondition: Precondition) -> String {
    let meaning = match precondition {
        Precondition::Fresh => "nothing was ever written",
        Precondition::Filled(State::Sequential, _) => "of the pages written once, in order",
        Precondition::Filled(State::Steady | State::Written, _) => {
            "of the pages in use, after long random writes"
        }
    };
    format!("{precondition} ({meaning})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_described_by_its_parts() {
        let spec = DeviceSpec::preset("ssdsim-5+1").unwrap();
        assert_eq!(
            describe_device(&spec).unwrap(),
            "ssdsim-5+1: 6 channels x 4 chips x 1 die x 4 planes x 512 blocks x 64 pages of 8 KiB, \
             24 GiB raw, 15% over-provisioning"
        );
    }
}
