//! The members of an array: which parts of how many devices.

use std::fmt;
use std::str::FromStr;

use stripewise_flash::Level;

/// The members of an array: `ssd:5` means five whole SSDs, `channel` the channels of one SSD, `chip:2` the chips of
/// two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The level of members.
    pub level: Level,
    /// The number of devices.
    pub devices: u32,
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Ssd => "ssd",
            Level::Channel => "channel",
            Level::Chip => "chip",
        };
        write!(f, "{level}:{}", self.devices)
    }
}

impl FromStr for Layout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = || {
            format!("`{text}`: expected `ssd:N`, `channel:N` or `chip:N` with N devices (1 when left out)")
        };
        let (level, devices) = text.split_once(':').unwrap_or((text, "1"));
        let level = match level {
            "ssd" => Level::Ssd,
            "channel" => Level::Channel,
            "chip" => Level::Chip,
            _ => return Err(refuse()),
        };
        match devices.parse() {
            Ok(devices) if devices > 0 => Ok(Self { level, devices }),
            _ => Err(refuse()),
        }
    }
}

impl serde::Serialize for Layout {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Layout {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
