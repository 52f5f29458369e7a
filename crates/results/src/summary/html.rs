//! A comparison as HTML, for a notebook: the tables of the text, without a limit of width.

use std::fmt::Write as _;

use super::table::Shown;
use super::{SAME_NOTE, Summary, Under};

impl Summary {
    /// The comparison as HTML: the means, and with several seeds the typical ratios with their intervals and stars, as
    /// [`Self::text`] prints them.
    pub fn html(&self) -> String {
        let mut html = String::from("<div>");
        let labels: Vec<&str> = self.groups.iter().map(|group| group.label.as_str()).collect();
        table(&self.shown(), &labels, &mut html);
        match self.under() {
            Under::Nothing => {}
            Under::Note(note) => paragraph(note, &mut html),
            Under::Effects { title, labels, has_same } => {
                paragraph(&title, &mut html);
                table(&self.shown_differences(), &labels, &mut html);
                if has_same {
                    paragraph(SAME_NOTE, &mut html);
                }
            }
        }
        html + "</div>"
    }
}

fn paragraph(text: &str, html: &mut String) {
    let _ = write!(html, "<p>{}</p>", escaped(text));
}

fn table(columns: &[Shown], labels: &[&str], html: &mut String) {
    html.push_str("<table><thead><tr><th>scheme</th>");
    for column in columns {
        let unit =
            if column.unit.is_empty() { String::new() } else { format!("<br>{}", escaped(column.unit)) };
        let _ = write!(html, "<th>{}{unit}</th>", escaped(column.header));
    }
    html.push_str("</tr></thead><tbody>");
    for (row, label) in labels.iter().enumerate() {
        let _ = write!(html, "<tr><th style='text-align:left'>{}</th>", escaped(label));
        for column in columns {
            let cell = escaped(column.cells[row].trim());
            let _ = write!(html, "<td style='text-align:right;white-space:nowrap'>{cell}</td>");
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table>");
}

/// Names of schemes and settings come from files of others.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}
