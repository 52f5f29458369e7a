//! Maps: what one scheme takes over what another takes, over something that a paper does not print.

use crate::beside::{RatioLine, RatioMap};
use crate::chart::{Across, Line, Lines, Look, Up, figure};
use crate::set::Set;

use super::figure::{Data, Figure, Key, Panel};

/// A figure for each map.
pub(super) fn all(set: &Set) -> Vec<Figure> {
    set.maps().iter().enumerate().map(|(at, map)| drawn(at, map)).collect()
}

fn drawn(at: usize, map: &RatioMap) -> Figure {
    let id = format!("map-{}", at + 1);
    let mut names: Vec<&str> = Vec::new();
    for line in map.panels.iter().flat_map(|(_, lines)| lines) {
        if !names.contains(&line.name.as_str()) {
            names.push(&line.name);
        }
    }
    let look = |name: &str| Look(names.iter().position(|known| *known == name).unwrap_or(0));
    let mut data = Data::new(&["panel", "line"], &[&map.axis, &map.ratio]);
    let (mut panels, mut notes) = (Vec::new(), Vec::new());
    for (title, lines) in &map.panels {
        let drawn: Vec<Line> = lines.iter().map(|line| line_of(line, look(&line.name))).collect();
        for line in lines {
            for (place, ratio) in &line.points {
                data.row([title.clone(), line.name.clone(), place.to_string(), figure(*ratio)]);
            }
        }
        notes.extend(break_evens(title, lines));
        let across = if map.is_log { Across::LogNumber(&map.axis) } else { Across::Number(&map.axis) };
        let chart = Lines {
            title: if title.is_empty() { &map.title } else { title },
            description: &map.about,
            across,
            upward: &map.ratio,
            up: Up::Ratio,
            lines: &drawn,
            reference: Some(1.0),
        };
        let body = Ok(chart.draw(&format!("{id}-{}", panels.len())));
        panels.push(Panel { title: title.clone(), body });
    }
    let key = |name: &&str| Key { look: look(name), name: (*name).to_owned(), is_line: true };
    let about = format!("{} Below the dashed line, the first is better.", map.about);
    let legend = names.iter().map(key).collect();
    Figure { id, title: format!("Map: {}", map.title), about, legend, panels, notes, data }
}

fn line_of(line: &RatioLine, look: Look) -> Line {
    let tip = match line.break_evens[..] {
        [] => format!("{}: no break-even", line.name),
        _ => format!("{}: break-even at {}", line.name, places(line)),
    };
    Line { look: Some(look), name: String::new(), points: line.points.clone(), band: Vec::new(), tip }
}

/// The note on where the lines of a panel cross 1; none where none does.
fn break_evens(panel: &str, lines: &[RatioLine]) -> Option<String> {
    let of = |line: &RatioLine| format!("{} at {}", line.name, places(line));
    let found: Vec<String> = lines.iter().filter(|line| !line.break_evens.is_empty()).map(of).collect();
    let panel = if panel.is_empty() { String::new() } else { format!(", {panel}") };
    (!found.is_empty()).then(|| format!("Break-even{panel}: {}.", found.join("; ")))
}

fn places(line: &RatioLine) -> String {
    let shown = |(place, (low, high)): &(f64, (f64, f64))| match low == high {
        true => figure(*place),
        false => format!("{} [{}, {}]", figure(*place), figure(*low), figure(*high)),
    };
    line.break_evens.iter().map(shown).collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Beside;

    fn line(name: &str, points: &[(f64, f64)], break_evens: &[(f64, (f64, f64))]) -> RatioLine {
        RatioLine { name: name.to_owned(), points: points.to_vec(), break_evens: break_evens.to_vec() }
    }

    fn figure_of(panels: Vec<(String, Vec<RatioLine>)>) -> Figure {
        let map = RatioMap {
            title: "A over B".to_owned(),
            about: "Mean response.".to_owned(),
            ratio: "mean, A over B".to_owned(),
            axis: "load".to_owned(),
            is_log: true,
            panels,
        };
        let beside = Beside { maps: vec![map], ..Beside::default() };
        all(&Set::new(Vec::new(), beside)).pop().expect("a figure")
    }

    #[test]
    fn a_map_has_its_values_its_break_evens_and_a_look_for_each_name() {
        let hm = line("hm_0", &[(0.25, 0.8), (1.0, 1.25)], &[(0.5, (0.4, 0.6))]);
        let figure = figure_of(vec![
            ("RAID-5".to_owned(), vec![hm.clone()]),
            ("RAID-6".to_owned(), vec![line("lun0", &[(0.25, 0.9), (1.0, 0.9)], &[]), hm]),
        ]);
        assert_eq!(figure.data.rows[1], ["RAID-5", "hm_0", "1", "1.25"].map(crate::figures::Cell::from));
        assert_eq!(
            figure.notes,
            ["RAID-5", "RAID-6"].map(|panel| format!("Break-even, {panel}: hm_0 at 0.500 [0.400, 0.600]."))
        );
        let legend: Vec<&str> = figure.legend.iter().map(|key| key.name.as_str()).collect();
        assert_eq!(legend, ["hm_0", "lun0"]);
        let svg = &figure.panels[1].body.as_ref().expect("drawn").svg;
        assert!(svg.contains("lun0: no break-even") && svg.contains("class=\"reference\""), "{svg}");
        assert!(svg.contains(">load (logarithmic)</text>"), "{svg}");
    }

    #[test]
    fn ratios_that_are_far_apart_have_a_logarithmic_axis_and_others_include_1() {
        let drawn = |least: f64, most: f64| {
            let points = [(1.0, least), (2.0, most)];
            let figure = figure_of(vec![(String::new(), vec![line("w", &points, &[])])]);
            figure.panels[0].body.as_ref().expect("drawn").svg.clone()
        };
        assert!(drawn(0.2, 8.0).contains("A over B (logarithmic)"));
        let near = drawn(0.97, 0.99);
        assert!(near.contains(">mean, A over B</text>") && near.contains(">1.00</text>"), "{near}");
    }
}
