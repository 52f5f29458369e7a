//! What holds of every shipped paper.

use std::hash::{DefaultHasher, Hash, Hasher};

use stripewise_papers::{
    Columns, EvaluationOptions, GainMap, Measured, Paper, Part, StudyPoint, Verdict, claims_of,
};
use stripewise_runs::{Comparison, ComparisonSpec, smallest_bytes};

use crate::support::{ALL_COLUMNS, all_claims, exact, made_up, made_up_with, of_all, only, verdicts};

fn each(test: impl Fn(Paper)) {
    for number in Paper::shipped() {
        test(Paper::find(number).unwrap_or_else(|error| panic!("{error}")));
    }
}

#[test]
fn without_measurements_nothing_is_judged_and_with_zeros_nothing_panics() {
    each(|paper| {
        assert!(verdicts(&paper, &[]).iter().all(|word| *word == Verdict::NotMeasured), "{}", paper.number());
        let all = made_up(&paper, &all_claims(&paper), |_, _| Vec::new());
        let found = exact(&paper, &paper.claims(), &all, &of_all()).unwrap_or_else(|error| panic!("{error}"));
        let maps = paper.maps(&[&all], &of_all()).unwrap_or_else(|error| panic!("{error}"));
        assert!(maps.iter().all(|map| map.panels.iter().all(|panel| !panel.lines.is_empty())));
        let mut sections = paper.sections(&all, &of_all()).unwrap_or_else(|error| panic!("{error}"));
        sections.extend(maps.iter().flat_map(GainMap::sections));
        let page = paper.html(&found, &sections);
        for section in &sections {
            let title = section.title.replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
            assert!(page.contains(&format!("<h2>{title}</h2>")), "{title}");
            assert!(section.rows.iter().all(|row| row.len() == section.head.len().max(1)), "{title}");
        }
        assert_eq!(page.matches("<section ").count(), sections.len() + 4, "{}", paper.number());
        paper.json(&found, &maps, &all, &of_all()).unwrap_or_else(|error| panic!("{error}"));
    });
}

#[test]
fn every_study_resolves_in_full_and_in_part() {
    each(|paper| {
        for quick in [false, true] {
            let all_claims = EvaluationOptions { quick, ..all_claims(&paper) };
            for point in paper.points(&all_claims).unwrap_or_else(|error| panic!("{error}")) {
                let spec =
                    paper.comparison(&point, &all_claims).unwrap_or_else(|error| panic!("{point}: {error}"));
                Comparison::new(spec, &()).unwrap_or_else(|error| panic!("{point}: {error}"));
            }
        }
    });
}

#[test]
fn each_scheme_of_a_paper_gets_the_requests_of_the_whole_comparison_when_it_runs_alone() {
    each(|paper| {
        let all_claims = EvaluationOptions { requests: Some(10_000), quick: true, ..all_claims(&paper) };
        let of = |spec: ComparisonSpec| Comparison::new(spec, &()).map(|study| study.span_bytes()).ok();
        for point in paper.points(&all_claims).unwrap_or_else(|error| panic!("{error}")).iter().step_by(7) {
            let spec =
                paper.comparison(point, &all_claims).unwrap_or_else(|error| panic!("{point}: {error}"));
            let whole = of(spec.clone());
            assert_eq!(smallest_bytes(&spec).ok(), whole, "{point}");
            for one in &spec.schemes {
                let schemes = vec![one.clone()];
                assert_eq!(of(ComparisonSpec { schemes, ..spec.clone() }), whole, "{point}: {one:?}");
            }
        }
    });
}

#[test]
fn each_claim_needs_some_of_the_studies() {
    each(|paper| {
        let all = paper.points(&all_claims(&paper)).unwrap_or_else(|error| panic!("{error}")).len();
        for claim in paper.claims() {
            let ours = paper.points(&only(&paper, &[&claim])).unwrap_or_else(|error| panic!("{error}")).len();
            assert!(ours > 0 && ours <= all, "{claim}: {ours} of {all}");
        }
    });
}

/// With a seed of its own for each column of each run, so that no two are alike.
fn drawn(point: &StudyPoint, scheme: &str, columns: &mut Columns) {
    for name in ALL_COLUMNS {
        let mut hash = DefaultHasher::new();
        (point.to_string(), scheme, name).hash(&mut hash);
        columns.set(name, 1.0 + (hash.finish() % 1000) as f64);
    }
}

#[test]
fn the_judged_columns_alone_give_the_verdicts_of_the_whole_evaluation() {
    each(|paper| {
        let whole = all_claims(&paper);
        let judged = EvaluationOptions { part: Part::Judged, ..whole.clone() };
        let of = |options: &EvaluationOptions| {
            let all = made_up_with(&paper, options, drawn);
            (all.len(), verdicts(&paper, &all))
        };
        let ((all, expected), (part, found)) = (of(&whole), of(&judged));
        assert!(part < all, "{}: {part} of {all} studies", paper.number());
        for ((claim, one), other) in paper.claims().iter().zip(&found).zip(&expected) {
            assert_eq!(one, other, "{claim}");
        }
        // Runs that are not made leave gaps in the tables, which ask for nothing in vain.
        let all = made_up_with(&paper, &judged, drawn);
        let maps = paper.maps(&[&all], &of_all()).unwrap_or_else(|error| panic!("{error}"));
        paper.sections(&all, &of_all()).unwrap_or_else(|error| panic!("{error}"));
        let found = exact(&paper, &paper.claims(), &all, &of_all()).unwrap_or_else(|error| panic!("{error}"));
        paper.json(&found, &maps, &all, &of_all()).unwrap_or_else(|error| panic!("{error}"));
    });
}

#[test]
fn claims_come_in_order_and_once_and_an_unknown_one_is_refused() {
    let all = || ["4a", "4b", "4d"].map(str::to_owned).to_vec();
    let of =
        |ids: &[&str]| claims_of("004", all(), &ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>());
    assert_eq!(of(&["4d", "4a", "4d"]), Ok(vec!["4a".to_owned(), "4d".to_owned()]));
    assert_eq!(of(&[]), Ok(all()));
    assert_eq!(of(&["0a"]), Err("`0a`: no such result; paper 004 has 4a to 4d".to_owned()));
    let error = Paper::find("005").expect_err("no such paper").to_string();
    assert!(error.starts_with("unknown paper `005`; did you mean"), "{error}");
}

#[test]
fn claims_that_need_a_part_of_the_schemes_get_the_requests_of_all() {
    each(|paper| {
        let of = |all_claims: EvaluationOptions| -> Vec<(String, String)> {
            let points = paper.points(&all_claims).unwrap_or_else(|error| panic!("{error}"));
            let spans = points.iter().map(|point| {
                let spec =
                    paper.comparison(point, &all_claims).unwrap_or_else(|error| panic!("{point}: {error}"));
                (point.to_string(), format!("{:?}", spec.span))
            });
            spans.collect()
        };
        let all = of(all_claims(&paper));
        for claim in paper.claims() {
            let ours = of(only(&paper, &[&claim]));
            assert!(ours.iter().all(|one| all.contains(one)), "{claim}: {ours:?}");
        }
    });
}

/// Columns of a run that depend on the point, the scheme and the seed.
fn varied(point: &StudyPoint, scheme: &str, seed: u64) -> Vec<(&'static str, f64)> {
    let of = |name: &&'static str| {
        let mut hasher = DefaultHasher::new();
        (point.to_string(), scheme, seed, *name).hash(&mut hasher);
        (*name, 1e6 * (1.0 + (hasher.finish() % 1000) as f64 / 1000.0))
    };
    ALL_COLUMNS.iter().map(of).collect()
}

#[test]
fn what_varies_over_seeds_is_shown_with_its_interval() {
    each(|paper| {
        let seeds: Vec<Vec<Measured>> = (1..=3)
            .map(|seed| made_up(&paper, &all_claims(&paper), |point, scheme| varied(point, scheme, seed)))
            .collect();
        let seeds: Vec<&[Measured]> = seeds.iter().map(Vec::as_slice).collect();
        let found = paper.findings(&paper.claims(), &seeds, &of_all());
        let mut missing = Vec::new();
        for claim in found.unwrap_or_else(|error| panic!("{error}")).claims {
            for (shown, interval) in claim.measured.iter().zip(&claim.intervals) {
                let varies = interval.as_ref().is_some_and(|interval| interval.varies());
                if varies && !shown.contains('[') {
                    missing.push(format!("{}, {}: {shown}", paper.number(), claim.id));
                }
            }
        }
        assert!(missing.is_empty(), "{missing:#?}");
    });
}
