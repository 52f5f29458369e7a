//! The comparison for a terminal and for a program.

use proptest::prelude::*;
use stripewise_results::paired::Rate;
use stripewise_results::settings::Settings;
use stripewise_results::summary::{Base, Entry, Summary};
use stripewise_results::{Digest, Error, Figure, Figures};

/// A run's totals: requests, reads and writes; then response times in ns; then pages and blocks.
fn entry(scheme: &str, counts: [u64; 3], times: [u64; 6], pages: [u64; 4], amplification: f64) -> Entry {
    let mut totals = Figures::new();
    let [requests, reads, writes] = counts;
    let [mean, read, write, p99, p999, max] = times;
    let [pre_reads, parity, programs, erases] = pages;
    for (name, count) in [
        ("requests", requests),
        ("read_requests", reads),
        ("write_requests", writes),
        ("failed_requests", 0),
        ("updates", 700_000),
        ("stripes", 0),
        ("array_gc_moved_chunks", 0),
        ("simulated_ns", 90_500_000_000),
        ("response_mean_ns", mean),
        ("read_mean_ns", read),
        ("write_mean_ns", write),
        ("response_p99_ns", p99),
        ("response_p999_ns", p999),
        ("response_max_ns", max),
        ("pre_read_pages", pre_reads),
        ("parity_write_pages", parity),
        ("flash_program_pages", programs),
        ("erase_blocks", erases),
        ("drained_pages", 0),
    ] {
        totals.add(name, Figure::Count(count)).unwrap();
    }
    for (name, value) in
        [("updates_adjusted_share", 0.0), ("blocked_cv", 0.125), ("programs_per_host_page", amplification)]
    {
        totals.add(name, Figure::Real(value)).unwrap();
    }
    Entry {
        scheme: scheme.to_owned(),
        seed: 1,
        settings: Settings::new(),
        acknowledges: None,
        run_digest: Digest([1; 32]),
        results_digest: Digest([2; 32]),
        path: None,
        totals,
    }
}

fn two() -> Vec<Entry> {
    let counts = [1_234_567, 1_000_000, 234_567];
    let mut baseline = entry(
        "baseline",
        counts,
        [812_345, 105_000, 3_500_000, 9_876_543, 45_000_000, 250_000_000],
        [1_500_000, 700_000, 2_345_678, 9_000],
        1.5,
    );
    let mut rcw = entry(
        "always-rcw",
        counts,
        [1_812_345, 105_000, 8_900_000, 19_876_543, 44_000_000, 260_000_000],
        [4_500_000, 700_000, 2_345_678, 9_001],
        1.25,
    );
    baseline.totals.add_measured("cpu_ns", Figure::Count(1_000_000_000)).unwrap();
    rcw.totals.add_measured("cpu_ns", Figure::Count(2_000_000_000)).unwrap();
    vec![baseline, rcw]
}

#[test]
fn two_schemes_at_a_hundred_columns() {
    let text = Summary::new(two()).unwrap().text(100);
    let expected = "\
────────────────────────────────────────────────────────────────────────
 scheme      requests   mean   read  write    p99  p99.9  max  simulated
              million     ms     ms     ms     ms     ms   ms         ms
════════════════════════════════════════════════════════════════════════
 baseline        1.23  0.812  0.105   3.50   9.88   45.0  250     90,500
 always-rcw      1.23  1.81   0.105   8.90  19.9    44.0  260     90,500
────────────────────────────────────────────────────────────────────────

──────────────────────────────────────────────────────────────────────────────
                                                             programs/
                                           parity     flash       host
 scheme      pre-reads  adjusted     cv    writes  programs       page  erases
               million         %         thousand   million
══════════════════════════════════════════════════════════════════════════════
 baseline         1.50         0  0.125       700      2.35       1.50   9,000
 always-rcw       4.50         0  0.125       700      2.35       1.25   9,000
──────────────────────────────────────────────────────────────────────────────
One seed: differences may be chance. With several seeds there are intervals.
";
    assert_eq!(text, expected, "found:\n{text}");
    let with_simulator = Summary::new(two()).unwrap().with_simulator(true).text(100);
    let table = "\
───────────────────────────────────
                        simulator's
 scheme      processor        speed
                    ms   thousand/s
═══════════════════════════════════
 baseline        1,000        1,230
 always-rcw      2,000          617
───────────────────────────────────
";
    assert!(
        with_simulator.contains(table),
        "how fast the simulator was, where that is asked for:\n{with_simulator}"
    );
}

/// 33 us beside 261 ms: a reader who compares two rows or two columns need not look at the heads.
#[test]
fn all_times_of_a_table_have_one_unit_whatever_stands_beside_them() {
    let units = |text: &str| -> Vec<Vec<String>> {
        let is_unit = |word: &&str| ["ns", "us", "ms", "s"].contains(word);
        let of = |line: &str| line.split_whitespace().filter(is_unit).map(str::to_owned).collect::<Vec<_>>();
        text.lines().map(of).filter(|units| !units.is_empty()).collect()
    };
    let mut entries = two();
    entries[1].totals = changed(&entries[1], "write_mean_ns", |_| Figure::Count(33_700));
    entries[1].totals = changed(&entries[1], "response_max_ns", |_| Figure::Count(261_000_000));
    for width in [60, 100, 1000] {
        let text = Summary::new(entries.clone()).unwrap().text(width);
        let found = units(&text);
        assert!(!found.is_empty() && found.iter().flatten().count() == 7, "{found:?}: {text}");
        for units in found {
            assert!(units.iter().all(|unit| *unit == units[0]), "{units:?}: {text}");
        }
    }
}

#[test]
fn persistent_memory_has_columns_where_a_scheme_needs_some() {
    let with = |bytes: [u64; 2]| {
        let mut entries = two();
        for (entry, bytes) in entries.iter_mut().zip(bytes) {
            let totals = [("persistent_bytes", 2 * bytes), ("persistent_peak_bytes", bytes)];
            entry.totals.add_derived(&totals.map(|(name, bytes)| (name, Figure::Count(bytes)))).unwrap();
        }
        Summary::new(entries).unwrap().text(300)
    };
    let text = with([0, 3 << 20]);
    let row = text.lines().find(|line| line.contains("always-rcw")).unwrap();
    assert!(row.contains("6.00") && row.contains("3.00") && text.contains("MiB"), "{text}");
    assert!(text.contains("persistent") && text.contains("peak"), "{text}");
    assert!(!with([0, 0]).contains("persistent"), "schemes without such memory need no column for it");
}

/// A scheme with many settings used to make each column a table of its own.
#[test]
fn long_names_of_schemes_wrap_beside_their_figures() {
    let mut entries = two();
    entries[1].scheme =
        "always-rcw,update.tie=rcw,geometry.chunk=16KiB,gc.victim=fifo,parity.window=8".to_owned();
    let text = Summary::new(entries).unwrap().text(100);
    assert_eq!(text.lines().filter(|line| line.trim_start().starts_with("scheme")).count(), 2, "{text}");
    for part in ["always-rcw,", "  update.tie=rcw,", "  gc.victim=fifo,", "  parity.window=8"] {
        assert!(
            text.lines().any(|line| line.trim_start_matches(' ').starts_with(part.trim_start())),
            "{part}: {text}"
        );
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

/// Rates are those of the array, beside what the trace offers.
#[test]
fn rates_are_shown_and_rows_that_fall_behind_are_named() {
    let mut entries = two();
    for (entry, behind) in entries.iter_mut().zip([1.02, 1.5]) {
        let rates = [
            ("requests_per_second", 2_800.0),
            ("offered_requests_per_second", 2_800.0 * behind),
            ("read_mib_per_second", 20.5),
            ("written_mib_per_second", 2_048.0),
            ("busiest_member_utilisation", 0.75),
            ("window_over_arrivals", behind),
        ];
        entry.totals.add_derived(&rates.map(|(name, rate)| (name, Figure::Real(rate)))).unwrap();
    }
    let summary = Summary::new(entries).unwrap();
    let text = summary.text(300);
    let row = text.lines().find(|line| line.contains("always-rcw")).unwrap();
    for cell in ["2.80", "4.20", "20.5", "2.00", "75.0"] {
        assert!(row.split_whitespace().any(|found| found == cell), "{cell} in {row}");
    }
    assert_eq!(summary.behind(), [("always-rcw", 1.5)]);
}

#[test]
fn a_wide_terminal_gets_one_table() {
    let summary = Summary::new(two()).unwrap();
    let headers = |width| summary.text(width).lines().filter(|line| line.contains("scheme")).count();
    assert_eq!((headers(200), headers(100)), (1, 2));
    assert!(headers(10) > 5, "a terminal narrower than a column still gets every column");
}

/// Five seeds of two schemes: the second is 10 % slower to read with every seed, and its writes are 1 % slower on average.
fn five_seeds() -> Vec<Entry> {
    let mut entries = Vec::new();
    for (scheme, reads, writes) in [
        ("first", [1000, 1010, 990, 1005, 995], [5000, 5100, 4900, 5050, 4950]),
        ("second", [1100, 1112, 1088, 1106, 1094], [4900, 5300, 4800, 5300, 4950]),
    ] {
        for (seed, (read, write)) in (1u8..).zip(reads.into_iter().zip(writes)) {
            let times = [3000, read, write, 9000, 9500, 9900];
            let entry = entry(scheme, [100, 50, 50], times, [10, 20, 300, 4], 1.5);
            let results_digest = Digest([seed; 32]);
            entries.push(Entry { seed: seed.into(), acknowledges: Some("members"), results_digest, ..entry });
        }
    }
    entries
}

#[test]
fn differences_have_intervals_and_a_star_only_where_they_exclude_zero() {
    let summary = Summary::new(five_seeds()).unwrap();
    let text = summary.text(300);
    assert!(text.contains("Typical ratio to first (geometric mean of 5 seeds) as a change in %"), "{text}");
    let (means, differences) = text.split_once("Typical ratio").unwrap();
    assert_eq!(means.lines().filter(|line| line.contains("second")).count(), 1, "a row a scheme: {text}");
    assert!(!means.contains('*') && means.contains("members"), "{text}");
    let row = differences.lines().find(|line| line.contains("second")).unwrap();
    // By hand: the ratios are 1.1 with a deviation of 0.00079; over sqrt(5) and times 2.776 that is a tenth of a percent.
    assert!(row.contains("*+10.0 [+9.9, +10.1]"), "{row}");
    assert_eq!(row.matches('*').count(), 1, "writes and what is equal have no star: {row}");
    let json = summary.json();
    let read =
        json["differences"].as_array().unwrap().iter().find(|it| it["total"] == "read_mean_ns").unwrap();
    assert_eq!((&read["scheme"], &read["difference"]), (&"second".into(), &100.0.into()));
    assert_eq!(read["significant"], true);
    let write =
        json["differences"].as_array().unwrap().iter().find(|it| it["total"] == "write_mean_ns").unwrap();
    assert!(write["low"].as_f64() < Some(0.0) && write["high"].as_f64() > Some(0.0), "{write}");
    assert_eq!(write["significant"], false);
}

/// `entries` with one more setting.
fn with(entries: Vec<Entry>, name: &str, value: &str) -> Vec<Entry> {
    let set = |mut entry: Entry| {
        entry.settings.insert(name.to_owned(), value.to_owned());
        entry
    };
    entries.into_iter().map(set).collect()
}

/// The totals of a run, one of them changed.
fn changed(entry: &Entry, name: &str, change: impl Fn(Figure) -> Figure) -> Figures {
    let mut totals = Figures::new();
    for total in entry.totals.iter() {
        let value = if total.name == name { change(total.value) } else { total.value };
        totals.add(&total.name, value).unwrap();
    }
    totals
}

/// Ten runs of each scheme, five of each pacing, are two rows a scheme and not ten seeds of one.
#[test]
fn runs_that_differ_in_more_than_their_seed_are_rows_of_their_own_whose_names_say_so() {
    let (open, closed) = (with(five_seeds(), "pacing", "open:1"), with(five_seeds(), "pacing", "closed:4"));
    // The second half has the slower pacing: together they had a mean of 1,500 ns.
    let slower = |mut entry: Entry| {
        entry.totals = changed(&entry, "read_mean_ns", |read| match read {
            Figure::Count(ns) => Figure::Count(2 * ns),
            real @ Figure::Real(_) => real,
        });
        entry
    };
    let entries: Vec<Entry> = open.into_iter().chain(closed.into_iter().map(slower)).collect();
    let summary = Summary::new(entries).unwrap();
    assert_eq!(summary.labels().nth(12), Some("first (closed:4)"));
    assert_eq!(summary.json()["runs"][12]["setup"], "closed:4");
    let text = summary.text(300);
    let (means, differences) = text.split_once("Typical ratio").unwrap();
    for (row, read) in [("first (open:1)", "1.00"), ("second (open:1)", "1.10"), ("first (closed:4)", "2.00")]
    {
        let row = means.lines().find(|line| line.contains(row)).unwrap_or_else(|| panic!("{row} in {text}"));
        assert!(row.split_whitespace().any(|cell| cell == read), "{read} in {row}");
    }
    assert!(differences.contains("to the first scheme of the same setup"), "{differences}");
    assert!(differences.contains("mean of 5 seeds") && !differences.contains("first ("), "{differences}");
    let json = summary.json();
    let read: Vec<_> = json["differences"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["total"] == "read_mean_ns")
        .map(|it| (it["setup"].as_str().unwrap(), it["first"].as_str().unwrap(), it["difference"].as_f64()))
        .collect();
    let (open, closed) = (("open:1", "first (open:1)"), ("closed:4", "first (closed:4)"));
    assert_eq!(read, [(open.0, open.1, Some(100.0)), (closed.0, closed.1, Some(200.0))]);
}

/// One scheme at two pacings: the second pacing is compared with the first.
#[test]
fn setups_of_one_scheme_are_compared_with_the_first_of_them() {
    let of = |pacing| with(five_seeds(), "pacing", pacing).into_iter().take(5);
    let mut entries: Vec<Entry> = of("open:1").chain(of("closed:4")).collect();
    entries[5].results_digest = Digest([77; 32]);
    let text = Summary::new(entries).unwrap().text(300);
    assert!(text.contains("Typical ratio to first (open:1)"), "{text}");
}

/// The two schemes of [`five_seeds`], those of a memory between them, and one with an acknowledgement of its own behind them.
fn three_promises() -> Vec<Entry> {
    let renamed = |from: &'static str, to: &'static str, promise: &'static str| {
        let of = five_seeds().into_iter().filter(move |entry| entry.scheme == from);
        of.map(move |entry| Entry { scheme: to.to_owned(), acknowledges: Some(promise), ..entry })
    };
    let members = |name| renamed(name, name, "members");
    let memory = |name, to| renamed(name, to, "memory");
    let alone = renamed("second", "alone", "memory (volatile)");
    let all = members("first").chain(memory("second", "cache")).chain(members("second"));
    all.chain(memory("first", "other cache")).chain(alone).collect()
}

#[test]
fn schemes_are_compared_with_the_first_that_acknowledges_from_the_same_place() {
    let summary = Summary::at(three_promises(), Rate::FIXED, Base::Acknowledgement).unwrap();
    let text = summary.text(300);
    let (means, ratios) = text.split_once("Typical ratio to ").unwrap();
    let order =
        ["first", "second", "cache", "other cache", "alone"].map(|name| means.find(&format!(" {name} ")));
    assert!(order.is_sorted() && order[0].is_some(), "one acknowledgement stands together: {text}");
    assert!(ratios.starts_with("the first scheme with the same ack, first or cache ("), "{ratios}");
    assert_eq!(summary.lone(), ["alone"]);
    let json = summary.json();
    let read = |it: &&serde_json::Value| it["total"] == "read_mean_ns";
    let read: Vec<_> = json["differences"].as_array().unwrap().iter().filter(read).collect();
    let found: Vec<_> = read.iter().map(|it| (&it["scheme"], &it["first"], &it["difference"])).collect();
    assert_eq!(
        found,
        [
            (&"second".into(), &"first".into(), &100.0.into()),
            (&"other cache".into(), &"cache".into(), &(-100.0).into())
        ]
    );
    let first = Summary::new(three_promises()).unwrap();
    assert!(first.text(300).contains("Typical ratio to first (") && first.lone().is_empty());
}

#[test]
fn where_no_two_acknowledge_alike_all_are_compared_with_the_first() {
    let alone = three_promises()
        .into_iter()
        .filter(|entry| entry.scheme != "second" && entry.scheme != "other cache");
    let summary = Summary::at(alone.collect(), Rate::FIXED, Base::Acknowledgement).unwrap();
    assert!(summary.text(300).contains("Typical ratio to first (") && summary.lone().is_empty());
}

#[test]
fn a_brief_text_has_the_response_times_and_what_flash_pays_and_json_has_everything() {
    let summary = Summary::new(five_seeds()).unwrap();
    let words =
        |summary: &Summary| summary.text(400).split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let has = |words: &[String], name: &str| words.iter().any(|word| word == name);
    let (all, json) = (words(&summary), summary.json());
    let summary = summary.brief(true);
    let brief = words(&summary);
    for name in ["mean", "read", "write", "p99", "p99.9", "ack", "pre-reads", "erases"] {
        assert!(has(&brief, name) && has(&all, name), "{name}: {brief:?}");
    }
    for name in ["max", "cv", "simulated"] {
        assert!(!has(&brief, name) && has(&all, name), "{name}: {brief:?}");
    }
    assert_eq!(summary.json(), json);
}

/// By position, the first scheme's seeds 1, 2, 3 would meet the second's 3, 2, 1, and the difference would not be
/// significant.
#[test]
fn differences_are_paired_by_seed_whatever_the_order_and_only_over_seeds_that_both_have() {
    let mut entries = five_seeds();
    let sure = Summary::new(entries.clone()).unwrap().json()["differences"].clone();
    entries[5..].reverse();
    assert_eq!(Summary::new(entries.clone()).unwrap().json()["differences"], sure);
    entries.push(entries[0].clone());
    assert_eq!(Summary::new(entries.clone()).unwrap().json()["differences"], sure, "a run twice is one");
    entries.pop();
    entries.remove(1);
    entries.pop();
    let summary = Summary::new(entries).unwrap();
    let read = summary.json()["differences"][1].clone();
    assert_eq!(
        (&read["total"], &read["mean_of_first"]),
        (&"read_mean_ns".into(), &996.666_666_666_666_6.into())
    );
    let text = summary.text(300);
    assert!(text.contains("mean of 3 seeds"), "seeds 3, 4 and 5: {text}");
    let row = text.lines().find(|line| line.contains(" first ")).unwrap();
    assert!(row.contains(" 1,3,4,5 "), "what a row is the mean of stands in it: {row}");
    assert!(text.contains(" 2 to 5 "), "{text}");
}

#[test]
fn rows_without_two_seeds_in_common_have_no_intervals() {
    let mut entries = five_seeds();
    entries.drain(2..7);
    let text = Summary::new(entries).unwrap().text(300);
    assert!(text.contains("The rows share fewer than two seeds") && !text.contains('±'), "{text}");
}

/// The difference is -96.3 ± 95.9: without decimals that is 96 ± 96.
#[test]
fn what_is_marked_is_seen_to_exclude_zero() {
    let mut entries = five_seeds();
    let second = [101.395, -45.148, 52.548, -93.995, 3.7];
    for (entry, cv) in entries.iter_mut().zip([100.0; 5].into_iter().chain(second)) {
        entry.totals = changed(entry, "blocked_cv", |_| Figure::Real(cv));
    }
    let text = Summary::new(entries).unwrap().text(300);
    assert!(text.contains("*-96.3 ±95.9"), "{text}");
}

/// The difference is -0.0020 ± 0.0007 points: with two decimals that is -0.00 ± 0.00.
#[test]
fn a_marked_difference_of_shares_is_seen_to_exclude_zero_too() {
    let mut entries = five_seeds();
    let second = [0.499_978, 0.499_987, 0.499_972, 0.499_985, 0.499_978];
    for (entry, share) in entries.iter_mut().zip([0.5; 5].into_iter().chain(second)) {
        entry.totals.add("busiest_member_utilisation", Figure::Real(share)).unwrap();
    }
    let text = Summary::new(entries).unwrap().text(300);
    assert!(text.contains("*-0.002 ±0.001"), "{text}");
}

#[test]
fn totals_over_seeds_have_means_intervals_and_differences() {
    let summary = Summary::new(five_seeds()).unwrap();
    let found = summary.aggregates(&["read_mean_ns", "erase_blocks"]).unwrap();
    let names: Vec<_> = found.iter().map(|it| (it.label.as_str(), it.total.as_str(), it.run)).collect();
    let (read, erases) = ("read_mean_ns", "erase_blocks");
    assert_eq!(names, [("first", read, 0), ("first", erases, 0), ("second", read, 5), ("second", erases, 5)]);
    let (first, second) = (&found[0], &found[2]);
    // By hand: the standard error of 1000, 1010, 990, 1005, 995 is sqrt(62.5 / 5); t(0.975, 4) is 2.776.
    assert_eq!((first.seeds, first.mean, first.difference), (5, 1000.0, None));
    assert!((first.margin.unwrap() - 2.7764 * 12.5f64.sqrt()).abs() < 0.01, "{first:?}");
    let difference = second.difference.unwrap();
    assert!(second.first.as_deref() == Some("first") && difference.is_significant, "{second:?}");
    assert!((difference.mean, second.mean) == (100.0, 1100.0), "{second:?}");
    assert!((difference.margin - 2.7764 * 0.5f64.sqrt()).abs() < 0.01, "{second:?}");
    assert_eq!(summary.aggregates(&[]).unwrap().len(), 2 * five_seeds()[0].totals.iter().count());
    let error = summary.aggregates(&["reed_mean_ns"]).unwrap_err().to_string();
    assert!(error.contains("first: the total `reed_mean_ns` is missing"), "{error}");
}

#[test]
fn one_seed_and_seeds_that_change_nothing_have_no_intervals() {
    let text = Summary::new(two()).unwrap().text(300);
    assert!(text.contains("One seed") && !text.contains('*') && !text.contains('±'), "{text}");
    let same: Vec<Entry> =
        five_seeds().into_iter().map(|entry| Entry { results_digest: Digest([9; 32]), ..entry }).collect();
    let text = Summary::new(same).unwrap().text(300);
    assert!(text.contains("The seeds changed nothing") && !text.contains('±'), "{text}");
    let alone = Summary::new(two().into_iter().take(1).collect()).unwrap().text(300);
    assert!(!alone.contains("seed"), "there is nothing to compare with: {alone}");
}

/// A word in every cell would make a column wider than its numbers: the note is below the table, once.
#[test]
fn what_is_the_same_in_all_seeds_has_a_sign_that_is_explained_once() {
    let text = Summary::new(five_seeds()).unwrap().text(300);
    let note = "= is the same in all seeds, which says nothing of chance.";
    let cells = text.split_whitespace().filter(|word| *word == "=").count();
    assert_eq!((cells > 1, text.matches("same in all seeds").count()), (true, 1), "{text}");
    assert!(text.ends_with(&format!("{note}\n")), "{text}");
}

/// The header names the unit of each column; the cells are numbers without units.
#[test]
fn counts_have_three_digits_in_one_unit_a_column_and_times_in_one_unit_for_all() {
    let text = Summary::new(two()).unwrap().text(300);
    let header = text.lines().find(|line| line.contains("million")).unwrap_or_else(|| panic!("{text}"));
    assert!(header.contains("ms") && header.contains("thousand"), "{text}");
    let row = text.lines().find(|line| line.contains("baseline")).unwrap();
    for cell in ["1.23", "0.812", "3.50", "9.88", "1.50", "2.35", "9,000"] {
        assert!(row.split_whitespace().any(|found| found == cell), "{cell} in {row}");
    }
}

#[test]
fn a_mean_over_no_requests_and_an_unknown_speed_are_not_shown_as_numbers() {
    let none = entry("reads-only", [10, 10, 0], [1000; 6], [0; 4], 0.0);
    let text = Summary::new(vec![none.clone()]).unwrap().text(300);
    let row = text.lines().find(|line| line.contains("reads-only")).unwrap();
    assert_eq!(
        row.split_whitespace().filter(|cell| *cell == "-").count(),
        2,
        "write mean and programs a host page: {row}"
    );
    let with_simulator =
        Summary::new(vec![entry("reads-only", [10, 10, 0], [1000; 6], [0; 4], 0.0)]).unwrap();
    let with_simulator = with_simulator.with_simulator(true).text(300);
    assert!(
        !with_simulator.contains("speed")
            && !with_simulator.contains("processor")
            && !text.contains("failed"),
        "{text}"
    );
    let mut both = two();
    both.push(none);
    let text = Summary::new(both).unwrap().with_simulator(true).text(300);
    assert!(text.contains("speed"), "{text}");
}

#[test]
fn what_array_level_collection_moved_is_shown_of_the_schemes_that_collect() {
    let mut entries = two();
    assert!(!Summary::new(entries.clone()).unwrap().text(300).contains("GC"));
    let mut totals = Figures::new();
    for total in entries[1].totals.iter() {
        let value = match total.name.as_str() {
            "stripes" => Figure::Count(9),
            "array_gc_moved_chunks" => Figure::Count(4711),
            _ => total.value,
        };
        totals.add(&total.name, value).unwrap();
    }
    entries[1].totals = totals;
    let text = Summary::new(entries).unwrap().text(300);
    assert!(text.contains("GC") && text.contains("4,710"), "{text}");
}

#[test]
fn failed_requests_are_shown_when_there_are_any() {
    let failing = changed(&two()[0], "failed_requests", |_| Figure::Count(3));
    let entries = vec![two()[0].clone(), Entry { totals: failing, ..two()[1].clone() }];
    assert!(Summary::new(entries).unwrap().text(300).contains("failed"));
}

#[test]
fn a_missing_total_is_named() {
    let entry =
        Entry { totals: Figures::from_list(&[("requests", Figure::Count(1))]).unwrap(), ..two()[0].clone() };
    let error = Summary::new(vec![entry]).unwrap_err();
    assert!(matches!(error, Error::MissingTotal { .. }));
    assert!(error.to_string().starts_with("baseline: the total `failed_requests` is missing"), "{error}");
}

#[test]
fn json_has_every_total_exactly() {
    let mut entries = two();
    entries[0].totals.add("largest", Figure::Count(u64::MAX)).unwrap();
    entries[0].path = Some("results/abc".into());
    let json = Summary::new(entries.clone()).unwrap().json();
    let read: serde_json::Value = serde_json::from_str(&json.to_string()).unwrap();
    let runs = read["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2);
    for (run, entry) in runs.iter().zip(&entries) {
        assert_eq!(run["scheme"], entry.scheme.as_str());
        assert_eq!(run["run_digest"], "01".repeat(32));
        assert_eq!(run["results_digest"], "02".repeat(32));
        assert_eq!(run["totals"].as_object().unwrap().len(), entry.totals.iter().count());
        for total in entry.totals.iter() {
            match total.value {
                Figure::Count(count) => assert_eq!(run["totals"][&total.name].as_u64(), Some(count)),
                Figure::Real(real) => assert_eq!(run["totals"][&total.name].as_f64(), Some(real)),
            }
        }
    }
    assert_eq!(runs[0]["path"], "results/abc");
    assert!(runs[1]["path"].is_null());
    assert_eq!(runs[1]["requests_per_cpu_second"], 617_283.5);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_line_is_wider_than_the_terminal_and_no_column_is_lost(
        width in 60usize..220,
        runs in prop::collection::vec(
            (any::<[u32; 3]>(), any::<[u64; 6]>(), any::<[u64; 4]>(), 0.0..100.0), 1..6),
        powers in prop::array::uniform2(0u32..64),
    ) {
        let entries = runs.iter().enumerate().map(|(index, (counts, times, pages, amplification))| {
            let times = times.map(|time| time >> powers[0]);
            let pages = pages.map(|page| page >> powers[1]);
            entry(&format!("scheme-{index}"), counts.map(u64::from), times, pages, *amplification)
        });
        let text = Summary::new(entries.collect()).unwrap().text(width);
        for line in text.lines() {
            prop_assert!(line.chars().count() <= width, "{} columns:\n{text}", line.chars().count());
        }
        for word in [
            "requests", "mean", "read", "write", "p99", "p99.9", "max", "pre-reads", "parity", "programs",
            "erases", "simulated",
        ] {
            let count = text.split_whitespace().filter(|found| *found == word).count();
            prop_assert_eq!(count, 1, "{} in\n{}", word, text);
        }
    }
}
