//! Figures over an axis: lines with bands where its values are numbers, bars otherwise.

use crate::chart::{Across, Bar, Bars, Group, Line, Lines, Look, Spread, Unit, Up};
use crate::figures::{Data, Figure, Key, Panel, unit_of};

use super::data::{StudyReport, StudyRow, first_panels, is_time, named};
use super::number::numbers;

/// From this number of values on that are numbers, a figure has lines.
const LINES: usize = 3;

/// A figure for each total over each axis that is requested.
pub(super) fn all(study: &StudyReport) -> Vec<Figure> {
    let is_drawn = |axis: &usize| study.over.is_empty() || study.over.contains(&study.axes[*axis].key);
    let axes: Vec<usize> = study.varying().into_iter().filter(is_drawn).collect();
    let mut figures = Vec::new();
    for (at, &axis) in axes.iter().enumerate() {
        for total in 0..study.totals.len() {
            figures.push(figure(study, axis, total, &format!("over-{}-{}", at + 1, total + 1)));
        }
    }
    figures
}

fn figure(study: &StudyReport, axis: usize, total: usize, id: &str) -> Figure {
    let rest: Vec<usize> = study.varying().into_iter().filter(|&other| other != axis).collect();
    let means = study.rows.iter().map(|row| row.totals[total].mean);
    let (name, size) = named(&study.totals[total], means);
    let key = &study.axes[axis].key;
    let places = numbers(&study.axes[axis].values).filter(|numbers| numbers.len() >= LINES);
    let (groups, note) = first_panels(study.groups(&rest));
    let drawing = Drawing { study, axis, total, name: &name, size, places: places.as_deref() };
    let panel = |(at, (title, rows)): (usize, (String, Vec<&StudyRow>))| {
        let id = format!("{id}-{}", at + 1);
        let title = if title.is_empty() { study.name.clone() } else { title };
        Panel { body: Ok(drawing.panel(&title, &rows, &id)), title }
    };
    let legend = |(at, name): (usize, &String)| Key {
        look: Look(at),
        name: name.clone(),
        is_line: drawing.places.is_some(),
    };
    let spread = if drawing.places.is_some() { "bands" } else { "whiskers" };
    Figure {
        id: id.to_owned(),
        title: format!("{name} over {key}"),
        about: format!(
            "Means over the seeds. The {spread} are 95 % intervals of the means, where there are several seeds."
        ),
        legend: study.schemes.iter().enumerate().map(legend).collect(),
        panels: groups.into_iter().enumerate().map(panel).collect(),
        notes: note.into_iter().collect(),
        data: Data::default(),
    }
}

/// A mean, and the ends of its interval.
type Found = (f64, Option<(f64, f64)>);

/// What all drawings of a figure share.
struct Drawing<'a> {
    study: &'a StudyReport,
    axis: usize,
    total: usize,
    name: &'a str,
    /// The size of the unit in the name.
    size: f64,
    /// The values of the axis, if they are numbers.
    places: Option<&'a [f64]>,
}

impl Drawing<'_> {
    fn panel(&self, title: &str, rows: &[&StudyRow], id: &str) -> crate::chart::Drawing {
        match self.places {
            Some(places) => self.lines(places, title, rows, id),
            None => self.bars(title, rows, id),
        }
    }

    /// The mean of a row and its interval.
    fn value(&self, row: &StudyRow) -> Found {
        let total = &row.totals[self.total];
        let (mean, margin) = (total.mean / self.size, total.margin.map(|margin| margin / self.size));
        (mean, margin.map(|margin| ((mean - margin).max(0.0), mean + margin)))
    }

    fn lines(&self, places: &[f64], title: &str, rows: &[&StudyRow], id: &str) -> crate::chart::Drawing {
        let axis = &self.study.axes[self.axis];
        let mut ticks: Vec<(f64, String)> = places.iter().copied().zip(axis.values.iter().cloned()).collect();
        ticks.sort_by(|one, other| one.0.total_cmp(&other.0));
        let line = |(scheme, name): (usize, &String)| {
            let of_scheme = rows.iter().filter(|row| row.scheme == scheme);
            let place = |row: &StudyRow| places[row.at[self.axis]];
            let mut in_order: Vec<&StudyRow> = of_scheme.copied().collect();
            in_order.sort_by(|one, other| place(one).total_cmp(&place(other)));
            let found: Vec<Found> = in_order.iter().map(|row| self.value(row)).collect();
            let has_band = found.iter().any(|(_, ends)| ends.is_some());
            let band =
                found.iter().filter(|_| has_band).map(|(_, ends)| ends.unwrap_or((f64::NAN, f64::NAN)));
            Line {
                look: Some(Look(scheme)),
                name: String::new(),
                band: band.collect(),
                points: in_order.iter().zip(&found).map(|(row, (mean, _))| (place(row), *mean)).collect(),
                tip: name.clone(),
            }
        };
        // The first scheme is drawn last, so it is not hidden where all are alike.
        let mut lines: Vec<Line> = self.study.schemes.iter().enumerate().map(line).collect();
        lines.reverse();
        let is_time = is_time(&self.study.totals[self.total]);
        let chart = Lines {
            title,
            description: &format!("{} over {}: {title}", self.name, axis.key),
            across: Across::Values(&axis.key, &ticks),
            upward: self.name,
            up: if is_time { Up::Time } else { Up::Amount(Unit::ONE) },
            lines: &lines,
            reference: None,
        };
        chart.draw(id)
    }

    fn bars(&self, title: &str, rows: &[&StudyRow], id: &str) -> crate::chart::Drawing {
        let axis = &self.study.axes[self.axis];
        let group = |(place, label): (usize, &String)| {
            let bar = |(scheme, name): (usize, &String)| {
                let row = rows.iter().find(|row| row.scheme == scheme && row.at[self.axis] == place);
                let found = row.map(|row| self.value(row));
                let change = row.and_then(|row| row.totals[self.total].change.as_ref());
                let change = change.map_or(String::new(), |change| format!(": {}", change.text));
                Bar {
                    look: Look(scheme),
                    value: found.map(|(mean, _)| mean),
                    spread: found.and_then(|(_, ends)| ends).map(|(low, high)| Spread::Interval(low, high)),
                    tip: format!("{label}, {name}{change}"),
                }
            };
            Group { label: label.clone(), bars: self.study.schemes.iter().enumerate().map(bar).collect() }
        };
        let means = rows.iter().map(|row| self.value(row).0);
        let unit = if is_time(&self.study.totals[self.total]) { unit_of(means) } else { Unit::ONE };
        let groups: Vec<Group> = axis.values.iter().enumerate().map(group).collect();
        let chart = Bars {
            title,
            description: &format!("{} by {}: {title}", self.name, axis.key),
            axis: self.name,
            unit,
            log: false,
            groups: &groups,
            reference: None,
        };
        chart.draw(id)
    }
}

#[cfg(test)]
mod tests {
    use super::super::data::tests::study;
    use super::*;

    #[test]
    fn numbers_have_lines_with_bands_and_their_own_ticks_and_names_have_bars() {
        let figures = all(&study());
        let titles: Vec<&str> = figures.iter().map(|figure| figure.title.as_str()).collect();
        assert_eq!(
            titles,
            [
                "response_p99 over pacing",
                "programs_per_host_page over pacing",
                "response_p99 over gc.victim",
                "programs_per_host_page over gc.victim"
            ]
        );
        let svg = |figure: &Figure| figure.panels[0].body.as_ref().expect("drawn").svg.clone();
        let lines = svg(&figures[0]);
        assert_eq!(figures[0].panels[1].title, "gc.victim fifo");
        assert_eq!(lines.matches("class=\"band").count(), 2, "{lines}");
        assert!(lines.contains(">open:16</text>") && lines.contains("pacing (logarithmic)"), "{lines}");
        assert_eq!(svg(&figures[1]).matches("class=\"band").count(), 0, "no intervals, no band");
        assert_eq!(svg(&figures[2]).matches("class=\"whisker\"").count(), 12, "two groups of two bars");
    }

    #[test]
    fn the_axes_that_are_requested_are_drawn() {
        let study = StudyReport { over: vec!["gc.victim".to_owned()], ..study() };
        assert!(all(&study).iter().all(|figure| figure.title.ends_with(" over gc.victim")));
    }

    #[test]
    fn more_drawings_than_a_page_takes_are_left_out_with_a_note() {
        let mut study = study();
        study.axes[2].values = (0..30).map(|at| format!("ssd:{at}")).collect();
        let rows = study.rows.clone();
        for member in 1..30 {
            study.rows.extend(rows.iter().cloned().map(|mut row| {
                row.at[2] = member;
                row
            }));
        }
        let figure = &all(&study)[0];
        assert_eq!(figure.panels.len(), 12);
        assert_eq!(figure.notes, ["12 of 60 drawings. `--only AXIS=VALUE` chooses others."]);
    }
}
