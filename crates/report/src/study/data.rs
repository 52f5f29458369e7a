//! The data of the report of a study.

use std::collections::BTreeMap;

use stripewise_results::summary::Unit;

use super::search::Search;

/// An axis of a study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyAxis {
    /// Its key.
    pub key: String,
    /// Its values, as the study file has them.
    pub values: Vec<String>,
}

/// What a scheme does at a point of the axes.
#[derive(Clone, Debug, PartialEq)]
pub struct StudyRow {
    /// The place of the point on each axis.
    pub at: Vec<usize>,
    /// The place of the scheme among the schemes.
    pub scheme: usize,
    /// The seeds that count.
    pub seeds: u32,
    /// Why the seeds ended; `-` if they have not.
    pub end: &'static str,
    /// One for each total of the report.
    pub totals: Vec<StudyTotal>,
}

/// A total of a scheme at a point.
#[derive(Clone, Debug, PartialEq)]
pub struct StudyTotal {
    /// The mean over the seeds, in the unit of the total.
    pub mean: f64,
    /// Half the width of the interval of the mean.
    pub margin: Option<f64>,
    /// The difference from the scheme that the others are compared with.
    pub change: Option<Change>,
}

/// A difference from the scheme that the others are compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The effect in words, with its interval.
    pub text: String,
    /// The typical ratio, of totals that are compared by it.
    pub ratio: Option<f64>,
    /// Whether its interval excludes 1.
    pub is_significant: bool,
}

/// The report of a study.
#[derive(Clone, Debug, Default)]
pub struct StudyReport {
    /// The name of the study.
    pub name: String,
    /// The digest of the plan, and the version of the program.
    pub plan: String,
    /// The axes, in the order of the study file.
    pub axes: Vec<StudyAxis>,
    /// The schemes.
    pub schemes: Vec<String>,
    /// The scheme that the others are compared with.
    pub base: usize,
    /// The totals that are drawn; the first is the one that decides.
    pub totals: Vec<String>,
    /// The points, in the order of the axes. A point without seeds has no row.
    pub rows: Vec<StudyRow>,
    /// The axes over which figures are drawn; empty for all with several values.
    pub over: Vec<String>,
    /// Points of the plan that have not ended, and combinations that do not fit.
    pub left: [u64; 2],
    /// The trials of a search.
    pub search: Option<Search>,
    /// The study file.
    pub file: String,
}

impl StudyReport {
    /// The axes on which the rows have several values, by their places.
    pub(super) fn varying(&self) -> Vec<usize> {
        let first = self.rows.first();
        let differs =
            |axis: &usize| self.rows.iter().any(|row| Some(row.at[*axis]) != first.map(|it| it.at[*axis]));
        (0..self.axes.len()).filter(differs).collect()
    }

    /// The rows in groups with equal values on `axes`, each with these values as a title. The groups are in the order of the
    /// rows.
    pub(super) fn groups(&self, axes: &[usize]) -> Vec<(String, Vec<&StudyRow>)> {
        let mut places: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
        let mut groups: Vec<(Vec<usize>, Vec<&StudyRow>)> = Vec::new();
        for row in &self.rows {
            let key: Vec<usize> = axes.iter().map(|&axis| row.at[axis]).collect();
            let place = *places.entry(key.clone()).or_insert(groups.len());
            if place == groups.len() {
                groups.push((key, Vec::new()));
            }
            groups[place].1.push(row);
        }
        let title = |key: &[usize]| {
            let parts = axes.iter().zip(key);
            let part = |(&axis, &at): (&usize, &usize)| {
                format!("{} {}", self.axes[axis].key, self.axes[axis].values[at])
            };
            parts.map(part).collect::<Vec<_>>().join(", ")
        };
        groups.into_iter().map(|(key, rows)| (title(&key), rows)).collect()
    }
}

/// Most drawings of one figure: of more, readers choose.
const PANELS: usize = 12;

/// The groups that are drawn, and the note on the others.
pub(super) fn first_panels<T>(mut groups: Vec<T>) -> (Vec<T>, Option<String>) {
    let count = groups.len();
    groups.truncate(PANELS);
    let note = format!("{PANELS} of {count} drawings. `--only AXIS=VALUE` chooses others.");
    (groups, (count > PANELS).then_some(note))
}

/// Whether a total is a time in nanoseconds.
pub(super) fn is_time(total: &str) -> bool {
    total.ends_with("_ns")
}

/// The name of a total, with the unit of values other than times, and the size of this unit.
pub(super) fn named(total: &str, values: impl Iterator<Item = f64>) -> (String, f64) {
    let name = Unit::bare(total).to_owned();
    let unit = Unit::of(values.map(|value| (total, value)));
    match is_time(total) || unit.name.is_empty() {
        true => (name, 1.0),
        false => (format!("{name} ({})", unit.name), unit.size),
    }
}

#[cfg(test)]
pub(in crate::study) mod tests {
    use super::*;

    /// A study of two schemes over a load and a size: the second scheme takes half the time at the first load, and twice the
    /// time at the last.
    pub(in crate::study) fn study() -> StudyReport {
        let axis = |key: &str, values: &[&str]| StudyAxis {
            key: key.to_owned(),
            values: values.iter().map(|&value| value.to_owned()).collect(),
        };
        let axes = vec![
            axis("pacing", &["open:1", "open:4", "open:16"]),
            axis("gc.victim", &["greedy", "fifo"]),
            axis("members", &["ssd:6"]),
        ];
        let mut rows = Vec::new();
        for (load, ratio) in [0.5, 1.0, 2.0].into_iter().enumerate() {
            for victim in 0..2 {
                for scheme in 0..2 {
                    let mean = 1e6 * (load + 1) as f64 * if scheme == 0 { 1.0 } else { ratio };
                    let text = format!("{:+.1}", (ratio - 1.0) * 100.0);
                    let change = Change { text, ratio: Some(ratio), is_significant: ratio != 1.0 };
                    let change = (scheme == 1).then_some(change);
                    let totals = vec![
                        StudyTotal { mean, margin: Some(mean / 10.0), change: change.clone() },
                        StudyTotal { mean: 1.5, margin: None, change },
                    ];
                    rows.push(StudyRow { at: vec![load, victim, 0], scheme, seeds: 5, end: "fixed", totals });
                }
            }
        }
        StudyReport {
            name: "tails".to_owned(),
            axes,
            schemes: ["baseline", "brr"].map(str::to_owned).into(),
            totals: ["response_p99_ns", "programs_per_host_page"].map(str::to_owned).into(),
            rows,
            file: "[axes]\n# <script>".to_owned(),
            ..StudyReport::default()
        }
    }

    #[test]
    fn groups_have_the_values_of_their_axes() {
        let study = study();
        let groups = study.groups(&[1]);
        let titles: Vec<&str> = groups.iter().map(|(title, _)| title.as_str()).collect();
        assert_eq!(titles, ["gc.victim greedy", "gc.victim fifo"]);
        assert!(groups.iter().all(|(_, rows)| rows.len() == 6));
    }
}
