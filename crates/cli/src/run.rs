//! `stripewise run`: runs one scheme, and prints every total and every member.

use clap::Args as ClapArgs;
use serde_json::json;
use stripewise_results::summary::{Summary, Unit, significant};
use stripewise_results::{Figure, Table};

use crate::compare::{behind, how, print_place, print_settings, remarks, warmups};
use crate::comparison::{self, ComparisonArgs, OutputFormat};
use crate::context::Context;
use crate::examples::{Example, section};
use crate::failure::{Failure, Outcome};
use crate::fio;
use crate::human;
use crate::members;

const EXAMPLES: &[Example] = &[
    ("stripewise run", "the built-in workload through the scheme baseline"),
    (
        "stripewise run --trace trace.csv --scheme raid0 --rows --gc-rows --sample-every 10ms",
        "with all tables",
    ),
    ("stripewise run --gen zipf:size=8KiB,span=1GiB,requests=50k --pacing think:8,1ms --json", "as JSON"),
    ("stripewise run --requests 50k --seed 2 --out elsewhere", "another seed, another directory"),
];

/// Run one scheme, and print its totals and those of each member
///
/// The tables stay in the directory of results, one directory per run, as Parquet files.
#[derive(Debug, ClapArgs)]
#[command(after_help = section(EXAMPLES))]
pub(crate) struct Args {
    #[command(flatten)]
    comparison: ComparisonArgs,

    /// The scheme: a preset's name or a file
    ///
    /// `stripewise scheme list` shows the presets. Settings follow after commas: baseline,update.tie=rcw. A label before it names
    /// it in the results: mine=baseline,update.tie=rcw.
    #[arg(
        short,
        long,
        value_name = "[LABEL=]NAME|FILE.toml[,KEY=VALUE]...",
        display_order = 0,
        default_value = "baseline",
        help_heading = "Array"
    )]
    scheme: String,

    /// Also print totals that are zero, and the directory of the run
    #[arg(long, help_heading = "Results", conflicts_with = "json")]
    all: bool,
}

/// Titles of the groups of totals, each with the first total of its group, in the order of the totals.
const GROUPS: &[(&str, &str)] = &[
    ("Requests", "requests"),
    ("Parity updates", "updates"),
    ("Write cache", "cache_write_chunks"),
    ("Log", "stripes"),
    ("Zones", "zone_moved_pages"),
    ("Redirected and hedged reads", "redirected_chunks"),
    ("Memory of maps", "map_bytes"),
    ("Response times", "response_mean_ns"),
    ("Load", "busy_share_before"),
    ("Flash operations", "host_read_pages"),
    ("Garbage collection at the same time", "gc_slice_ns"),
    ("Write amplification", "programs_per_member_page"),
    ("Wear and balance", "least_erase_blocks"),
    ("Span and trace", "array_bytes"),
    ("Rates over the measured window", "window_ns"),
    ("Further percentiles", "response_p50_ns"),
    ("Busiest member", "busiest_member_utilisation"),
    ("Persistent memory", "persistent_bytes"),
    ("Offered load", "offered_requests_per_second"),
    ("Simulator", "cpu_ns"),
];

/// The totals under the titles of their groups. The times of a group have one unit, and so have its sizes. Totals of zero appear
/// only if `all` is set.
fn grouped(totals: &[(&str, Figure)], all: bool) -> String {
    let starts = |name: &str| GROUPS.iter().find(|(_, first)| *first == name).map(|(title, _)| *title);
    let (mut text, mut hidden) = (String::new(), 0);
    let mut rest = totals;
    while let Some((&(first, _), others)) = rest.split_first() {
        let end = others.iter().position(|(name, _)| starts(name).is_some()).map_or(rest.len(), |at| at + 1);
        let (group, then) = rest.split_at(end);
        rest = then;
        let is_shown = |(_, figure): &&(&str, Figure)| all || real(*figure) != 0.0;
        let shown: Vec<&(&str, Figure)> = group.iter().filter(is_shown).collect();
        hidden += group.len() - shown.len();
        if let (Some(title), false) = (starts(first), shown.is_empty()) {
            let gap = if text.is_empty() { "" } else { "\n" };
            text.push_str(&format!("{gap}{title}\n"));
        }
        for &&(name, figure) in &shown {
            let bare = Unit::bare(name);
            let (value, unit) = match figure {
                Figure::Count(count) if !Unit::is_scaled(name) => (human::count(count), unit(name)),
                Figure::Real(real) if !Unit::is_scaled(name) => (significant(real), unit(name)),
                _ => {
                    let end = name.rfind('_').map_or(name, |at| &name[at..]);
                    let alike = shown.iter().filter(|(other, _)| other.ends_with(end));
                    let together = Unit::of(alike.map(|(name, figure)| (*name, real(*figure))));
                    (significant(real(figure) / together.size), together.name)
                }
            };
            text.push_str(format!("  {bare:<28}{value:>20}  {unit}").trim_end());
            text.push('\n');
        }
    }
    if hidden > 0 {
        text.push_str(&format!("\n{hidden} totals are zero: --all prints them\n"));
    }
    text
}

fn real(figure: Figure) -> f64 {
    match figure {
        Figure::Count(count) => count as f64,
        Figure::Real(real) => real,
    }
}

pub(crate) fn run(args: Args, context: &mut Context<'_>) -> Outcome {
    let output = args.comparison.output();
    let json = output != OutputFormat::Text;
    let place = args.comparison.place()?;
    let comparison = args.comparison.comparison(std::slice::from_ref(&args.scheme), &place)?;
    let settings = comparison.settings()?;
    if !json && !context.quiet {
        print_settings(&settings, context)?;
        context.out.flush()?;
    }
    let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let finished = comparison::run(&comparison, threads, context).pop().ok_or(Failure::Interrupted)??;
    let entry = place.named(&finished)?;
    if output == OutputFormat::Fio {
        return context.json(&fio::json(&[entry], std::slice::from_ref(&finished))?);
    }
    if json {
        let mut value = Summary::new(vec![entry])?.json()["runs"][0].take();
        let settings = settings.into_iter().map(|(name, value)| (name.to_owned(), json!(value)));
        value["settings"] = settings.collect::<serde_json::Map<_, _>>().into();
        value["computed"] = json!(finished.cpu_ns.is_some());
        value["members"] = members::json(&finished.run)?;
        return context.json(&value);
    }
    let totals: Vec<(&str, Figure)> =
        entry.totals.iter().map(|total| (total.name.as_str(), total.value)).collect();
    context.out.write_all(grouped(&totals, args.all).as_bytes())?;
    writeln!(context.out)?;
    members::print(&finished.run, context)?;
    let behind = behind(&Summary::new(vec![entry.clone()])?);
    for remark in remarks(&entry).into_iter().chain(warmups(std::slice::from_ref(&entry))).chain(behind) {
        writeln!(context.out, "{remark}")?;
    }
    if context.quiet {
        return Ok(());
    }
    writeln!(context.out, "results   {}", place.root().display())?;
    if args.all {
        print_place(&finished, &place, context)?;
    }
    let tables = Table::ALL.into_iter().filter(|&table| finished.run.has(table));
    let files: Vec<String> = tables.map(Table::file).collect();
    writeln!(context.out, "tables    {}", files.join(" "))?;
    let id = finished.run.inputs().digest().short();
    let how = how(&finished);
    Ok(writeln!(context.out, "run       {id}  {}, seed {}: {how}", finished.scheme, finished.seed)?)
}

/// The unit of a total that is no time and no size, by the end of its name.
fn unit(name: &str) -> &'static str {
    let units = [
        ("_pages", "pages"),
        ("_blocks", "blocks"),
        ("_chunks", "chunks"),
        ("requests", "requests"),
        ("mib_per_second", "MiB/s"),
        ("_per_second", "/s"),
    ];
    units.iter().find(|(ending, _)| name.ends_with(ending)).map_or("", |(_, unit)| unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use stripewise_results::totals::{OF_OPEN_LOOP, TOTALS};

    #[test]
    fn every_group_begins_with_a_total_in_the_order_of_the_totals() {
        let (last, others) = TOTALS.split_last().expect("there are totals");
        let all = || others.iter().chain(OF_OPEN_LOOP).chain([last]);
        let place = |name: &str| all().position(|(total, _)| *total == name);
        let places: Option<Vec<usize>> = GROUPS.iter().map(|(_, first)| place(first)).collect();
        let places = places.expect("every group begins with a total");
        assert!(places[0] == 0 && places.is_sorted_by(|a, b| a < b), "{places:?}");
    }

    #[test]
    fn zeros_are_hidden_with_their_titles_and_counted() {
        let totals = [
            ("requests", Figure::Count(12_345)),
            ("stripes", Figure::Count(0)),
            ("erase_cv", Figure::Real(0.01234)),
        ];
        let text = grouped(&totals, false);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "Requests");
        assert!(lines[1].starts_with("  requests") && lines[1].ends_with("12,345  requests"), "{text}");
        assert!(!text.contains("stripes") && text.contains("1 totals are zero"), "{text}");
        assert!(text.contains("0.0123"), "{text}");
        assert!(grouped(&totals, true).contains("Log\n  stripes"));
    }

    #[test]
    fn a_total_shows_the_unit_that_its_name_ends_in() {
        let units =
            ["array_gc_moved_chunks", "gc_move_pages", "requests", "programs_per_member_page"].map(unit);
        assert_eq!(units, ["chunks", "pages", "requests", ""]);
    }

    #[test]
    fn times_of_a_group_have_one_unit_and_nothing_is_a_bare_number_of_nanoseconds() {
        let totals = [
            ("map_bytes", Figure::Count(3 << 20)),
            ("hotness_bytes", Figure::Count(1 << 19)),
            ("response_mean_ns", Figure::Count(33_700)),
            ("response_max_ns", Figure::Count(261_000_000)),
            ("busy_share_before", Figure::Real(0.5)),
        ];
        let text = grouped(&totals, false);
        let line = |name: &str| {
            let found = text.lines().find(|line| line.split_whitespace().next() == Some(name));
            found.unwrap_or_else(|| panic!("{name}: {text}")).split_whitespace().skip(1).collect::<Vec<_>>()
        };
        assert_eq!(line("response_mean"), ["0.0337", "ms"]);
        assert_eq!(line("response_max"), ["261", "ms"]);
        assert_eq!(line("map_bytes"), ["3,070", "KiB"], "three digits");
        assert_eq!(line("hotness_bytes"), ["512", "KiB"]);
        assert_eq!(line("busy_share_before"), ["0.500"]);
        assert!(!text.contains(" ns") && !text.contains("_ns"), "{text}");
    }
}
