//! The files that a study file names: schemes, devices and profiles. A study travels with their texts, so a worker needs none
//! of them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use stripewise_runs::{Document, SchemeSpec, What, split_label};

/// Makes the scheme of a policy in Python, of the path and the text of its file and the name of its class. It runs nothing of
/// the text: the policy does when it is loaded.
pub type PolicyLoader = fn(&str, &str, &str) -> Result<SchemeSpec, String>;

static LOADER: OnceLock<PolicyLoader> = OnceLock::new();

/// Sets what makes policies in Python, in a program that has an interpreter. Only the first one counts.
pub fn load_policies_by(loader: PolicyLoader) {
    _ = LOADER.set(loader);
}

/// Texts by paths, as the study file has these.
pub(crate) type Texts = BTreeMap<String, String>;

/// The files of a study.
#[derive(Debug)]
pub(crate) struct Sources {
    folder: PathBuf,
    /// All of them, if the study came from elsewhere.
    given: Option<Texts>,
    read: RefCell<Texts>,
}

impl Sources {
    /// The files on this machine. Paths are relative to `folder`.
    pub(crate) fn here(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), given: None, read: RefCell::default() }
    }

    /// Files that came with a study.
    pub(crate) fn given(folder: &Path, texts: Texts) -> Self {
        Self { given: Some(texts), ..Self::here(folder) }
    }

    /// The texts that were asked for.
    pub(crate) fn into_texts(self) -> Texts {
        self.read.into_inner()
    }

    /// A path in the folder of the study file.
    pub(crate) fn path(&self, path: &str) -> String {
        self.folder.join(path).display().to_string()
    }

    /// The preset or file that `name` names.
    pub(crate) fn document(&self, what: What, name: &str) -> Result<Document, String> {
        let is_file = name.ends_with(".toml");
        if !is_file {
            return Document::find(what, name).map_err(|error| error.to_string());
        }
        let shown = self.path(name);
        let document = match &self.given {
            None => Document::find(what, &shown).map_err(|error| error.to_string())?,
            Some(texts) => {
                let text =
                    texts.get(name).ok_or_else(|| format!("{shown}: this {what} did not come along"))?;
                Document { shown, text: text.clone() }
            }
        };
        self.read.borrow_mut().insert(name.to_owned(), document.text.clone());
        Ok(document)
    }

    /// The text of a file with policies.
    fn policies(&self, name: &str) -> Result<String, String> {
        let shown = self.path(name);
        let text = match &self.given {
            None => std::fs::read_to_string(&shown).map_err(|error| format!("{shown}: {error}"))?,
            Some(texts) => {
                texts.get(name).cloned().ok_or_else(|| format!("{shown}: this file did not come along"))?
            }
        };
        self.read.borrow_mut().insert(name.to_owned(), text.clone());
        Ok(text)
    }

    /// The scheme that `NAME|FILE.toml[,KEY=VALUE]...` or `FILE.py:CLASS` names, with a label before it or none.
    pub(crate) fn scheme(&self, argument: &str) -> Result<SchemeSpec, String> {
        let (label, argument) = split_label(argument).map_err(|error| error.to_string())?;
        Ok(SchemeSpec { label: label.map(str::to_owned), ..self.unlabelled(argument)? })
    }

    fn unlabelled(&self, argument: &str) -> Result<SchemeSpec, String> {
        if let Some((file, class)) = argument.split_once(".py:") {
            let name = format!("{file}.py");
            let text = self.policies(&name)?;
            let load = LOADER.get().ok_or_else(|| {
                format!(
                    "{name}: a policy in Python needs the Python package: pip install 'stripewise[study]', then \
                     python -P -m stripewise.cluster run FILE"
                )
            })?;
            return load(&self.path(&name), &text, class);
        }
        let mut parts = argument.split(',');
        let document = self.document(What::Scheme, parts.next().unwrap_or_default())?;
        let refuse = |error: String| format!("scheme {argument}: {error}");
        let settings = parts.map(|part| part.parse().map_err(refuse)).collect::<Result<_, _>>()?;
        Ok(SchemeSpec { document, settings, policy: None, label: None })
    }
}
