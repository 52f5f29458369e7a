//! The text of `run.toml`: the inputs of a run, and the digests of its results.

use std::path::Path;

use crate::digest::{Digest, RunInputs, TableDigest, results_digest};
use crate::error::Error;
use crate::schema::Table;
use crate::sink::Optional;

/// What `run.toml` says of a finished run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRecord {
    inputs: RunInputs,
    /// The tables, with the sizes of their files.
    tables: Vec<(TableDigest, u64)>,
    results: Digest,
}

impl RunRecord {
    /// The record of a run with these tables, whose files have these sizes.
    pub fn new(inputs: RunInputs, tables: Vec<(TableDigest, u64)>) -> Self {
        let digests: Vec<TableDigest> = tables.iter().map(|(digest, _)| *digest).collect();
        Self { inputs, tables, results: results_digest(&digests) }
    }

    /// The record with this text, of a run whose digest must be `run`. Errors name it `path`.
    ///
    /// # Errors
    /// When it is the record of no run, or of another one.
    pub fn parse(text: &str, path: &Path, run: Digest) -> Result<Self, Error> {
        let damaged = |found: String| Error::Damaged { path: path.to_owned(), found };
        let table: toml::Table =
            text.parse().map_err(|error| damaged(format!("this file is not TOML: {error}")))?;
        let entries = Entries { table: &table, path };
        let seed = entries.text("seed")?;
        let seed = seed.parse().map_err(|_| entries.wrong("seed", "a number from 0 to 2^64 - 1"))?;
        let mut inputs = RunInputs::new(
            entries.text("configuration")?,
            entries.text("replay")?,
            entries.text("trace_digest")?,
            seed,
            entries.text("version")?,
        )?;
        inputs.workload = entries.text("workload").ok().map(str::to_owned);
        if inputs.digest() != run {
            return Err(damaged(format!("its content has the digest {}, not {run}", inputs.digest())));
        }
        let record = Self::new(inputs, entries.tables()?);
        if entries.digest("results_digest")? != record.results {
            return Err(damaged("the results digest is not that of the tables".to_owned()));
        }
        Ok(record)
    }

    /// The text.
    pub fn text(&self) -> String {
        let mut record = toml::Table::new();
        for (name, value) in self.inputs.named() {
            record.insert(name.to_owned(), value.into());
        }
        if let Some(workload) = &self.inputs.workload {
            record.insert("workload".to_owned(), workload.clone().into());
        }
        record.insert("results_digest".to_owned(), self.results.to_string().into());
        let mut tables = toml::Table::new();
        for (TableDigest { table, rows, digest }, bytes) in &self.tables {
            let mut entry = toml::Table::new();
            entry.insert("rows".to_owned(), (*rows as i64).into());
            entry.insert("bytes".to_owned(), (*bytes as i64).into());
            entry.insert("digest".to_owned(), digest.to_string().into());
            tables.insert(table.name().to_owned(), entry.into());
        }
        record.insert("tables".to_owned(), tables.into());
        toml::to_string_pretty(&record).expect("texts, integers and tables of them are TOML")
    }

    /// The inputs of the run.
    pub fn inputs(&self) -> &RunInputs {
        &self.inputs
    }

    /// The digest of all results.
    pub fn results_digest(&self) -> Digest {
        self.results
    }

    /// The tables, with the sizes of their files.
    pub fn tables(&self) -> &[(TableDigest, u64)] {
        &self.tables
    }

    /// Whether the run has that table.
    pub fn has(&self, table: Table) -> bool {
        self.tables.iter().any(|(digest, _)| digest.table == table)
    }

    /// The optional tables.
    pub(crate) fn optional(&self) -> Optional {
        Optional { requests: self.has(Table::Requests), updates: self.has(Table::Updates) }
    }

    /// The same run with these files too, or in the place of those that it has.
    #[must_use]
    pub fn with(&self, files: &[(TableDigest, u64)]) -> Self {
        let stays = |ours: &&(TableDigest, u64)| files.iter().all(|(file, _)| file.table != ours.0.table);
        let all = self.tables.iter().filter(stays).chain(files);
        let mut all: Vec<(TableDigest, u64)> = all.copied().collect();
        all.sort_by_key(|(digest, _)| Table::ALL.into_iter().position(|table| table == digest.table));
        Self::new(self.inputs.clone(), all)
    }

    /// Checks that equal inputs gave equal results. `path` is the place of this record.
    ///
    /// # Errors
    /// [`Error::NotReproduced`].
    pub fn must_agree(&self, path: &Path, others: &[(TableDigest, u64)]) -> Result<(), Error> {
        for (ours, _) in others {
            let differs = |(theirs, _): &(TableDigest, u64)| theirs.table == ours.table && theirs != ours;
            if self.tables.iter().any(differs) {
                return Err(Error::NotReproduced { path: path.to_owned(), table: ours.table });
            }
        }
        Ok(())
    }
}

/// Looks up entries of `run.toml`; errors name the entry and the expected content.
struct Entries<'a> {
    table: &'a toml::Table,
    path: &'a Path,
}

impl<'a> Entries<'a> {
    fn wrong(&self, key: &str, expected: &str) -> Error {
        Error::Damaged { path: self.path.to_owned(), found: format!("`{key}` should be {expected}") }
    }

    fn text(&self, key: &str) -> Result<&'a str, Error> {
        self.table.get(key).and_then(toml::Value::as_str).ok_or_else(|| self.wrong(key, "a text"))
    }

    fn digest(&self, key: &str) -> Result<Digest, Error> {
        self.text(key)?.parse().map_err(|_| self.wrong(key, "a digest"))
    }

    /// Digest and size of each table.
    fn tables(&self) -> Result<Vec<(TableDigest, u64)>, Error> {
        let tables = self.table.get("tables").and_then(toml::Value::as_table);
        let tables = tables.ok_or_else(|| self.wrong("tables", "a table"))?;
        let mut found = Vec::new();
        for table in Table::ALL {
            let former = || table.former_name().and_then(|name| tables.get(name));
            let Some(entry) = tables.get(table.name()).or_else(former) else { continue };
            let key = |name: &str| format!("tables.{table}.{name}");
            let number = |name: &str| {
                let number = entry.get(name).and_then(toml::Value::as_integer);
                number
                    .and_then(|number| u64::try_from(number).ok())
                    .ok_or_else(|| self.wrong(&key(name), "a count"))
            };
            let digest = entry.get("digest").and_then(toml::Value::as_str).and_then(|text| text.parse().ok());
            let digest = digest.ok_or_else(|| self.wrong(&key("digest"), "a digest"))?;
            found.push((TableDigest { table, rows: number("rows")?, digest }, number("bytes")?));
        }
        if !found.iter().any(|(digest, _)| digest.table == Table::Totals) {
            return Err(self.wrong("tables.totals", "there"));
        }
        Ok(found)
    }
}
