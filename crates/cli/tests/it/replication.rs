//! `stripewise compare --until`: the same seeds and intervals as a study.

use serde_json::Value;

use crate::support::Sandbox;

const WORKLOAD: &str = "-g uniform:size=8KiB,write=0.5,span=16MiB -n 100 --pacing closed:4 --set geometry.blocks=64 -s baseline \
                        -s bpu";

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// A study that asks for the same.
fn study(least: u32, relative: &str) -> String {
    format!(
        "[base]\nworkload = \"uniform:size=8KiB,write=0.5,span=16MiB\"\nrequests = 100\npacing = \"closed:4\"\n\
         \"geometry.blocks\" = 64\n\
         [compare]\nscheme = [\"baseline\", \"bpu\"]\n[replicate]\nleast = {least}\n\
         until = {{ figure = \"mean_ns\", relative = {relative}, paired_with = \"baseline\" }}\n"
    )
}

#[test]
fn seeds_end_where_those_of_a_study_end_with_the_same_intervals() {
    let mut ends = Vec::new();
    for (least, percent, relative) in [(5, "95%", "0.95"), (3, "10%", "0.1"), (5, "0.01%", "0.0001")] {
        let sandbox = Sandbox::new();
        let compared =
            sandbox.run(&format!("compare {WORKLOAD} --seeds {least} --until mean_ns={percent} --json"));
        let compared = json(&compared.success());
        sandbox.write("study.toml", &study(least, relative));
        sandbox.run("study run study.toml").success();
        let shown = json(&sandbox.run("study show study.toml --json").success());
        let until = &compared["until"];
        assert_eq!((&until["seeds"], &until["ended"]), (&shown[1]["seeds"], &shown[1]["end"]), "{shown}");
        assert_eq!(until["figure"], "response_mean_ns");
        let seeds = until["seeds"].as_u64().unwrap();
        assert_eq!(compared["runs"].as_array().unwrap().len() as u64, 2 * seeds);
        let of_mean = |it: &&Value| it["total"] == "response_mean_ns";
        let difference = compared["differences"].as_array().unwrap().iter().find(of_mean).unwrap();
        let number = |value: &Value| value.as_f64().unwrap();
        let margin = (number(&difference["high"]) - number(&difference["low"])) / 2.0;
        let expected = number(&shown[1]["difference"]["margin"]);
        assert!((margin - expected).abs() <= 1e-9 * expected, "{difference} {shown}");
        ends.push((seeds, until["ended"].as_str().unwrap().to_owned()));
    }
    // The seeds end at different looks, or this test shows nothing.
    assert_eq!((ends[0].clone(), ends[2].clone()), ((5, "narrow".to_owned()), (60, "not narrow".to_owned())));
    assert!(ends[1].0 > 5 && ends[1].0 < 60 && ends[1].1 == "narrow", "{ends:?}");
}

#[test]
fn seeds_that_change_nothing_are_two_and_the_output_says_why_seeds_ended() {
    let sandbox = Sandbox::with_trace();
    let line = "compare --trace trace.csv --precondition fresh -s baseline -s bpu --until mean_ns=5%";
    let text = sandbox.run(line).success();
    assert!(text.contains("seeds     2: no seed changes anything"), "{text}");
    assert!(text.contains("5 to 60, until intervals are ±5 % of response_mean_ns or less"), "{text}");
    let text = sandbox.run(&format!("compare {WORKLOAD} --until mean_ns=0.01%")).success();
    assert!(text.contains("seeds     60: the intervals of response_mean_ns are NOT as narrow"), "{text}");
    // A run that is there already is not made again, and the seeds are the same.
    let again = sandbox.run(&format!("compare {WORKLOAD} --until mean_ns=0.01%")).success();
    assert!(!again.contains("computed in"), "{again}");
    // A report of these runs has the wider intervals, as that of the comparison itself.
    let page = || std::fs::read_to_string(sandbox.path().join("stripewise-results/report.html")).unwrap();
    let compared = page();
    let output = sandbox.run("report").success();
    assert!(
        output.contains("intervals are wider, as seeds ended when one was narrow: up to 12 looks"),
        "{output}"
    );
    std::fs::remove_dir_all(sandbox.path().join("stripewise-results/until")).unwrap();
    assert!(!sandbox.run("report").success().contains("intervals"));
    assert_ne!(page(), compared);
}

#[test]
fn mistakes_name_the_remedy() {
    let sandbox = Sandbox::new();
    assert!(sandbox.run("compare --until p99_ns").failure(2).contains("p99_ns=5%"));
    assert!(sandbox.run("compare --until p98_ns=5%").failure(2).contains("unknown figure `p98_ns`"));
    assert!(sandbox.run("compare --seeds 2 --until p99_ns=5%").failure(2).contains("--seeds 3"));
}
