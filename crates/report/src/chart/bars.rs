//! Bars in groups, with whiskers where a bar represents several values.

use super::look::Look;
use super::scale::{Scale, Unit};
use super::svg::{Anchor, Plot, Svg};
use super::values::{Drawing, Values};
use super::{GROUND, LINE, WIDTH, clipped, text_width};

/// One bar.
pub(crate) struct Bar {
    /// The look of its series.
    pub(crate) look: Look,
    /// Its height; none leaves its place empty.
    pub(crate) value: Option<f64>,
    /// What is drawn over it.
    pub(crate) spread: Option<Spread>,
    /// Its tooltip.
    pub(crate) tip: String,
}

/// What a line over a bar says: each has a look of its own, so that a page may have both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Spread {
    /// An interval at 95 %, as a whisker with ends.
    Interval(f64, f64),
    /// The least and the largest of the values that the bar represents, as a dotted line.
    Range(f64, f64),
}

impl Spread {
    fn ends(self) -> (f64, f64) {
        match self {
            Self::Interval(low, high) | Self::Range(low, high) => (low, high),
        }
    }
}

/// Bars side by side.
pub(crate) struct Group {
    /// The label below them.
    pub(crate) label: String,
    pub(crate) bars: Vec<Bar>,
}

/// Bars in groups over an axis that begins at zero, or at a power of ten where it is logarithmic.
pub(crate) struct Bars<'a> {
    pub(crate) title: &'a str,
    pub(crate) description: &'a str,
    /// The quantity on the axis.
    pub(crate) axis: &'a str,
    pub(crate) unit: Unit,
    /// Whether the axis is logarithmic even if bars are alike: then no value is zero.
    pub(crate) log: bool,
    pub(crate) groups: &'a [Group],
    /// A height for comparison, drawn as a line.
    pub(crate) reference: Option<f64>,
}

/// The ratio of the highest bar to the lowest from which the axis is logarithmic.
const LOG_FROM: f64 = 30.0;
/// The least width of a bar.
const BAR_LEAST: f64 = 7.0;
/// The largest width of a bar.
const BAR_MOST: f64 = 34.0;

impl Bars<'_> {
    /// The drawing. `id` is unique in the page.
    pub(crate) fn draw(&self, id: &str) -> Drawing {
        let heights = || {
            let bars = self.groups.iter().flat_map(|group| &group.bars);
            let values = bars.flat_map(|bar| [bar.value, bar.spread.map(|spread| spread.ends().1)]);
            values.flatten().chain(self.reference)
        };
        let highest = heights().fold(0.0, f64::max);
        let log = self.log || self.is_far_apart();
        let scale = if log {
            let least = heights().filter(|value| *value > 0.0).fold(highest, f64::min);
            Scale::decades(least, highest, self.unit)
        } else {
            Scale::linear(0.0, highest, self.unit, 5)
        };
        let widest_tick = scale.ticks().iter().map(|(_, text)| text_width(text)).fold(0.0, f64::max);
        let (left, top) = (widest_tick + 10.0, LINE + 8.0);

        let bars = self.groups.iter().map(|group| group.bars.len()).max().unwrap_or(1).max(1) as f64;
        let groups = self.groups.len().max(1) as f64;
        let least = bars * BAR_LEAST + 8.0;
        let across = |left: f64| {
            let room = (groups * least).max(WIDTH - left - 6.0) / groups;
            let labels = Labels::fit(self.groups.iter().map(|group| group.label.as_str()), room);
            // A slanted label begins left of its group, and the first labels begin left of the axis.
            let left = left.max(labels.reach - room / 2.0);
            (left, room, labels)
        };
        // The groups yield the room for labels left of the axis as long as they can, so the labels do not widen the
        // drawing.
        let (left, ..) = across(left);
        let (left, room, labels) = across(left);
        let bar = ((room - 8.0) / bars).clamp(BAR_LEAST, BAR_MOST);
        let width = left + groups * room + 6.0;
        let mut svg = Svg::new(width, top + GROUND + labels.height + 6.0);

        let height = |value: f64| top + GROUND * (1.0 - scale.share(value));
        draw_ticks(&mut svg, &scale, (left, width - 6.0), height);
        let axis = match (self.unit.name, log) {
            ("", false) => self.axis.to_owned(),
            ("", true) => format!("{} (logarithmic)", self.axis),
            (unit, false) => format!("{} ({unit})", self.axis),
            (unit, true) => format!("{} ({unit}, logarithmic)", self.axis),
        };
        svg.text("axis", (0.0, LINE - 4.0), Anchor::Start, &axis);
        svg.begin_marks();
        for (index, group) in self.groups.iter().enumerate() {
            let middle = left + room * (index as f64 + 0.5);
            let first = middle - bar * group.bars.len() as f64 / 2.0;
            for (place, of) in group.bars.iter().enumerate() {
                let x = first + bar * place as f64;
                let Some(value) = of.value else { continue };
                let rect = [x + 0.5, height(value), bar - 1.0, height(0.0) - height(value)];
                svg.begin_series(of.look, &of.tip);
                svg.rect(of.look, rect);
                if let Some(spread) = of.spread {
                    let (low, high) = spread.ends();
                    let drawn = if let Spread::Interval(..) = spread { draw_whisker } else { draw_range };
                    drawn(&mut svg, x + bar / 2.0, bar, (height(low), height(high)));
                }
                svg.end_series();
            }
        }
        if let Some(reference) = self.reference {
            svg.line("reference", (left, height(reference)), (width - 6.0, height(reference)));
        }
        svg.end_marks();
        for (index, group) in self.groups.iter().enumerate() {
            labels.draw(&mut svg, left + room * (index as f64 + 0.5), top + GROUND, &group.label);
        }
        svg.line("base", (left, height(0.0)), (width - 6.0, height(0.0)));
        let names: Vec<&str> = self.groups.iter().map(|group| group.label.as_str()).collect();
        let plot = Plot {
            area: [left, top, left + groups * room, top + GROUND],
            across: format!("band {}", serde_json::json!(names)),
            upward: scale.attribute(),
            is_level: false,
        };
        let svg = svg.finish(id, self.title, self.description, &plot);
        Drawing { svg, values: self.values() }
    }

    /// Whether bars differ so much that the small ones would not be seen on a linear axis.
    fn is_far_apart(&self) -> bool {
        let values = || self.groups.iter().flat_map(|group| &group.bars).filter_map(|bar| bar.value);
        let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        least > 0.0 && most > LOG_FROM * least
    }

    fn values(&self) -> Values {
        let of = |group: &Group| {
            let bars = group
                .bars
                .iter()
                .filter_map(|bar| Some((bar.look, bar.value?, bar.spread.map(Spread::ends))));
            let label = group.label.clone();
            bars.map(move |(look, value, whisker)| (label.clone(), look, value, whisker)).collect::<Vec<_>>()
        };
        let axis =
            if self.unit.name.is_empty() { self.axis.to_owned() } else { format!("{} (ns)", self.axis) };
        Values::Bars { axis, bars: self.groups.iter().flat_map(of).collect() }
    }
}

/// Draws the grid lines between `from` and `to`, and the values beside them.
pub(super) fn draw_ticks(svg: &mut Svg, scale: &Scale, (from, to): (f64, f64), height: impl Fn(f64) -> f64) {
    for (value, text) in scale.ticks() {
        let y = height(*value);
        svg.line("grid gy", (from, y), (to, y));
        svg.text("tick ty", (from - 4.0, y + 4.0), Anchor::End, text);
    }
}

/// A line from the least to the largest value, over a wider one in the page's colour, so that it is seen on any bar.
fn draw_whisker(svg: &mut Svg, x: f64, bar: f64, (low, high): (f64, f64)) {
    let cap = (bar * 0.3).min(5.0);
    for class in ["halo", "whisker"] {
        svg.line(class, (x, low), (x, high));
        svg.line(class, (x - cap, low), (x + cap, low));
        svg.line(class, (x - cap, high), (x + cap, high));
    }
}

/// The same line without ends, dotted.
fn draw_range(svg: &mut Svg, x: f64, _bar: f64, (low, high): (f64, f64)) {
    for class in ["halo", "range"] {
        svg.line(class, (x, low), (x, high));
    }
}

/// The placement of the labels below groups.
struct Labels {
    slanted: bool,
    height: f64,
    /// The largest distance from a group to the start of its label.
    reach: f64,
}

/// The longest label below a group, in letters; tooltips and the table have the full name.
const LABEL_MOST: usize = 24;

impl Labels {
    fn fit<'a>(labels: impl Iterator<Item = &'a str>, room: f64) -> Self {
        let widths: Vec<f64> = labels.map(|label| text_width(&clipped(label, LABEL_MOST))).collect();
        let slanted = widths.iter().any(|width| *width > room - 4.0);
        if !slanted {
            return Self { slanted, height: LINE + 4.0, reach: 0.0 };
        }
        // A text that rises at 35 degrees takes 0.57 of its length in height and 0.82 in width.
        let widest = widths.iter().copied().fold(0.0, f64::max);
        let beyond = widths.iter().enumerate().map(|(index, width)| width * 0.82 - room * index as f64);
        Self { slanted, height: widest * 0.574 + LINE, reach: beyond.fold(0.0, f64::max) }
    }

    fn draw(&self, svg: &mut Svg, x: f64, y: f64, label: &str) {
        if self.slanted {
            svg.slanted((x + 4.0, y + 12.0), &clipped(label, LABEL_MOST));
        } else {
            svg.text("label", (x, y + LINE), Anchor::Middle, label);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bars(groups: usize, value: Option<f64>, log: bool) -> String {
        named_bars("workload", groups, value, log)
    }

    fn named_bars(name: &str, groups: usize, value: Option<f64>, log: bool) -> String {
        let bar = |look| Bar {
            look: Look(look),
            value,
            spread: Some(Spread::Interval(0.5, 2.0)),
            tip: "a tip".to_owned(),
        };
        let group =
            |index: usize| Group { label: format!("{name} {index}"), bars: (0..3).map(bar).collect() };
        let groups: Vec<Group> = (0..groups).map(group).collect();
        let chart = Bars {
            title: "t",
            description: "d",
            axis: "cv",
            unit: Unit::ONE,
            log,
            groups: &groups,
            reference: None,
        };
        chart.draw("x").svg
    }

    #[test]
    fn a_bar_of_half_the_axis_is_half_as_high_as_the_ground() {
        // The whisker's high end of 2 is the highest value, so the axis ends at 2.
        let svg = bars(1, Some(1.0), false);
        assert!(svg.contains(&format!(r#"height="{:.1}"/>"#, GROUND / 2.0)), "{svg}");
        assert_eq!(svg.matches("<title>a tip</title>").count(), 3);
        assert_eq!(svg.matches("url(#hatch-").count(), 2, "the first look has no hatch");
    }

    #[test]
    fn a_range_does_not_look_like_an_interval() {
        let drawn = |spread| {
            let bar = Bar { look: Look(0), value: Some(1.0), spread: Some(spread), tip: String::new() };
            let groups = [Group { label: "g".to_owned(), bars: vec![bar] }];
            let chart = Bars {
                title: "t",
                description: "d",
                axis: "a",
                unit: Unit::ONE,
                log: false,
                groups: &groups,
                reference: None,
            };
            let svg = chart.draw("x").svg;
            (svg.matches("class=\"whisker\"").count(), svg.matches("class=\"range\"").count())
        };
        assert_eq!(drawn(Spread::Interval(0.5, 2.0)), (3, 0), "a line with two ends");
        assert_eq!(drawn(Spread::Range(0.5, 2.0)), (0, 1));
    }

    #[test]
    fn bars_that_differ_by_more_than_thirty_times_stand_by_their_logarithms() {
        let drawn = |values: [f64; 2]| {
            let bar = |value| Bar { look: Look(0), value: Some(value), spread: None, tip: String::new() };
            let groups = [Group { label: "w".to_owned(), bars: values.map(bar).into() }];
            let (title, description, axis) = ("t", "d", "mean");
            let (log, reference) = (false, None);
            Bars { title, description, axis, unit: Unit::ONE, log, groups: &groups, reference }.draw("x").svg
        };
        assert!(drawn([1.0, 0.0001]).contains("mean (logarithmic)"));
        assert!(!drawn([1.0, 0.05]).contains("logarithmic"));
        assert!(!drawn([1.0, 0.0]).contains("logarithmic"), "zero has no logarithm");
    }

    #[test]
    fn on_a_logarithmic_axis_a_decade_is_as_high_as_the_next() {
        // The values are 1 and, by the whisker, 2: the axis goes from 0.1 to 10, two decades, and 1 is half way up.
        let svg = bars(1, Some(1.0), true);
        assert!(svg.contains(&format!(r#"height="{:.1}"/>"#, GROUND / 2.0)), "{svg}");
        assert!(svg.contains("cv (logarithmic)"));
    }

    #[test]
    fn a_few_groups_are_as_wide_as_a_column_whatever_their_names_and_ticks_are() {
        // Ticks of "0.5" and of "2000": the axis begins at different positions.
        for value in [Some(1.0), Some(2000.0)] {
            let svg = named_bars("W(1024, 20, 60)-G-", 8, value, false);
            let width = svg.split("viewBox=\"0 0 ").nth(1).and_then(|rest| rest.split(' ').next());
            let width: f64 = width.expect("a width").parse().expect("a number");
            assert!((WIDTH..WIDTH * 1.05).contains(&width), "{width}");
            assert!(svg.contains("class=\"chart\" "), "{svg}");
        }
    }

    #[test]
    fn many_groups_make_it_wider_and_no_value_leaves_a_gap() {
        assert!(bars(2, Some(1.0), false).contains("viewBox=\"0 0 360 "));
        assert!(bars(12, Some(1.0), false).contains("rotate(-35)"), "names that do not fit are slanted");
        assert!(bars(40, Some(1.0), false).contains("class=\"chart wide\" id=\"x\" viewBox=\"0 0 1"));
        assert_eq!(bars(2, None, false).matches("<rect").count(), 0);
    }
}
