//! A range of layouts: `ssd:4..8`.

use std::str::FromStr;

use stripewise_flash::Level;
use stripewise_sim::Layout;

/// Layouts of one level with all numbers of devices of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layouts {
    level: Level,
    least: u32,
    most: u32,
}

impl Layouts {
    pub(super) fn iter(self) -> impl Iterator<Item = Layout> {
        (self.least..=self.most).map(move |devices| Layout { level: self.level, devices })
    }
}

impl FromStr for Layouts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = || {
            format!(
                "`{text}`: expected a number or a range of SSDs, as in 4..8, or of others, as in channel:1..2"
            )
        };
        let (level, range) = match text.split_once(':') {
            Some(split) => split,
            None if text.starts_with(|c: char| c.is_ascii_digit()) => ("ssd", text),
            None => (text, "1"),
        };
        let (least, most) = range.split_once("..").unwrap_or((range, range));
        let layout = |devices: &str| format!("{level}:{devices}").parse::<Layout>().map_err(|_| refuse());
        let (least, most) = (layout(least)?, layout(most.trim_start_matches('='))?);
        if least.devices > most.devices {
            return Err(refuse());
        }
        Ok(Self { level: least.level, least: least.devices, most: most.devices })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_ssds_need_no_level_and_both_ends_belong_to_them() {
        let all = |text: &str| {
            text.parse::<Layouts>().map(|range| range.iter().map(|one| one.to_string()).collect())
        };
        assert_eq!(all("4..6"), Ok(["ssd:4", "ssd:5", "ssd:6"].map(str::to_owned).to_vec()));
        assert_eq!(all("channel:2"), Ok(vec!["channel:2".to_owned()]));
        assert_eq!(all("chip"), Ok(vec!["chip:1".to_owned()]));
        for wrong in ["", "8..4", "0..3", "disk:4", "ssd:", "4..", "4..8..9"] {
            assert!(all(wrong).is_err_and(|error: String| error.contains("4..8")), "{wrong}");
        }
    }
}
