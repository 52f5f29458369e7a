//! Lines over two axes, distinguished by colour, dash and marker.

use super::bars::draw_ticks;
use super::look::Look;
use super::scale::{Scale, Unit};
use super::svg::{Anchor, Plot, Svg};
use super::values::{Drawing, Values, ValuesOfLine};
use super::{GROUND, LINE, PAGE, WIDTH, text_width};

/// One line.
pub(crate) struct Line {
    /// None for one of many lines that need not be distinguished.
    pub(crate) look: Option<Look>,
    /// Its name; empty where the legend has it.
    pub(crate) name: String,
    /// The points from left to right.
    pub(crate) points: Vec<(f64, f64)>,
    /// The ends of the interval of each point, drawn as a band; empty without intervals.
    pub(crate) band: Vec<(f64, f64)>,
    /// Its tooltip.
    pub(crate) tip: String,
}

/// The horizontal axis.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Across<'a> {
    /// Times in nanoseconds, with this name.
    Time(&'a str),
    /// Times in nanoseconds on a logarithmic axis, with this name.
    LogTime(&'a str),
    /// Instants in nanoseconds from the beginning of a run, with this name; over the whole width of the page.
    Instant(&'a str),
    /// Whole numbers, with this name.
    Count(&'a str),
    /// Plain numbers, with this name.
    Number(&'a str),
    /// Plain numbers on a logarithmic axis, with this name.
    LogNumber(&'a str),
    /// The values of this axis, rising, each with its text; logarithmic if they are far apart.
    Values(&'a str, &'a [(f64, String)]),
}

impl Across<'_> {
    fn name(&self) -> &str {
        match self {
            Self::Time(name) | Self::LogTime(name) | Self::Instant(name) => name,
            Self::Count(name) | Self::Number(name) | Self::LogNumber(name) | Self::Values(name, _) => name,
        }
    }

    fn is_time(&self) -> bool {
        matches!(self, Self::Time(_) | Self::LogTime(_) | Self::Instant(_))
    }
}

/// The vertical axis.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Up {
    /// Plain numbers in this range.
    Range(f64, f64),
    /// Percentages, of which each further nine takes the same height, up to this number of nines.
    Tail(usize),
    /// Times in nanoseconds, from the least to the largest on a logarithmic axis if they are far apart.
    Time,
    /// Plain numbers from zero on, in this unit.
    Amount(Unit),
    /// Ratios, 1 among them, on a logarithmic axis if they are far apart.
    Ratio,
}

/// Lines of shares over times or counts.
pub(crate) struct Lines<'a> {
    pub(crate) title: &'a str,
    pub(crate) description: &'a str,
    pub(crate) across: Across<'a>,
    pub(crate) upward: &'a str,
    pub(crate) up: Up,
    /// The lines in drawing order, the last on top.
    pub(crate) lines: &'a [Line],
    /// A height that is marked.
    pub(crate) reference: Option<f64>,
}

/// The ratio of times from which the axis is logarithmic.
pub(super) const LOG_FROM: f64 = 12.0;
/// The ratio of times below which the axis does not begin at zero.
const LINEAR_FROM_ZERO: f64 = 3.0;
/// The number of markers on a line.
const MARKERS: usize = 5;

impl Lines<'_> {
    /// The drawing. `id` is unique in the page.
    pub(crate) fn draw(&self, id: &str) -> Drawing {
        let times = || self.lines.iter().flat_map(|line| line.points.iter().map(|point| point.0));
        let most = times().fold(0.0, f64::max);
        let least = times().filter(|&time| time > 0.0).fold(most, f64::min);
        let unit = match self.across {
            Across::Count(_) | Across::Number(_) | Across::LogNumber(_) | Across::Values(..) => Unit::ONE,
            _ => Unit::of_time(most),
        };
        let is_count = matches!(self.across, Across::Count(_));
        let is_time = matches!(self.across, Across::Time(_)) && most / least >= LOG_FROM;
        let values = if let Across::Values(_, values) = self.across { values } else { &[] };
        let log = match values {
            [(first, _), .., (last, _)] => *first > 0.0 && last / first >= LOG_FROM,
            _ => {
                let is_log = matches!(self.across, Across::LogTime(_) | Across::LogNumber(_));
                least > 0.0 && (is_time || is_log)
            }
        };
        let across = match most / least.max(1.0) {
            _ if !values.is_empty() => Scale::at(values, log),
            _ if matches!(self.across, Across::Instant(_)) => Scale::linear(0.0, most, unit, 10),
            _ if is_count => Scale::around(least, most, unit, (most - least) as usize),
            _ if log => Scale::log(least, most, unit),
            _ if matches!(self.across, Across::Number(_)) => Scale::around(least, most, unit, 5),
            // Far from zero, the axis shows the differences.
            far if far < LINEAR_FROM_ZERO => Scale::around(least, most, unit, 4),
            _ => Scale::linear(0.0, most, unit, 5),
        };
        let (upward, unit_up, is_log_up) = self.upward();

        let widest_tick = upward.ticks().iter().map(|(_, text)| text_width(text)).fold(0.0, f64::max);
        let width = if matches!(self.across, Across::Instant(_)) { PAGE } else { WIDTH };
        let half = |tick: Option<&(f64, String)>| tick.map_or(0.0, |(_, text)| text_width(text) / 2.0);
        let (first, last) = (half(across.ticks().first()), half(across.ticks().last()));
        let left = if values.is_empty() { widest_tick + 10.0 } else { first.max(widest_tick + 10.0) };
        let (right, top) = (width - last.max(14.0) - 1.0, LINE + 8.0);
        let mut svg = Svg::new(width, top + GROUND + 2.0 * LINE + 10.0);
        let height = |value: f64| top + GROUND * (1.0 - upward.share(value));
        let place = |time: f64| left + (right - left) * across.share(time);
        draw_ticks(&mut svg, &upward, (left, right), height);
        let bottom = top + GROUND;
        draw_ticks_across(&mut svg, &across, (top, bottom), place);
        svg.text("axis", (0.0, LINE - 4.0), Anchor::Start, &titled(self.upward, unit_up, is_log_up));
        let name = titled(self.across.name(), unit, log);
        svg.text("axis", (right, bottom + 2.0 * LINE + 2.0), Anchor::End, &name);
        if let Some(reference) = self.reference {
            svg.line("reference", (left, height(reference)), (right, height(reference)));
        }
        svg.line("base", (left, bottom), (right, bottom));
        svg.begin_marks();
        for (order, line) in self.lines.iter().enumerate() {
            let points: Vec<(f64, f64)> = line.points.iter().map(|&(x, y)| (place(x), height(y))).collect();
            let class = match line.look {
                Some(look) => format!("line {}", look.stroke()),
                None => "line many".to_owned(),
            };
            if let Some(look) = line.look {
                svg.begin_series(look, "");
                let ends = line.points.iter().zip(&line.band);
                let ends: Vec<_> =
                    ends.map(|((x, _), (low, high))| (place(*x), height(*low), height(*high))).collect();
                svg.band(look, &ends);
            }
            svg.path(&class, &points, &line.tip);
            if let Some(look) = line.look {
                for point in markers(&points, order) {
                    svg.raw(&look.marker(point));
                }
                svg.end_series();
            }
        }
        svg.end_marks();
        let plot = Plot {
            area: [left, top, right, bottom],
            across: across.attribute(),
            upward: upward.attribute(),
            is_level: matches!(self.across, Across::Time(_) | Across::LogTime(_)),
        };
        let svg = svg.finish(id, self.title, self.description, &plot);
        Drawing { svg, values: self.values() }
    }

    /// The vertical axis, its unit, and whether it is logarithmic.
    fn upward(&self) -> (Scale, Unit, bool) {
        let ends = |line: &Line| line.band.iter().flat_map(|(low, high)| [*low, *high]).collect::<Vec<_>>();
        let all = |line: &Line| line.points.iter().map(|point| point.1).chain(ends(line)).collect::<Vec<_>>();
        let heights = || self.lines.iter().flat_map(all).filter(|height| height.is_finite());
        let most = heights().fold(0.0, f64::max);
        match self.up {
            Up::Range(low, high) => (Scale::linear(low, high, Unit::ONE, 5), Unit::ONE, false),
            Up::Tail(nines) => (Scale::tail(nines), Unit::ONE, false),
            Up::Amount(unit) => (Scale::linear(0.0, most, unit, 5), unit, false),
            Up::Ratio => {
                let (least, most) = heights()
                    .fold((1.0, 1.0), |(least, most), ratio| (f64::min(least, ratio), f64::max(most, ratio)));
                match least > 0.0 && most / least >= LOG_FROM {
                    true => (Scale::log(least, most, Unit::ONE), Unit::ONE, true),
                    false => (Scale::around(least, most, Unit::ONE, 5), Unit::ONE, false),
                }
            }
            Up::Time => of_times(heights()),
        }
    }

    fn values(&self) -> Values {
        let of = |line: &Line| ValuesOfLine {
            look: line.look,
            name: line.name.clone(),
            points: line.points.clone(),
            band: line.band.clone(),
        };
        let in_ns =
            |name: &str, is_time: bool| if is_time { format!("{name} (ns)") } else { name.to_owned() };
        Values::Lines {
            across: in_ns(self.across.name(), self.across.is_time()),
            upward: in_ns(self.upward, matches!(self.up, Up::Time)),
            lines: self.lines.iter().map(of).collect(),
        }
    }
}

/// An axis for times in nanoseconds, its unit, and whether it is logarithmic: it is if they are far apart.
pub(super) fn of_times(times: impl Iterator<Item = f64> + Clone) -> (Scale, Unit, bool) {
    let most = times.clone().fold(0.0, f64::max);
    let least = times.filter(|&time| time > 0.0).fold(most, f64::min);
    let unit = Unit::of_time(most);
    match least > 0.0 && most / least >= LOG_FROM {
        true => (Scale::log(least, most, unit), unit, true),
        false => (Scale::linear(0.0, most, unit, 5), unit, false),
    }
}

/// Draws the grid lines between `top` and `bottom`, and the values below them that have room.
pub(super) fn draw_ticks_across(
    svg: &mut Svg,
    scale: &Scale,
    (top, bottom): (f64, f64),
    place: impl Fn(f64) -> f64,
) {
    let mut free_from = f64::NEG_INFINITY;
    for (value, text) in scale.ticks() {
        let (x, half) = (place(*value), text_width(text) / 2.0);
        svg.line("grid gx", (x, top), (x, bottom));
        if x - half >= free_from {
            svg.text("tick tx", (x, bottom + LINE), Anchor::Middle, text);
            free_from = x + half + 4.0;
        }
    }
}

/// The name of an axis with its unit.
pub(super) fn titled(name: &str, unit: Unit, is_log: bool) -> String {
    match (unit.name, is_log) {
        ("", false) => name.to_owned(),
        ("", true) => format!("{name} (logarithmic)"),
        (unit, false) => format!("{name} ({unit})"),
        (unit, true) => format!("{name} ({unit}, logarithmic)"),
    }
}

/// Some points of a line, evenly spaced along it, and different ones on each line, so that markers do not hide each
/// other.
fn markers(points: &[(f64, f64)], order: usize) -> Vec<(f64, f64)> {
    let points: Vec<_> = points.iter().copied().filter(|(x, y)| x.is_finite() && y.is_finite()).collect();
    let step = |pair: &[(f64, f64)]| {
        let (dx, dy) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
        libm::sqrt(dx * dx + dy * dy)
    };
    let length: f64 = points.windows(2).map(step).sum();
    if length < 1.0 {
        return points.last().copied().into_iter().collect();
    }
    let gap = length / MARKERS as f64;
    let mut due = gap * (0.3 + 0.2 * (order % 3) as f64);
    let (mut at, mut places) = (0.0, Vec::new());
    for pair in points.windows(2) {
        let step = step(pair);
        while due <= at + step && step > 0.0 {
            let share = (due - at) / step;
            let between = |from: f64, to: f64| from + (to - from) * share;
            places.push((between(pair[0].0, pair[1].0), between(pair[0].1, pair[1].1)));
            due += gap;
        }
        at += step;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_a_tick_each_and_no_unit() {
        let points = (1..=9).map(|at| (f64::from(at), f64::from(at) / 9.0)).collect();
        let lines =
            [Line { look: Some(Look(0)), name: String::new(), points, band: Vec::new(), tip: String::new() }];
        let (title, description, upward) = ("t", "d", "share");
        let across = Across::Count("SSDs");
        let chart = Lines {
            title,
            description,
            across,
            upward,
            up: Up::Range(0.0, 1.0),
            lines: &lines,
            reference: None,
        };
        let drawn = chart.draw("c").svg;
        for tick in 1..=9 {
            assert!(drawn.contains(&format!(">{tick}</text>")), "{tick}: {drawn}");
        }
        assert!(drawn.contains(">SSDs</text>"), "{drawn}");
    }

    fn draw(points: Vec<(f64, f64)>) -> String {
        let lines = [Line {
            look: Some(Look(2)),
            name: String::new(),
            points,
            band: Vec::new(),
            tip: "a scheme".to_owned(),
        }];
        let chart = Lines {
            title: "t",
            description: "d",
            across: Across::Time("latency"),
            upward: "requests (%)",
            up: Up::Range(99.0, 100.0),
            lines: &lines,
            reference: Some(99.9),
        };
        chart.draw("x").svg
    }

    #[test]
    fn a_line_goes_from_the_bottom_to_the_top_of_its_ground() {
        let svg = draw(vec![(10e6, 99.0), (40e6, 100.0)]);
        assert!(svg.contains(r#">0</text>"#), "from zero on");
        assert!(svg.contains(&format!("L345.0 {:.1}", LINE + 8.0)), "{svg}");
        assert!(svg.contains("latency (ms)"));
        assert_eq!(svg.matches("mark").count(), MARKERS, "{svg}");
    }

    /// A slice without requests has no response time: the line ends before it, and another begins after it.
    #[test]
    fn a_gap_is_a_gap_on_every_axis() {
        for up in [Up::Time, Up::Tail(3), Up::Ratio, Up::Amount(Unit::ONE)] {
            let points = vec![(1.0, 1.0), (2.0, 2.0), (3.0, f64::NAN), (4.0, 1.0), (5.0, 90.0)];
            let lines = [Line {
                look: Some(Look(0)),
                name: String::new(),
                points,
                band: Vec::new(),
                tip: String::new(),
            }];
            let (title, description, upward) = ("t", "d", "response");
            let across = Across::Instant("time");
            let chart = Lines { title, description, across, upward, up, lines: &lines, reference: None };
            let svg = chart.draw("x").svg;
            let path = svg.split("<path d=\"M").nth(1).and_then(|path| path.split('"').next());
            assert_eq!(path.map(|path| path.matches('M').count()), Some(1), "{up:?}: {svg}");
        }
    }

    #[test]
    fn far_apart_times_stand_by_their_logarithms_and_one_point_is_a_marker() {
        assert!(draw(vec![(1e6, 99.0), (400e6, 100.0)]).contains("logarithmic"));
        assert_eq!(draw(vec![(1e6, 100.0)]).matches("mark").count(), 1);
        assert!(draw(vec![(0.0, 100.0)]).contains("</svg>"), "a time of zero is no panic");
    }
}
