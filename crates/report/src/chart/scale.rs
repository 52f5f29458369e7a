//! Axes: the positions of values, their tick labels and their unit.

/// The unit of the values on an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Unit {
    /// Its name; empty for plain numbers.
    pub(crate) name: &'static str,
    /// Its size.
    pub(crate) size: f64,
}

impl Unit {
    /// Plain numbers.
    pub(crate) const ONE: Self = Self { name: "", size: 1.0 };

    /// The unit of time, for values in nanoseconds, in which `most` has one to three digits before the point.
    pub(crate) fn of_time(most: f64) -> Self {
        let units = [("s", 1e9), ("ms", 1e6), ("µs", 1e3)].map(|(name, size)| Self { name, size });
        units.into_iter().find(|unit| most >= unit.size).unwrap_or(Self { name: "ns", size: 1.0 })
    }
}

/// A time in nanoseconds with its unit, to three digits.
pub(crate) fn time(ns: f64) -> String {
    let unit = Unit::of_time(ns);
    format!("{} {}", figure(ns / unit.size), unit.name)
}

/// A number to three digits, whole ones in full, with a comma at every third digit.
pub(crate) fn figure(value: f64) -> String {
    let size = value.abs();
    let decimals = match size {
        _ if size >= 1e15 => return format!("{value:.3e}"),
        _ if size == 0.0 => 0,
        _ if size < 1e-4 => return format!("{value:.2e}"),
        _ if size >= 100.0 => 0,
        _ if size >= 10.0 => 1,
        _ if size >= 1.0 => 2,
        _ if size >= 0.1 => 3,
        _ if size >= 0.01 => 4,
        _ if size >= 0.001 => 5,
        _ => 6,
    };
    let plain = format!("{value:.decimals$}");
    let (whole, rest) = plain.split_at(plain.find('.').unwrap_or(plain.len()));
    let (sign, digits) = whole.split_at(usize::from(whole.starts_with('-')));
    let mut text = sign.to_owned();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text + rest
}

/// One axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
    kind: Kind,
    unit: Unit,
    ticks: Vec<(f64, String)>,
}

/// The spacing of values on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Linear,
    Log,
    /// Percentages by the logarithm of what is above them: 90, 99 and 99.9 are equally far apart.
    Tail,
}

impl Scale {
    /// From `low` to a round number at or above `high`, with about `about` ticks.
    pub(crate) fn linear(low: f64, high: f64, unit: Unit, about: usize) -> Self {
        let (low, high) = (low / unit.size, high / unit.size);
        let high = if high > low { high } else { low + 1.0 };
        Self::stepping(low, high, unit, round_step((high - low) / about.max(1) as f64))
    }

    /// From a round number at or below `low` to one at or above `high`, with about `about` ticks.
    pub(crate) fn around(low: f64, high: f64, unit: Unit, about: usize) -> Self {
        let (low, high) = (low / unit.size, high / unit.size);
        let high = if high > low { high } else { low + 1.0 };
        let step = round_step((high - low) / about.max(1) as f64);
        Self::stepping(libm::floor(low / step + 1e-9) * step, high, unit, step)
    }

    fn stepping(low: f64, high: f64, unit: Unit, step: f64) -> Self {
        let last = libm::ceil((high - low) / step - 1e-9);
        let decimals = libm::ceil(-libm::log10(step) - 1e-9).max(0.0) as usize;
        // A quarter of a power of ten needs one decimal more than its size suggests.
        let quarter = libm::fabs(step * libm::pow(10.0, decimals as f64) % 1.0) > 1e-6;
        let decimals = decimals + usize::from(quarter);
        let tick = |index: usize| {
            let value = low + step * index as f64;
            (value * unit.size, grouped(value, decimals))
        };
        let ticks = (0..=last as usize).map(tick).collect();
        Self { low: low * unit.size, high: (low + step * last) * unit.size, kind: Kind::Linear, unit, ticks }
    }

    /// A logarithmic axis between a low and a high value, both above zero.
    pub(crate) fn log(low: f64, high: f64, unit: Unit) -> Self {
        let (low, high) = (low / unit.size, (high / unit.size).max(low / unit.size * 1.01));
        let decades = libm::log10(high / low);
        let steps: &[f64] = if decades < 1.5 {
            &[1.0, 2.0, 3.0, 5.0, 7.0]
        } else if decades < 3.2 {
            &[1.0, 2.0, 5.0]
        } else {
            &[1.0]
        };
        let first = libm::floor(libm::log10(low)) as i32;
        let last = libm::ceil(libm::log10(high)) as i32;
        let all = (first..=last).flat_map(|decade| {
            let size = libm::pow(10.0, f64::from(decade));
            steps.iter().map(move |step| step * size)
        });
        let inside = all.filter(|value| *value >= low * 0.999 && *value <= high * 1.001);
        let ticks = inside.map(|value| (value * unit.size, figure_of_tick(value))).collect();
        Self { low: low * unit.size, high: high * unit.size, kind: Kind::Log, unit, ticks }
    }

    /// An axis with exactly these ticks, rising, from the first to the last. On a logarithmic one all are above zero.
    pub(crate) fn at(ticks: &[(f64, String)], is_log: bool) -> Self {
        let (low, high) = match ticks {
            [(first, _), .., (last, _)] => (*first, *last),
            [(only, _)] => (*only, only + 1.0),
            [] => (0.0, 1.0),
        };
        let kind = if is_log { Kind::Log } else { Kind::Linear };
        Self { low, high, kind, unit: Unit::ONE, ticks: ticks.to_vec() }
    }

    /// A logarithmic axis from a power of ten no higher than half of `low` to one at or above `high`; both are above
    /// zero. So the bar of the least value has at least the height of a factor of two.
    pub(crate) fn decades(low: f64, high: f64, unit: Unit) -> Self {
        let low = if low > 0.0 { low / unit.size } else { 1.0 };
        let high = (high / unit.size).max(low);
        let below = libm::floor(libm::log10(low / 2.0) + 1e-9);
        let above = libm::ceil(libm::log10(high) - 1e-9).max(below + 1.0);
        Self::log(libm::pow(10.0, below) * unit.size, libm::pow(10.0, above) * unit.size, unit)
    }

    /// Percentages from 0 to `nines` nines: with 3, from 0 over 90 and 99 to 99.9 %.
    pub(crate) fn tail(nines: usize) -> Self {
        let at = |nines: usize| 100.0 - libm::pow(10.0, 2.0 - nines as f64);
        let tick = |place: usize| (at(place), format!("{:.*}", place.saturating_sub(2), at(place)));
        let ticks = (0..=nines).map(tick).collect();
        Self { low: 0.0, high: at(nines), kind: Kind::Tail, unit: Unit { name: "%", size: 1.0 }, ticks }
    }

    /// The axis for the page's script: spacing, ends, the size of the unit and its name.
    pub(crate) fn attribute(&self) -> String {
        let kind = match self.kind {
            Kind::Linear => "linear",
            Kind::Log => "log",
            Kind::Tail => "tail",
        };
        format!("{kind} {} {} {} {}", self.low, self.high, self.unit.size, self.unit.name)
    }

    /// The position of a value, 0 at the low end and 1 at the high one. What is no number has no position.
    pub(crate) fn share(&self, value: f64) -> f64 {
        if value.is_nan() {
            return f64::NAN;
        }
        let share = match self.kind {
            Kind::Linear => (value - self.low) / (self.high - self.low),
            Kind::Log => libm::log(value.max(self.low) / self.low) / libm::log(self.high / self.low),
            Kind::Tail => {
                let above = |percent: f64| libm::log10(1.0 - percent.min(self.high) / 100.0);
                above(value) / above(self.high)
            }
        };
        share.clamp(0.0, 1.0)
    }

    /// The tick values, with their labels.
    pub(crate) fn ticks(&self) -> &[(f64, String)] {
        &self.ticks
    }

    /// The end of the axis.
    #[cfg(test)]
    pub(crate) fn high(&self) -> f64 {
        self.high
    }
}

/// A power of ten, or 2, 2.5 or 5 times one, at or above `step`.
fn round_step(step: f64) -> f64 {
    let size = libm::pow(10.0, libm::floor(libm::log10(step)));
    let factor = [1.0, 2.0, 2.5, 5.0].into_iter().find(|factor| factor * size >= step * 0.999_999);
    factor.unwrap_or(10.0) * size
}

fn grouped(value: f64, decimals: usize) -> String {
    if value.abs() >= 1000.0 && decimals == 0 { figure(value) } else { format!("{value:.decimals$}") }
}

/// 0.05, 1, 20, 3,000.
fn figure_of_tick(value: f64) -> String {
    let decimals = libm::ceil(-libm::log10(value) - 1e-9).max(0.0) as usize;
    grouped(value, decimals)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(scale: &Scale) -> Vec<&str> {
        scale.ticks().iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn ticks_are_round_and_reach_beyond_the_highest_value() {
        assert_eq!(
            texts(&Scale::linear(0.0, 0.93, Unit::ONE, 5)),
            ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
        );
        assert_eq!(
            texts(&Scale::linear(0.0, 1.2, Unit::ONE, 5)),
            ["0.00", "0.25", "0.50", "0.75", "1.00", "1.25"]
        );
        assert_eq!(
            texts(&Scale::linear(99.0, 100.0, Unit::ONE, 5)),
            ["99.0", "99.2", "99.4", "99.6", "99.8", "100.0"]
        );
        let ms = Unit::of_time(36e6);
        let scale = Scale::linear(0.0, 36e6, ms, 4);
        assert_eq!((texts(&scale), ms.name), (vec!["0", "10", "20", "30", "40"], "ms"));
        assert_eq!((scale.high(), scale.share(20e6)), (40e6, 0.5));
        assert_eq!(
            texts(&Scale::linear(0.0, 0.0, Unit::ONE, 4)).first(),
            Some(&"0.00"),
            "nothing is no panic"
        );
    }

    #[test]
    fn an_axis_around_values_begins_at_a_round_one() {
        let scale = Scale::around(2.02e9, 2.16e9, Unit::of_time(2.16e9), 4);
        assert_eq!(texts(&scale), ["2.00", "2.05", "2.10", "2.15", "2.20"]);
        assert!((scale.share(2.1e9) - 0.5).abs() < 1e-9);
        assert_eq!(texts(&Scale::around(5e6, 5e6, Unit::of_time(5e6), 4)).first(), Some(&"5.00"));
    }

    #[test]
    fn logarithmic_axes_show_one_two_five() {
        let scale = Scale::log(2e6, 300e6, Unit::of_time(300e6));
        assert_eq!(texts(&scale), ["2", "5", "10", "20", "50", "100", "200"]);
        assert_eq!(scale.share(2e6), 0.0);
        assert!((scale.share(300e6) - 1.0).abs() < 1e-12 && scale.share(1.0) == 0.0);
        assert_eq!(texts(&Scale::log(0.01, 1000.0, Unit::ONE)), ["0.01", "0.1", "1", "10", "100", "1,000"]);
    }

    #[test]
    fn decades_begin_below_the_least_value_so_that_its_bar_is_seen() {
        assert_eq!(texts(&Scale::decades(2858.0, 3.76e8, Unit::ONE)).first(), Some(&"1,000"));
        let scale = Scale::decades(1.0, 10.0, Unit::ONE);
        assert!((scale.share(1.0) - 0.5).abs() < 1e-12 && (scale.share(10.0) - 1.0).abs() < 1e-12);
        for low in [10.0, 10.5, 19.9, 20.0, 99.0] {
            // At most three decades, of which a factor of two is a tenth.
            let share = Scale::decades(low, 100.0, Unit::ONE).share(low);
            assert!(share > 0.1, "{low}: {share}");
        }
        assert_eq!(Scale::decades(0.0, 0.0, Unit::ONE).share(0.0), 0.0, "nothing is no panic");
    }

    #[test]
    fn on_a_tail_axis_every_nine_is_as_far_as_the_one_before() {
        let scale = Scale::tail(4);
        assert_eq!(texts(&scale), ["0", "90", "99", "99.9", "99.99"]);
        for (place, percent) in [0.0, 90.0, 99.0, 99.9, 99.99].into_iter().enumerate() {
            assert!((scale.share(percent) - place as f64 / 4.0).abs() < 1e-9, "{percent}");
        }
        assert_eq!(scale.share(100.0), 1.0, "the largest value is at the end");
        assert_eq!(scale.attribute(), "tail 0 99.99 1 %");
    }

    /// `f64::max` and `f64::min` return the other value: a slice without requests would get the end of the axis.
    #[test]
    fn what_is_no_number_has_no_place_on_any_axis() {
        for scale in [Scale::linear(0.0, 1.0, Unit::ONE, 5), Scale::log(1.0, 9.0, Unit::ONE), Scale::tail(3)]
        {
            assert!(scale.share(f64::NAN).is_nan(), "{scale:?}");
        }
    }

    #[test]
    fn times_are_written_to_three_digits_in_the_unit_that_fits() {
        let times = [0.0, 45.0, 1_234.0, 36_300_000.0, 3_765_000_000.0].map(time);
        assert_eq!(times, ["0 ns", "45.0 ns", "1.23 µs", "36.3 ms", "3.77 s"]);
        assert_eq!([0.0337, 0.00317, 0.000123].map(figure), ["0.0337", "0.00317", "0.000123"]);
        assert_eq!([1234567.0, -1234.5, 0.25, 99.95].map(figure), ["1,234,567", "-1,234", "0.250", "100.0"]);
    }
}
