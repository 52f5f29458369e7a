//! Maps: gains over something that a paper does not print, and where they change their sign.

use proptest::prelude::*;
use stripewise_papers::{Columns, GainMap, Measured, Paper};

use crate::support::all_claims;

/// A paper that compares `ours` with `theirs` at four loads, with a map whose places and gains are these.
fn paper(places: &str, gain: &str) -> Result<Paper, String> {
    let text = format!(
        r#"
paper = "900"
reading = {{ judged = "as printed", sentence = "all of it" }}
[[scheme]]
id = "ours"
name = "Ours"
scheme = "adaptive"
[[scheme]]
id = "theirs"
name = "Theirs"
scheme = "baseline"
[spec]
label = "load {{{{ load }}}}"
schemes = "['ours', 'theirs']"
device = "ssdsim-5+1-ldpc"
origin = "paper000/hm_0"
fold = "modulo"
requests = "none"
report = ""
[[study]]
each = [{{ load = [1, 4, 16, 64] }}]
[[column]]
title = "measured"
key = "measured"
[[claim]]
id = "9a"
what = ""
printed = ""
value = "none"
shown = ""
verdict = "'differs'"
rationale = ""
[[map]]
title = "Ours by load"
about = "What ours takes."
ratio = "ours over theirs"
axis = "load"
log = true
places = "{places}"
each = ["mean"]
panel = "{{{{ each }}}}"
lines = "['w', 'absent']"
name = "{{{{ line }}}}"
gain = """{gain}"""
[json]
point = {{}}
run = {{ columns = [] }}
"#
    );
    Paper::read("900.toml", &text, "").map_err(|error| error.to_string())
}

const GAIN: &str =
    "points | where(load=place) | gains('ours', 'theirs', each) | one if line == 'w' else none";

/// The map of seeds with these gains, one for each load.
fn map(seeds: &[[f64; 4]]) -> GainMap {
    maps(GAIN, seeds).into_iter().next().expect("a map")
}

/// The maps of the paper with the expression `gain`.
fn maps(gain: &str, seeds: &[[f64; 4]]) -> Vec<GainMap> {
    let paper = paper("[1, 4, 16, 64]", gain).unwrap_or_else(|error| panic!("{error}"));
    let points = paper.points(&all_claims(&paper)).unwrap_or_else(|error| panic!("{error}"));
    let seed = |gains: &[f64; 4]| -> Vec<Measured> {
        let of = |mean: f64| {
            let mut run = Columns::default();
            run.set("mean", mean);
            run
        };
        let measured = points
            .iter()
            .zip(gains)
            .map(|(point, gain)| paper.measured(point, vec![of(100.0 * (1.0 - gain)), of(100.0)], &[]));
        measured.collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{error}"))
    };
    let seeds: Vec<Vec<Measured>> = seeds.iter().map(seed).collect();
    let seeds: Vec<&[Measured]> = seeds.iter().map(Vec::as_slice).collect();
    paper.maps(&seeds, &[]).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_break_even_lies_between_places_on_the_axis_of_the_map() {
    let gains = [0.2, 0.1, -0.1, -0.3];
    let map = map(&[gains, gains]);
    let section = map.sections().pop().expect("a table");
    assert_eq!(section.title, "Ours by load: mean");
    assert_eq!(section.head, ["load", "1", "4", "16", "64", "break-even"]);
    assert_eq!(
        section.rows,
        [["w", "20.0 %", "10.0 %", "-10.0 %", "-30.0 %", "8"]],
        "a line without gains is left out"
    );
    let found = &map.json()["panels"][0]["lines"][0]["break_evens"];
    assert!(found[0].as_f64().is_some_and(|place| (place - 8.0).abs() < 1e-9), "{found}");
}

#[test]
fn a_line_needs_two_places() {
    let only = |places: &str| {
        let gain = GAIN.replace("line == 'w'", &format!("line == 'w' and place in {places}"));
        maps(&gain, &[[0.2, 0.1, -0.1, -0.3]])
    };
    assert!(only("[4]").is_empty());
    assert_eq!(only("[4, 16]").len(), 1);
}

#[test]
fn gains_that_are_not_clear_make_no_break_even() {
    let of = |seeds: &[[f64; 4]]| {
        let map = map(seeds);
        map.break_evens(&map.panels[0].lines[0]).len()
    };
    assert_eq!(of(&[[0.2, 0.1, -0.1, -0.3]]), 0, "one seed says nothing of chance");
    assert_eq!(of(&[[0.2, 0.1, -0.3, 0.2], [0.2, 0.1, 0.2, 0.2]]), 0, "the interval includes 0");
    assert_eq!(of(&[[0.2, 0.1, -0.11, 0.2], [0.2, 0.1, -0.10, 0.2], [0.2, 0.1, -0.09, 0.2]]), 2);
    assert_eq!(of(&[[0.3, 0.02, 0.02, -0.3], [0.3, -0.02, -0.02, -0.3]]), 0, "the interval spans the axis");
}

#[test]
fn several_seeds_have_a_typical_gain_and_break_evens_with_intervals() {
    let map = map(&[[0.08, 0.1, -0.1, -0.3], [0.10, 0.1, -0.2, -0.3], [0.12, 0.1, -0.3, -0.3]]);
    let section = map.sections().pop().expect("a table");
    assert_eq!(section.rows[0][1..3], ["10.0 [4.9, 14.8] %", "10.0 %"]);
    let found = map.break_evens(&map.panels[0].lines[0])[0];
    let (low, high) = found.interval;
    assert!(4.0 < low && low < found.place && found.place < high && high < 64.0, "{found:?}");
    assert_eq!(section.rows[0][5], "6.4 [5.1, 18]");
    let line = &map.json()["panels"][0]["lines"][0];
    assert_eq!(line["break_even_intervals"][0][0], low, "{line}");
}

#[test]
fn errors_name_the_line_of_the_file() {
    let wrong = |places: &str, gain: &str| {
        let paper = paper(places, gain).unwrap_or_else(|error| panic!("{error}"));
        paper.maps(&[&[]], &[]).expect_err("refused").to_string()
    };
    let falling = wrong("[4, 1]", GAIN);
    assert!(falling.contains("900.toml:39") && falling.contains("upwards; above 0 with `log`"), "{falling}");
    assert!(wrong("[0, 1]", GAIN).contains("above 0"));
    let unknown = wrong("[1, 4]", "points | where(load=plaice) | length");
    assert!(unknown.contains("did you mean `place`?"), "{unknown}");
    assert!(wrong("[1, 4]", "'much'").contains("much is no number"));
}

proptest! {
    #[test]
    fn one_sign_has_no_break_even_and_each_change_has_one(gains in prop::array::uniform4(-1.0..1.0f64)) {
        let map = map(&[gains, gains]);
        let changes = gains.windows(2).filter(|pair| (pair[0] > 0.0) != (pair[1] > 0.0)).count();
        prop_assert_eq!(map.break_evens(&map.panels[0].lines[0]).len(), changes);
    }
}
