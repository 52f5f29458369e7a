//! The answer that a report begins with: which scheme is better, by how much, whether that is significant, and why.

use std::fmt::Write as _;
use std::rc::Rc;

use stripewise_results::effect;
use stripewise_results::paired::Ratio;

use crate::cautions;
use crate::chart::{escape, figure, time};
use crate::figures::{in_unit, unit_of};
use crate::run::LoadedRun;
use crate::set::{Change, Set, Sure, changes};

/// The most workloads whose answers are given in full; of more there is a table with a row each.
const FULL: usize = 4;

/// The columns of differences: heading, and total.
const MEASURES: [(&str, &str); 5] = [
    ("mean response", MEAN),
    ("reads", "read_mean_ns"),
    ("writes", "write_mean_ns"),
    ("99.9th percentile", "response_p999_ns"),
    ("programs a host page", "programs_per_host_page"),
];

const MEAN: &str = "response_mean_ns";

/// Parts of the mean response time, for reads and writes: the totals with the means and the number of requests.
const KINDS: [(&str, &str, &str, [&str; 3]); 2] = [
    (
        "reads",
        "read_requests",
        "read_mean_ns",
        ["read_wait_mean_ns", "read_bus_mean_ns", "read_cell_mean_ns"],
    ),
    (
        "writes",
        "write_requests",
        "write_mean_ns",
        ["write_wait_mean_ns", "write_bus_mean_ns", "write_cell_mean_ns"],
    ),
];

const PARTS: [&str; 4] = ["waiting", "transfers", "flash cells", "parity computation and controller memory"];

/// Work that explains a difference: total, and its name after "fewer" or "more".
const WORK: [(&str, &str); 4] = [
    ("pre_read_pages", "pages pre-read"),
    ("flash_program_pages", "pages programmed"),
    ("gc_move_pages", "pages moved by garbage collection"),
    ("erase_blocks", "blocks erased"),
];

/// A change smaller than this share explains nothing.
const SMALL: f64 = 0.01;

/// Runs with the names of their schemes.
type Named<'a> = Vec<(&'a str, &'a LoadedRun)>;

/// The runs of one workload on one array; of those that acknowledge writes from different places, the runs of one.
struct Place<'a> {
    set: &'a Set,
    name: String,
    runs: Named<'a>,
    /// These runs and those with other acknowledgements: the intervals hold for all of them together.
    all: Rc<[Named<'a>]>,
}

/// Two schemes of a place that the answer compares: the one with the lowest mean, and the first one, or the next best if
/// the first is the best.
struct Pair<'a> {
    best: (&'a str, &'a LoadedRun),
    other: (&'a str, &'a LoadedRun),
    /// The difference of the best from the other, or of the other from the best if that is the first.
    change: Option<Change>,
    is_first_best: bool,
}

/// The section; empty in the reports of papers, which have answers of their own.
pub(crate) fn section(set: &Set) -> String {
    if set.paper.is_some() {
        return String::new();
    }
    let places = places(set);
    let mut text = String::from("<section id=\"answer\">\n<h2>Which scheme is better</h2>\n");
    if places.iter().all(|place| place.runs.len() < 2) {
        for place in &places {
            text += &alone(place);
        }
        return text + "</section>\n";
    }
    if places.len() > FULL {
        text += &overview(&places);
    } else {
        for place in &places {
            text += &if place.runs.len() < 2 { alone(place) } else { full(place) };
        }
    }
    text + "</section>\n"
}

fn places(set: &Set) -> Vec<Place<'_>> {
    let of = |structure: &'_ str, workload: &'_ str| match set.structures.len() {
        1 => workload.to_owned(),
        _ => format!("{workload} with {structure}"),
    };
    let mut places = Vec::new();
    for structure in &set.structures {
        for workload in set.workloads_of(structure) {
            let mut runs = set.runs_on(structure, workload);
            runs.retain(|(_, run)| {
                run.total("requests").is_some_and(|count| count > 0.0) && run.total(MEAN).is_some()
            });
            let (promises, all): (Vec<_>, Vec<_>) = by_promise(runs).into_iter().unzip();
            let all: Rc<[Named<'_>]> = all.into();
            for (promise, runs) in promises.into_iter().zip(all.iter()) {
                let promise = promise.map_or(String::new(), |from| format!(", acknowledged from {from}"));
                let name = of(structure, workload) + &promise;
                places.push(Place { set, name, runs: runs.clone(), all: Rc::clone(&all) });
            }
        }
    }
    places
}

/// Runs, and the place from which they acknowledge writes; none where all are compared. Schemes that acknowledge from one
/// place are compared with each other, as far as there are several: memory answers sooner than flash, whatever else a
/// scheme does.
fn by_promise<'a>(runs: Named<'a>) -> Vec<(Option<&'static str>, Named<'a>)> {
    let mut places: Vec<(Option<&'static str>, Vec<_>)> = Vec::new();
    for (scheme, run) in &runs {
        match places.iter_mut().find(|(promise, _)| *promise == run.acknowledges) {
            Some((_, all)) => all.push((*scheme, *run)),
            None => places.push((run.acknowledges, vec![(*scheme, *run)])),
        }
    }
    match places.len() > 1 && places.iter().any(|(_, all)| all.len() > 1) {
        true => places,
        false if runs.is_empty() => Vec::new(),
        false => vec![(None, runs)],
    }
}

fn mean(run: &LoadedRun) -> f64 {
    run.total(MEAN).unwrap_or(0.0)
}

impl<'a> Place<'a> {
    fn change(&self, scheme: &str, total: &str) -> Option<Change> {
        changes(&self.all, total).remove(scheme)
    }

    /// None with one scheme.
    fn pair(&self) -> Option<Pair<'a>> {
        let mut ranked = self.runs.clone();
        ranked.sort_by(|(_, a), (_, b)| mean(a).total_cmp(&mean(b)));
        let (first, best) = (*self.runs.first()?, *ranked.first()?);
        let is_first_best = first.0 == best.0;
        let other = if is_first_best { *ranked.get(1)? } else { first };
        let changed = if is_first_best { other.0 } else { best.0 };
        Some(Pair { best, other, change: self.change(changed, MEAN), is_first_best })
    }
}

/// A place with one scheme.
fn alone(place: &Place<'_>) -> String {
    let Some((scheme, run)) = place.runs.first() else { return String::new() };
    let p999 = run
        .total("response_p999_ns")
        .map_or(String::new(), |ns| format!(", 99.9 % of them within {}", time(ns)));
    format!(
        "<p class=\"headline\"><strong>{}</strong> answers the reads and writes of {} in {} on average{p999}. There is one \
         scheme, so there is nothing to compare it with.</p>\n",
        escape(scheme),
        escape(&place.name),
        time(mean(run))
    )
}

fn full(place: &Place<'_>) -> String {
    let Some(pair) = place.pair() else { return String::new() };
    let mut text = format!("<p class=\"headline\">{}</p>\n", headline(place, &pair));
    text += &table(place);
    for line in why(&pair) {
        writeln!(text, "<p class=\"why\">{line}</p>").expect("a string takes all");
    }
    if let Some(behind) = cautions::behind(&place.runs) {
        writeln!(text, "<p class=\"note\">{behind}</p>").expect("a string takes all");
    }
    if let Some(promise) = promise(&pair) {
        writeln!(text, "<p class=\"note\">{promise}</p>").expect("a string takes all");
    }
    text
}

/// A ratio from which a change is written as a multiple.
const TIMES: f64 = 2.0;

/// `3.40 times as high`, or `7,700 times lower`
fn times(ratio: f64) -> String {
    match ratio < 0.0 {
        true => format!("{} times lower", figure(1.0 / (1.0 + ratio))),
        false => format!("{} times as high", figure(1.0 + ratio)),
    }
}

/// Whether an interval is beyond a factor of two, so that factors are easier to read than percent.
fn is_far((low, high): (f64, f64)) -> bool {
    low < -0.5 || high > 1.0
}

/// `12.3 % lower`, or `3.40 times as high`
fn by(ratio: f64) -> String {
    if ratio >= TIMES {
        return format!("{} times as high", figure(1.0 + ratio));
    }
    let percent = libm::fabs(ratio) * 100.0;
    if percent == 0.0 { "the same".to_owned() } else { format!("{} % {}", figure(percent), lower(ratio)) }
}

/// The typical change; the change of the means with one seed, and beside it where the interval does not contain it.
fn typically(change: Option<&Change>, of_means: f64) -> String {
    let Some(typical) = change.and_then(|change| change.typical) else { return by(of_means) };
    let Some((low, high)) = change.and_then(|change| change.interval) else { return by(typical) };
    let by = if is_far((low, high)) && typical > -1.0 { times } else { by };
    match (low..=high).contains(&of_means) {
        true => format!("typically {}", by(typical)),
        false => format!("typically {} (by the means {})", by(typical), by(of_means)),
    }
}

fn lower(ratio: f64) -> &'static str {
    if ratio < 0.0 { "lower" } else { "higher" }
}

/// The interval of a change: `95 % interval 3.00 to 5.00 % lower`.
fn interval(change: &Change) -> String {
    let Some((low, high)) = change.interval else { return String::new() };
    let percent = |ratio: f64| figure(ratio * 100.0).replace('-', "−");
    if is_far((low, high)) && low >= 0.0 {
        return format!(" (95 % interval: {} to {} times)", figure(1.0 + low), figure(1.0 + high));
    }
    if is_far((low, high)) && high < 0.0 && low > -1.0 {
        return format!(" (95 % interval: {} to {})", figure(1.0 / (1.0 + high)), times(low));
    }
    let text = if high < 0.0 {
        format!("{} to {} % lower", percent(-high), percent(-low))
    } else if low > 0.0 {
        format!("{} to {} % higher", percent(low), percent(high))
    } else {
        format!("{} to +{} %", percent(low), percent(high))
    };
    format!(" (95 % interval: {text})")
}

fn headline(place: &Place<'_>, pair: &Pair<'_>) -> String {
    let (best, other) = (escape(pair.best.0), escape(pair.other.0));
    let (ours, theirs) = (mean(pair.best.1), mean(pair.other.1));
    let name = escape(&place.name);
    if ours == theirs {
        return format!(
            "On {name}, no scheme is faster than another: the mean response time is {}.",
            time(ours)
        );
    }
    let ratio = |of: f64, over: f64| if over > 0.0 { of / over - 1.0 } else { 0.0 };
    let measured = match (pair.is_first_best, &pair.change) {
        (false, change) => format!(
            "a mean response time of {}, {} than {other}'s {}{}",
            time(ours),
            typically(change.as_ref(), ratio(ours, theirs)),
            time(theirs),
            change.as_ref().map_or(String::new(), interval)
        ),
        (true, change) => format!(
            "a mean response time of {}; {other} follows with {}, which is {}{}",
            time(ours),
            time(theirs),
            typically(change.as_ref(), ratio(theirs, ours)),
            change.as_ref().map_or(String::new(), interval)
        ),
    };
    let sure = pair.change.as_ref().map_or(Sure::OneSeed, |change| change.sure);
    let certainty = match sure {
        Sure::Significant => "<b class=\"badge yes\">significant</b>".to_owned(),
        Sure::Not => "<b class=\"badge no\">not significant</b>: the interval includes no difference".to_owned(),
        Sure::SameInAll => "<b class=\"badge no\">the same with every seed</b>".to_owned(),
        Sure::OneSeed => {
            "<b class=\"badge no\">one seed</b>: the difference may be chance, and `--seeds` gives an interval"
                .replace("`--seeds`", "<code>--seeds</code>")
        }
    };
    let verb = if sure == Sure::Not { "measured fastest" } else { "fastest" };
    format!("On {name}, <strong>{best}</strong> is {verb}: {measured}. {certainty}.")
}

/// The differences of all schemes from the first.
fn table(place: &Place<'_>) -> String {
    let Some((first, base)) = place.runs.first() else { return String::new() };
    let measures: Vec<(&str, &str)> = MEASURES
        .into_iter()
        .filter(|(_, total)| base.total(total).is_some_and(|value| value > 0.0))
        .collect();
    let mut text = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"differences on {}\">\n<table class=\"sortable \
         answer\">\n<thead><tr><th scope=\"col\">scheme</th>",
        escape(&place.name)
    );
    let is_time = |total: &str| total.ends_with("_ns");
    let times = measures.iter().filter(|(_, total)| is_time(total));
    let unit =
        unit_of(times.flat_map(|(_, total)| place.runs.iter().filter_map(|(_, run)| run.total(total))));
    for (heading, total) in &measures {
        let heading = if is_time(total) { in_unit(heading, unit) } else { (*heading).to_owned() };
        write!(text, "<th scope=\"col\" class=\"number\">{heading}</th>").expect("a string takes all");
    }
    text += "</tr></thead>\n<tbody>\n";
    let all: Vec<_> = measures.iter().map(|(_, total)| changes(&place.all, total)).collect();
    for (scheme, run) in &place.runs {
        write!(text, "<tr><th scope=\"row\">{}</th>", escape(scheme)).expect("a string takes all");
        for ((_, total), changes) in measures.iter().zip(&all) {
            let value = run.total(total);
            let shown = match value {
                Some(value) if is_time(total) => figure(value / unit.size),
                Some(value) => figure(value),
                None => "-".to_owned(),
            };
            let cell = match (value.zip(base.total(total)), changes.get(scheme)) {
                (Some((value, over)), change) if scheme != first => change_cell(value / over - 1.0, change),
                _ => String::new(),
            };
            write!(text, "<td class=\"number\">{shown}{cell}</td>").expect("a string takes all");
        }
        text += "</tr>\n";
    }
    let seeds = place.set.seeds().map_or(String::new(), |seeds| {
        format!(
            " Means of {seeds}; below each the typical ratio to the first scheme (geometric mean, seed by seed) as a change, \
             with its 95 % interval (Student on the logarithms; Holm over the schemes). A change without <b>better</b> or \
             <b>worse</b> is not significant."
        )
    });
    text += "</tbody>\n</table></div>\n";
    text + &format!(
        "<p class=\"about\">Differences are from {}, the first scheme: lower is better.{seeds}</p>\n",
        escape(first)
    )
}

fn change_cell(of_means: f64, change: Option<&Change>) -> String {
    let ratio = change.and_then(|change| change.typical).unwrap_or(of_means);
    let interval = change.and_then(|change| change.interval);
    let is_far = interval.map_or(!(-0.5..TIMES).contains(&ratio), is_far);
    let shown = match (is_far && ratio > -1.0, interval) {
        (true, None) => effect::of_means(1.0 + ratio),
        (true, Some((low, high))) => {
            effect::factor(Ratio { typical: 1.0 + ratio, low: 1.0 + low, high: 1.0 + high })
        }
        (false, None) => format!("{} %", signed(ratio)),
        (false, Some((low, high))) => format!("{} % [{}, {}]", signed(ratio), signed(low), signed(high)),
    };
    let mark = match change.map(|change| change.sure) {
        Some(Sure::Significant) if ratio < 0.0 => " <b class=\"better\">better</b>",
        Some(Sure::Significant) if ratio > 0.0 => " <b class=\"worse\">worse</b>",
        _ => "",
    };
    format!("<br><span class=\"change\">{shown}{mark}</span>")
}

/// A change in percent, with its sign.
fn signed(ratio: f64) -> String {
    let sign = if ratio < 0.0 { "−" } else { "+" };
    format!("{sign}{}", figure(libm::fabs(ratio * 100.0)))
}

/// The parts of the difference between two runs' mean response times, the largest first: what, of which requests, and
/// nanoseconds a request that the first saves.
fn saved(best: &LoadedRun, other: &LoadedRun) -> Vec<(String, f64)> {
    let mut parts = Vec::new();
    for (kind, count, mean, totals) in KINDS {
        let of = |run: &LoadedRun| -> Option<[f64; 4]> {
            let share = run.total(count)? / (run.total("read_requests")? + run.total("write_requests")?);
            let [wait, bus, cell] = totals.map(|total| run.total(total));
            let (wait, bus, cell) = (wait?, bus?, cell?);
            let rest = (run.total(mean)? - wait - bus - cell).max(0.0);
            Some([wait, bus, cell, rest].map(|ns| ns * share))
        };
        let Some((ours, theirs)) = of(best).zip(of(other)) else { continue };
        for ((what, ours), theirs) in PARTS.iter().zip(ours).zip(theirs) {
            parts.push((format!("{what} of {kind}"), theirs - ours));
        }
    }
    parts.retain(|(_, ns)| ns.is_finite());
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    parts
}

/// The reasons, as HTML.
fn why(pair: &Pair<'_>) -> Vec<String> {
    let (best, other) = (pair.best.1, pair.other.1);
    let all = mean(other) - mean(best);
    let mut lines = Vec::new();
    let parts = saved(best, other);
    let large = |ns: f64| all > 0.0 && ns >= all * 0.05;
    let shown: Vec<String> = parts
        .iter()
        .filter(|(_, ns)| large(*ns))
        .take(3)
        .map(|(what, ns)| format!("{} less in {what}", time(*ns)))
        .collect();
    let lost: Vec<String> = parts
        .iter()
        .rev()
        .filter(|(_, ns)| large(-*ns))
        .take(2)
        .map(|(what, ns)| format!("{} more in {what}", time(-*ns)))
        .collect();
    if !shown.is_empty() {
        let against =
            if lost.is_empty() { String::new() } else { format!("; against that, {}", lost.join(" and ")) };
        lines.push(format!(
            "<b>Why:</b> a request takes {} less on average than with {}: {}{against}. <a href=\"#spent\">Where the time \
             went</a>",
            time(all),
            escape(pair.other.0),
            joined(&shown),
        ));
    }
    let work: Vec<String> = WORK
        .into_iter()
        .filter_map(|(total, what)| {
            let (ours, theirs) =
                best.total(total).zip(other.total(total)).filter(|(_, theirs)| *theirs > 0.0)?;
            let ratio = ours / theirs - 1.0;
            let direction = if ratio < 0.0 { "fewer" } else { "more" };
            (libm::fabs(ratio) >= SMALL)
                .then(|| format!("{} % {direction} {what}", figure(libm::fabs(ratio) * 100.0)))
        })
        .collect();
    if !work.is_empty() {
        lines.push(format!("<b>Work:</b> {} has {}.", escape(pair.best.0), joined(&work)));
    }
    lines
}

/// The caution where two schemes do not promise the same when they acknowledge a write.
fn promise(pair: &Pair<'_>) -> Option<String> {
    let (ours, theirs) = (pair.best.1.acknowledges?, pair.other.1.acknowledges?);
    (ours != theirs).then(|| {
        format!(
            "The two do not acknowledge writes from the same place: {} from {}, {} from {}. A part of the difference \
             comes from that.",
            escape(pair.best.0),
            escape(ours),
            escape(pair.other.0),
            escape(theirs)
        )
    })
}

/// `a, b and c`
fn joined(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

/// A row a workload.
fn overview(places: &[Place<'_>]) -> String {
    let pairs: Vec<(&Place<'_>, Pair<'_>)> =
        places.iter().filter_map(|place| Some((place, place.pair()?))).collect();
    let mut wins: Vec<(&str, usize)> = Vec::new();
    for (_, pair) in &pairs {
        match wins.iter_mut().find(|(scheme, _)| *scheme == pair.best.0) {
            Some((_, count)) => *count += 1,
            None => wins.push((pair.best.0, 1)),
        }
    }
    wins.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let shown: Vec<String> = wins
        .iter()
        .take(3)
        .map(|(scheme, count)| format!("<strong>{}</strong> on {count}", escape(scheme)))
        .collect();
    let mut text = format!(
        "<p class=\"headline\">Of {} workloads, the lowest mean response time has {}.</p>\n",
        pairs.len(),
        joined(&shown)
    );
    let unit = unit_of(pairs.iter().flat_map(|(_, pair)| [mean(pair.best.1), mean(pair.other.1)]));
    let head = in_unit("mean response", unit);
    text += &format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"fastest schemes\">\n<table class=\"sortable \
         answer\">\n<thead><tr><th scope=\"col\">workload</th><th scope=\"col\">fastest</th><th scope=\"col\" \
         class=\"number\">{head}</th><th scope=\"col\">compared with</th><th scope=\"col\" \
         class=\"number\">{head}</th><th scope=\"col\" class=\"number\">difference</th><th scope=\"col\">mostly \
         by</th></tr></thead>\n<tbody>\n"
    );
    for (place, pair) in &pairs {
        let (ours, theirs) = (mean(pair.best.1), mean(pair.other.1));
        // The difference is that from the first scheme, whichever of the two that is.
        let (of, over) = if pair.is_first_best { (theirs, ours) } else { (ours, theirs) };
        let cell = change_cell(of / over - 1.0, pair.change.as_ref());
        let parts = saved(pair.best.1, pair.other.1);
        let most = parts.first().filter(|(_, ns)| *ns > 0.0).map_or("-", |(what, _)| what.as_str());
        writeln!(
            text,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td class=\"number\">{}</td><td>{}</td><td class=\"number\">{}</td><td \
             class=\"number\">{}</td><td>{most}</td></tr>",
            escape(&place.name),
            escape(pair.best.0),
            figure(ours / unit.size),
            escape(pair.other.0),
            figure(theirs / unit.size),
            cell.trim_start_matches("<br>"),
        )
        .expect("a string takes all");
    }
    text + "</tbody>\n</table></div>\n<p class=\"about\">A difference is the other scheme's from the first one's; without \
            <b>better</b> or <b>worse</b> it is not significant.</p>\n"
}

#[cfg(test)]
mod tests;
