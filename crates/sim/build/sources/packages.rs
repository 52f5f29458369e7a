//! The packages that a crate of the tree is built from, by `Cargo.lock` and the manifests of the tree's crates.
//!
//! `Cargo.lock` lists the dependencies of our crates with those of their tests and build scripts; only those under
//! `[dependencies]` of the manifest count. It lists those of external crates without those of their tests, for all
//! platforms, and all of them count.
//!
//! A source package has fewer crates of the tree. Cargo removes from its `Cargo.lock` the packages that only the
//! missing crates need, and the versions in lists of dependencies that distinguish two packages of one name. The
//! packages below a crate that remains are the same. Cargo also removes a dependency of an external crate if only a
//! missing crate enabled it, by a feature. Such a dependency would change the fingerprint; a test lets cargo prune the
//! file and compares.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use toml::Table;

#[derive(Default)]
pub(crate) struct Packages {
    /// The names of crates of the tree.
    pub(crate) ours: BTreeSet<String>,
    /// Name, version and checksum of the others.
    pub(crate) external: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    /// Crates of the tree have none.
    source: Option<String>,
    /// A package of a git repository has none; its source names the commit.
    checksum: Option<String>,
    /// Each is a `name`, a `name version` or a `name version (source)`, the shortest of them that names one package.
    #[serde(default)]
    dependencies: Vec<String>,
}

#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    dependencies: Table,
    /// Dependencies of single platforms.
    #[serde(default)]
    target: BTreeMap<String, Manifest>,
}

/// The packages that `root` is built from, and itself. `manifest` yields the `Cargo.toml` of a crate of the tree.
///
/// # Errors
/// A file that was not understood, or a package that `lock` does not have.
pub(crate) fn below(
    root: &str,
    lock: &str,
    manifest: impl Fn(&str) -> Result<String, String>,
) -> Result<Packages, String> {
    let lock: Lock = toml::from_str(lock).map_err(|error| format!("Cargo.lock: {error}"))?;
    let mut found = Packages::default();
    let mut next = vec![root];
    while let Some(entry) = next.pop() {
        let package = lock.find(entry)?;
        let Package { name, version, .. } = package;
        if let Some(source) = &package.source {
            let content = package.checksum.as_ref().unwrap_or(source);
            if found.external.insert(format!("{name} {version} {content}")) {
                next.extend(package.dependencies.iter().map(String::as_str));
            }
        } else if found.ours.insert(name.clone()) {
            let manifest: Manifest =
                toml::from_str(&manifest(name)?).map_err(|error| format!("{name}: {error}"))?;
            for dependency in manifest.names() {
                let entry = package.dependencies.iter().find(|entry| name_of(entry) == dependency);
                let missing = || format!("Cargo.lock has no dependency `{dependency}` of {name}");
                next.push(entry.ok_or_else(missing)?);
            }
        }
    }
    Ok(found)
}

impl Lock {
    /// The package that an entry of a list of dependencies names.
    fn find(&self, entry: &str) -> Result<&Package, String> {
        let mut rest = entry.split(' ').skip(1);
        let (version, source) = (rest.next(), rest.next().map(|source| source.trim_matches(['(', ')'])));
        let fits = |package: &&Package| {
            package.name == name_of(entry)
                && version.is_none_or(|version| version == package.version)
                && source.is_none_or(|source| package.source.as_deref() == Some(source))
        };
        let mut packages = self.package.iter().filter(fits);
        match (packages.next(), packages.next()) {
            (Some(package), None) => Ok(package),
            (None, _) => Err(format!("Cargo.lock has no package `{entry}`")),
            _ => Err(format!("Cargo.lock has several packages `{entry}`")),
        }
    }
}

impl Manifest {
    fn names(&self) -> impl Iterator<Item = &String> {
        let platforms = self.target.values().flat_map(|platform| platform.dependencies.keys());
        self.dependencies.keys().chain(platforms)
    }
}

fn name_of(entry: &str) -> &str {
    entry.split(' ').next().unwrap_or_default()
}
