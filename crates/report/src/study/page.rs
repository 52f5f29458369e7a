//! The page of a study.

use std::fmt::Write as _;

use stripewise_base::human;
use stripewise_results::summary::Unit;

use crate::chart::{escape, figure};
use crate::figures::{Cell, Data, Figure};
use crate::page::{details, links, list, scrolling, section, table, whole};

use super::data::{StudyReport, is_time};
use super::{heat, over, summary};

/// The most points whose values the page has; the catalogue of the study has all.
const POINTS: usize = 1000;

/// The report of a study.
pub(super) fn html(study: &StudyReport) -> String {
    let mut figures: Vec<Figure> = Vec::new();
    if !study.rows.is_empty() {
        figures.extend(heat::all(study));
        figures.extend(over::all(study));
    }
    let search = study.search.as_ref().filter(|search| !search.trials.is_empty());
    figures.splice(0..0, search.map(super::search::Search::figure));
    figures.retain(|figure| figure.panels.iter().any(|panel| panel.body.is_ok()));
    let title = format!("Stripewise study: {}", study.name);
    let mut main = String::new();
    let summary = summary::table(study);
    if !summary.rows.is_empty() {
        write!(
            main,
            "<section id=\"summary\">\n<h2>Summary</h2>\n{}<p class=\"about\">Against {}, over all points: how many of them have \
             a lower and a higher value whose 95 % interval excludes no change, and the least, median and largest typical \
             change.</p>\n</section>\n",
            scrolling(&table(&summary, false, true)),
            escape(&study.schemes[study.base])
        )
        .expect("a string takes all");
    }
    main.extend(figures.iter().map(section));
    if !study.rows.is_empty() {
        main += &points(study);
    }
    write!(
        main,
        "<section id=\"study\">\n<h2>Study file</h2>\n{}<p class=\"about\">{}</p>\n</section>\n",
        details("The file", &format!("<pre>{}</pre>\n", escape(&study.file))),
        escape(&study.plan)
    )
    .expect("a string takes all");
    whole(&title, &header(study, &title, &figures, !summary.rows.is_empty()), &main)
}

fn header(study: &StudyReport, title: &str, figures: &[Figure], has_summary: bool) -> String {
    let mut text =
        format!("<header>\n<h1>{}</h1>\n<p>{}", escape(title), escape(&list(&study.schemes, "schemes")));
    let axes = study.varying().into_iter().map(|axis| {
        let axis = &study.axes[axis];
        format!("{} ({} values)", axis.key, axis.values.len())
    });
    let axes: Vec<String> = axes.collect();
    if !axes.is_empty() {
        write!(text, " over {}", escape(&axes.join(", "))).expect("a string takes all");
    }
    let seeds = || study.rows.iter().map(|row| row.seeds);
    if let (Some(least), Some(most)) = (seeds().min(), seeds().max()) {
        let seeds = if least == most { format!("{most}") } else { format!("{least} to {most}") };
        let runs: u64 = seeds_of(study);
        write!(text, ": {} runs, {seeds} seeds a point", human::count(runs)).expect("a string takes all");
    }
    text += ". The figures are drawn from the totals of these runs.";
    let [left, refused] = study.left;
    if left > 0 && !study.rows.is_empty() {
        write!(text, " Points that need more runs: {}.", human::count(left)).expect("a string takes all");
    }
    if refused > 0 {
        write!(text, " Combinations that do not fit and are left out: {}.", human::count(refused))
            .expect("a string takes all");
    }
    let summary = if has_summary { "<a href=\"#summary\">Summary</a>" } else { "" };
    let points = if study.rows.is_empty() { "" } else { " <a href=\"#points\">Points</a>" };
    let links = links(figures);
    text + &format!(
        "</p>\n<nav aria-label=\"Figures\">{summary}{links}{points} <a href=\"#study\">Study file</a></nav>\n</header>\n"
    )
}

/// Runs whose seeds count.
fn seeds_of(study: &StudyReport) -> u64 {
    study.rows.iter().map(|row| u64::from(row.seeds)).sum()
}

/// The values at each point.
fn points(study: &StudyReport) -> String {
    let axes = study.varying();
    let mut data = Data { texts: axes.len() + 1, ..Data::default() };
    data.head = axes.iter().map(|&axis| study.axes[axis].key.clone()).collect();
    data.head.extend(["scheme", "seeds", "end"].map(str::to_owned));
    for total in &study.totals {
        let name = Unit::bare(total);
        data.head.extend([name.to_owned(), "±".to_owned(), "typical change (%)".to_owned()]);
    }
    for row in study.rows.iter().take(POINTS) {
        let mut cells: Vec<Cell> =
            axes.iter().map(|&axis| study.axes[axis].values[row.at[axis]].clone().into()).collect();
        cells.push(study.schemes[row.scheme].clone().into());
        cells.push(row.seeds.to_string().into());
        cells.push(row.end.into());
        for (name, total) in study.totals.iter().zip(&row.totals) {
            let shown = |value: f64| if is_time(name) { Cell::time(value) } else { figure(value).into() };
            cells.push(shown(total.mean));
            cells.push(total.margin.map_or_else(|| "-".into(), shown));
            cells.push(total.change.as_ref().map_or_else(|| "-".into(), |change| change.text.clone().into()));
        }
        data.rows.push(cells);
    }
    let more = match study.rows.len() {
        rows if rows > POINTS => format!(
            "<p class=\"note\">The first {POINTS} of {} rows; the catalogue of the study has all.</p>\n",
            human::count(rows as u64)
        ),
        _ => String::new(),
    };
    format!(
        "<section id=\"points\">\n<h2>Points</h2>\n{}{more}<p class=\"about\">Means over the seeds with half the width of their \
         95 % intervals, and the typical change against {}, seed by seed; a star marks an interval that excludes no change.</p>\n\
         </section>\n",
        scrolling(&table(&data, false, true)),
        escape(&study.schemes[study.base])
    )
}
