//! Lists of presets, and plans: outputs that are the same on every machine.

use crate::support::{Sandbox, golden};

#[test]
fn lists_show_what_comes_with_the_program() {
    let sandbox = Sandbox::new();
    golden("scheme-list.txt", &sandbox.run("scheme list").success());
    let devices = sandbox.run("device list").success();
    for (name, _) in stripewise_flash::spec::PRESETS {
        assert!(devices.lines().any(|line| line.starts_with(&format!("{name} "))), "{name}: {devices}");
    }
    let formats = sandbox.run("trace formats").success();
    for (name, _) in stripewise_trace::format::format_names() {
        assert!(formats.lines().any(|line| line.starts_with(&format!("{name} "))), "{name}: {formats}");
    }
    assert!(sandbox.run("profile list").success().contains("paper000/hm_0"));
}

#[test]
fn show_spells_out_every_default() {
    let sandbox = Sandbox::new();
    let shown = |line: &str| sandbox.run(line).success().parse::<toml::Table>().unwrap();
    let scheme = stripewise_array::Scheme::preset("raid0").unwrap();
    assert_eq!(shown("scheme show raid0"), toml::Table::try_from(scheme).unwrap());
    let device = stripewise_flash::DeviceSpec::preset("mqsim").unwrap();
    assert_eq!(shown("device show mqsim"), toml::Table::try_from(device).unwrap());
}

#[test]
fn what_show_prints_can_be_used_as_a_file() {
    let sandbox = Sandbox::with_trace();
    for (what, name) in [("scheme", "paper000-baseline"), ("device", "mqsim"), ("profile", "paper000/lun1")] {
        let shown = sandbox.run(&format!("{what} show {name}")).success();
        sandbox.write("copy.toml", &shown);
        let again = sandbox.run(&format!("{what} show copy.toml")).success();
        let values =
            |text: &str| text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
        assert_eq!(values(&again), values(&shown), "{what} {name}");
    }
}

#[test]
fn a_scheme_and_a_paper_name_authors_title_venue_and_year() {
    let sandbox = Sandbox::new();
    let shown = sandbox.run("scheme show paper003-wow").success();
    let flat = shown.replace("\n#   ", " ");
    for part in
        ["# Source: B. S. Gill and D. S. Modha: \"WOW: Wise Ordering for Writes", "(FAST), 2005 [wow]\n"]
    {
        assert!(flat.contains(part), "{part}: {shown}");
    }
    sandbox.write("copy.toml", &shown);
    assert_eq!(sandbox.run("scheme show copy.toml").success(), shown, "a copy keeps its sources");
    let papers = sandbox.run("paper list").success();
    for number in ["000", "001", "002", "003", "004"] {
        assert!(papers.lines().any(|line| line.starts_with(&format!("{number} "))), "{number}: {papers}");
    }
    let json: serde_json::Value = serde_json::from_str(&sandbox.run("paper list --json").success()).unwrap();
    assert_eq!((&json[2]["year"], &json[2]["authors"][0]), (&2016.into(), &"J. Liang".into()));
}

#[test]
fn the_source_of_a_preset_keeps_its_comments() {
    let sandbox = Sandbox::new();
    let text = sandbox.run("scheme show paper000-baseline --source").success();
    assert!(text.contains("# Table II: 0.019 ms a page"), "{text}");
    assert!(sandbox.run("device show ssdsim-5+1 --source").success().contains("# Table II"));
}

#[test]
fn a_plan_is_printed_step_by_step() {
    let sandbox = Sandbox::new();
    for (line, name) in [
        ("explain --write 24KiB@0", "explain-three-chunks.txt"),
        ("explain --write 16KiB@0", "explain-tie.txt"),
        ("explain --scheme linux-md --write 16KiB@0", "explain-tie-linux-md.txt"),
        ("explain --write 64KiB@0 --read 8KiB@40KiB", "explain-two-requests.txt"),
        ("explain --fail 2 --read 8KiB@16KiB --write 8KiB@16KiB", "explain-failed.txt"),
        ("explain --scheme raid0 --write 4KiB@0", "explain-raid0.txt"),
        ("explain --scheme brr --collecting 0 --read 8KiB@0 --read 8KiB@0", "explain-brr.txt"),
        (
            "explain --scheme raid6 --set read.policy=gc-avoiding --collecting 1 --collecting 4 --read 16KiB@0",
            "explain-gc-avoiding.txt",
        ),
        (
            "explain --scheme hedged --set read.hedge=proactive --collecting 0 --read 8KiB@0",
            "explain-hedged.txt",
        ),
        (
            "explain --scheme raid6 --fail 2 --read 8KiB@8KiB --write 8KiB@0 --write 4KiB@8KiB",
            "explain-raid6-one-failed.txt",
        ),
        (
            "explain --scheme raid6 --fail 1 --fail 2 --read 16KiB@0 --write 4KiB@0 --write 8KiB@16KiB",
            "explain-raid6-two-failed.txt",
        ),
        (
            "explain --scheme raid6 --fail 0 --fail 5 --fail 1 --read 8KiB@0 --write 8KiB@0 --write 8KiB@8KiB",
            "explain-raid6-three-failed.txt",
        ),
        (
            "explain --scheme paper000-baseline,placement.first_writes=gather --write 40KiB@0 --write 8KiB@8KiB \
             --write 8KiB@80KiB",
            "explain-gather.txt",
        ),
        ("explain --scheme raid6-logging --write 8KiB@0 --write 16KiB@0", "explain-logging.txt"),
        (
            "explain --scheme parity-caching --set cache.chunks=1 --write 8KiB@0 --write 8KiB@64KiB --read 8KiB@64KiB",
            "explain-caching.txt",
        ),
    ] {
        golden(name, &sandbox.run(line).success());
    }
}

#[test]
fn requests_are_planned_in_the_order_in_which_they_are_typed() {
    let sandbox = Sandbox::new();
    let text = sandbox.run("explain --read 8KiB@0 --write 8KiB@8KiB --read 8KiB@16KiB --quiet").success();
    let titles: Vec<&str> = text.lines().filter(|line| line.contains(" of 8 KiB at ")).collect();
    assert_eq!(titles, ["read of 8 KiB at 0 B", "write of 8 KiB at 8 KiB", "read of 8 KiB at 16 KiB"]);
}

#[test]
fn settings_show_in_what_is_shown() {
    let sandbox = Sandbox::new();
    let text = sandbox.run("scheme show baseline --set geometry.chunk=64KiB --set update.tie=rcw").success();
    assert!(text.contains("chunk = \"64KiB\"") && text.contains("tie = \"rcw\""), "{text}");
    let text = sandbox.run("device show ssdsim-5+1 --set gc.victim.d-choices=10").success();
    assert!(text.contains("d-choices = 10"), "{text}");
}
