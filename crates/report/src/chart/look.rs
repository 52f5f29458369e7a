//! Distinguishes series: by colour, and without colour by dash, marker and hatch.
//!
//! The colours are those of Okabe and Ito, which people with red-green colour blindness can distinguish. Two of them
//! are darkened so that each contrasts with white; the style sheet has lighter ones for a dark page.

use std::fmt::Write as _;

/// The number of colours, and of textures: no hatch counts as one.
const LOOKS: usize = 8;

/// The look of one series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look(pub(crate) usize);

impl Look {
    /// The class of filled shapes.
    pub(crate) fn fill(self) -> String {
        format!("f{}", self.0 % LOOKS)
    }

    /// The class of lines.
    pub(crate) fn stroke(self) -> String {
        format!("s{}", self.0 % LOOKS)
    }

    /// The hatch over filled shapes; none for the first texture.
    pub(crate) fn hatch(self) -> Option<usize> {
        Some(self.texture()).filter(|&hatch| hatch > 0)
    }

    /// The index of its hatch or marker. When the colours repeat, the textures are shifted against them, so the
    /// number of distinct pairs is the square of the number of looks.
    fn texture(self) -> usize {
        (self.0 + self.0 / LOOKS) % LOOKS
    }

    /// A marker on a line.
    pub(crate) fn marker(self, (x, y): (f64, f64)) -> String {
        let class = self.fill();
        let polygon = |corners: &[(f64, f64)]| {
            let mut points = String::new();
            for (dx, dy) in corners {
                write!(points, "{:.1},{:.1} ", x + dx, y + dy).expect("a string takes all");
            }
            format!(r#"<polygon class="{class} mark" points="{}"/>"#, points.trim_end())
        };
        match self.texture() {
            0 => format!(r#"<circle class="{class} mark" cx="{x:.1}" cy="{y:.1}" r="3"/>"#),
            1 => polygon(&[(-2.8, -2.8), (2.8, -2.8), (2.8, 2.8), (-2.8, 2.8)]),
            2 => polygon(&[(0.0, -3.8), (3.5, 2.6), (-3.5, 2.6)]),
            3 => polygon(&[(0.0, -4.0), (4.0, 0.0), (0.0, 4.0), (-4.0, 0.0)]),
            4 => polygon(&[(0.0, 3.8), (3.5, -2.6), (-3.5, -2.6)]),
            5 => polygon(&[(-4.0, -1.6), (4.0, -1.6), (4.0, 1.6), (-4.0, 1.6)]),
            6 => polygon(&[(-1.6, -4.0), (1.6, -4.0), (1.6, 4.0), (-1.6, 4.0)]),
            _ => polygon(&[(-3.8, 0.0), (2.6, -3.5), (2.6, 3.5)]),
        }
    }
}

/// A sample of a look for a legend: a box, or a piece of a line.
pub(crate) fn swatch(look: Look, is_line: bool) -> String {
    let inside = if is_line {
        let line = format!(r#"<g class="line {}"><path d="M1 7L33 7"/></g>"#, look.stroke());
        line + &look.marker((17.0, 7.0))
    } else {
        let place = r#"x="9" y="1" width="16" height="12""#;
        let hatch = look.hatch().map(|hatch| format!(r#"<rect fill="url(#hatch-{hatch})" {place}/>"#));
        format!(r#"<rect class="{}" {place}/>{}"#, look.fill(), hatch.unwrap_or_default())
    };
    format!(r#"<svg class="swatch" viewBox="0 0 34 14" aria-hidden="true">{inside}</svg>"#)
}

/// The definitions of the hatches, once a page.
pub(crate) fn hatches() -> String {
    // Thin lines in the colour of the page give each box a texture in black and white.
    let patterns: [&[&str]; LOOKS - 1] = [
        &["M-1 1L1 -1M0 6L6 0M5 7L7 5"],
        &["M0 1.5L6 1.5M0 4.5L6 4.5"],
        &["M-1 5L1 7M0 0L6 6M5 -1L7 1"],
        &["M1.5 0L1.5 6M4.5 0L4.5 6"],
        &["M0 6L6 0", "M0 0L6 6"],
        &["M0 3L6 3", "M3 0L3 6"],
        &["M2 3L4 3"],
    ];
    let mut text = String::from(r#"<svg width="0" height="0" class="defs" aria-hidden="true"><defs>"#);
    let size = r#"width="6" height="6" patternUnits="userSpaceOnUse""#;
    for (index, paths) in patterns.iter().enumerate() {
        let number = index + 1;
        write!(
            text,
            r#"<pattern id="hatch-{number}" class="hatch" {size}><path d="{}"/></pattern>"#,
            paths.concat()
        )
        .expect("a string takes all");
    }
    text + "</defs></svg>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixty_four_series_are_distinguished_by_colour_and_hatch() {
        let mut looks: Vec<_> = (0..64).map(|at| (Look(at).fill(), Look(at).hatch())).collect();
        looks.sort();
        looks.dedup();
        assert_eq!(looks.len(), 64);
    }
}
