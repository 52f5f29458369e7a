//! What the answer of a report says.

use super::*;
use crate::Beside;
use stripewise_results::{Figure, Figures};

/// A run with these means of reads and writes in µs, half of each waiting.
fn run(workload: &str, scheme: &str, seed: u64, [read, write]: [u64; 2]) -> LoadedRun {
    let count = |value: u64| Figure::Count(value * 1000);
    let totals = [
        ("requests", Figure::Count(100)),
        ("read_requests", Figure::Count(50)),
        ("write_requests", Figure::Count(50)),
        (MEAN, count((read + write) / 2)),
        ("read_mean_ns", count(read)),
        ("write_mean_ns", count(write)),
        ("read_wait_mean_ns", count(read / 2)),
        ("write_wait_mean_ns", count(write / 2)),
        ("read_bus_mean_ns", count(0)),
        ("write_bus_mean_ns", count(0)),
        ("read_cell_mean_ns", count(read / 2)),
        ("write_cell_mean_ns", count(write / 2)),
        ("pre_read_pages", Figure::Count(if scheme == "slow" { 1000 } else { 600 })),
    ];
    LoadedRun {
        workload: workload.to_owned(),
        scheme: scheme.to_owned(),
        structure: "5+1".to_owned(),
        settings: [("seed".to_owned(), seed.to_string())].into(),
        totals: Figures::from_list(&totals).expect("distinct"),
        acknowledges: Some(if scheme == "slow" { "members" } else { "memory" }),
        ..LoadedRun::default()
    }
}

fn text_of(runs: Vec<LoadedRun>) -> String {
    section(&Set::new(runs, Beside::default()))
}

#[test]
fn the_answer_has_who_how_much_how_sure_and_why() {
    let mut runs: Vec<LoadedRun> = (0..5).map(|seed| run("w", "slow", seed, [100, 300 + 2 * seed])).collect();
    runs.extend((0..5).map(|seed| run("w", "fast", seed, [100, 100 + 4 * (seed % 2)])));
    let text = text_of(runs);
    // Means of 202 and 100.8 µs.
    let lower = "<strong>fast</strong> is fastest: a mean response time of 101 µs, typically 2.00 times lower than slow's \
        202 µs (95 % interval: 1.97 to 2.04 times lower). <b class=\"badge yes\">significant</b>";
    assert!(text.contains(lower), "{text}");
    assert!(
        text.contains("50.6 µs less in waiting of writes and 50.6 µs less in flash cells of writes"),
        "{text}"
    );
    assert!(text.contains("fast has 40.0 % fewer pages pre-read."), "{text}");
    assert!(text.contains("fast from memory, slow from members"), "{text}");
    assert!(text.contains("better</b>"), "{text}");
}

#[test]
fn schemes_that_acknowledge_from_different_places_have_answers_of_their_own() {
    let from = |scheme: &str, memory: bool, write: u64| {
        let place = if memory { "memory" } else { "members" };
        let of =
            |seed| LoadedRun { acknowledges: Some(place), ..run("w", scheme, seed, [100, write + 2 * seed]) };
        (0..5).map(of).collect::<Vec<_>>()
    };
    let runs =
        [from("md", false, 300), from("log", true, 10), from("brr", false, 200), from("cache", true, 20)];
    let text = text_of(runs.concat());
    let headlines: Vec<&str> = text.lines().filter(|line| line.contains("headline")).collect();
    let [members, memory] = headlines[..] else { panic!("{text}") };
    assert!(
        members.contains("On w, acknowledged from members, <strong>brr</strong> is fastest"),
        "{members}"
    );
    assert!(members.contains("than md's") && memory.contains("cache follows"), "{headlines:?}");
    assert!(memory.contains("On w, acknowledged from memory, <strong>log</strong> is fastest"), "{memory}");
    assert_eq!(text.matches("the first scheme: lower is better").count(), 2, "{text}");
    assert!(!text.contains("A part of the difference comes from that"), "{text}");
}

#[test]
fn an_answer_has_intervals_for_the_schemes_of_all_acknowledgements_together() {
    let from = |scheme: &str, memory: bool, write: u64| {
        let place = if memory { "memory" } else { "members" };
        let of = |seed| LoadedRun {
            acknowledges: Some(place),
            ..run("w", scheme, seed, [100, write + 30 * (seed * write % 4)])
        };
        (0..5).map(of).collect::<Vec<_>>()
    };
    let width = |runs: Vec<LoadedRun>| {
        let set = Set::new(runs, Beside::default());
        let places = places(&set);
        let change = places[0].change("brr", MEAN).and_then(|change| change.interval).expect("an interval");
        change.1 - change.0
    };
    let members = [from("md", false, 301), from("brr", false, 202)].concat();
    let memory = [from("cache", true, 23), from("log", true, 17), from("siw", true, 31)].concat();
    let (alone, together) = (width(members.clone()), width([members, memory].concat()));
    assert!(together > alone * 1.1, "{alone} alone, {together} with three more schemes");
}

#[test]
fn what_is_not_significant_is_not_called_better() {
    let mut runs: Vec<LoadedRun> =
        (0..4).map(|seed| run("w", "slow", seed, [100, 300 + 40 * seed])).collect();
    runs.extend((0..4).map(|seed| run("w", "fast", seed, [100, 400 - 42 * seed])));
    let text = text_of(runs);
    assert!(
        text.contains("<strong>fast</strong> is measured fastest") && text.contains("not significant</b>"),
        "{text}"
    );
    assert!(!text.contains("<b class=\"better\">") && !text.contains("<b class=\"worse\">"), "{text}");
}

#[test]
fn one_seed_gives_no_certainty_and_one_scheme_no_comparison() {
    let pair = text_of(vec![run("w", "slow", 1, [100, 300]), run("w", "fast", 1, [100, 100])]);
    assert!(
        pair.contains("50.0 % lower") && pair.contains("one seed</b>: the difference may be chance"),
        "{pair}"
    );
    let alone = text_of(vec![run("w", "slow", 1, [100, 300])]);
    assert!(alone.contains("nothing to compare it with") && !alone.contains("<table"), "{alone}");
    let first = text_of(vec![run("w", "fast", 1, [100, 100]), run("w", "slow", 1, [100, 300])]);
    assert!(
        first.contains("<strong>fast</strong>")
            && first.contains("slow follows with 200 µs, which is 100 % higher"),
        "{first}"
    );
}

#[test]
fn many_workloads_are_a_table_and_names_are_text() {
    let runs = (0..6).flat_map(|at| {
        let name = format!("<w{at}>");
        [run(&name, "slow", 1, [100, 300]), run(&name, "fast", 1, [100, 100])]
    });
    let text = text_of(runs.collect());
    assert!(
        text.contains("Of 6 workloads, the lowest mean response time has <strong>fast</strong> on 6"),
        "{text}"
    );
    assert_eq!(text.matches("<tr><th scope=\"row\">&lt;w").count(), 6);
    assert!(text.contains("waiting of writes") && !text.contains("<w"), "{text}");
    assert_eq!(text.matches("mean response (µs)</th>").count(), 2, "{text}");
    assert!(text.contains(">100</td>") && text.contains(">200</td>") && !text.contains("µs</td>"), "{text}");
}
