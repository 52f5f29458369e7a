//! A grid of cells over two axes, each with its value and a shade: a heat map.

use std::fmt::Write as _;

use super::svg::{Anchor, Svg, escape};
use super::values::{Drawing, Values};
use super::{LINE, WIDTH, clipped, text_width};

/// One cell.
pub(crate) struct HeatCell {
    pub(crate) column: usize,
    pub(crate) row: usize,
    /// The value, as the page's script saves it.
    pub(crate) value: f64,
    /// What stands in the cell.
    pub(crate) text: String,
    /// From -1 to 1: how strong one colour or the other is.
    pub(crate) shade: f64,
    /// Its tooltip.
    pub(crate) tip: String,
}

/// A heat map. A place without a cell stays empty.
pub(crate) struct Heat<'a> {
    pub(crate) title: &'a str,
    pub(crate) description: &'a str,
    /// The names of the axes.
    pub(crate) across: &'a str,
    pub(crate) upward: &'a str,
    /// What the values are.
    pub(crate) of: &'a str,
    pub(crate) columns: &'a [String],
    /// From the bottom to the top.
    pub(crate) rows: &'a [String],
    pub(crate) cells: &'a [HeatCell],
}

/// Height of a row.
const ROW: f64 = 24.0;
/// The least width of a column.
const COLUMN: f64 = 44.0;
/// The longest label, in letters.
const LABEL: usize = 18;
/// Percent of the colour in a cell of the strongest shade: texts must stay readable.
const STRONGEST: f64 = 60.0;

impl Heat<'_> {
    /// The drawing. `id` is unique in the page.
    pub(crate) fn draw(&self, id: &str) -> Drawing {
        let label_width = |text: &String| text_width(&clipped(text, LABEL));
        let left = self.rows.iter().map(label_width).fold(0.0, f64::max) + 8.0;
        let widest = self.columns.iter().map(label_width).fold(0.0, f64::max);
        let inside = self.cells.iter().map(|cell| text_width(&cell.text)).fold(0.0, f64::max);
        let least = COLUMN.max(widest + 6.0).max(inside + 6.0);
        let columns = self.columns.len().max(1) as f64;
        let column = least.max((WIDTH - left - 2.0) / columns);
        let (top, rows) = (LINE + 4.0, self.rows.len() as f64);
        let bottom = top + ROW * rows;
        let width = left + column * columns + 2.0;
        let mut svg = Svg::new(width, bottom + 2.0 * LINE + 8.0);
        svg.text("axis", (0.0, LINE - 4.0), Anchor::Start, self.upward);
        for (at, row) in self.rows.iter().enumerate() {
            let y = bottom - ROW * (at as f64 + 0.5);
            svg.text("tick", (left - 5.0, y + 4.0), Anchor::End, &clipped(row, LABEL));
        }
        for (at, name) in self.columns.iter().enumerate() {
            let x = left + column * (at as f64 + 0.5);
            svg.text("tick", (x, bottom + LINE), Anchor::Middle, &clipped(name, LABEL));
        }
        svg.text("axis", (width - 2.0, bottom + 2.0 * LINE + 2.0), Anchor::End, self.across);
        for cell in self.cells {
            let (x, y) = (left + column * cell.column as f64, bottom - ROW * (cell.row as f64 + 1.0));
            let mut shape = String::new();
            let colour = if cell.shade < 0.0 { "--c0" } else { "--c1" };
            let share = cell.shade.abs().min(1.0) * STRONGEST;
            write!(
                shape,
                r#"<g><title>{}</title><rect class="cell" x="{:.1}" y="{:.1}" width="{:.1}" height="{:.1}" "#,
                escape(&cell.tip),
                x + 1.0,
                y + 1.0,
                column - 2.0,
                ROW - 2.0
            )
            .expect("a string takes all");
            write!(shape, r#"style="fill:color-mix(in srgb,var({colour}) {share:.0}%,var(--page))"/></g>"#)
                .expect("a string takes all");
            svg.raw(&shape);
            svg.text("value", (x + column / 2.0, y + ROW / 2.0 + 4.0), Anchor::Middle, &cell.text);
        }
        let svg = svg.finish_still(id, self.title, self.description);
        let cell =
            |cell: &HeatCell| (self.columns[cell.column].clone(), self.rows[cell.row].clone(), cell.value);
        let values = Values::Cells {
            across: self.across.to_owned(),
            upward: self.upward.to_owned(),
            of: self.of.to_owned(),
            cells: self.cells.iter().map(cell).collect(),
        };
        Drawing { svg, values }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_stands_at_its_place_with_its_text_and_its_shade() {
        let cell = |column, row, shade| HeatCell {
            column,
            row,
            value: shade,
            text: format!("{shade:+}"),
            shade,
            tip: "</title>".to_owned(),
        };
        let names = |names: [&str; 2]| names.map(str::to_owned);
        let chart = Heat {
            title: "t",
            description: "d",
            across: "load",
            upward: "size",
            of: "change (%)",
            columns: &names(["1", "2"]),
            rows: &names(["4KiB", "8KiB"]),
            cells: &[cell(0, 0, -1.0), cell(1, 1, 0.5)],
        };
        let drawn = chart.draw("h");
        assert_eq!(drawn.svg.matches("class=\"cell\"").count(), 2, "the other two places are empty");
        assert!(drawn.svg.contains("var(--c0) 60%") && drawn.svg.contains("var(--c1) 30%"), "{}", drawn.svg);
        assert!(!drawn.svg.contains("data-plot") && !drawn.svg.contains("<title></title>"));
        let json = drawn.values.json(|_| String::new());
        assert_eq!(json["rows"].to_string(), r#"[["1","4KiB",-1],["2","8KiB",0.5]]"#);
    }
}
