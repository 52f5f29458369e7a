//! The file of a paper, as TOML has it. `crates/papers/README.md` says what each key is for.

use std::collections::BTreeMap;

use std::ops::{Deref, Range};

use serde::Deserialize;
use stripewise_base::suggest::{ConfigError, read_toml, unknown};
use toml::{Spanned, Table};

use crate::change::ChangeOf;
use crate::error::Error;
use crate::verdict::Verdict;

/// A string of the file that knows its place, so that an error can show it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "Spanned<String>")]
pub(crate) struct Text {
    text: String,
    pub(crate) span: Option<Range<usize>>,
}

impl From<Spanned<String>> for Text {
    fn from(spanned: Spanned<String>) -> Self {
        let span = Some(spanned.span());
        Self { text: spanned.into_inner(), span }
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

/// A name and its expression. A list of them is evaluated in its order, so that one may use those before it.
pub(crate) type Definitions = Vec<BTreeMap<String, Text>>;

/// A paper.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Document {
    /// The paper: `004`.
    pub(crate) paper: Text,
    /// The figures and tables that the paper prints.
    #[serde(default)]
    pub(crate) figure: Vec<FigureText>,
    /// How the text is read where claims are judged that have no reading of their own.
    pub(crate) reading: Option<Reading>,
    /// Constants that every expression and template may use.
    #[serde(default)]
    pub(crate) constants: Table,
    /// Whether texts find `decisions`, what choosing a parity update routine costs on this machine.
    #[serde(default)]
    pub(crate) decisions: bool,
    /// Whether runs have `collecting` and `collection_ns`: how many members collect together, and for how long.
    #[serde(default)]
    pub(crate) collections: bool,
    /// Real traces of which slices are replayed.
    #[serde(default)]
    pub(crate) slice: Vec<SliceFile>,
    /// The schemes that are compared.
    pub(crate) scheme: Vec<Scheme>,
    /// What makes a study of a study point.
    pub(crate) spec: Spec,
    /// What parity logging would cost over the same requests, where the paper compares it.
    pub(crate) parity_logging: Option<ParityLogging>,
    /// The intervals between requests that the paper prints.
    pub(crate) intervals: Option<Intervals>,
    /// The study points.
    pub(crate) study: Vec<Group>,
    /// What each study point has besides what its groups set.
    #[serde(default)]
    pub(crate) point: Definitions,
    /// What is computed of each run.
    #[serde(default)]
    pub(crate) metric: Definitions,
    /// What is computed of each study point when its runs are there.
    #[serde(default)]
    pub(crate) measured: Definitions,
    /// What is computed of all study points.
    #[serde(default)]
    pub(crate) evaluation: Definitions,
    /// The search for a speed, where the paper has one.
    pub(crate) search: Option<Search>,
    /// The columns of what was measured.
    pub(crate) column: Vec<Column>,
    /// The claims.
    pub(crate) claim: Vec<Claim>,
    /// The tables, in order.
    #[serde(default)]
    pub(crate) table: Vec<TableText>,
    /// The maps, in order.
    #[serde(default)]
    pub(crate) map: Vec<MapText>,
    /// What programs get.
    pub(crate) json: Json,
}

/// A real trace.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SliceFile {
    /// What it is called.
    pub(crate) workload: String,
    /// Where it lies below the directory of traces.
    pub(crate) path: String,
    /// Its format, where the first lines leave it open.
    pub(crate) format: Option<String>,
}

/// A scheme of the comparison.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scheme {
    /// As expressions name it.
    pub(crate) id: Text,
    /// As the paper names it.
    pub(crate) name: String,
    /// A preset's name with settings, as the command line takes it: a template over the study point.
    pub(crate) scheme: Text,
    /// The study points that it is a part of, an expression; all that name it when left out.
    pub(crate) when: Option<Text>,
    /// The claims that need it; all when left out.
    pub(crate) claims: Option<Vec<Text>>,
}

/// What makes a study of a study point. All are templates over the point, but those that are said to be expressions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Spec {
    /// The name of a study point, as tables have it.
    pub(crate) label: Text,
    /// Its name in progress messages; the label when left out.
    pub(crate) title: Option<Text>,
    /// An expression: the ids of the schemes.
    pub(crate) schemes: Text,
    /// What a point has besides when its study is made.
    #[serde(default)]
    pub(crate) define: Definitions,
    /// Whether `define` finds `touched_bytes`, the bytes of the 4 KiB pages that a slice touches.
    #[serde(default)]
    pub(crate) touched: bool,
    pub(crate) device: Text,
    /// The simulator's own when left out.
    pub(crate) members: Option<Text>,
    pub(crate) precondition: Option<Text>,
    /// That of the trace when left out, or empty.
    #[serde(default)]
    pub(crate) pacing: Text,
    #[serde(default)]
    pub(crate) settings: Vec<Text>,
    /// A profile or a generator; not asked of slices.
    pub(crate) origin: Text,
    pub(crate) fold: Text,
    /// An expression; none for all requests.
    pub(crate) requests: Text,
    /// An expression.
    pub(crate) warmup: Option<Text>,
    /// An expression: whether a row of every collection is kept.
    #[serde(default = "no")]
    pub(crate) collections: Text,
    /// An expression: the ids of the schemes whose smallest array is the span; those of the point when left out.
    pub(crate) span_of: Option<Text>,
    /// The name of the workload in the report, the trace's own when left out; the runs of a point for which it is empty are not
    /// in it.
    pub(crate) report: Option<Text>,
}

/// The array of the model of parity logging, in expressions over a study point.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ParityLogging {
    /// Data chunks of a stripe.
    pub(crate) data: Text,
    /// Parity chunks of a stripe.
    pub(crate) parity: Text,
    pub(crate) chunk_bytes: u64,
    /// Whether the array holds data before the first request.
    pub(crate) filled: Text,
}

/// Printed intervals between requests.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Intervals {
    /// The points whose requests are compared, an expression.
    pub(crate) when: Text,
    /// The shares of intervals that do not exceed the printed ones.
    pub(crate) shares: Vec<f64>,
    /// How far a share may be from the printed one.
    pub(crate) tolerance: f64,
    /// For each workload the intervals of those shares, in nanoseconds.
    pub(crate) printed: BTreeMap<String, Vec<u64>>,
}

fn no() -> Text {
    Text { text: "false".to_owned(), span: None }
}

/// Study points that have something in common; without groups of its own, one point for each combination of values.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Group {
    /// What all have.
    #[serde(default)]
    pub(crate) set: Table,
    /// Names with lists of values: a point for each combination, the first name varying slowest.
    #[serde(default)]
    pub(crate) each: Vec<BTreeMap<String, Vec<toml::Value>>>,
    /// An expression: whether a point is a part of the evaluation.
    pub(crate) when: Option<Text>,
    /// Whether there is a point for each real trace.
    #[serde(default)]
    pub(crate) slices: bool,
    #[serde(default)]
    pub(crate) study: Vec<Group>,
}

/// A search for the speed at which a metric of a scheme meets its target: for each workload, before its study points are made.
/// A point finds the speed as `speed`, in hundredths.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Search {
    /// What the points have by which the search is made.
    #[serde(default)]
    pub(crate) set: Table,
    pub(crate) scheme: Text,
    pub(crate) metric: Text,
    /// An expression over such a point.
    pub(crate) target: Text,
}

/// How the text is read where a claim is judged. It is fixed before the runs that it judges.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reading {
    /// What is judged, in a few words.
    pub(crate) judged: Text,
    /// The sentences of the paper that support it, with their sections.
    pub(crate) sentence: Option<Text>,
    /// Why the text does not decide, where it does not.
    pub(crate) undecided: Option<Text>,
    /// Where the text does not decide: the keys of the columns that are readings of it. The verdict says in how many of them the
    /// claim agrees. Without them one reading is judged alone.
    #[serde(default)]
    pub(crate) columns: Vec<Text>,
}

impl Reading {
    /// Why it is read so: the sentences, or why there are none.
    pub(crate) fn support(&self) -> &str {
        [&self.sentence, &self.undecided].into_iter().flatten().next().map_or("", |text| &**text)
    }

    fn check(&self, columns: &[&str]) -> Result<(), Wrong> {
        let wrong = match (&self.sentence, &self.undecided, self.columns.len()) {
            (Some(_), None, 0) | (None, Some(_), 0 | 2..) => None,
            (Some(_), None, _) => {
                Some("a reading that a `sentence` supports is judged alone; leave out `columns`")
            }
            (None, Some(_), 1) => Some("one reading is judged alone; name two `columns` or more, or none"),
            _ => Some("write the `sentence` that supports it, or why the text leaves it `undecided`"),
        };
        wrong.map_or(Ok(()), |reason| Err((self.judged.span.clone(), reason.to_owned())))?;
        self.columns.iter().try_for_each(|key| known("column", key, columns))
    }
}

/// A column of what was measured.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Column {
    /// Its title in a table.
    pub(crate) title: Text,
    /// Its name for programs.
    pub(crate) key: Text,
    /// What the paper prints where this column has something else.
    pub(crate) departs: Option<Text>,
    /// The points that it is of, an expression; all when left out.
    pub(crate) points: Option<Text>,
    /// What alone it changes against the column `from`.
    pub(crate) change: Option<ChangeOf>,
    /// The key of that column; the first one when left out.
    pub(crate) from: Option<Text>,
    /// Whether it is measured only where a claim is explained.
    #[serde(default)]
    pub(crate) explains: bool,
    /// What the expressions of a claim find in it.
    #[serde(default)]
    pub(crate) set: Table,
}

/// A result that the paper printed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Claim {
    /// Which: `4a`.
    pub(crate) id: Text,
    /// A claim before it that has whatever is left out here.
    pub(crate) like: Option<Text>,
    /// What it says.
    pub(crate) what: Option<Text>,
    /// What the paper printed.
    pub(crate) printed: Option<Text>,
    /// How the text is read where it is judged; as the whole paper when left out.
    pub(crate) reading: Option<Reading>,
    /// A verdict that no measurement can change: `fitted`, `contradicts` or `unknown`. The rationale has its reason.
    pub(crate) settled: Option<Text>,
    /// The study points that it needs, an expression; all when left out.
    pub(crate) needs: Option<Text>,
    /// The study points that its verdict rests on, an expression; those of the columns that are judged when left out.
    pub(crate) rests_on: Option<Text>,
    /// The keys of the columns that it is measured in; all when left out.
    pub(crate) columns: Option<Vec<Text>>,
    /// Names of its own.
    #[serde(default)]
    pub(crate) set: Table,
    /// What is computed in a column before its value.
    pub(crate) define: Option<Definitions>,
    /// What was measured in a column, an expression.
    pub(crate) value: Option<Text>,
    /// The printed numbers in the shape of `value`, an expression: what changes are measured by where the claim is explained.
    pub(crate) printed_value: Option<Text>,
    /// The kind of its numbers, or one for each member of its list; gains when left out.
    pub(crate) kind: Option<Vec<Text>>,
    /// The same in words, a template.
    pub(crate) shown: Option<Text>,
    /// The verdict, an expression.
    pub(crate) verdict: Option<Text>,
    /// What speaks for the verdict, a template.
    pub(crate) rationale: Option<Text>,
}

impl Claim {
    /// Whether it is measured in a column.
    pub(crate) fn is_measured_in(&self, column: &Column) -> bool {
        let is_its = |keys: &Vec<Text>| keys.iter().any(|key| **key == *column.key);
        self.columns.as_ref().is_none_or(is_its)
    }
}

/// A figure or a table that the paper prints, or a part of its text that makes claims.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FigureText {
    /// As the paper calls it: `Fig. 4(a)`.
    pub(crate) id: Text,
    /// What it shows.
    pub(crate) shows: Text,
    /// The claims that are taken from it.
    #[serde(default)]
    pub(crate) claims: Vec<Text>,
    /// Whether the report of the evaluation draws it.
    #[serde(default)]
    pub(crate) report: bool,
    /// Whether the tables of the evaluation have its values.
    #[serde(default)]
    pub(crate) tables: bool,
    /// The command that shows it, where it is not the evaluation.
    pub(crate) command: Option<Text>,
    /// Why it is not drawn.
    pub(crate) why: Option<Text>,
}

/// A table, or a section of text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TableText {
    pub(crate) title: Text,
    /// A value for each table that comes from it: `each` in its texts.
    pub(crate) each: Option<Vec<toml::Value>>,
    /// The points that it is of, an expression; all when left out.
    pub(crate) points: Option<Text>,
    /// The titles of the columns, between bars; a section of text where there are none.
    pub(crate) head: Option<Text>,
    /// How many columns at the left are aligned left; all when left out.
    pub(crate) left: Option<usize>,
    /// A template whose lines are the rows, with bars between the cells.
    pub(crate) body: Text,
}

/// A map: what a scheme gains over another, over something that the paper does not print.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MapText {
    pub(crate) title: Text,
    /// What it shows, and why.
    pub(crate) about: Text,
    /// What is divided by what: `Adaptive over Baseline`.
    pub(crate) ratio: Text,
    /// What the places are.
    pub(crate) axis: Text,
    /// Whether the axis is logarithmic.
    #[serde(default)]
    pub(crate) log: bool,
    /// An expression over the constants: the places, upwards.
    pub(crate) places: Text,
    /// A value for each panel: `each` in its texts.
    pub(crate) each: Option<Vec<toml::Value>>,
    /// The title of a panel.
    pub(crate) panel: Option<Text>,
    /// The points that it is of, an expression; all when left out.
    pub(crate) points: Option<Text>,
    /// An expression: a list with a value for each line, `line` in the texts.
    pub(crate) lines: Text,
    /// The name of a line, a template.
    pub(crate) name: Text,
    /// An expression: the gain of a `line` at a `place`.
    pub(crate) gain: Text,
}

/// What programs get: names with expressions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Json {
    /// Of the evaluation.
    #[serde(default)]
    pub(crate) evaluation: BTreeMap<String, Text>,
    /// Of a study point.
    pub(crate) point: BTreeMap<String, Text>,
    /// Of a run.
    pub(crate) run: JsonRun,
}

/// What programs get of a run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct JsonRun {
    /// Columns and metrics under their own names.
    pub(crate) columns: Vec<Text>,
    /// Names with expressions.
    #[serde(default)]
    pub(crate) others: BTreeMap<String, Text>,
}

impl Document {
    /// Reads `text`, the contents of `file`.
    ///
    /// # Errors
    /// What is no TOML, an unknown key, a duplicate, a reference to what is not there.
    pub(crate) fn read(file: &str, text: &str) -> Result<Self, Error> {
        let mut document: Self = read_toml(file, text)?;
        let checked = document.inherit().and_then(|()| document.check());
        checked.map_err(|(span, reason)| ConfigError::at(file, text, span, reason))?;
        Ok(document)
    }

    /// Gives each claim what it leaves to the claim that it is like.
    fn inherit(&mut self) -> Result<(), Wrong> {
        for at in 0..self.claim.len() {
            self.inherit_one(at)?;
            let reading = &mut self.claim[at].reading;
            *reading = reading.take().or_else(|| self.reading.clone());
        }
        Ok(())
    }

    /// Gives the claim at a place what it leaves out.
    fn inherit_one(&mut self, at: usize) -> Result<(), Wrong> {
        let (before, rest) = self.claim.split_at_mut(at);
        let claim = &mut rest[0];
        let Some(like) = &claim.like else { return Ok(()) };
        let known: Vec<&str> = before.iter().map(|claim| &*claim.id).collect();
        let Some(base) = before.iter().find(|claim| *claim.id == **like) else {
            let reason = format!("{}; `like` names a claim before this one", unknown("claim", like, &known));
            return Err((like.span.clone(), reason));
        };
        let own = std::mem::take(&mut claim.set);
        claim.set = base.set.clone().into_iter().chain(own).collect();
        for (ours, theirs) in [
            (&mut claim.what, &base.what),
            (&mut claim.printed, &base.printed),
            (&mut claim.needs, &base.needs),
            (&mut claim.rests_on, &base.rests_on),
            (&mut claim.value, &base.value),
            (&mut claim.printed_value, &base.printed_value),
            (&mut claim.shown, &base.shown),
            (&mut claim.verdict, &base.verdict),
            (&mut claim.rationale, &base.rationale),
        ] {
            *ours = ours.take().or_else(|| theirs.clone());
        }
        claim.kind = claim.kind.take().or_else(|| base.kind.clone());
        claim.columns = claim.columns.take().or_else(|| base.columns.clone());
        claim.define = claim.define.take().or_else(|| base.define.clone());
        claim.reading = claim.reading.take().or_else(|| base.reading.clone());
        Ok(())
    }

    fn check(&self) -> Result<(), Wrong> {
        let claims = unique("claim", self.claim.iter().map(|claim| &claim.id))?;
        let schemes = unique("scheme", self.scheme.iter().map(|scheme| &scheme.id))?;
        let columns = unique("column", self.column.iter().map(|column| &column.key))?;
        if self.claim.is_empty() || self.column.is_empty() {
            return Err((
                self.paper.span.clone(),
                "a paper has at least one [[claim]] and one [[column]]".to_owned(),
            ));
        }
        for column in &self.column {
            column.from.iter().try_for_each(|key| known("column", key, &columns))?;
            if column.change.is_none() && (column.explains || column.from.is_some()) {
                let reason =
                    "a column that explains, or comes `from` another, says what it changes: write `change`";
                return Err((column.key.span.clone(), reason.to_owned()));
            }
        }
        for claim in &self.claim {
            for (key, value) in [
                ("what", &claim.what),
                ("printed", &claim.printed),
                ("value", &claim.value),
                ("shown", &claim.shown),
                ("verdict", &claim.verdict),
                ("rationale", &claim.rationale),
            ] {
                if value.is_none() {
                    let reason =
                        format!("`{key}` is missing; write it, or name a claim that has it in `like`");
                    return Err((claim.id.span.clone(), reason));
                }
            }
            claim.columns.iter().flatten().try_for_each(|key| known("column", key, &columns))?;
            let Some(reading) = &claim.reading else {
                let reason = "`reading` is missing; write that of the claim, or one of the whole paper";
                return Err((claim.id.span.clone(), reason.to_owned()));
            };
            reading.check(&columns)?;
            if let Some(ours) = &claim.columns {
                let ours: Vec<&str> = ours.iter().map(|key| &**key).collect();
                reading.columns.iter().try_for_each(|key| known("column of the claim", key, &ours))?;
            }
            if let Some(settled) = &claim.settled {
                Verdict::settled(settled).map_err(|reason| (settled.span.clone(), reason))?;
            }
        }
        for claim in self.scheme.iter().filter_map(|scheme| scheme.claims.as_ref()).flatten() {
            known("claim", claim, &claims)?;
        }
        unique("figure", self.figure.iter().map(|figure| &figure.id))?;
        for figure in &self.figure {
            figure.claims.iter().try_for_each(|claim| known("claim", claim, &claims))?;
            let is_shown = figure.report || figure.tables || figure.command.is_some();
            if is_shown == figure.why.is_some() {
                let reason =
                    "write where it is shown, by `report`, `tables` or `command`; or only `why` it is not";
                return Err((figure.id.span.clone(), reason.to_owned()));
            }
        }
        self.search.as_ref().map_or(Ok(()), |search| known("scheme", &search.scheme, &schemes))
    }
}

/// What is wrong, and where.
type Wrong = (Option<Range<usize>>, String);

fn known(what: &str, name: &Text, all: &[&str]) -> Result<(), Wrong> {
    if all.contains(&&**name) { Ok(()) } else { Err((name.span.clone(), unknown(what, name, all))) }
}

/// The names, of which no two are equal.
fn unique<'a>(what: &str, names: impl Iterator<Item = &'a Text>) -> Result<Vec<&'a str>, Wrong> {
    let mut all: Vec<&str> = Vec::new();
    for name in names {
        if all.contains(&&**name) {
            let reason =
                format!("there is a {what} `{}` before this one; give each an id of its own", &**name);
            return Err((name.span.clone(), reason));
        }
        all.push(name);
    }
    Ok(all)
}
