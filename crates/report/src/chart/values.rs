//! The values of a drawing: what the page's script shows beside the pointer and saves as CSV.

use serde_json::{Value, json};

use super::look::Look;

/// A drawing and its values.
pub(crate) struct Drawing {
    /// The SVG.
    pub(crate) svg: String,
    pub(crate) values: Values,
}

/// The values of a drawing, exactly as they are drawn.
pub(crate) enum Values {
    /// Points of lines.
    Lines { across: String, upward: String, lines: Vec<ValuesOfLine> },
    /// Bars in groups.
    Bars { axis: String, bars: Vec<ValueOfBar> },
    /// Parts of strips: the heading and the label of the strip, the part, and its length.
    Strips { axis: String, parts: Vec<(String, String, Look, f64)> },
    /// Single points: the look of each, its name, and its place.
    Dots { across: String, upward: String, dots: Vec<(Look, String, (f64, f64))> },
    /// Cells of a grid: the column, the row, and the value.
    Cells { across: String, upward: String, of: String, cells: Vec<(String, String, f64)> },
}

/// The group and the series of a bar, and its height with the ends of its whisker.
pub(crate) type ValueOfBar = (String, Look, f64, Option<(f64, f64)>);

/// The points of one line.
pub(crate) struct ValuesOfLine {
    /// Its look, which the legend names.
    pub(crate) look: Option<Look>,
    /// Its own name; empty where the legend has it.
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
    /// The ends of the interval of each point; empty without intervals.
    pub(crate) band: Vec<(f64, f64)>,
}

impl Values {
    /// The values as JSON. `name_of` names the series of a look, as the legend does.
    pub(crate) fn json(&self, name_of: impl Fn(Look) -> String) -> Value {
        match self {
            Self::Lines { across, upward, lines } => {
                let of = |line: &ValuesOfLine| {
                    let name = match line.look {
                        Some(look) if line.name.is_empty() => name_of(look),
                        _ => line.name.clone(),
                    };
                    let (x, y): (Vec<f64>, Vec<f64>) = line.points.iter().copied().unzip();
                    let (look, x, y) = (line.look.map(|look| look.0), numbers(&x), numbers(&y));
                    let mut of = json!({ "name": name, "s": look, "x": x, "y": y });
                    if !line.band.is_empty() {
                        let (low, high): (Vec<f64>, Vec<f64>) = line.band.iter().copied().unzip();
                        of["low"] = numbers(&low).into();
                        of["high"] = numbers(&high).into();
                    }
                    of
                };
                json!({ "kind": "lines", "x": across, "y": upward, "lines": lines.iter().map(of).collect::<Vec<_>>() })
            }
            Self::Bars { axis, bars } => {
                let of = |(group, look, value, whisker): &ValueOfBar| {
                    let (low, high) = whisker.unzip();
                    json!([group, name_of(*look), number(*value), low.map(number), high.map(number)])
                };
                json!({ "kind": "bars", "y": axis, "rows": bars.iter().map(of).collect::<Vec<_>>() })
            }
            Self::Strips { axis, parts } => {
                let of = |(heading, label, look, length): &(String, String, Look, f64)| {
                    json!([heading, label, name_of(*look), number(*length)])
                };
                json!({ "kind": "strips", "x": axis, "rows": parts.iter().map(of).collect::<Vec<_>>() })
            }
            Self::Dots { across, upward, dots } => {
                let of = |(look, name, (x, y)): &(Look, String, (f64, f64))| {
                    json!([name_of(*look), name, number(*x), number(*y)])
                };
                json!({ "kind": "dots", "x": across, "y": upward, "rows": dots.iter().map(of).collect::<Vec<_>>() })
            }
            Self::Cells { across, upward, of: what, cells } => {
                let of = |(column, row, value): &(String, String, f64)| json!([column, row, number(*value)]);
                let rows: Vec<Value> = cells.iter().map(of).collect();
                json!({ "kind": "cells", "x": across, "y": upward, "of": what, "rows": rows })
            }
        }
    }
}

fn numbers(values: &[f64]) -> Vec<Value> {
    values.iter().copied().map(number).collect()
}

/// A whole number without a fraction; null for what is no number.
fn number(value: f64) -> Value {
    if value == libm::trunc(value) && libm::fabs(value) < 9e15 { json!(value as i64) } else { json!(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_exact_and_whole_numbers_have_no_fraction() {
        let line = |look, name: &str| ValuesOfLine {
            look,
            name: name.to_owned(),
            points: vec![(1.0, 0.1), (f64::NAN, 2.0)],
            band: Vec::new(),
        };
        let lines = vec![line(Some(Look(3)), ""), line(None, "member 1")];
        let values = Values::Lines { across: "x".to_owned(), upward: "y".to_owned(), lines };
        let json = values.json(|look| format!("scheme {}", look.0));
        assert_eq!(
            json["lines"].to_string(),
            r#"[{"name":"scheme 3","s":3,"x":[1,null],"y":[0.1,2]},{"name":"member 1","s":null,"x":[1,null],"y":[0.1,2]}]"#
        );
    }
}
