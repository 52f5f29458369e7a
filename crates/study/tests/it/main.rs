//! Tests of studies: their files and plans.

mod batches;
mod files;
mod plans;
mod runs;

use std::path::Path;

use stripewise_study::{Plan, StudyFile};

/// A small study: two schemes, two axes, few requests.
const SMALL: &str = r#"
[base]
workload = "uniform:size=8KiB,write=0.5,span=64MiB"
requests = 200
[compare]
scheme = ["baseline", "bpu"]
[axes]
pacing = ["closed:4", "closed:8"]
"gc.victim" = ["greedy", "fifo"]
[replicate]
seeds = 3
"#;

fn parse(text: &str) -> Result<StudyFile, String> {
    StudyFile::parse(Path::new("study.toml"), text).map_err(|error| error.to_string())
}

#[track_caller]
fn plan(text: &str) -> Plan {
    Plan::new(parse(text).unwrap(), &()).unwrap()
}
