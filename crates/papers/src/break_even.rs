//! Where a gain becomes a loss.

/// Where a curve changes its sign: between two places by the line through them, over their logarithms if `is_log`.
pub(crate) fn crossings(places: &[f64], values: &[Option<f64>], is_log: bool) -> Vec<f64> {
    let on_axis = |place: f64| if is_log { place.ln() } else { place };
    let known: Vec<(f64, f64)> =
        places.iter().zip(values).filter_map(|(place, value)| Some((on_axis(*place), (*value)?))).collect();
    let crosses = |pair: &&[(f64, f64)]| (pair[0].1 > 0.0) != (pair[1].1 > 0.0);
    let place = |pair: &[(f64, f64)]| {
        let ((from, before), (to, after)) = (pair[0], pair[1]);
        let place = from + (to - from) * before / (before - after);
        if is_log { place.exp() } else { place }
    };
    known.windows(2).filter(crosses).map(place).collect()
}

/// A place where a gain becomes a loss, or a loss a gain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BreakEven {
    /// The place.
    pub place: f64,
    /// The ends of its interval: where the ends of the gains' intervals cross zero.
    pub interval: (f64, f64),
}

/// A break-even whose interval covers more of the axis than this says nothing of its place.
const WIDEST: f64 = 0.5;

impl BreakEven {
    /// Those of a curve with its intervals: lower end, value and upper end at each place that was measured. Each lies between
    /// two neighbours whose whole intervals have different signs; values without a sign may lie between them. One whose
    /// interval spans the axis is left out.
    pub(crate) fn all(places: &[f64], values: &[Option<[f64; 3]>], is_log: bool) -> Vec<Self> {
        let on_axis = |place: f64| if is_log { place.ln() } else { place };
        let signed = |at: &usize| values[*at].is_some_and(|[low, _, high]| low > 0.0 || high < 0.0);
        let is_gain = |at: usize| values[at].is_some_and(|[low, ..]| low > 0.0);
        let clear: Vec<usize> = (0..values.len()).filter(signed).collect();
        let [Some(first), Some(last)] = [places.first(), places.last()].map(|it| it.map(|it| on_axis(*it)))
        else {
            return Vec::new();
        };
        let between = |pair: &[usize]| {
            let range = pair[0]..=pair[1];
            let of = |end: usize| -> Vec<f64> {
                let values: Vec<Option<f64>> =
                    values[range.clone()].iter().map(|it| it.map(|it| it[end])).collect();
                crossings(&places[range.clone()], &values, is_log)
            };
            let place = match &of(1)[..] {
                [one] => *one,
                // Values without a sign between the two may cross zero several times.
                several => several.iter().sum::<f64>() / several.len().max(1) as f64,
            };
            let ends: Vec<f64> = of(0).into_iter().chain(of(2)).collect();
            let low = ends.iter().copied().fold(place, f64::min);
            let high = ends.iter().copied().fold(place, f64::max);
            Self { place, interval: (low, high) }
        };
        let changes = clear.windows(2).filter(|pair| is_gain(pair[0]) != is_gain(pair[1])).map(between);
        let is_narrow = |found: &Self| {
            let (low, high) = found.interval;
            on_axis(high) - on_axis(low) <= WIDEST * (last - first)
        };
        changes.filter(is_narrow).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn band(values: &[f64], margin: f64) -> Vec<Option<[f64; 3]>> {
        values.iter().map(|value| Some([value - margin, *value, value + margin])).collect()
    }

    /// By hand: a line from 0.2 at 0 to -0.2 at 4 crosses zero at 2, its ends of ±0.05 at 1.5 and 2.5.
    #[test]
    fn the_interval_lies_between_the_crossings_of_the_ends() {
        let places = [0.0, 1.0, 2.0, 3.0, 4.0];
        let found = BreakEven::all(&places, &band(&[0.2, 0.1, 0.0, -0.1, -0.2], 0.05), false);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert_eq!(found.len(), 1);
        let BreakEven { place, interval: (low, high) } = found[0];
        assert!(near(place, 2.0) && near(low, 1.5) && near(high, 2.5), "{found:?}");
    }

    #[test]
    fn none_whose_interval_spans_the_axis_is_listed() {
        let places = [0.0, 1.0, 2.0, 3.0, 4.0];
        let flat = band(&[0.2, 0.01, 0.0, -0.01, -0.2], 0.15);
        assert!(BreakEven::all(&places, &flat, false).is_empty(), "from 0.3 to 3.7 of 4");
        assert_eq!(
            crossings(&places, &flat.iter().map(|it| it.map(|it| it[1])).collect::<Vec<_>>(), false).len(),
            1
        );
    }
}
