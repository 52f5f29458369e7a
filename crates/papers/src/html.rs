//! The full tables of an evaluation, as one page of HTML that needs no other file and no network.

use std::fmt::Write as _;

use stripewise_runs::bibliography;

use crate::claims::Findings;
use crate::paper::Paper;
use crate::tables::Section;

const HEAD: &str = include_str!("../data/tables.html");
const STYLE: &str = include_str!("../data/tables.css");
const SCRIPT: &str = include_str!("../data/tables.js");

impl Paper {
    /// A page of the judged claims, the reasons, the tables, and where the figures of the paper are.
    pub fn html(&self, findings: &Findings, sections: &[Section]) -> String {
        let title = format!("Paper {}, measured: tables", self.number());
        let shown = escape(&title);
        let mut page = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n{HEAD}<title>{shown}</title>\n<style>\n{STYLE}</style>\n</head>\n\
             <body>\n<header>\n<h1>{shown}</h1>\n"
        );
        if let Some(work) = bibliography::paper(self.number()) {
            let shown = escape(&work.to_string());
            match work.address() {
                Some(address) => writeln!(page, "<p>{shown}. <a href=\"{0}\">{0}</a></p>", escape(&address)),
                None => writeln!(page, "<p>{shown}.</p>"),
            }
            .expect("a string takes all");
        }
        page += "<p>The figures are in <a href=\"report.html\">report.html</a>. The tables of each run are Parquet files in the \
                 run's directory.</p>\n";
        let about = findings.about_seeds();
        if !about.is_empty() {
            writeln!(page, "<p>{}</p>", escape(&about)).expect("a string takes all");
        }
        let claims = Section {
            title: "Claims".to_owned(),
            head: findings.head().into_iter().map(str::to_owned).collect(),
            rows: findings.rows(),
            left: None,
        };
        let readings = Section {
            title: "Readings".to_owned(),
            head: Vec::new(),
            rows: findings.readings().into_iter().map(|line| vec![line]).collect(),
            left: None,
        };
        let reasons = Section {
            title: "Reasons".to_owned(),
            head: Vec::new(),
            rows: findings
                .claims
                .iter()
                .map(|claim| vec![format!("{}: {}", claim.id, claim.rationale)])
                .collect(),
            left: None,
        };
        let all: Vec<&Section> = [&claims, &readings, &reasons].into_iter().chain(sections).collect();
        let figures = self.figures_section();
        let all = all.into_iter().chain(figures.as_ref());
        page += "<nav aria-label=\"Tables\"><ul>\n";
        for (index, section) in all.clone().enumerate() {
            writeln!(page, "<li><a href=\"#t{index}\">{}</a></li>", escape(&section.title))
                .expect("a string takes all");
        }
        page += "</ul></nav>\n</header>\n<main>\n";
        for (index, section) in all.enumerate() {
            body(index, section, &mut page);
        }
        page + "</main>\n<script>\n" + SCRIPT + "</script>\n</body>\n</html>\n"
    }

    /// Where the figures of the paper are; none where its file names none.
    fn figures_section(&self) -> Option<Section> {
        let row = |figure: crate::PrintedFigure| {
            let shown = figure.why.map(|why| format!("not drawn: {why}"));
            let shown = shown.unwrap_or_else(|| figure.files.join(", "));
            vec![figure.id, figure.shows, figure.claims.join(", "), shown, figure.command.unwrap_or_default()]
        };
        let rows: Vec<Vec<String>> = self.figures().into_iter().map(row).collect();
        let head = ["figure", "shows", "claims", "file", "command"].map(str::to_owned).to_vec();
        let title = "Figures and tables of the paper".to_owned();
        (!rows.is_empty()).then_some(Section { title, head, rows, left: None })
    }
}

fn body(index: usize, section: &Section, page: &mut String) {
    let title = escape(&section.title);
    write!(page, "<section id=\"t{index}\">\n<h2>{title}</h2>\n").expect("a string takes all");
    if section.head.is_empty() {
        *page += "<ul>\n";
        for row in &section.rows {
            let line = row[0].strip_prefix("- ").unwrap_or(&row[0]);
            writeln!(page, "<li>{}</li>", escape(line)).expect("a string takes all");
        }
        *page += "</ul>\n</section>\n";
        return;
    }
    write!(
        page,
        "<div class=\"scroll\" role=\"region\" aria-label=\"{title}\" tabindex=\"0\">\n<table>\n<thead><tr>"
    )
    .expect("a string takes all");
    for (column, head) in section.head.iter().enumerate() {
        let name = if head.is_empty() { "claim" } else { head };
        write!(
            page,
            "<th scope=\"col\"{}><button type=\"button\">{}</button></th>",
            side(section, column),
            escape(name)
        )
        .expect("a string takes all");
    }
    *page += "</tr></thead>\n<tbody>\n";
    for row in &section.rows {
        *page += "<tr>";
        for (column, cell) in row.iter().enumerate() {
            write!(page, "<td{}>{}</td>", side(section, column), escape(cell)).expect("a string takes all");
        }
        *page += "</tr>\n";
    }
    *page += "</tbody>\n</table>\n</div>\n</section>\n";
}

/// The class of a column of numbers.
fn side(section: &Section, column: usize) -> &'static str {
    if section.left.is_some_and(|left| column >= left) { " class=\"n\"" } else { "" }
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            c => escaped.push(c),
        }
    }
    escaped
}
