//! The summary of a study: how often and by how much each scheme differs from the one that it is compared with.

use crate::figures::{Cell, Data};
use stripewise_results::effect;
use stripewise_results::summary::Unit;

use super::data::{Change, StudyReport};

/// A row for each total and scheme.
pub(super) fn table(study: &StudyReport) -> Data {
    let texts = ["total", "scheme"];
    let numbers = ["points", "lower *", "higher *", "least change", "median", "most"];
    let mut data = Data { texts: texts.len(), ..Data::default() };
    data.head = texts.iter().chain(&numbers).map(|&head| head.to_owned()).collect();
    for (total, name) in study.totals.iter().enumerate() {
        for (scheme, label) in study.schemes.iter().enumerate() {
            let of_scheme = study.rows.iter().filter(|row| row.scheme == scheme);
            let changes: Vec<&Change> =
                of_scheme.filter_map(|row| row.totals[total].change.as_ref()).collect();
            let mut ratios: Vec<f64> = changes.iter().filter_map(|change| change.ratio).collect();
            if scheme == study.base || ratios.is_empty() {
                continue;
            }
            ratios.sort_by(f64::total_cmp);
            let count = |is_lower: bool| {
                let counts = |change: &&&Change| {
                    change.is_significant && change.ratio.is_some_and(|ratio| (ratio < 1.0) == is_lower)
                };
                changes.iter().filter(counts).count().to_string()
            };
            let at = |place: usize| Cell::from(percent(ratios[place]));
            data.rows.push(vec![
                Unit::bare(name).into(),
                label.clone().into(),
                changes.len().to_string().into(),
                count(true).into(),
                count(false).into(),
                at(0),
                at(ratios.len() / 2),
                at(ratios.len() - 1),
            ]);
        }
    }
    data
}

/// The change that a ratio is: in percent, or as a factor if it is beyond two.
fn percent(ratio: f64) -> String {
    match (0.5..=2.0).contains(&ratio) {
        true => format!("{:+.1} %", (ratio - 1.0) * 100.0),
        false => effect::of_means(ratio),
    }
}

#[cfg(test)]
mod tests {
    use super::super::data::tests::study;
    use super::*;

    #[test]
    fn each_scheme_has_its_points_by_the_direction_of_significant_changes() {
        let (head, rows) = table(&study()).shown();
        assert_eq!(head.len(), rows[0].len());
        assert_eq!(rows[0], ["response_p99", "brr", "6", "2", "2", "-50.0 %", "+0.0 %", "+100.0 %"]);
        assert_eq!(rows.len(), 2, "the first scheme is compared with none");
    }
}
