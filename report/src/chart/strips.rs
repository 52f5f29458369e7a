//! Parts of a whole as horizontal strips, one below the other.

use super::look::Look;
use super::scale::{Scale, Unit};
use super::svg::{Anchor, Svg};
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
    /// The largest length; the axis ends at this value or at the next round number.
    pub(crate) most: f64,
    pub(crate) strips: &'a [Strip],
}

/// Height of a strip with the space around it.
const ROW: f64 = 18.0;

impl Strips<'_> {
    /// The drawing. `id` is unique in the page.
    pub(crate) fn draw(&self, id: &str) -> String {
        let widest = self.strips.iter().filter(|strip| !strip.parts.is_empty());
        let widest = widest.map(|strip| text_width(&strip.label)).fold(0.0, f64::max);
        // Room for the number at the end of the axis.
        let (left, right) = (widest.min(150.0) + 6.0, WIDTH - 16.0);
        let rows = self.strips.len() as f64;
        let mut svg = Svg::new(WIDTH, rows * ROW + 2.0 * LINE + 8.0);
        let scale = Scale::linear(0.0, self.most, Unit::ONE, 4);
        let place = |value: f64| left + (right - left) * scale.share(value);
        for (value, text) in scale.ticks() {
            let x = place(*value);
            svg.line("grid", (x, 0.0), (x, rows * ROW));
            svg.text("tick", (x, rows * ROW + LINE), Anchor::Middle, text);
        }
        svg.text("axis", (right, rows * ROW + 2.0 * LINE), Anchor::End, self.axis);
        for (index, strip) in self.strips.iter().enumerate() {
            let y = index as f64 * ROW;
            if strip.parts.is_empty() {
                svg.text("axis", (0.0, y + 13.0), Anchor::Start, &clipped(&strip.label, 50));
                continue;
            }
            svg.text("tick", (left - 5.0, y + 13.0), Anchor::End, &clipped(&strip.label, 25));
            let mut from = 0.0;
            for part in &strip.parts {
                let (x, end) = (place(from), place(from + part.length));
                from += part.length;
                let rect = [x, y + 2.0, (end - x).max(0.0), ROW - 4.0];
                svg.rect(&part.look.fill(), part.look.hatch(), rect, &part.tip);
            }
        }
        svg.finish(id, self.title, self.description)
    }
}
