//! Units of values for people: one for all values that stand together.

/// The scaling of values for display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    /// Nanoseconds in the total.
    Time,
    /// A count, in its own unit below 100,000.
    Count,
    /// A plain number.
    Ratio,
    /// A share of one, in percent.
    Share,
    /// Per second.
    Rate,
    /// MiB a second.
    MibRate,
    /// Bytes.
    Bytes,
}

impl Scale {
    /// Names and sizes of the units, smallest first.
    fn units(self) -> &'static [(&'static str, f64)] {
        match self {
            Scale::Time => &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)],
            Scale::Count => &[("", 1.0), ("thousand", 1e3), ("million", 1e6), ("billion", 1e9)],
            Scale::Ratio => &[("", 1.0)],
            Scale::Share => &[("%", 0.01)],
            Scale::Rate => &[("/s", 1.0), ("thousand/s", 1e3), ("million/s", 1e6)],
            Scale::MibRate => &[("MiB/s", 1.0), ("GiB/s", 1024.0)],
            Scale::Bytes => &[
                ("bytes", 1.0),
                ("KiB", 1024.0),
                ("MiB", 1_048_576.0),
                ("GiB", 1_073_741_824.0),
                ("TiB", 1_099_511_627_776.0),
            ],
        }
    }

    /// The unit that gives the least of the values about three digits before the point, and no value more than five. Zero and
    /// values that are no numbers do not count.
    pub(super) fn unit(self, values: impl IntoIterator<Item = f64>) -> (&'static str, f64) {
        let (mut least, mut most) = (f64::INFINITY, 0.0f64);
        for value in values.into_iter().filter(|value| *value > 0.0) {
            (least, most) = (least.min(value), most.max(value));
        }
        let least = least.min(most);
        let units = self.units();
        let fits = |size: f64| match self {
            Scale::Count if size == 1.0 => most < 1e5,
            _ => least < size * 1e3 && most < size * 1e5,
        };
        units.iter().copied().find(|(_, size)| fits(*size)).unwrap_or(units[units.len() - 1])
    }

    /// The scale of a total, by the end of its name.
    fn of(total: &str) -> Self {
        match total {
            _ if total.ends_with("_ns") => Self::Time,
            _ if total.ends_with("_bytes") => Self::Bytes,
            _ if total.ends_with("mib_per_second") => Self::MibRate,
            _ if total.ends_with("_per_second") => Self::Rate,
            _ => Self::Ratio,
        }
    }
}

/// A unit of measured values: its name for a head, and its size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// Its name; empty for plain numbers.
    pub name: &'static str,
    /// What a value is divided by.
    pub size: f64,
}

impl Unit {
    /// The unit in which values of these totals stand together: the totals are all times, or all sizes, or one total.
    pub fn of<'a>(values: impl IntoIterator<Item = (&'a str, f64)>) -> Self {
        let (mut scale, mut all) = (Scale::Ratio, Vec::new());
        for (total, value) in values {
            scale = Scale::of(total);
            all.push(value);
        }
        let (name, size) = scale.unit(all);
        Self { name, size }
    }

    /// The unit in which these times stand together, in nanoseconds.
    pub fn of_times(ns: impl IntoIterator<Item = f64>) -> Self {
        let (name, size) = Scale::Time.unit(ns);
        Self { name, size }
    }

    /// Whether values of a total have units of several sizes: times and bytes.
    pub fn is_scaled(total: &str) -> bool {
        matches!(Scale::of(total), Scale::Time | Scale::Bytes)
    }

    /// The name of a total without the nanoseconds at its end, where it is shown in another unit.
    pub fn bare(total: &str) -> &str {
        total.strip_suffix("_ns").unwrap_or(total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_stand_together_have_the_unit_that_suits_the_least_and_holds_the_most() {
        let time = |values: &[f64]| Scale::Time.unit(values.iter().copied()).0;
        assert_eq!([time(&[812.0]), time(&[1_500.0]), time(&[40_200.0, 812_345.0])], ["ns", "us", "us"]);
        assert_eq!(time(&[40_200.0, 365_000_000.0]), "ms", "365,000 us are no number for people");
        assert_eq!(time(&[0.0, f64::NAN, 2e9]), "s");
        assert_eq!(time(&[]), "ns");
        assert_eq!(Scale::Bytes.unit([24_576.0, 33_554_432.0]).0, "KiB");
    }

    #[test]
    fn the_end_of_a_total_says_its_unit() {
        let unit = |total: &str, value: f64| Unit::of([(total, value)]).name;
        assert_eq!(
            [
                unit("read_mean_ns", 5e6),
                unit("map_bytes", 5e6),
                unit("mib_per_second", 5.0),
                unit("erase_cv", 5e6)
            ],
            ["ms", "MiB", "MiB/s", ""]
        );
        assert_eq!(unit("map_bytes", 5e5), "KiB");
        assert_eq!(
            ["read_mean_ns", "map_bytes", "erase_cv"].map(Unit::bare),
            ["read_mean", "map_bytes", "erase_cv"]
        );
    }
}
