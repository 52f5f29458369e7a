//! The file of digests: one line a run.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};

/// What a run repeats.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    /// The preset.
    pub scheme: &'static str,
    /// The device preset, or `files` in the engine.
    pub device: &'static str,
    /// What happens during the run.
    pub condition: &'static str,
    /// Seed of requests and of the device.
    pub seed: u64,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {}", self.scheme, self.device, self.condition, self.seed)
    }
}

/// Runs by name, each with its digest.
#[derive(Debug, Default)]
pub(crate) struct Digests(BTreeMap<String, String>);

const HEAD: &str = "scheme device condition seed\tdigest";

impl Digests {
    /// Reads a file.
    pub(crate) fn read(file: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("{}; --accept writes a new file", file.display()))?;
        let mut digests = Self::default();
        for (at, line) in text.lines().enumerate() {
            match line.split_once('\t') {
                _ if line == HEAD => {}
                Some((name, digest)) => drop(digests.0.insert(name.into(), digest.into())),
                None => bail!("{}:{}: not a line of digests: no tab", file.display(), at + 1),
            }
        }
        Ok(digests)
    }

    /// Writes a file.
    pub(crate) fn write(&self, file: &Path) -> Result<()> {
        let lines = self.0.iter().map(|(name, digest)| format!("{name}\t{digest}\n"));
        let text = format!("{HEAD}\n{}", lines.collect::<String>());
        std::fs::write(file, text).with_context(|| file.display().to_string())
    }

    pub(crate) fn insert(&mut self, key: &Key, digest: String) {
        self.0.insert(key.to_string(), digest);
    }

    pub(crate) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// Keeps the runs whose name `keeps` accepts.
    pub(crate) fn retain(&mut self, keeps: impl Fn(&str) -> bool) {
        self.0.retain(|name, _| keeps(name));
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    #[cfg(test)]
    pub(crate) fn lines(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, digest)| (name.as_str(), digest.as_str()))
    }

    /// A line for each run that `found` does not have, has with another digest, or has alone.
    pub(crate) fn differences(&self, found: &Self) -> Vec<String> {
        let changed = self.0.iter().filter_map(|(name, kept)| match found.0.get(name) {
            None => Some(format!("{name}: no such run; the file has {kept}")),
            Some(digest) if digest != kept => Some(format!("{name}: {digest} instead of {kept}")),
            Some(_) => None,
        });
        let new = found.0.iter().filter(|(name, _)| !self.0.contains_key(*name));
        changed
            .chain(new.map(|(name, digest)| format!("{name}: {digest}; the file has no such run")))
            .collect()
    }
}

/// A digest of rows as text, which depends on no format of tables.
#[derive(Default)]
pub(crate) struct Hasher(blake3::Hasher);

impl Hasher {
    pub(crate) fn add(&mut self, row: &dyn fmt::Debug) {
        let _ = writeln!(Text(&mut self.0), "{row:?}");
    }

    pub(crate) fn add_bytes(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Half of the hash: enough to distinguish some thousand runs.
    pub(crate) fn digest(&self) -> String {
        self.0.finalize().to_hex()[..32].to_owned()
    }
}

/// Text that is hashed instead of stored.
struct Text<'a>(&'a mut blake3::Hasher);

impl Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}
