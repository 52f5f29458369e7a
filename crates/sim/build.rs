//! Sets `stripewise_sim::SOURCES`: a fingerprint of all source text that determines the results of a run.

use std::fs;
use std::path::{Path, PathBuf};

/// The sources of this crate and of the crates below it, and of their dependencies.
const DECIDING: [&str; 11] = [
    "../base/src",
    "../code/src",
    "../flash/src",
    "../trace/src",
    "../core/src",
    "../exec/src",
    "../array/src",
    "src",
    "../../presets/devices",
    "../../presets/profiles",
    "../../Cargo.lock",
];

fn main() {
    let mut files = Vec::new();
    for place in DECIDING {
        println!("cargo::rerun-if-changed={place}");
        collect(Path::new(place), &mut files);
    }
    files.sort();
    let mut hash = Fnv::default();
    for path in files {
        let text = fs::read(&path).unwrap_or_default();
        hash.add(path.to_string_lossy().replace('\\', "/").as_bytes());
        hash.add(&(text.len() as u64).to_le_bytes());
        hash.add(&text);
    }
    println!("cargo::rustc-env=STRIPEWISE_SOURCES={:016x}", hash.0);
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    match fs::read_dir(path) {
        Ok(entries) => entries.flatten().for_each(|entry| collect(&entry.path(), files)),
        Err(_) => files.push(path.to_owned()),
    }
}

/// FNV-1a, 64 bits: the same on every machine and in every release of Rust.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}
