use std::path::Path;
use std::time::Instant;

use super::*;
use crate::file::StudyFile;
use crate::row::Row;
use stripewise_results::steady::Steady;
use stripewise_results::totals::TOTALS;
use stripewise_results::{Digest, Figure, Figures};

/// A plan of `points` points with two schemes and five seeds, and a store with results of all its runs. Its width is 1 % or
/// less at each point.
fn filled(points: u64) -> (tempfile::TempDir, Plan, StudyStore) {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "[base]\nworkload = \"uniform:size=8KiB,span=64MiB\"\nrequests = 100\n[compare]\nscheme = [\"baseline\", \"bpu\"]\n\
         [axes]\npacing = {{ from = \"closed:1\", to = \"closed:{points}\", step = 1 }}\n[replicate]\nseeds = 5\n"
    );
    let plan = Plan::new(StudyFile::parse(Path::new("study.toml"), &text).unwrap(), &()).unwrap();
    let store = StudyStore::new(folder.path());
    let mut rows = Vec::new();
    let mut number = 0u64;
    for cell in plan.cells() {
        for (scheme, seed) in (0..2).flat_map(|scheme| (1..=5).map(move |seed| (scheme, seed))) {
            number += 1;
            let mut digest = [0; 32];
            digest[..8].copy_from_slice(&number.to_le_bytes());
            let value = |name: &str| match name {
                "response_mean_ns" => Figure::Real(1e6 + seed as f64 * 1e3),
                "cpu_ns" => Figure::Count(1000),
                _ => Figure::Count(number * 7919 % 100_003),
            };
            let totals: Vec<(&str, Figure)> = TOTALS.iter().map(|(name, _)| (*name, value(name))).collect();
            rows.push(Row {
                key: plan.key(&cell, scheme, seed),
                run: Digest(digest),
                results: Digest(digest),
                scheme: plan.file().schemes[scheme].clone(),
                seed,
                version: plan.version().to_owned(),
                trace_digest: "uniform".to_owned(),
                configuration: "chunk = \"16KiB\"\n".repeat(100),
                replay: format!("pacing = \"{}\"", cell.index),
                steady: Steady::From(0),
                totals: Figures::from_list(&totals).unwrap(),
            });
        }
        if rows.len() >= 1000 {
            store.commit(&std::mem::take(&mut rows), &|_| ()).unwrap();
        }
    }
    store.commit(&rows, &|_| ()).unwrap();
    (folder, plan, store)
}

#[test]
fn all_runs_of_a_full_store_are_counted() {
    let (_folder, plan, store) = filled(30);
    let found = status(&plan, &store, &()).unwrap();
    assert_eq!((found.points, found.done(), found.runs, found.stored), (30, 30, 300, 300));
    assert_eq!((found.ended.get("fixed"), found.cpu_ns, found.runs_left), (Some(&30), 300_000, 0));
}

/// `cargo test -p stripewise-study --lib -- --ignored --nocapture hundred`
#[test]
#[ignore = "measures time: run it alone"]
fn the_status_of_a_hundred_thousand_runs_takes_two_seconds() {
    let (_folder, plan, store) = filled(10_000);
    let began = Instant::now();
    let found = status(&plan, &store, &()).unwrap();
    let seconds = began.elapsed().as_secs_f64();
    let packs = store.packs().unwrap();
    let bytes: u64 = packs.iter().map(|pack| pack.metadata().unwrap().len()).sum();
    println!(
        "{} runs in {} packs of {} bytes a run: {seconds:.2} s",
        found.runs,
        packs.len(),
        bytes / found.runs
    );
    assert_eq!(found.runs, 100_000);
    assert!(seconds < 2.0 && bytes / found.runs < 5000);
}
