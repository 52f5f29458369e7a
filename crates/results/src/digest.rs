//! Digests: of the inputs of a run, known before it, and of its results.

use crate::error::Error;
use crate::schema::Table;
use std::fmt;
use std::str::FromStr;
use toml::Value;

/// A BLAKE3 digest; prints as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// Its first eight digits, by which people and commands name it.
    pub fn short(&self) -> String {
        self.to_string()[..8].to_owned()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || Error::Digest { text: text.to_owned() };
        let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return Err(wrong()) };
        let mut bytes = [0; 32];
        if pairs.len() != bytes.len() {
            return Err(wrong());
        }
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Ok(byte - b'0'),
            b'a'..=b'f' => Ok(byte - b'a' + 10),
            _ => Err(wrong()),
        };
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = digit(*high)? << 4 | digit(*low)?;
        }
        Ok(Digest(bytes))
    }
}

/// All inputs that decide the results of a run. Two runs with equal inputs yield equal results.
#[derive(Clone, Debug, PartialEq)]
pub struct RunInputs {
    configuration: Toml,
    replay: Toml,
    /// The trace's digest, as the trace's reader or generator names it.
    pub trace_digest: String,
    /// The seed of all random choices.
    pub seed: u64,
    /// The program's version.
    pub version: String,
    /// The name of the workload for people, such as a trace file's name. It decides nothing, and is no part of the
    /// digest.
    pub workload: Option<String>,
}

/// A TOML document, as text and parsed.
#[derive(Clone, Debug, PartialEq)]
struct Toml {
    text: String,
    table: toml::Table,
}

impl Toml {
    fn parse(what: &'static str, text: &str) -> Result<Self, Error> {
        let table = text.parse().map_err(|source| Error::Toml { what, source })?;
        Ok(Self { text: text.to_owned(), table })
    }
}

impl RunInputs {
    /// The inputs of a run: the scheme's and device's configuration and the settings of replay as TOML, and
    /// the rest.
    ///
    /// # Errors
    /// When a text is not TOML.
    pub fn new(
        configuration: &str,
        replay: &str,
        trace_digest: &str,
        seed: u64,
        version: &str,
    ) -> Result<Self, Error> {
        Ok(Self {
            configuration: Toml::parse("the configuration", configuration)?,
            replay: Toml::parse("the replay settings", replay)?,
            trace_digest: trace_digest.to_owned(),
            seed,
            version: version.to_owned(),
            workload: None,
        })
    }

    /// The configuration, as it was written.
    pub fn configuration(&self) -> &str {
        &self.configuration.text
    }

    /// The replay settings, as they were written.
    pub fn replay(&self) -> &str {
        &self.replay.text
    }

    /// The same inputs with another seed, for which the requests have this digest.
    #[must_use]
    pub fn with_seed(&self, seed: u64, trace_digest: &str) -> Self {
        Self { seed, trace_digest: trace_digest.to_owned(), ..self.clone() }
    }

    /// The run digest. Layout, comments and order of keys in the TOML do not change it; any other change does.
    pub fn digest(&self) -> Digest {
        let mut hasher = Fields(blake3::Hasher::new_derive_key("stripewise 2026 run digest, format 1"));
        hasher.table(&self.configuration.table);
        hasher.table(&self.replay.table);
        hasher.text(&self.trace_digest);
        hasher.number(self.seed);
        hasher.text(&self.version);
        hasher.finish()
    }

    /// Name and value of each input, as stored in files.
    pub(crate) fn named(&self) -> [(&'static str, String); 6] {
        [
            ("run_digest", self.digest().to_string()),
            ("version", self.version.clone()),
            ("seed", self.seed.to_string()),
            ("trace_digest", self.trace_digest.clone()),
            ("configuration", self.configuration.text.clone()),
            ("replay", self.replay.text.clone()),
        ]
    }
}

/// The digest of one table's contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableDigest {
    /// The table.
    pub table: Table,
    /// Its rows.
    pub rows: u64,
    /// Digest of its name, columns, and values, rows in order.
    pub digest: Digest,
}

/// The results digest: the digest of all tables of a run, the totals among them, in the order of [`Table::ALL`].
pub fn results_digest(tables: &[TableDigest]) -> Digest {
    let mut tables = tables.to_vec();
    tables.sort_by_key(|digest| digest.table);
    let mut hasher = Fields(blake3::Hasher::new_derive_key("stripewise 2026 results digest, format 1"));
    hasher.number(tables.len() as u64);
    for TableDigest { table, rows, digest } in tables {
        hasher.text(table.digest_name());
        hasher.number(rows);
        hasher.0.update(&digest.0);
    }
    hasher.finish()
}

/// Computes the digest of one table while it is written, a page of each column at a time. The digest covers packed
/// pages ([`crate::pack`]), so its cost depends on the bytes written and not on the width of the rows.
#[derive(Debug)]
pub(crate) struct TableHasher(Fields);

impl TableHasher {
    /// A table of columns of such names and Arrow types.
    pub(crate) fn new<'a>(table: Table, columns: impl ExactSizeIterator<Item = (&'a str, String)>) -> Self {
        let mut hasher = Self::of_names(table);
        hasher.0.number(columns.len() as u64);
        for (name, kind) in columns {
            hasher.0.text(name);
            hasher.0.text(&kind);
        }
        hasher
    }

    fn of_names(table: Table) -> Self {
        let mut fields = Fields(blake3::Hasher::new_derive_key("stripewise 2026 table digest, format 1"));
        fields.text(table.digest_name());
        Self(fields)
    }

    /// Adds one page of one column. Columns arrive in order, and a page of every column precedes the next page of
    /// any.
    pub(crate) fn page(&mut self, packed: &[u8]) {
        self.0.bytes(packed);
    }

    /// Adds totals in order; `f64` by their bits, so digests agree exactly when results do.
    pub(crate) fn totals<'a>(totals: impl Iterator<Item = (&'a str, u8, u64)>) -> Digest {
        let mut hasher = Self::of_names(Table::Totals);
        for (name, kind, bits) in totals {
            hasher.0.text(name);
            hasher.0.0.update(&[kind]);
            hasher.0.number(bits);
        }
        hasher.finish()
    }

    pub(crate) fn finish(&self) -> Digest {
        self.0.finish()
    }
}

/// Hashes fields so that no two lists of fields give the same bytes: a field of variable length is preceded by its
/// length.
#[derive(Debug)]
struct Fields(blake3::Hasher);

impl Fields {
    fn number(&mut self, number: u64) {
        self.0.update(&number.to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.update(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn table(&mut self, table: &toml::Table) {
        // Sorted here, independent of the order that the reader of TOML keeps.
        let mut keys: Vec<&String> = table.keys().collect();
        keys.sort();
        self.number(keys.len() as u64);
        for key in keys {
            self.text(key);
            self.value(&table[key]);
        }
    }

    fn value(&mut self, value: &Value) {
        let mut tag = |tag: u8| {
            self.0.update(&[tag]);
        };
        match value {
            Value::String(text) => {
                tag(0);
                self.text(text);
            }
            Value::Integer(integer) => {
                tag(1);
                self.number(*integer as u64);
            }
            Value::Float(float) => {
                tag(2);
                self.number(float.to_bits());
            }
            Value::Boolean(boolean) => {
                tag(3);
                self.number(u64::from(*boolean));
            }
            Value::Datetime(time) => {
                tag(4);
                self.text(&time.to_string());
            }
            Value::Array(values) => {
                tag(5);
                self.number(values.len() as u64);
                values.iter().for_each(|value| self.value(value));
            }
            Value::Table(table) => {
                tag(6);
                self.table(table);
            }
        }
    }

    fn finish(&self) -> Digest {
        Digest(*self.0.finalize().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIGURATION: &str =
        "# six channels\nchunk = \"16KiB\"\nweights = [1, 2.5]\n[code]\nkind = \"raid-5\"\nrotate = true\n";

    fn inputs() -> RunInputs {
        RunInputs::new(CONFIGURATION, "mode = \"open\"\nscale = 1.0", "trace-1", 42, "0.1.0").unwrap()
    }

    #[test]
    fn layout_comments_and_order_of_keys_do_not_change_the_run_digest() {
        let other = "weights=[1,\n 2.5] # weights\nchunk='16KiB'\ncode={rotate=true,kind=\"raid-5\"}";
        let other = RunInputs::new(other, "scale=1.0\nmode='open'", "trace-1", 42, "0.1.0").unwrap();
        assert_eq!(inputs().digest(), other.digest());
    }

    #[test]
    fn every_input_changes_the_run_digest() {
        let with = |from: &str, to: &str| {
            let text = CONFIGURATION.replace(from, to);
            assert_ne!(text, CONFIGURATION, "the test replaces something");
            RunInputs::new(&text, inputs().replay(), "trace-1", 42, "0.1.0").unwrap()
        };
        let variants = [
            inputs(),
            with("16KiB", "8KiB"),
            with("[1, 2.5]", "[1.0, 2.5]"),
            with("[1, 2.5]", "[2.5, 1]"),
            with("[1, 2.5]", "[[1], 2.5]"),
            with("true", "false"),
            with("true", "\"true\""),
            with("true", "1"),
            with("true", "1979-05-27"),
            with("rotate", "rotates"),
            with("[code]\n", ""),
            with("chunk", "seed = 42\nchunk"),
            RunInputs::new(CONFIGURATION, "mode = \"open\"\nscale = 2.0", "trace-1", 42, "0.1.0").unwrap(),
            RunInputs::new(
                "",
                &format!("{CONFIGURATION}[replay]\nmode = \"open\"\nscale = 1.0"),
                "trace-1",
                42,
                "0.1.0",
            )
            .unwrap(),
            RunInputs { trace_digest: "trace-2".into(), ..inputs() },
            RunInputs { seed: 43, ..inputs() },
            RunInputs { version: "0.1.1".into(), ..inputs() },
            // Text that moves from one field to its neighbour is a change.
            RunInputs { trace_digest: "trace-".into(), version: "10.1.0".into(), ..inputs() },
        ];
        let mut digests: Vec<Digest> = variants.iter().map(RunInputs::digest).collect();
        digests.sort();
        digests.dedup();
        assert_eq!(digests.len(), variants.len());
    }

    #[test]
    fn the_run_digest_does_not_move_from_version_to_version_of_this_code() {
        // Finished runs are found by this digest. A change here makes every stored run unfindable, and is a change of
        // format.
        assert_eq!(
            inputs().digest().to_string(),
            "ba6b45237f4aadd96fb26d37661dc0605fc6b3993bec173ad5caf8ce91ad297d"
        );
    }

    #[test]
    fn a_digest_reads_what_it_prints_and_nothing_else() {
        let digest = inputs().digest();
        assert_eq!(digest.to_string().parse::<Digest>().unwrap(), digest);
        let printed = digest.to_string();
        for wrong in [
            "",
            &printed[1..],
            &format!("{printed}0"),
            &printed.to_uppercase(),
            &printed.replace(&printed[..1], "é"),
        ] {
            let error = wrong.parse::<Digest>().unwrap_err();
            assert!(error.to_string().contains("64 hexadecimal digits"), "{error}");
        }
    }

    #[test]
    fn a_configuration_that_is_not_toml_is_refused_with_its_line() {
        let error = RunInputs::new("chunk = 1\nchunk = 2", "", "", 0, "").unwrap_err();
        let text = error.to_string();
        assert!(text.contains("the configuration") && text.contains("line 2"), "{text}");
    }

    #[test]
    fn the_results_digest_depends_on_every_table_but_not_on_their_order() {
        let table = |table, rows, first| TableDigest { table, rows, digest: Digest([first; 32]) };
        let (a, b) = (table(Table::Gcs, 3, 1), table(Table::Samples, 4, 2));
        let digest = results_digest(&[a, b]);
        assert_eq!(digest, results_digest(&[b, a]));
        for other in [
            vec![a],
            vec![b],
            vec![a, table(Table::Samples, 5, 2)],
            vec![a, table(Table::Samples, 4, 3)],
            vec![table(Table::Members, 3, 1), b],
        ] {
            assert_ne!(digest, results_digest(&other));
        }
    }
}
