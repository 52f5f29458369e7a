//! The page: all drawings and tables, in one file.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use stripewise_base::human;

use crate::chart::{escape, hatches, swatch};
use crate::error::Error;
use crate::figures::{self, Data, Figure};
use crate::run::LoadedRun;
use crate::set::Set;
use crate::tables;
use crate::verdict;

const STYLE: &str = include_str!("style.css");

const SCRIPT: &str = include_str!("script.js");

/// The digest of the script, which alone may run in the page. A test computes it.
const SCRIPT_DIGEST: &str = "sha256-pYlo6+py2T3tyj8Ko7qqC4uub2oIwN0qzOqqUgNvz1A=";

/// The largest number of runs whose table precedes the figures.
const RUNS_FIRST: usize = 8;

/// The report on a set of runs.
///
/// # Errors
/// When a run's table cannot be read.
pub(crate) fn html(set: &Set) -> Result<String, Error> {
    let figures = figures::all(set)?;
    let title = title(set);
    let mut main = verdict::section(set);
    main += &claims(set);
    let totals = totals(set);
    let is_long = set.runs.len() > RUNS_FIRST;
    if !is_long {
        main += &totals;
    }
    for figure in &figures {
        main += &section(figure);
    }
    if is_long {
        main += &totals;
    }
    main += &settings(set);
    Ok(whole(&title, &header(set, &title, &figures), &main))
}

/// The page with this title, header and content. It loads nothing, and only the report's own script may run in it.
pub(crate) fn whole(title: &str, header: &str, main: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src '{SCRIPT_DIGEST}'\">\n\
         <meta name=\"generator\" content=\"stripewise\">\n<title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{}\n\
         {header}<main>\n{main}</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n",
        escape(title),
        hatches()
    )
}

fn title(set: &Set) -> String {
    format!("Stripewise: {} on {}", list(&set.schemes, "schemes"), list(&set.workloads, "workloads"))
}

/// Up to four names, or their number.
pub(crate) fn list(names: &[String], what: &str) -> String {
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

/// The line that names the work whose evaluation is reported; empty where there is none.
fn work(set: &Set) -> String {
    let Some((text, address)) = set.work() else { return String::new() };
    let link = address.map(escape).map(|address| format!(" <a href=\"{address}\">{address}</a>"));
    format!("<p class=\"work\">{}.{}</p>\n", escape(text), link.unwrap_or_default())
}

fn header(set: &Set, title: &str, figures: &[Figure]) -> String {
    let mut text = format!("<header>\n<h1>{}</h1>\n{}<p>", escape(title), work(set));
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
    let claims = if set.claims().is_some() { "<a href=\"#claims\">Claims</a> " } else { "" };
    let answer = if set.paper.is_none() { "<a href=\"#answer\">Answer</a> " } else { "" };
    write!(text, "</p>\n<nav aria-label=\"Figures\">{claims}{answer}<a href=\"#totals\">Totals</a>")
        .expect("a string takes all");
    text + &links(figures) + " <a href=\"#settings\">Settings</a></nav>\n</header>\n"
}

/// Links to figures.
pub(crate) fn links(figures: &[Figure]) -> String {
    let link = |figure: &Figure| {
        let short = figure.title.split(':').next().unwrap_or(&figure.title);
        format!(" <a href=\"#{}\">{}</a>", figure.id, escape(short))
    };
    figures.iter().map(link).collect()
}

/// The section of a figure.
pub(crate) fn section(figure: &Figure) -> String {
    let mut text =
        format!("<section id=\"{}\" class=\"figure\">\n<h2>{}</h2>\n", figure.id, escape(&figure.title));
    if !figure.legend.is_empty() {
        text += "<ul class=\"legend\">";
        for key in &figure.legend {
            let swatch = swatch(key.look, key.is_line);
            write!(text, "<li data-s=\"{}\">{swatch}{}</li>", key.look.0, escape(&key.name))
                .expect("a string takes all");
        }
        text += "</ul>\n";
    }
    text += "<div class=\"panels\">\n";
    let mut notes = figure.notes.clone();
    for panel in &figure.panels {
        let title = escape(&panel.title);
        match &panel.body {
            Ok(drawing) => {
                let name_of = |look| {
                    let key = figure.legend.iter().find(|key| key.look == look);
                    key.map_or_else(|| format!("series {}", look.0 + 1), |key| key.name.clone())
                };
                let values = escape(&drawing.values.json(name_of).to_string());
                // A drawing that is wider than its place can be scrolled with the keyboard too.
                let label = format!("tabindex=\"0\" role=\"group\" aria-label=\"drawing: {title}\"");
                let label = if drawing.svg.contains("class=\"chart wide\"") { label } else { String::new() };
                writeln!(
                    text,
                    "<figure data-values=\"{values}\"><figcaption>{title}</figcaption><div class=\"scroll\" {label}>{}</div>\
                     </figure>",
                    drawing.svg
                )
                .expect("a string takes all");
            }
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
        let has_runs = figure.data.head.iter().any(|name| name == "run");
        let title = if has_runs { "The values, and which runs they are of" } else { "The values" };
        text += &details(title, &scrolling(&table(&figure.data, false, true)));
    }
    text + "</section>\n"
}

/// The claims of a paper with their verdicts; empty in other reports.
fn claims(set: &Set) -> String {
    let Some(claims) = set.claims() else { return String::new() };
    let data = Data { head: claims.head.clone(), texts: claims.head.len(), rows: Vec::new() };
    let cells = |row: &Vec<String>| row.iter().map(|cell| cell.as_str().into()).collect();
    let data = Data { rows: claims.rows.iter().map(cells).collect(), ..data };
    format!(
        "<section id=\"claims\">\n<h2>Claims of the paper</h2>\n{}<p class=\"about\">{} The reasons are in \
         <code>tables.html</code> beside this file.</p>\n</section>\n",
        scrolling(&table(&data, false, true)),
        escape(&claims.about)
    )
}

fn totals(set: &Set) -> String {
    let rows = scrolling(&table(&tables::totals(set), true, true));
    let all = details("Every total of every run", &scrolling(&table(&tables::all_totals(set), false, false)));
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
        text += &scrolling(&table(data, false, true));
    }
    text += &details("What all runs share", &scrolling(&table(&tables::shared_settings(set), false, true)));
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

/// Content that a reader unfolds.
pub(crate) fn details(summary: &str, inside: &str) -> String {
    format!("<details><summary>{}</summary>\n{inside}</details>\n", escape(summary))
}

/// Content that may be wider than the page.
pub(crate) fn scrolling(inside: &str) -> String {
    format!("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"table\">{inside}</div>\n")
}

/// A table, which the script lets readers sort if its rows are alike. With `anchors`, each row can be linked to by its
/// run's digest; elsewhere digests are links to it.
pub(crate) fn table(data: &Data, anchors: bool, sortable: bool) -> String {
    let run = data.head.iter().position(|head| head == "run");
    let (heads, rows) = data.shown();
    let class = if sortable { " class=\"sortable\"" } else { "" };
    let mut text = format!("<table{class}>\n<thead><tr>");
    for (index, head) in heads.iter().enumerate() {
        let class = if index < data.texts { "" } else { " class=\"number\"" };
        write!(text, "<th scope=\"col\"{class}>{}</th>", escape(head)).expect("a string takes all");
    }
    text += "</tr></thead>\n<tbody>\n";
    for row in &rows {
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

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;

    /// The policy of the page names the script's digest, so a script that was changed would not run.
    #[test]
    fn the_policy_of_the_page_allows_the_script_as_it_is() {
        let sum = Command::new("sha256sum").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let Ok(mut sum) = sum else {
            eprintln!("skipped: there is no sha256sum");
            return;
        };
        sum.stdin.take().expect("it is piped").write_all(SCRIPT.as_bytes()).expect("it reads");
        let text = String::from_utf8(sum.wait_with_output().expect("it ends").stdout).expect("digits");
        let byte = |at: usize| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).expect("hexadecimal digits");
        let bytes: Vec<u8> = (0..32).map(byte).collect();
        assert_eq!(SCRIPT_DIGEST, format!("sha256-{}", base64(&bytes)), "give SCRIPT_DIGEST this value");
        assert!(!SCRIPT.contains("</script"), "the script would end early");
        for foreign in ["fetch(", "XMLHttpRequest", "import(", "https:", "WebSocket"] {
            assert!(!SCRIPT.contains(foreign), "{foreign}: a report loads nothing");
        }
    }

    fn base64(bytes: &[u8]) -> String {
        const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::new();
        for three in bytes.chunks(3) {
            let of = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
            let bits = of(0) << 16 | of(1) << 8 | of(2);
            for place in 0..4 {
                let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize] as char;
                text.push(if place <= three.len() { digit } else { '=' });
            }
        }
        text
    }
}
