//! `stripewise run`: runs one scheme, and prints every total and every member.

use clap::Args as ClapArgs;
use serde_json::json;
use stripewise_results::summary::{Summary, significant};
use stripewise_results::{Figure, Table};

use crate::compare::{behind, print_place, print_settings, remarks, warmups};
use crate::context::Context;
use crate::examples::{Example, section};
use crate::failure::{Failure, Outcome};
use crate::human;
use crate::members;
use crate::study::{self, StudyArgs};

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
    study: StudyArgs,

    /// The scheme: a preset's name or a file
    ///
    /// `stripewise scheme list` shows the presets. Settings follow after commas: baseline,update.tie=rcw.
    #[arg(
        short,
        long,
        value_name = "NAME|FILE.toml",
        display_order = 0,
        default_value = "baseline",
        help_heading = "Array"
    )]
    scheme: String,

    /// Also print totals that are zero
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
    ("Offered load", "offered_requests_per_second"),
    ("Simulator", "cpu_ns"),
];

/// The totals under the titles of their groups. Totals of zero appear only if `all` is set.
fn grouped(totals: &[(&str, Figure)], all: bool) -> String {
    let (mut text, mut title, mut hidden) = (String::new(), None, 0);
    for &(name, figure) in totals {
        title = GROUPS.iter().find(|(_, first)| *first == name).map(|(title, _)| *title).or(title);
        let (value, is_zero) = match figure {
            Figure::Count(count) => (human::count(count), count == 0),
            Figure::Real(real) => (significant(real), real == 0.0),
        };
        if is_zero && !all {
            hidden += 1;
            continue;
        }
        if let Some(title) = title.take() {
            let gap = if text.is_empty() { "" } else { "\n" };
            text.push_str(&format!("{gap}{title}\n"));
        }
        text.push_str(format!("  {name:<28}{value:>20}  {}", unit(name)).trim_end());
        text.push('\n');
    }
    if hidden > 0 {
        text.push_str(&format!("\n{hidden} totals are zero: --all prints them\n"));
    }
    text
}

pub(crate) fn run(args: Args, context: &mut Context<'_>) -> Outcome {
    let json = args.study.json;
    let place = args.study.place()?;
    let study = args.study.study(std::slice::from_ref(&args.scheme), &place)?;
    let settings = study.settings()?;
    if !json && !context.quiet {
        print_settings(&settings, context)?;
        context.out.flush()?;
    }
    let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let finished = study::run(&study, threads, context).pop().ok_or(Failure::Interrupted)??;
    let entry = place.named(&finished)?;
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
    print_place(&finished, &place, context)?;
    if !context.quiet {
        let tables = Table::ALL.into_iter().filter(|&table| finished.run.has(table));
        let files: Vec<String> = tables.map(Table::file).collect();
        writeln!(context.out, "  tables: {}", files.join(" "))?;
    }
    Ok(())
}

/// The unit that a total's name ends in.
fn unit(name: &str) -> &'static str {
    let units = [
        ("_ns", "ns"),
        ("_bytes", "bytes"),
        ("_pages", "pages"),
        ("_blocks", "blocks"),
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
        let units = ["response_mean_ns", "gc_move_pages", "requests", "programs_per_member_page"].map(unit);
        assert_eq!(units, ["ns", "pages", "requests", ""]);
    }
}
