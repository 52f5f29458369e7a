//! Heat maps over two axes: the typical change of each scheme, or the means of a single one.

use crate::chart::{Heat, HeatCell, figure};
use crate::figures::{Data, Figure, Panel, unit_of};

use super::data::{StudyReport, StudyRow, StudyTotal, first_panels, is_time, named};
use super::number::numbers;

/// A heat map for each total, over the two axes with the most values; none for a study with fewer axes.
pub(super) fn all(study: &StudyReport) -> Vec<Figure> {
    let Some(axes) = axes(study) else { return Vec::new() };
    (0..study.totals.len()).map(|total| of(study, axes, total)).collect()
}

/// The axis across, and the one upward. At least one has three values: four cells are a table.
fn axes(study: &StudyReport) -> Option<(usize, usize)> {
    let count = |axis: usize| study.axes[axis].values.len();
    let mut axes = study.varying();
    if study.over.len() > 1 {
        axes.retain(|&axis| study.over.contains(&study.axes[axis].key));
    }
    axes.sort_by_key(|&axis| std::cmp::Reverse(count(axis)));
    match axes[..] {
        [first, second, ..] if count(first) > 2 => Some((first, second)),
        _ => None,
    }
}

/// The places of the values of an axis: those that are numbers rise.
fn places(values: &[String]) -> (Vec<usize>, Vec<String>) {
    let mut order: Vec<usize> = (0..values.len()).collect();
    if let Some(numbers) = numbers(values) {
        order.sort_by(|&one, &other| numbers[one].total_cmp(&numbers[other]));
    }
    let mut place = vec![0; values.len()];
    for (at, &value) in order.iter().enumerate() {
        place[value] = at;
    }
    (place, order.iter().map(|&value| values[value].clone()).collect())
}

fn of(study: &StudyReport, (across, upward): (usize, usize), total: usize) -> Figure {
    let rest: Vec<usize> =
        study.varying().into_iter().filter(|&axis| axis != across && axis != upward).collect();
    let is_single = study.schemes.len() == 1;
    let (name, size) = named(&study.totals[total], study.rows.iter().map(|row| row.totals[total].mean));
    let shades = Shades::new(study, total, is_single, size);
    let mut drawn = Vec::new();
    for (title, rows) in study.groups(&rest) {
        for (scheme, name) in study.schemes.iter().enumerate() {
            if is_single || scheme != study.base {
                let rows: Vec<&StudyRow> = rows.iter().copied().filter(|row| row.scheme == scheme).collect();
                let title = if title.is_empty() { name.clone() } else { format!("{name}, {title}") };
                drawn.push((title, rows));
            }
        }
    }
    let (drawn, note) = first_panels(drawn);
    let (column, columns) = places(&study.axes[across].values);
    let (row, rows) = places(&study.axes[upward].values);
    let what = if is_single { shades.named(&name) } else { format!("change of {name} (%)") };
    let panel = |(at, (title, of_panel)): (usize, (String, Vec<&StudyRow>))| {
        let cell = |found: &&StudyRow| {
            let shown = &found.totals[total];
            let (value, text, shade) = shades.cell(shown)?;
            let place = |axis: usize| &study.axes[axis].values[found.at[axis]];
            let said = shown.change.as_ref().map_or(text.clone(), |change| change.text.clone());
            Some(HeatCell {
                column: column[found.at[across]],
                row: row[found.at[upward]],
                value,
                text,
                shade,
                tip: format!("{}, {}: {said}", place(across), place(upward)),
            })
        };
        let cells: Vec<HeatCell> = of_panel.iter().filter_map(cell).collect();
        let chart = Heat {
            title: &title,
            description: &format!("{what} over two axes: {title}"),
            across: &study.axes[across].key,
            upward: &study.axes[upward].key,
            of: &what,
            columns: &columns,
            rows: &rows,
            cells: &cells,
        };
        let body = match cells.is_empty() {
            true => Err("no cell has a value".to_owned()),
            false => Ok(chart.draw(&format!("heat-{}-{}", total + 1, at + 1))),
        };
        Panel { title, body }
    };
    let about = if is_single {
        format!("Means of {}: the stronger the colour, the larger the mean.", shades.named(&name))
    } else {
        format!(
            "Typical change of {name} against {}, in percent or as a factor; `*` where its 95 % interval excludes no change. \
             Blue is lower, orange higher, and the strongest colour a factor of {}.",
            study.schemes[study.base],
            figure(libm::exp(shades.most))
        )
    };
    let panels = drawn.into_iter().enumerate().map(panel).collect();
    let notes = note.into_iter().collect();
    let title = format!("{name} over {} and {}", study.axes[across].key, study.axes[upward].key);
    Figure {
        id: format!("heat-{}", total + 1),
        title,
        about,
        legend: Vec::new(),
        panels,
        notes,
        data: Data::default(),
    }
}

/// How strong the colours of the cells are.
struct Shades {
    is_single: bool,
    /// What values of a single scheme are divided by, and the name of that unit.
    unit: (f64, &'static str),
    /// The logarithm of the largest factor; of a single scheme the least and the largest mean.
    most: f64,
    means: (f64, f64),
}

impl Shades {
    fn new(study: &StudyReport, total: usize, is_single: bool, size: f64) -> Self {
        let totals = || study.rows.iter().map(move |row| &row.totals[total]);
        let far =
            totals().filter_map(ratio).map(|ratio| libm::log(ratio).abs()).filter(|far| far.is_finite());
        let ends = totals()
            .map(|total| total.mean)
            .fold((f64::INFINITY, 0.0), |(least, most), mean| (f64::min(least, mean), f64::max(most, mean)));
        let unit = match is_time(&study.totals[total]) {
            true => {
                let unit = unit_of(totals().map(|total| total.mean));
                (unit.size, unit.name)
            }
            false => (size, ""),
        };
        // A change of a tenth is no strong one, however small the others are.
        Self { is_single, unit, most: far.fold(libm::log(1.1), f64::max), means: ends }
    }

    /// The name of the values of a single scheme, with their unit.
    fn named(&self, name: &str) -> String {
        if self.unit.1.is_empty() { name.to_owned() } else { format!("{name} ({})", self.unit.1) }
    }

    /// The value of a cell, its text and its shade.
    fn cell(&self, total: &StudyTotal) -> Option<(f64, String, f64)> {
        if self.is_single {
            let (least, most) = self.means;
            let shade = if most > least { (total.mean - least) / (most - least) } else { 0.0 };
            let value = total.mean / self.unit.0;
            // Positive shades are orange; amounts are blue.
            return Some((value, figure(value), -shade));
        }
        let ratio = ratio(total)?;
        let is_significant = total.change.as_ref().is_some_and(|change| change.is_significant);
        let star = if is_significant { "*" } else { "" };
        let percent = (ratio - 1.0) * 100.0;
        let text = match ratio {
            _ if (0.5..=2.0).contains(&ratio) => format!("{percent:+.0}{star}"),
            _ if ratio < 1.0 => format!("÷{}{star}", figure(1.0 / ratio)),
            _ => format!("×{}{star}", figure(ratio)),
        };
        Some((percent, text, libm::log(ratio) / self.most))
    }
}

fn ratio(total: &StudyTotal) -> Option<f64> {
    total.change.as_ref()?.ratio.filter(|ratio| *ratio > 0.0 && ratio.is_finite())
}

#[cfg(test)]
mod tests {
    use super::super::data::tests::study;
    use super::*;

    #[test]
    fn a_map_shows_the_change_of_each_other_scheme_at_its_place() {
        let figures = all(&study());
        assert_eq!(figures[0].title, "response_p99 over pacing and gc.victim");
        let titles: Vec<&str> = figures[0].panels.iter().map(|panel| panel.title.as_str()).collect();
        assert_eq!(titles, ["brr"], "the scheme that it is compared with has no map");
        let drawing = figures[0].panels[0].body.as_ref().expect("drawn");
        let json = drawing.values.json(|_| String::new());
        assert_eq!(json["rows"][0].to_string(), r#"["open:1","greedy",-50]"#);
        for text in [">-50*</text>", ">+0</text>", ">+100*</text>", "var(--c0) 60%", "var(--c1) 60%"] {
            assert!(drawing.svg.contains(text), "{text}: {}", drawing.svg);
        }
    }

    #[test]
    fn a_single_scheme_has_its_means() {
        let mut study = study();
        study.schemes.truncate(1);
        study.rows.retain(|row| row.scheme == 0);
        let figure = &all(&study)[0];
        let json = figure.panels[0].body.as_ref().expect("drawn").values.json(|_| String::new());
        assert_eq!(json["of"], "response_p99 (ms)");
        assert_eq!(json["rows"][2].to_string(), r#"["open:4","greedy",2]"#);
    }

    #[test]
    fn numbers_rise_whatever_their_order_in_the_file() {
        let (place, names) = places(&["64KiB".to_owned(), "4KiB".to_owned()]);
        assert_eq!((place, names), (vec![1, 0], vec!["4KiB".to_owned(), "64KiB".to_owned()]));
    }
}
