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
