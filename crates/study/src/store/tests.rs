use std::fs::{self, File};
use std::time::SystemTime;

use super::*;
use crate::folder::PARTIAL;
use stripewise_results::steady::Steady;
use stripewise_results::{Figure, Figures};

fn row(run: u8, result: u8) -> Row {
    let totals = [("response_mean_ns", Figure::Real(f64::from(run))), (CPU_NS, Figure::Count(7))];
    Row {
        key: [run; 16],
        run: Digest([run; 32]),
        results: Digest([result; 32]),
        scheme: "baseline".into(),
        seed: 3,
        version: "1+2".into(),
        trace_digest: "uniform".into(),
        configuration: "a = 1".into(),
        replay: "b = 2".into(),
        steady: Steady::From(100),
        totals: Figures::from_list(&totals).unwrap(),
    }
}

fn store() -> (tempfile::TempDir, StudyStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = StudyStore::new(folder.path().join("store"));
    (folder, store)
}

fn figures() -> Vec<String> {
    vec!["response_mean_ns".to_owned()]
}

#[test]
fn a_run_is_read_back_as_it_was_committed() {
    let (_folder, store) = store();
    assert!(store.load(&figures()).unwrap().is_empty());
    store.commit(&[row(1, 1), Row { steady: Steady::NotYet, ..row(2, 2) }], &|_| ()).unwrap();
    let known = store.load(&figures()).unwrap();
    let (found, values) = known.get(&[2; 16]).unwrap();
    let expected = KnownRow { run: Digest([2; 32]), results: Digest([2; 32]), is_drifting: true, cpu_ns: 7 };
    assert_eq!((*found, values, known.len()), (expected, &[2.0][..], 2));
    assert!(!known.get(&[1; 16]).unwrap().0.is_drifting && known.get(&[3; 16]).is_none());
}

#[test]
fn a_run_with_two_results_is_the_loudest_error() {
    let (_folder, store) = store();
    store.commit(&[row(1, 1), row(2, 2)], &|_| ()).unwrap();
    // The same runs with the same results may be committed twice, beside any others.
    store.commit(&[row(2, 2), row(3, 3)], &|_| ()).unwrap();
    assert_eq!(store.load(&figures()).unwrap().len(), 3);
    store.commit(&[row(2, 9)], &|_| ()).unwrap();
    let error = store.load(&figures()).unwrap_err();
    assert!(matches!(error, Error::NotReproduced { run: Digest([2, ..]), .. }), "{error}");
    assert!(error.to_string().contains("HAS TWO RESULTS"), "{error}");
}

#[test]
fn the_same_batch_with_another_result_does_not_replace_the_first() {
    let (_folder, store) = store();
    store.commit(&[row(1, 1)], &|_| ()).unwrap();
    store.commit(&[row(1, 2)], &|_| ()).unwrap();
    assert!(matches!(store.load(&[]), Err(Error::NotReproduced { .. })));
}

#[test]
fn joined_packs_have_all_runs_and_runs_of_another_program_stay_apart() {
    let (_folder, store) = store();
    let mut totals = Figures::from_list(&[("other", Figure::Count(1))]).unwrap();
    totals.add_measured(CPU_NS, Figure::Count(1)).unwrap();
    store.commit(&[Row { totals, ..row(9, 9) }], &|_| ()).unwrap();
    for run in 1..6 {
        store.commit(&[row(run, run), row(run + 1, run + 1)], &|_| ()).unwrap();
    }
    assert_eq!(store.packs().unwrap().len(), 6);
    store.join().unwrap();
    let packs = store.packs().unwrap();
    assert!(packs.len() == 2 || packs.len() == 6, "{packs:?}");
    let known = store.load(&figures()).unwrap();
    assert_eq!(known.len(), 7);
    assert!((1..=6).all(|run| known.get(&[run; 16]).unwrap().1 == [f64::from(run)]));
    assert!(known.get(&[9; 16]).unwrap().1[0].is_nan(), "this program had no such total");
}

#[test]
fn a_pack_with_any_wrong_bit_is_refused_by_name() {
    let (_folder, store) = store();
    store.commit(&[row(1, 1)], &|_| ()).unwrap();
    let pack = store.packs().unwrap().remove(0);
    let bytes = fs::read(&pack).unwrap();
    let refused = |bytes: &[u8]| {
        fs::write(&pack, bytes).unwrap();
        let error = store.load(&[]).unwrap_err().to_string();
        assert!(error.starts_with(&pack.display().to_string()) && error.contains("remove it"), "{error}");
    };
    refused(&bytes[..bytes.len() / 2]);
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        refused(&flipped);
    }
    fs::write(&pack, &bytes).unwrap();
    assert_eq!(store.load(&[]).unwrap().len(), 1);
}

#[test]
fn half_written_files_are_not_read_and_go_when_they_are_old() {
    let (_folder, store) = store();
    store.commit(&[row(1, 1)], &|_| ()).unwrap();
    let partials = ["old", "new"].map(|name| store.root().join("runs").join(format!("{name}.{PARTIAL}")));
    partials.iter().for_each(|path| fs::write(path, "half").unwrap());
    let before = SystemTime::now() - DEAD - Duration::from_secs(1);
    File::options().write(true).open(&partials[0]).unwrap().set_modified(before).unwrap();
    let found = store.partials(Duration::from_secs(60)).unwrap();
    assert_eq!(found.iter().map(|it| (&it.path, it.bytes)).collect::<Vec<_>>(), [(&partials[0], 4)]);
    assert!(found[0].age > DEAD && partials[0].exists());
    store.sweep().unwrap();
    assert_eq!(store.load(&[]).unwrap().len(), 1);
    assert_eq!(partials.map(|path| path.exists()), [false, true]);
}

#[test]
fn a_store_that_cannot_be_written_is_reported_and_keeps_nothing() {
    let (folder, store) = store();
    fs::write(folder.path().join("store"), "a file").unwrap();
    let error = store.commit(&[row(1, 1)], &|_| ()).unwrap_err().to_string();
    assert!(error.contains("make the folder"), "{error}");
}
