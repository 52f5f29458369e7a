//! A small chart layer: bars, strips, lines, heat maps and scatter plots as inline SVG.
//!
//! Colours, text sizes and hatches are classes and variables of the page's style sheet, so one drawing serves light,
//! dark and print. Drawings are 360 units wide unless they need more, so their text stays readable on a phone.

mod bars;
mod heat;
mod lines;
mod look;
mod scale;
mod scatter;
mod strips;
mod svg;
mod values;

pub(crate) use bars::{Bar, Bars, Group, Spread};
pub(crate) use heat::{Heat, HeatCell};
pub(crate) use lines::{Across, Line, Lines, Up};
pub(crate) use look::{Look, hatches, swatch};
pub(crate) use scale::{Unit, figure, time};
pub(crate) use scatter::{Dot, Front, Scatter};
pub(crate) use strips::{Part, Strip, Strips};
pub(crate) use svg::escape;
pub(crate) use values::Drawing;

/// The default width of a drawing.
const WIDTH: f64 = 360.0;
/// The width of a drawing over the whole page.
const PAGE: f64 = 1080.0;
/// Height of the plot area.
const GROUND: f64 = 190.0;
/// Mean width of a letter of the axes' text, in the wider ones of the possible fonts.
const LETTER: f64 = 6.4;
/// Height of a line of the axes' text.
const LINE: f64 = 15.0;

/// The first `most` letters of a text. The last one is an ellipsis if the text is longer.
fn clipped(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// Approximate width of a text.
fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER
}
