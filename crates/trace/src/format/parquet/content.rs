//! The checksum of a whole file of ours: of its requests, and of the notes in its metadata. The checksums of pages
//! show that single pages are as written. This one shows the same of the whole, with the headers and the footer, for
//! which Parquet has no checksum.

use parquet::file::metadata::KeyValue;

use crate::{Kind, Request};

use super::kind_name;

/// The file's metadata key for its number of requests and their checksum.
pub(super) const REQUESTS_KEY: &str = "stripewise.trace.requests";
/// The file's metadata key for the checksum of all other pairs that this program writes.
pub(super) const NOTES_KEY: &str = "stripewise.trace.notes";

/// A running checksum of requests, column by column, independent of the pieces in which they arrive.
#[derive(Clone, Default)]
pub(super) struct Content {
    columns: [crc32fast::Hasher; 5],
    requests: u64,
    bytes: Vec<u8>,
}

impl Content {
    /// Adds requests before they are written.
    pub(super) fn add(&mut self, requests: &[Request]) {
        self.requests += requests.len() as u64;
        self.column(0, requests.iter().map(|request| request.time_ns));
        self.column(1, requests.iter().map(|request| request.offset));
        self.column(2, requests.iter().map(|request| u64::from(request.bytes)));
        self.column(3, requests.iter().map(|request| u64::from(request.volume)));
        self.kinds(requests.iter().map(|request| request.kind));
    }

    /// Adds requests that were read, in the order of the file; without volumes where it has none.
    pub(super) fn add_read(&mut self, numbers: [&[u64]; 3], volumes: Option<&[u64]>, kinds: &[Kind]) {
        self.requests += kinds.len() as u64;
        for (at, values) in numbers.into_iter().enumerate() {
            self.column(at, values.iter().copied());
        }
        match volumes {
            Some(volumes) => self.column(3, volumes.iter().copied()),
            None => self.column(3, kinds.iter().map(|_| 0)),
        }
        self.kinds(kinds.iter().copied());
    }

    fn column(&mut self, at: usize, values: impl Iterator<Item = u64>) {
        self.bytes.clear();
        values.for_each(|value| self.bytes.extend_from_slice(&value.to_le_bytes()));
        self.columns[at].update(&self.bytes);
    }

    fn kinds(&mut self, kinds: impl Iterator<Item = Kind>) {
        self.bytes.clear();
        self.bytes.extend(kinds.map(|kind| kind_name(kind).as_bytes()[0]));
        self.columns[4].update(&self.bytes);
    }

    /// The number of requests and their checksum, in the form of the metadata.
    pub(super) fn text(&self) -> String {
        let mut all = crc32fast::Hasher::new();
        self.columns.iter().for_each(|column| all.update(&column.clone().finalize().to_le_bytes()));
        format!("{} {:08x}", self.requests, all.finalize())
    }
}

/// The checksum of pairs of metadata, without those that hold checksums.
pub(super) fn of_notes<'a>(pairs: impl IntoIterator<Item = &'a KeyValue>) -> String {
    let mut hasher = crc32fast::Hasher::new();
    for pair in pairs.into_iter().filter(|pair| pair.key != NOTES_KEY && pair.key != REQUESTS_KEY) {
        for text in [pair.key.as_str(), pair.value.as_deref().unwrap_or_default()] {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
    }
    format!("{:08x}", hasher.finalize())
}
