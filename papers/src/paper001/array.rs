//! How large the array is beside the data: as in the paper, whatever part of a workload is replayed.

use stripewise_study::Setting;

/// Bytes of distinct chunks for which the paper's 2 GB array is made ("no more than 1 GB", section V-B).
pub(super) const UNIQUE_BYTES: f64 = 1e9;

/// Channels and blocks of a plane of the device preset `paper001`.
const CHANNELS: u32 = 8;
const BLOCKS: u32 = 77;

/// A plane has no fewer blocks than this, so that the few that garbage collection keeps free do not count for much.
const BLOCKS_LEAST: u32 = 40;

/// Settings that make the paper's SSDs `scale` times as large: fewer blocks, and where these get few, fewer channels.
pub(super) fn settings(scale: f64) -> Vec<Setting> {
    let set = |(key, value)| format!("device.geometry.{key}={value}").parse().expect("a key and a number");
    let sizes = size(scale).map(|(channels, blocks)| [("channels", channels), ("blocks", blocks)]);
    sizes.into_iter().flatten().map(set).collect()
}

/// Channels and blocks of a plane; none for the preset's own.
fn size(scale: f64) -> Option<(u32, u32)> {
    if scale == 1.0 {
        return None;
    }
    let columns = scale * f64::from(CHANNELS * BLOCKS);
    let mut channels = CHANNELS;
    while channels > 1 && columns < f64::from(channels * BLOCKS_LEAST) {
        channels /= 2;
    }
    let blocks = (columns / f64::from(channels) + 0.5) as u32;
    Some((channels, blocks.max(BLOCKS_LEAST)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_workload_has_a_part_of_the_array() {
        assert_eq!(size(1.0), None);
        assert_eq!(size(1.1), Some((8, 85)));
        assert_eq!(size(0.75), Some((8, 58)));
        assert_eq!(size(0.5), Some((4, 77)));
        assert_eq!(size(0.1), Some((1, 62)));
        assert_eq!(size(0.001), Some((1, BLOCKS_LEAST)));
    }
}
