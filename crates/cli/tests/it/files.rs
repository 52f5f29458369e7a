//! `create`, `dump` and `check`: arrays of files.

use std::path::PathBuf;

use serde_json::Value;
use stripewise_array::Scheme;
use stripewise_engine::{Engine, FileMedia, Options};

use crate::support::Sandbox;

/// The scheme of the arrays of `create`, with changed settings.
const ESAP: &str = "name = \"esap\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n[placement]\npolicy = \"elastic\"\n\
    buffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 64\nbuffer = \"stripe\"\nwait = \"200ms\"\n\
    acknowledge = \"trigger-waits\"\ncollect_above = \"90%\"\n";

const FILES: usize = 5;

fn paths(sandbox: &Sandbox) -> Vec<PathBuf> {
    (0..FILES).map(|nth| sandbox.path().join(format!("pool/member-{nth}"))).collect()
}

/// A sandbox with an array in `pool`; chunks 0 to 49 are written.
fn written() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run("create --files pool --size 8MiB --name five --scheme esap").success();
    let scheme = Scheme::from_toml("esap", ESAP).unwrap();
    let media = FileMedia::open(&paths(&sandbox), 4096).unwrap();
    let (mut engine, _) =
        Engine::resume(&scheme, media, Options::default(), stripewise_array::AssemblyOptions::default())
            .unwrap();
    for chunk in 0..50 {
        engine.write(chunk * 4096, &[chunk as u8 + 1; 4096]).unwrap();
    }
    engine.flush().unwrap();
    sandbox
}

/// Where the content of a chunk lies: the file, and the byte where the content begins.
fn content_of(sandbox: &Sandbox, chunk: u8) -> (PathBuf, usize) {
    let holds = |path: &PathBuf| {
        let bytes = std::fs::read(path).unwrap();
        let page = bytes.chunks(4096).position(|page| page.iter().all(|&byte| byte == chunk + 1))?;
        Some((path.clone(), page * 4096))
    };
    paths(sandbox).iter().find_map(holds).expect("it was written")
}

fn spoil(path: &PathBuf, at: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[at] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_new_array_is_reported_and_clean() {
    let sandbox = Sandbox::new();
    let created = sandbox.run("create --files pool --size 8MiB --name mine").success();
    assert!(created.ends_with(", called \"mine\": 5 members of 8MiB in pool\n"), "{created}");
    let output = sandbox.run("dump pool").success();
    assert!(output.starts_with("#0: pool/member-0, 8MiB\n"), "{output}");
    assert!(output.contains(", called \"mine\", of the scheme \"durable-was\"\n"), "{output}");
    assert!(output.contains("RAID-5 (xor) in a log, 1 group of 5, contiguous\n"), "{output}");
    assert!(sandbox.run("check pool").success().ends_with("0 chunks can be read, 0 are lost\nclean\n"));
}

#[test]
fn files_that_are_there_are_replaced_by_force_alone() {
    let sandbox = Sandbox::new();
    let create = "create --files pool --size 8MiB --count 3";
    sandbox.run(create).success();
    let first = std::fs::read(sandbox.path().join("pool/member-0")).unwrap();
    let refused = sandbox.run(create).failure(1);
    assert!(refused.contains("`pool/member-0` exists already; `--force` replaces it"), "{refused}");
    assert!(std::fs::read(sandbox.path().join("pool/member-0")).unwrap() == first);
    sandbox.run(&format!("{create} --force")).success();
    assert!(
        std::fs::read(sandbox.path().join("pool/member-0")).unwrap() != first,
        "another array has other names"
    );
}

#[test]
fn written_data_is_reported_batch_by_batch_and_clean() {
    let sandbox = written();
    let output = sandbox.run("check pool").success();
    assert!(output.contains("50 chunks can be read, 0 are lost\nclean\n"), "{output}");
    let output = sandbox.run("dump pool --segment 0").success();
    assert!(output.contains("stripe of 4 data and P: chunks "), "{output}");
    assert!(output.contains("commit record"), "{output}");
    let found: Value = serde_json::from_str(&sandbox.run("dump pool --json").success()).unwrap();
    let findings = found["findings"].as_array().unwrap();
    let segments = findings.iter().filter(|finding| finding["found"] == "segment");
    let chunks: u64 = segments.map(|segment| segment["chunks"].as_u64().unwrap()).sum();
    assert_eq!((chunks, &found["problems"]), (50, &Value::from(0)));
}

#[test]
fn damage_that_parity_tolerates_is_reported_and_more_is_a_loss() {
    let sandbox = written();
    let (path, at) = content_of(&sandbox, 20);
    spoil(&path, at);
    let ended = sandbox.run("check pool");
    let page = at / 4096;
    assert!(
        ended.stdout.contains(&format!(", page {page}: chunk 20 has another checksum")),
        "{}",
        ended.stdout
    );
    assert!(ended.stdout.contains("50 chunks can be read, 0 are lost\n"), "{}", ended.stdout);
    assert!(
        ended
            .failure(1)
            .contains("not clean: 0 chunks lost, 1 damages that a scrub repairs, 0 members absent or stale")
    );
    // Another whole member is lost too, one without chunk 20.
    let other = paths(&sandbox).into_iter().find(|other| *other != path).unwrap();
    std::fs::write(&other, vec![0; 8 << 20]).unwrap();
    let ended = sandbox.run("check pool");
    assert!(ended.stdout.contains("chunk 20 is LOST"), "{}", ended.stdout);
    ended.failure(1);
    let output = sandbox.run("dump pool").success();
    assert!(output.contains("DAMAGED: superblock on page 0: no superblock here"), "{output}");
}

#[test]
fn what_cannot_be_opened_ends_with_code_2_and_says_why() {
    let sandbox = written();
    for path in &paths(&sandbox)[..2] {
        std::fs::remove_file(path).unwrap();
    }
    let why = sandbox.run("check pool").failure(2);
    assert!(why.contains("too few members"), "{why}");
    let why = sandbox.run("check pool --scheme raid6-esap").failure(2);
    assert!(why.contains("RAID-5"), "{why}");
    sandbox.write("plain", "nothing of the kind");
    assert!(sandbox.run("dump plain").failure(1).contains("no superblock"));
    assert!(sandbox.run("check plain").failure(2).contains("no superblock"));
}

#[test]
fn a_name_means_the_array_of_that_name_whatever_else_has_it() {
    let sandbox = Sandbox::new();
    sandbox.run("create wide --files members --size 8MiB --count 5").success();
    let ended = sandbox.run("check wide");
    assert_eq!(ended.stderr, "");
    assert!(ended.success().contains(", called \"wide\""));
    // Another array, in a folder of that name.
    sandbox.run("create --files wide --size 8MiB --count 5 --name other").success();
    for line in ["check wide", "dump wide", "upgrade wide --dry-run"] {
        let ended = sandbox.run(line);
        let remark =
            "this is the remembered array \"wide\"; for the file or folder of that name, write ./wide";
        assert!(ended.stderr.contains(remark), "{line}: {}", ended.stderr);
        assert!(!ended.success().contains("other"), "{line}");
    }
    assert!(sandbox.run("check ./wide").success().contains(", called \"other\""));
    assert!(sandbox.run("check narrow").failure(2).contains("no array of this name is remembered"));
    std::fs::remove_dir_all(sandbox.path().join("members")).unwrap();
    let why = sandbox.run("check wide").failure(2);
    assert!(why.contains("members/member-0"), "{why}");
}
