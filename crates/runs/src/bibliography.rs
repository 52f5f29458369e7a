//! The works that schemes, codes and models are taken from: `data/bibliography.toml`.

use std::fmt;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

const TEXT: &str = include_str!("../data/bibliography.toml");

static WORKS: LazyLock<Vec<Work>> = LazyLock::new(|| {
    let list: List = toml::from_str(TEXT).expect("a test reads the bibliography");
    list.work
});

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    work: Vec<Work>,
}

/// A published work. It displays as authors, title, venue and year, as far as they are certain.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Work {
    /// Its name in this list: `wow`.
    pub key: String,
    /// Its number, for a paper whose evaluation is repeated: `004`.
    pub paper: Option<String>,
    /// Its authors, in order; none where they are not certain.
    #[serde(default)]
    pub authors: Vec<String>,
    /// Whether there are further authors.
    #[serde(default)]
    pub others: bool,
    /// Its title.
    pub title: String,
    /// Where it was published.
    pub venue: Option<String>,
    /// When.
    pub year: Option<u16>,
    /// Its digital object identifier.
    pub doi: Option<String>,
    /// Its address, where it has no DOI.
    pub url: Option<String>,
    /// How comments of schemes and sources cite it.
    #[serde(skip_serializing)]
    pub cited_as: Vec<String>,
    /// What is not certain, and why.
    pub unknown: Option<String>,
}

impl Work {
    /// Its authors as one text; none where they are not certain.
    pub fn names(&self) -> Option<String> {
        let (last, before) = self.authors.split_last()?;
        Some(match (before, self.others) {
            ([], false) => last.clone(),
            (_, true) => format!("{} et al.", self.authors.join(", ")),
            _ => format!("{} and {last}", before.join(", ")),
        })
    }

    /// Where and when it was published; none where neither is certain.
    pub fn place(&self) -> Option<String> {
        let year = self.year.map(|year| year.to_string());
        let parts: Vec<String> = self.venue.clone().into_iter().chain(year).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// The address of the work.
    pub fn address(&self) -> Option<String> {
        self.doi.as_ref().map(|doi| format!("https://doi.org/{doi}")).or_else(|| self.url.clone())
    }

    /// Whether `text`, a comment without line ends, cites the work: by one of its usual names, or by its key in brackets.
    fn is_cited_in(&self, text: &str) -> bool {
        let by_key = format!("[{}]", self.key);
        text.contains(&by_key) || self.cited_as.iter().any(|name| text.contains(name.as_str()))
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(names) = self.names() {
            write!(f, "{names}: ")?;
        }
        write!(f, "\"{}\"", self.title)?;
        self.place().map_or(Ok(()), |place| write!(f, ", {place}"))
    }
}

/// All works, in the order of the list.
pub fn bibliography() -> &'static [Work] {
    &WORKS
}

/// The work with that key.
pub fn work(key: &str) -> Option<&'static Work> {
    WORKS.iter().find(|work| work.key == key)
}

/// The paper of that number, for example `004`.
pub fn paper(number: &str) -> Option<&'static Work> {
    WORKS.iter().find(|work| work.paper.as_deref() == Some(number))
}

/// The works that the comments and the description of a scheme's file cite.
pub fn cited(toml: &str) -> Vec<&'static Work> {
    let comment = |line: &str| line.find('#').map(|at| line[at + 1..].trim().to_owned());
    let description = |line: &str| line.strip_prefix("description =").map(str::to_owned);
    let words: Vec<String> =
        toml.lines().filter_map(|line| description(line).or_else(|| comment(line))).collect();
    let text = words.join(" ").replace("Paper ", "paper ");
    WORKS.iter().filter(|work| work.is_cited_in(&text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_work_is_shown_as_far_as_it_is_certain() {
        let shown = |key: &str| work(key).unwrap().to_string();
        assert_eq!(
            shown("wow"),
            "B. S. Gill and D. S. Modha: \"WOW: Wise Ordering for Writes – Combining Spatial and Temporal Locality in \
             Non-Volatile Caches\", USENIX Conference on File and Storage Technologies (FAST), 2005"
        );
        assert_eq!(
            shown("paper-000"),
            "\"Adaptive Selection of Parity Chunk Update Methods in RAID-enabled SSDs\""
        );
        assert!(shown("paper-004").starts_with("S. Wu et al.: \"MC-RAIS: "));
        assert!(shown("raid6").starts_with("H. P. Anvin: "));
    }

    #[test]
    fn a_citation_may_be_broken_over_lines_or_stand_behind_a_key() {
        let keys = |text: &str| cited(text).iter().map(|work| work.key.clone()).collect::<Vec<_>>();
        assert_eq!(
            keys("# Source: Gill and Modha, FAST\n# 2005; paper 003.\nname = \"x\"\n"),
            ["paper-003", "wow"]
        );
        assert_eq!(keys("a = 1  # by paper 001\n"), ["paper-001"]);
        assert_eq!(keys("# Source: [rdp]\n"), ["rdp"]);
        assert_eq!(keys("name = \"paper 001\"\n"), Vec::<String>::new());
        assert_eq!(keys("description = \"WAS, paper 001\"\n"), ["paper-001"]);
    }

    #[test]
    fn keys_and_papers_are_unique_and_what_is_missing_is_explained() {
        for (index, work) in bibliography().iter().enumerate() {
            let before = &bibliography()[..index];
            assert!(before.iter().all(|other| other.key != work.key), "{}", work.key);
            assert!(work.paper.is_none() || before.iter().all(|other| other.paper != work.paper));
            let is_whole =
                !work.authors.is_empty() && !work.others && work.venue.is_some() && work.year.is_some();
            assert!(is_whole || work.unknown.is_some(), "{}", work.key);
            assert!(!work.cited_as.is_empty(), "{}", work.key);
        }
    }
}
