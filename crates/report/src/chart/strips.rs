//! Parts of a whole as horizontal strips, one below the other.

use super::look::Look;
use super::scale::{Scale, Unit};
use super::svg::{Anchor, Plot, Svg};
use super::values::{Drawing, Values};
use super::{LINE, WIDTH, clipped, text_width};

/// One part of a strip.
pub(crate) struct Part {
    pub(crate) look: Look,
    /// Its length on the axis.
    pub(crate) length: f64,
    /// Its tooltip.
    pub(crate) tip: String,
}

/// One strip, or a heading above strips when it has no parts.
pub(crate) struct Strip {
    pub(crate) label: String,
    pub(crate) parts: Vec<Part>,
}

/// Strips over one axis that begins at zero.
pub(crate) struct Strips<'a> {
    pub(crate) title: &'a str,
    pub(crate) description: &'a str,
    /// The quantity on the axis.
    pub(crate) axis: &'a str,
    pub(crate) unit: Unit,
    /// The largest length; the axis ends at this value or at the next round number.
    pub(crate) most: f64,
    pub(crate) strips: &'a [Strip],
}

/// Height of a strip with the space around it.
const ROW: f64 = 18.0;

impl Strips<'_> {
    /// The drawing. `id` is unique in the page.
    pub(crate) fn draw(&self, id: &str) -> Drawing {
        let widest = self.strips.iter().filter(|strip| !strip.parts.is_empty());
        let widest = widest.map(|strip| text_width(&strip.label)).fold(0.0, f64::max);
        // Room for the number at the end of the axis.
        let (left, right) = (widest.min(150.0) + 6.0, WIDTH - 16.0);
        let rows = self.strips.len() as f64;
        let mut svg = Svg::new(WIDTH, rows * ROW + 2.0 * LINE + 8.0);
        let scale = Scale::linear(0.0, self.most, self.unit, 4);
        let place = |value: f64| left + (right - left) * scale.share(value);
        for (value, text) in scale.ticks() {
            let x = place(*value);
            svg.line("grid gx", (x, 0.0), (x, rows * ROW));
            svg.text("tick tx", (x, rows * ROW + LINE), Anchor::Middle, text);
        }
        let axis = match self.unit.name {
            "" => self.axis.to_owned(),
            unit => format!("{} ({unit})", self.axis),
        };
        svg.text("axis", (right, rows * ROW + 2.0 * LINE), Anchor::End, &axis);
        for (index, strip) in self.strips.iter().enumerate() {
            let y = index as f64 * ROW;
            if strip.parts.is_empty() {
                svg.text("axis", (0.0, y + 13.0), Anchor::Start, &clipped(&strip.label, 50));
                continue;
            }
            svg.text("tick", (left - 5.0, y + 13.0), Anchor::End, &clipped(&strip.label, 25));
        }
        svg.begin_marks();
        for (index, strip) in self.strips.iter().enumerate() {
            let y = index as f64 * ROW;
            let mut from = 0.0;
            for part in &strip.parts {
                let (x, end) = (place(from), place(from + part.length));
                from += part.length;
                let rect = [x, y + 2.0, (end - x).max(0.0), ROW - 4.0];
                svg.begin_series(part.look, &part.tip);
                svg.rect(part.look, rect);
                svg.end_series();
            }
        }
        svg.end_marks();
        let plot = Plot {
            area: [left, 0.0, right, rows * ROW],
            across: scale.attribute(),
            upward: "strips".to_owned(),
            is_level: false,
        };
        let svg = svg.finish(id, self.title, self.description, &plot);
        Drawing { svg, values: self.values() }
    }

    fn values(&self) -> Values {
        let (mut heading, mut parts) = ("", Vec::new());
        for strip in self.strips {
            if strip.parts.is_empty() {
                heading = &strip.label;
            }
            for part in &strip.parts {
                parts.push((heading.to_owned(), strip.label.clone(), part.look, part.length));
            }
        }
        let axis =
            if self.unit.name.is_empty() { self.axis.to_owned() } else { format!("{} (ns)", self.axis) };
        Values::Strips { axis, parts }
    }
}
