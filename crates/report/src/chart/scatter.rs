//! Single points over two axes, with a front along them.

use super::bars::draw_ticks;
use super::lines::{LOG_FROM, draw_ticks_across, of_times, titled};
use super::look::Look;
use super::scale::{Scale, Unit};
use super::svg::{Anchor, Plot, Svg};
use super::values::{Drawing, Values};
use super::{GROUND, LINE, WIDTH, text_width};

/// One point.
pub(crate) struct Dot {
    pub(crate) look: Look,
    pub(crate) name: String,
    pub(crate) at: (f64, f64),
    /// Its tooltip.
    pub(crate) tip: String,
}

/// A line along the best points.
pub(crate) struct Front {
    pub(crate) look: Look,
    /// Its corners, from left to right.
    pub(crate) corners: Vec<(f64, f64)>,
    /// Its tooltip.
    pub(crate) tip: String,
}

/// Points over two axes. An axis of times in nanoseconds is logarithmic if they are far apart.
pub(crate) struct Scatter<'a> {
    pub(crate) title: &'a str,
    pub(crate) description: &'a str,
    /// The names of the axes, and whether their values are times.
    pub(crate) across: (&'a str, bool),
    pub(crate) upward: (&'a str, bool),
    pub(crate) dots: &'a [Dot],
    pub(crate) front: Option<Front>,
}

impl Scatter<'_> {
    /// The drawing. `id` is unique in the page.
    pub(crate) fn draw(&self, id: &str) -> Drawing {
        let (across, unit, is_log) = scale(self.dots.iter().map(|dot| dot.at.0), self.across.1);
        let (upward, unit_up, is_log_up) = scale(self.dots.iter().map(|dot| dot.at.1), self.upward.1);
        let widest = upward.ticks().iter().map(|(_, text)| text_width(text)).fold(0.0, f64::max);
        let (left, right, top) = (widest + 10.0, WIDTH - 18.0, LINE + 8.0);
        let bottom = top + GROUND;
        let mut svg = Svg::new(WIDTH, bottom + 2.0 * LINE + 10.0);
        let height = |value: f64| top + GROUND * (1.0 - upward.share(value));
        let place = |value: f64| left + (right - left) * across.share(value);
        draw_ticks(&mut svg, &upward, (left, right), height);
        draw_ticks_across(&mut svg, &across, (top, bottom), place);
        svg.text("axis", (0.0, LINE - 4.0), Anchor::Start, &titled(self.upward.0, unit_up, is_log_up));
        let name = titled(self.across.0, unit, is_log);
        svg.text("axis", (right, bottom + 2.0 * LINE + 2.0), Anchor::End, &name);
        svg.line("base", (left, bottom), (right, bottom));
        svg.begin_marks();
        if let Some(front) = &self.front {
            let corners: Vec<(f64, f64)> =
                front.corners.iter().map(|&(x, y)| (place(x), height(y))).collect();
            svg.begin_series(front.look, "");
            svg.path(&format!("line {}", front.look.stroke()), &corners, &front.tip);
            svg.end_series();
        }
        for dot in self.dots {
            svg.begin_series(dot.look, &dot.tip);
            svg.raw(&dot.look.marker((place(dot.at.0), height(dot.at.1))));
            svg.end_series();
        }
        svg.end_marks();
        let plot = Plot {
            area: [left, top, right, bottom],
            across: across.attribute(),
            upward: upward.attribute(),
            is_level: false,
        };
        let in_ns =
            |(name, is_time): (&str, bool)| if is_time { format!("{name} (ns)") } else { name.to_owned() };
        let dots = self.dots.iter().map(|dot| (dot.look, dot.name.clone(), dot.at)).collect();
        let values = Values::Dots { across: in_ns(self.across), upward: in_ns(self.upward), dots };
        Drawing { svg: svg.finish(id, self.title, self.description, &plot), values }
    }
}

/// An axis over all values, its unit, and whether it is logarithmic. It need not begin at zero.
fn scale(values: impl Iterator<Item = f64> + Clone, is_time: bool) -> (Scale, Unit, bool) {
    let (least, most) = values.clone().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| {
        (f64::min(least, value), f64::max(most, value))
    });
    let unit = if is_time { Unit::of_time(most) } else { Unit::ONE };
    match is_time && least > 0.0 && most / least >= LOG_FROM {
        true => of_times(values),
        false => (Scale::around(least, most, unit, 5), unit, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_point_has_its_mark_and_its_name_and_the_front_is_below_them() {
        let dot = |look, x: f64, y| Dot {
            look: Look(look),
            name: format!("trial {x}"),
            at: (x, y),
            tip: "<".to_owned(),
        };
        let dots = [dot(0, 1e6, 1.5), dot(0, 2e6, 1.2), dot(1, 3e6, 1.4)];
        let front =
            Front { look: Look(0), corners: vec![(1e6, 1.5), (2e6, 1.5), (2e6, 1.2)], tip: String::new() };
        let chart = Scatter {
            title: "t",
            description: "d",
            across: ("p99", true),
            upward: ("programs", false),
            dots: &dots,
            front: Some(front),
        };
        let drawn = chart.draw("s");
        assert_eq!(drawn.svg.matches(" mark").count(), 3, "{}", drawn.svg);
        let (line, mark) = (drawn.svg.find("class=\"line"), drawn.svg.find(" mark"));
        assert!(line.is_some() && line < mark && drawn.svg.contains("p99 (ms)"));
        let json = drawn.values.json(|look| format!("kind {}", look.0));
        assert_eq!(json["rows"][2].to_string(), r#"["kind 1","trial 3000000",3000000,1.4]"#);
        assert_eq!((json["x"].as_str(), json["y"].as_str()), (Some("p99 (ns)"), Some("programs")));
    }
}
