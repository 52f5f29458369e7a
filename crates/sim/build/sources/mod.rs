//! The fingerprint of what determines the results of a run. The build script computes it, and the tests examine it.
//!
//! What counts:
//!
//! - The tokens of `stripewise-sim` and of the crates of the tree below it, without what only tests compile
//!   ([`tokens`]). The path of a module counts, because two modules may exchange their contents. `a.rs` and `a/mod.rs`
//!   are the same module.
//! - The values of modelled devices and profiles, with their names.
//! - Name, version and checksum of every external crate that these crates depend on ([`packages`]).
//!
//! Comments, formatting, tests and other crates do not count: results stay findable when only those change.

pub(crate) mod packages;
pub(crate) mod tokens;

use std::fs;
use std::path::{Path, PathBuf};

/// The crate whose results the fingerprint is about.
const CRATE: &str = "stripewise-sim";

/// Data that determine results; schemes do not, because a run's digest has all their settings.
const DATA: [&str; 2] = ["presets/devices", "presets/profiles"];

pub(crate) struct Sources {
    pub(crate) digest: u64,
    /// The files and folders that decide: a change of another one cannot change the digest.
    pub(crate) read: Vec<PathBuf>,
}

/// The fingerprint of the tree at `root`: the repository, or the source package of a release.
///
/// # Errors
/// A file that is missing or was not understood.
pub(crate) fn fingerprint(root: &Path) -> Result<Sources, String> {
    let lock = root.join("Cargo.lock");
    let manifest = |name: &str| root.join(folder(name)).join("Cargo.toml");
    let packages = packages::below(CRATE, &read(&lock)?, |name| read(&manifest(name)))?;
    let mut sources = Sources { digest: 0, read: vec![lock] };
    let mut digest = Fnv::default();
    for package in &packages.external {
        digest.add(package);
    }
    for name in &packages.ours {
        let modules = root.join(folder(name)).join("src");
        for (module, code) in modules_of(&modules)? {
            digest.add(name);
            digest.add(&module);
            digest.add(&code);
        }
        sources.read.extend([manifest(name), modules]);
    }
    for place in DATA.map(|place| root.join(place)) {
        for file in files(&place)? {
            digest.add(&relative(&file, &place));
            digest.add(&values(&read(&file)?).map_err(|error| format!("{}: {error}", file.display()))?);
        }
        sources.read.push(place);
    }
    sources.digest = digest.0;
    Ok(sources)
}

/// The folder of a crate of the tree.
fn folder(name: &str) -> PathBuf {
    Path::new("crates").join(name.trim_start_matches("stripewise-"))
}

/// The modules of a crate that not only tests compile, by their paths, with their tokens.
fn modules_of(source: &Path) -> Result<Vec<(String, String)>, String> {
    let (mut modules, mut tests) = (Vec::new(), Vec::new());
    for file in
        files(source)?.iter().filter(|file| file.extension().is_some_and(|extension| extension == "rs"))
    {
        let module = module(&relative(file, source));
        let code = tokens::code(&read(file)?).map_err(|error| format!("{}: {error}", file.display()))?;
        tests.extend(code.tests.iter().map(|test| format!("{module}/{test}")));
        modules.push((module, code.tokens));
    }
    modules.retain(|(module, _)| {
        !tests.iter().any(|test| {
            module.strip_prefix(test).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    });
    modules.sort();
    Ok(modules)
}

/// The path of the module in a file: `/a/b` of `a/b.rs` and `a/b/mod.rs`, nothing of `lib.rs`.
fn module(file: &str) -> String {
    let path = format!("/{}", file.trim_end_matches(".rs"));
    ["/mod", "/lib"].iter().find_map(|end| path.strip_suffix(end)).unwrap_or(&path).to_owned()
}

/// The values of a TOML file: keys in order, one layout, no comments.
fn values(text: &str) -> Result<String, toml::de::Error> {
    Ok(text.parse::<toml::Table>()?.to_string())
}

/// All files below a folder, in the order of their paths.
fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))
}

fn relative(file: &Path, folder: &Path) -> String {
    file.strip_prefix(folder).unwrap_or(file).to_string_lossy().replace('\\', "/")
}

/// FNV-1a, 64 bits: the same on every machine and in every release of Rust.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// Adds a text with its length, so that two texts are not taken for one.
    fn add(&mut self, text: &str) {
        for byte in (text.len() as u64).to_le_bytes().into_iter().chain(text.bytes()) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}
