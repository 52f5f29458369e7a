//! Failed runs, as the store keeps them: a small JSON file each.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::error::Error;
use crate::row::{hex, unhex};
use crate::store::StudyStore;

/// The last failure of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// The key of the run.
    pub key: [u8; 16],
    /// Scheme, values of the axes and seed.
    pub run: String,
    /// The reason.
    pub message: String,
    /// How often the run was tried.
    pub attempts: u32,
    /// Whether trying it again cannot help.
    pub is_refused: bool,
}

impl StudyStore {
    fn failure(&self, key: &[u8; 16]) -> PathBuf {
        self.root().join("errors").join(format!("{}.json", hex(key)))
    }

    /// All failures, by key.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn failures(&self) -> Result<BTreeMap<[u8; 16], Failed>, Error> {
        let mut failures = BTreeMap::new();
        for path in self.failure_files()? {
            let wrong = |message: &str| Error::Pack { path: path.clone(), message: message.to_owned() };
            let bytes = match self.read(&path) {
                // The run has succeeded meanwhile.
                Err(error) if error.is_gone() => continue,
                bytes => bytes?,
            };
            let value: Value = serde_json::from_slice(&bytes).map_err(|error| wrong(&error.to_string()))?;
            let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
            let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            let key = unhex(name).ok_or_else(|| wrong("its name is no key"))?;
            let attempts = value["attempts"].as_u64().ok_or_else(|| wrong("it has no `attempts`"))? as u32;
            let is_refused = value["refused"].as_bool().unwrap_or_default();
            failures.insert(
                key,
                Failed { key, run: text("run"), message: text("message"), attempts, is_refused },
            );
        }
        Ok(failures)
    }

    /// Keeps a failure.
    pub(crate) fn fail(&self, failed: &Failed) -> Result<(), Error> {
        let value = json!({
            "run": failed.run,
            "message": failed.message,
            "attempts": failed.attempts,
            "refused": failed.is_refused,
        });
        self.put_bytes(&self.failure(&failed.key), format!("{value:#}\n").into_bytes())
    }

    /// Forgets the failure of a run that has a result now.
    pub(crate) fn recovered(&self, key: &[u8; 16]) -> Result<(), Error> {
        self.remove_file(&self.failure(key))
    }
}
