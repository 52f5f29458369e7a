//! The page: all drawings and tables, in one file.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use stripewise_base::human;

use crate::chart::{escape, hatches, swatch};
use crate::figures::{self, Data, Figure};
use crate::run::LoadedRun;
use crate::set::Set;
use crate::tables;

const STYLE: &str = include_str!("style.css");

/// The largest number of runs whose table precedes the figures.
const RUNS_FIRST: usize = 8;

/// The report on a set of runs.
pub(crate) fn html(set: &Set) -> String {
    let figures = figures::all(set);
    let title = title(set);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"generator\" content=\"stripewise\">\n<title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{}\n",
        escape(&title),
        hatches()
    );
    page += &header(set, &title, &figures);
    page += "<main>\n";
    let totals = totals(set);
    let is_long = set.runs.len() > RUNS_FIRST;
    if !is_long {
        page += &totals;
    }
    for figure in &figures {
        page += &section(figure);
    }
    if is_long {
        page += &totals;
    }
    page += &settings(set);
    page += "</main>\n</body>\n</html>\n";
    page
}

fn title(set: &Set) -> String {
    format!("Stripewise: {} on {}", list(&set.schemes, "schemes"), list(&set.workloads, "workloads"))
}

/// Up to four names, or their number.
fn list(names: &[String], what: &str) -> String {
    if names.len() > 4 { format!("{} {what}", names.len()) } else { names.join(", ") }
}

/// `, requests folded onto a span of 1 GiB`: the span of the addresses, in which papers differ.
fn span(set: &Set) -> String {
    let of = |run: &LoadedRun| run.settings.get("fold_bytes")?.parse::<u64>().ok();
    let sizes: BTreeSet<u64> = set.runs.iter().filter_map(of).collect();
    let (Some(&least), Some(&most)) = (sizes.first(), sizes.last()) else { return String::new() };
    match (human::bytes(least), human::bytes(most)) {
        (size, _) if least == most => format!(", requests folded onto a span of {size}"),
        (least, most) => format!(", requests folded onto spans of {least} to {most}"),
    }
}

fn header(set: &Set, title: &str, figures: &[Figure]) -> String {
    let mut text = format!("<header>\n<h1>{}</h1>\n<p>", escape(title));
    let count: usize = set.runs.iter().map(|run| run.seeds().count()).sum();
    let seeds = set.seeds().map_or(String::new(), |seeds| format!(" with {seeds} each"));
    let mut stripes: Vec<&str> = set.runs.iter().map(|run| run.stripe.as_str()).collect();
    stripes.sort_unstable();
    stripes.dedup();
    let whose = if set.paper.is_some() {
        "The figures have the numbers of the paper's, and are"
    } else {
        "The figures are"
    };
    write!(
        text,
        "{count} runs: {} over {}{seeds}, stripes of {}{}. {whose} drawn from the tables of these runs. Unless a figure says \
         otherwise, the other schemes are compared with {}.",
        escape(&list(&set.schemes, "schemes")),
        escape(&list(&set.workloads, "workloads")),
        escape(&stripes.join(", ")),
        span(set),
        escape(&set.base_name()),
    )
    .expect("a string takes all");
    text += "</p>\n<nav aria-label=\"Figures\"><a href=\"#totals\">Totals</a>";
    for figure in figures {
        let short = figure.title.split(':').next().unwrap_or(&figure.title);
        write!(text, " <a href=\"#{}\">{}</a>", figure.id, escape(short)).expect("a string takes all");
    }
    text + " <a href=\"#settings\">Settings</a></nav>\n</header>\n"
}

fn section(figure: &Figure) -> String {
    let mut text = format!("<section id=\"{}\">\n<h2>{}</h2>\n", figure.id, escape(&figure.title));
    if !figure.legend.is_empty() {
        text += "<ul class=\"legend\">";
        for key in &figure.legend {
            let swatch = swatch(key.look, key.is_line);
            write!(text, "<li>{swatch}{}</li>", escape(&key.name)).expect("a string takes all");
        }
        text += "</ul>\n";
    }
    text += "<div class=\"panels\">\n";
    let mut notes = figure.notes.clone();
    for panel in &figure.panels {
        let title = escape(&panel.title);
        match &panel.body {
            Ok(drawing) => writeln!(
                text,
                "<figure><figcaption>{title}</figcaption><div class=\"scroll\">{}</div></figure>",
                drawing.svg
            )
            .expect("a string takes all"),
            Err(why) => notes.push(format!("Not drawn: {}, {why}.", panel.title)),
        }
    }
    text += "</div>\n";
    writeln!(text, "<p class=\"about\">{}</p>", marked(&figure.about)).expect("a string takes all");
    notes.dedup();
    for note in &notes {
        writeln!(text, "<p class=\"note\">{}</p>", marked(note)).expect("a string takes all");
    }
    if !figure.data.rows.is_empty() {
        text += &details("The values, and which runs they are of", &scrolling(&table(&figure.data, false)));
    }
    text + "</section>\n"
}

fn totals(set: &Set) -> String {
    let rows = scrolling(&table(&tables::totals(set), true));
    let all = details("Every total of every run", &scrolling(&table(&tables::all_totals(set), false)));
    let means = set.seeds().map_or(String::new(), |seeds| {
        format!("<p>Means of {seeds}; the run is that of the first seed.</p>\n")
    });
    format!("<section id=\"totals\">\n<h2>Runs and totals</h2>\n{means}{rows}{all}</section>\n")
}

fn settings(set: &Set) -> String {
    let mut text = String::from("<section id=\"settings\">\n<h2>Settings</h2>\n");
    let differing = tables::differing_settings(set);
    if differing.is_empty() {
        text += "<p>All runs have the same.</p>\n";
    }
    for (what, data) in &differing {
        writeln!(text, "<p>What differs between {what}:</p>").expect("a string takes all");
        text += &scrolling(&table(data, false));
    }
    text += &details("What all runs share", &scrolling(&table(&tables::shared_settings(set), false)));
    text += "<p class=\"about\">A run's digest is over all of this: equal settings and requests give equal results, digit \
             by digit. <code>run.toml</code> in a run's directory has it whole.</p>\n";
    text + "</section>\n"
}

/// A text of this program, with the parts between backquotes as code.
fn marked(text: &str) -> String {
    let mut marked = String::new();
    for (index, part) in text.split('`').enumerate() {
        let part = escape(part);
        marked += &if index % 2 == 1 { format!("<code>{part}</code>") } else { part };
    }
    marked
}

fn details(summary: &str, inside: &str) -> String {
    format!("<details><summary>{}</summary>\n{inside}</details>\n", escape(summary))
}

fn scrolling(inside: &str) -> String {
    format!("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"table\">{inside}</div>\n")
}

/// A table. With `anchors`, each row can be linked to by its run's digest; elsewhere digests are links to it.
fn table(data: &Data, anchors: bool) -> String {
    let run = data.head.iter().position(|head| head == "run");
    let mut text = String::from("<table>\n<thead><tr>");
    for (index, head) in data.head.iter().enumerate() {
        let class = if index < data.texts { "" } else { " class=\"number\"" };
        write!(text, "<th scope=\"col\"{class}>{}</th>", escape(head)).expect("a string takes all");
    }
    text += "</tr></thead>\n<tbody>\n";
    for row in &data.rows {
        let id = run.filter(|_| anchors).map(|run| format!(" id=\"run-{}\"", escape(&row[run])));
        write!(text, "<tr{}>", id.unwrap_or_default()).expect("a string takes all");
        for (index, cell) in row.iter().enumerate() {
            let cell_text = escape(cell);
            let cell_text = match run {
                Some(run) if run == index && anchors => format!("<code>{cell_text}</code>"),
                Some(run) if run == index => {
                    format!("<a href=\"#run-{cell_text}\"><code>{cell_text}</code></a>")
                }
                _ => cell_text,
            };
            if index == 0 {
                write!(text, "<th scope=\"row\">{cell_text}</th>")
            } else {
                let class = if index < data.texts { "" } else { " class=\"number\"" };
                write!(text, "<td{class}>{cell_text}</td>")
            }
            .expect("a string takes all");
        }
        text += "</tr>\n";
    }
    text + "</tbody>\n</table>"
}
