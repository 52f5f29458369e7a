//! Sets `stripewise_sim::SOURCES`: the fingerprint of what determines the results of a run.

mod sources;

use std::path::Path;
use std::process::exit;

fn main() {
    match sources::fingerprint(Path::new("../..")) {
        Ok(sources) => {
            for place in sources.read {
                println!("cargo::rerun-if-changed={}", place.display());
            }
            println!("cargo::rustc-env=STRIPEWISE_SOURCES={:016x}", sources.digest);
        }
        Err(error) => {
            println!("cargo::error={error}");
            exit(1);
        }
    }
}
