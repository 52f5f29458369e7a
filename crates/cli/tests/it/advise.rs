//! `stripewise advise`: candidates, which of them others beat, and their commands.

use serde_json::Value;

use crate::support::Sandbox;

const LINE: &str = "advise --device ssdsim-5+1 --gen uniform:write=1,size=8KiB,span=64MiB,requests=2000 --seeds 3 \
    --set geometry.blocks=64 --scheme baseline --scheme raid6 --scheme was --scheme paper000-baseline";

fn advice(sandbox: &Sandbox, options: &str) -> Value {
    let text = sandbox.run(&format!("{LINE} --json {options}")).success();
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn every_scheme_runs_over_every_number_of_members_that_it_takes() {
    let sandbox = Sandbox::new();
    let advice = advice(&sandbox, "--members 3..4");
    let list = |key: &str| advice[key].as_array().expect("a list").clone();
    let names = |rows: &[Value]| -> Vec<String> {
        let name = |row: &Value| format!("{} {}", row["scheme"], row["members"]).replace('"', "");
        let mut names: Vec<String> = rows.iter().map(name).collect();
        names.sort();
        names
    };
    let (candidates, skipped) = (list("candidates"), list("skipped"));
    assert_eq!(candidates.len() + skipped.len(), 8);
    let found = names(&candidates);
    assert!(found.contains(&"baseline ssd:3".to_owned()), "{found:?}");
    // Two parities and two data chunks need four members.
    assert_eq!(names(&skipped), ["raid6 ssd:3"]);
    // More members hold more; two parities tolerate more than one.
    let of = |name: &str, key: &str| {
        let row = candidates.iter().find(|row| names(&[(*row).clone()])[0] == name).expect(name);
        row[key].as_f64().expect("a number")
    };
    assert!(of("baseline ssd:4", "capacity_bytes") > of("baseline ssd:3", "capacity_bytes"));
    assert!(of("raid6 ssd:4", "mttdl_ratio") > of("baseline ssd:4", "mttdl_ratio"));
    let ratios = || candidates.iter().map(|row| row["mttdl_ratio"].as_f64().expect("a number"));
    assert_eq!(ratios().fold(f64::INFINITY, f64::min), 1.0, "to the one that loses data first");
    assert!(candidates.iter().all(|row| row["mttdl_years"].is_null()), "no failure rate was given");
    // A candidate that is beaten is beaten by one that is no worse in anything.
    let beaten: Vec<&Value> = candidates.iter().filter(|row| !row["beaten_by"].is_null()).collect();
    assert!(beaten.len() < candidates.len());
    for row in beaten {
        let other = candidates
            .iter()
            .find(|other| {
                other["scheme"] == row["beaten_by"]["scheme"]
                    && other["members"] == row["beaten_by"]["members"]
            })
            .expect("a candidate");
        assert_eq!(other["acknowledges"], row["acknowledges"]);
        for (key, sign) in [
            ("capacity_bytes", 1.0),
            ("mttdl_ratio", 1.0),
            ("persistent_peak_bytes", -1.0),
            ("response_p99_ns", -1.0),
        ] {
            let value = |row: &Value| sign * row[key].as_f64().expect("a number");
            assert!(value(other) >= value(row), "{key}: {row} {other}");
        }
    }
}

#[test]
fn the_command_of_a_candidate_makes_the_run_that_the_advice_has() {
    let sandbox = Sandbox::new();
    let advice = advice(&sandbox, "--members channel");
    let command = advice["candidates"][0]["command"].as_str().expect("a command");
    let again = sandbox.run(command.strip_prefix("stripewise ").expect("a command line")).success();
    assert!(again.contains("there already, not computed again"), "{again}");
}

#[test]
fn the_table_lists_those_that_no_other_beats_and_says_how_many_more_there_are() {
    let sandbox = Sandbox::new();
    let table = sandbox.run(&format!("{LINE} --members 4")).success();
    let all = sandbox.run(&format!("{LINE} --members 4 --all")).success();
    assert!(all.contains("BEATEN BY") && all.contains("MTTDL RATIO"), "{all}");
    assert!(sandbox.run(&format!("{LINE} --members 4 --mttf 2Mh")).success().contains("MTTDL YEARS"));
    let rows = |text: &str| text.lines().filter(|line| line.contains("  ssd:4  ")).count();
    assert_eq!(rows(&all), 4);
    let more = 4 - rows(&table);
    assert_eq!(table.contains(&format!("{more} more candidates are beaten")), more > 0, "{table}");
}

#[test]
fn what_cannot_be_advised_is_refused_with_a_remedy() {
    let sandbox = Sandbox::new();
    for (options, message) in [
        ("--members 8..4", "as in 4..8"),
        ("--members 4 --scheme basline", "baseline"),
        ("--members 2 --scheme raid6", "no scheme works over these members"),
        ("--members 4 --set gc.victm=fifo", "did you mean `victim`"),
        ("--members 4 --requests 100 --warmup 1k", "a warm-up of 1000 requests"),
    ] {
        let refused = sandbox.run(&format!("advise {options}")).failure(2);
        assert!(refused.contains(message), "{refused}");
    }
}
