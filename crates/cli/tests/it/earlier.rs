//! What an earlier program made, when members were called elements: arrays, transcripts, a recording and results are
//! read forever; former names of options and keys are accepted for one release.
//!
//! The fixtures are never regenerated: they represent what users have. The program before the renaming created an array
//! over three files of 768 KiB by each of the two schemes, served it, wrote 40 chunks of 8 KiB, flushed, wrote the first
//! page of six of them again, and flushed; the members are as they were then, without a clean stop.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::served::Served;
use crate::support::{Ended, Sandbox};

const MEMBERS: usize = 3;
const CHUNK: u64 = 8192;
const WRITTEN_AGAIN: [u64; 6] = [3, 7, 9, 12, 20, 31];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/earlier").join(name)
}

fn unpacked(name: &str) -> Vec<u8> {
    let mut content = Vec::new();
    let packed = File::open(fixture(&format!("{name}.zst"))).unwrap();
    zstd::Decoder::new(packed).unwrap().read_to_end(&mut content).unwrap();
    content
}

/// Puts the members of an array into a folder of the sandbox, by their former names.
fn lay_out(sandbox: &Sandbox, array: &str) {
    let content = unpacked(&format!("{array}.members"));
    fs::create_dir(sandbox.path().join(array)).unwrap();
    for (member, bytes) in content.chunks(content.len() / MEMBERS).enumerate() {
        fs::write(sandbox.path().join(format!("{array}/element-{member}")), bytes).unwrap();
    }
}

fn verify(served: &Served) {
    let mut disk = served.disk();
    for chunk in 0..40 {
        let mut content = vec![chunk as u8 + 1; CHUNK as usize];
        if WRITTEN_AGAIN.contains(&chunk) {
            content[..4096].fill(chunk as u8 + 101);
        }
        assert!(disk.read(chunk * CHUNK, CHUNK as u32) == content, "chunk {chunk}");
    }
}

#[test]
fn arrays_of_an_earlier_program_assemble_with_all_that_was_flushed() {
    for (array, setting) in [("log", "relocations = \"coldest\""), ("in-place", "window = \"members\"")] {
        let sandbox = Sandbox::new();
        lay_out(&sandbox, array);
        let shown = sandbox.run(&format!("dump {array}")).success();
        assert!(shown.contains("not stopped cleanly"), "{shown}");
        let served = Served::start(&sandbox, array, &format!("--files {array} --takeover"));
        verify(&served);
        let mut disk = served.disk();
        disk.write(0, &[77; 4096]);
        disk.flush();
        sandbox.run(&format!("stop {array}")).success();
        assert_eq!(served.wait(), 0);
        // The clean stop rewrote the superblocks. The scheme in them keeps its settings.
        let served = Served::start(&sandbox, array, &format!("--files {array}"));
        assert_eq!(served.disk().read(0, 4096), [77; 4096]);
        drop(served);
        let hint = fs::read_to_string(sandbox.path().join(format!("state/{array}.json"))).unwrap_or_default();
        assert!(hint.contains(&setting.replace('"', "\\\"")), "{array}: {hint}");
    }
}

#[test]
fn a_member_of_an_earlier_array_that_is_lost_is_decoded_and_replaced() {
    for array in ["log", "in-place"] {
        let sandbox = Sandbox::new();
        lay_out(&sandbox, array);
        fs::remove_file(sandbox.path().join(format!("{array}/element-1"))).unwrap();
        let served = Served::start(&sandbox, array, &format!("--files {array} --takeover"));
        verify(&served);
        sandbox.run(&format!("replace {array} 1 {array}/new --wait")).success();
        verify(&served);
    }
}

#[test]
fn transcripts_and_recordings_of_an_earlier_program_are_read() {
    let sandbox = Sandbox::new();
    for (array, scheme) in [("log", "old-log"), ("in-place", "old-in-place")] {
        let path = sandbox.path().join(format!("{array}.transcript"));
        fs::write(&path, unpacked(&format!("{array}.transcript"))).unwrap();
        let output = sandbox.run(&format!("replay {array}.transcript")).success();
        assert!(output.contains(&format!("RAID-5 over 3 members, scheme \"{scheme}\"")), "{output}");
        assert!(output.contains("the same operations in the same order"), "{output}");
    }
    let recording = fixture("recording");
    let info = sandbox.run_words(["trace", "info", recording.to_str().unwrap()]).success();
    assert!(info.contains("requests"), "{info}");
}

#[test]
fn results_of_an_earlier_program_have_the_present_names() {
    let sandbox = Sandbox::new();
    let results = fixture("results");
    let run = fs::read_dir(&results).unwrap().next().unwrap().unwrap().path();
    let lifetimes = sandbox.run_words(["reliability", results.to_str().unwrap(), "--json"]).success();
    let lifetimes: Value = serde_json::from_str(&lifetimes).unwrap();
    assert_eq!(lifetimes[0]["run"]["member_erase_blocks"].as_array().map(Vec::len), Some(6), "{lifetimes}");
    sandbox.run_words(["report", run.to_str().unwrap(), "--out", "report.html"]).success();
    let report = fs::read_to_string(sandbox.path().join("report.html")).unwrap();
    assert!(report.contains("old-log"), "the scheme has a bar");
}

#[test]
fn runs_of_an_earlier_program_and_of_this_one_are_of_the_same_device() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "log.toml",
        "name = 'new-log'\n[geometry]\nlevel = 'raid5'\n[placement]\npolicy = 'elastic'\n[elastic]\nrelocations = 'coldest'\n",
    );
    sandbox
        .run("run -g uniform:size=4KiB,write=70%,requests=400 -s log.toml --set ftl.pool=member -o new")
        .success();
    let ended = sandbox.run_words(["reliability", fixture("results").to_str().unwrap(), "new"]);
    assert!(!ended.stderr.contains("device"), "{}", ended.stderr);
    assert!(ended.success().contains("new-log"));
}

#[test]
fn members_of_an_earlier_array_are_not_left_beside_those_of_a_new_one() {
    let sandbox = Sandbox::new();
    lay_out(&sandbox, "log");
    let create = "create other --files log --count 3 --size 16MiB";
    assert!(sandbox.run(create).failure(1).contains("log/element-0` exists already"));
    sandbox.run(&format!("{create} --force")).success();
    assert!(!sandbox.path().join("log/element-0").exists() && sandbox.path().join("log/member-0").exists());
}

/// The output of a command, and its remarks.
fn remarked(ended: Ended) -> (String, String) {
    let output = ended.stderr.clone();
    (ended.success(), output)
}

#[test]
fn former_names_of_options_and_keys_do_the_same_with_a_remark() {
    let sandbox = Sandbox::new();
    sandbox.write("old.toml", &fs::read_to_string(fixture("log.toml")).unwrap());
    let run = "run --gen uniform:requests=50 --json";
    for (former, present, remark) in [
        ("--elements chip", "--members chip", "`--elements` is now `--members`"),
        ("-e chip", "-m chip", "`-e` is now `--members`"),
        (
            "-s was,elastic.survivors=coldest",
            "-s was,elastic.relocations=coldest",
            "`elastic.survivors` is now",
        ),
        ("--set ftl.pool=element", "--set ftl.pool=member", "`ftl.pool = \"member\"`"),
        (
            "-s baseline,parity.window=elements",
            "-s baseline,parity.window=members",
            "`parity.window = \"members\"`",
        ),
        ("-s old.toml", "-s old.toml", "old.toml: `elastic.survivors` is now `elastic.relocations`"),
    ] {
        let (old, output) = remarked(sandbox.run(&format!("{run} {former}")));
        let (new, _) = remarked(sandbox.run(&format!("{run} {present}")));
        assert!(output.contains(remark), "{former}: {output}");
        let digest = |text: &str| serde_json::from_str::<Value>(text).unwrap()["run_digest"].clone();
        assert!(digest(&old).is_string() && digest(&old) == digest(&new), "{former}");
    }
}
