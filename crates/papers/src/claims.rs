//! The claims of a paper, each beside what was measured, with a verdict and what speaks for it.

use minijinja::value::Value;
use serde_json::{Map, json};

use crate::document::{Claim, Column, Reading, Text};
use crate::error::Error;
use crate::kind::Kind;
use crate::language::{NOTHING, in_one_line, items, of_json, of_table};
use crate::names::Names;
use crate::paper::Paper;
use crate::point::{Attributes, Measured, More, with};
use crate::seeds::Interval;
use crate::text::table;
use crate::verdict::Verdict;

/// A claim that was judged.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Which: `4a`.
    pub id: String,
    /// What it says.
    pub what: String,
    /// What the paper printed.
    pub printed: String,
    /// The judged reading of the text.
    pub reading: String,
    /// The sentences that support this reading, or why the text does not decide.
    pub support: String,
    /// What was measured, a text for each column. The verdict is on the first that it is measured in, or on all readings where
    /// the text does not decide.
    pub measured: Vec<String>,
    /// For each column over several seeds, the interval of what was measured, where its values are numbers.
    pub intervals: Vec<Option<Interval>>,
    /// The verdict.
    pub verdict: Verdict,
    /// What speaks for it: the likely reason, with its figures.
    pub rationale: String,
}

/// All claims that were asked for.
#[derive(Clone, Debug)]
pub struct Findings {
    columns: Vec<Heading>,
    /// How many seeds measured them.
    seeds: usize,
    /// In the paper's order.
    pub claims: Vec<Finding>,
}

/// A column of what was measured.
#[derive(Clone, Debug)]
struct Heading {
    title: String,
    /// Its name for programs.
    key: String,
    /// What the paper prints where the column has something else.
    departs: Option<String>,
}

/// What several seeds measured of a claim in some columns.
pub(crate) struct Taken {
    samples: Vec<Sample>,
    /// For each column the text of its value, and the interval of that over several seeds.
    pub(crate) measured: Vec<String>,
    intervals: Vec<Option<Interval>>,
}

/// What one seed measured of a claim.
struct Sample {
    /// For each column that the claim is measured in: the names that its expressions find, its value among them.
    columns: Vec<Option<(Attributes, Value)>>,
    /// The names of all columns.
    names: Attributes,
}

impl Paper {
    /// Judges the claims of these ids by what several seeds measured, each all points. A number becomes its typical value
    /// with a Student interval at 95 %. The verdict is the worst of those at the ends and the middle of the interval: a
    /// claim agrees only if the whole interval does. Values that are no numbers are shown for the first seed, and the worst
    /// verdict of any seed counts. One seed says nothing of chance, so its claims have no verdict.
    ///
    /// # Errors
    /// What is wrong in the paper's file: an unknown column, a bad expression.
    pub fn findings(
        &self,
        ids: &[String],
        seeds: &[&[Measured]],
        more: &More<'_>,
    ) -> Result<Findings, Error> {
        let columns = self.columns().map(|column| Heading {
            title: column.title.to_string(),
            key: column.key.to_string(),
            departs: column.departs.as_ref().map(|text| in_one_line(text)),
        });
        let requested = self.document.claim.iter().filter(|claim| ids.iter().any(|id| **id == *claim.id));
        let claims = requested.map(|claim| self.judge(claim, seeds, more)).collect::<Result<_, _>>()?;
        Ok(Findings { columns: columns.collect(), seeds: seeds.len(), claims })
    }

    fn judge(&self, claim: &Claim, seeds: &[&[Measured]], more: &More<'_>) -> Result<Finding, Error> {
        let columns: Vec<_> =
            self.columns().map(|column| claim.is_measured_in(column).then_some(column)).collect();
        let taken = self.take(claim, &columns, seeds, more)?;
        let typical: Vec<Value> = (0..columns.len()).map(|at| taken.typical(at)).collect();
        let Taken { samples, measured, intervals } = taken;
        let first = &samples[0];
        let judged = first.columns.iter().position(Option::is_some);
        let interval = judged.and_then(|at| intervals[at].as_ref());
        let verdict = match self.verdict_of(claim, &samples, judged, &intervals)? {
            Verdict::NotMeasured => Verdict::NotMeasured,
            settled @ (Verdict::Fitted | Verdict::Contradicts | Verdict::Unknown) => settled,
            _ if seeds.len() < 2 => Verdict::OneSeed,
            judged => judged,
        };
        let mut names = with(first.judged(judged), "values", typical.into());
        if let Some(interval) = interval {
            names.insert("value".to_owned(), interval.typical.clone());
        }
        names.insert("verdict".to_owned(), verdict.to_string().into());
        let rationale = self.claim_text(&claim.rationale, &names)?;
        let rationale = rationale.trim_end_matches(';');
        let reading = reading(claim);
        Ok(Finding {
            id: claim.id.to_string(),
            what: self.claim_text(&claim.what, &names)?,
            printed: key(&claim.printed).to_string(),
            reading: in_one_line(&reading.judged),
            support: in_one_line(reading.support()),
            measured,
            intervals,
            verdict,
            // The word alone where nothing speaks for it.
            rationale: if rationale.is_empty() { verdict.to_string() } else { rationale.to_owned() },
        })
    }

    /// The columns in which a claim is judged: its readings, or the first in which it is measured.
    pub(crate) fn judged(&self, claim: &Claim) -> Vec<&Column> {
        let readings = &reading(claim).columns;
        let mut measured = self.columns().filter(|column| claim.is_measured_in(column));
        if readings.is_empty() {
            return measured.next().into_iter().collect();
        }
        measured.filter(|column| readings.iter().any(|key| **key == *column.key)).collect()
    }

    /// The columns of the table of claims.
    fn columns(&self) -> impl Iterator<Item = &Column> {
        self.document.column.iter().filter(|column| !column.explains)
    }

    /// What several seeds measured of a claim in these columns; nothing in those that are none.
    pub(crate) fn take(
        &self,
        claim: &Claim,
        columns: &[Option<&Column>],
        seeds: &[&[Measured]],
        more: &More<'_>,
    ) -> Result<Taken, Error> {
        let samples = seeds.iter().map(|measured| self.sample(claim, columns, measured, more));
        let samples: Vec<Sample> = samples.collect::<Result<_, _>>()?;
        let kinds = self.kinds(claim, &samples)?;
        let (mut measured, mut intervals) = (Vec::new(), Vec::new());
        for (at, column) in samples[0].columns.iter().enumerate() {
            let of_seeds = samples.iter().filter_map(|sample| sample.columns[at].as_ref());
            let interval =
                Interval::of(&of_seeds.map(|(_, value)| value.clone()).collect::<Vec<_>>(), &kinds);
            measured.push(match column {
                Some((names, value)) => self.shown(claim, names, value, interval.as_ref())?,
                None => NOTHING.to_owned(),
            });
            intervals.push(interval);
        }
        Ok(Taken { samples, measured, intervals })
    }

    /// The verdict on a claim: of the column that is judged, or over all readings of a text that does not decide.
    fn verdict_of(
        &self,
        claim: &Claim,
        samples: &[Sample],
        judged: Option<usize>,
        intervals: &[Option<Interval>],
    ) -> Result<Verdict, Error> {
        let of = |column: Option<usize>| {
            self.verdict_in(claim, samples, column, column.and_then(|at| intervals[at].as_ref()))
        };
        let readings = &reading(claim).columns;
        let verdict = if readings.is_empty() {
            of(judged)?
        } else {
            let is_reading = |key: &str| readings.iter().any(|reading| **reading == *key);
            let columns = self.columns().zip(&samples[0].columns).enumerate();
            let measured =
                columns.filter(|(_, (column, sample))| is_reading(&column.key) && sample.is_some());
            let readings = measured.map(|(at, _)| at);
            Verdict::over_readings(&readings.map(|at| of(Some(at))).collect::<Result<Vec<_>, _>>()?)
        };
        match &claim.settled {
            Some(settled) if verdict != Verdict::NotMeasured => {
                Verdict::settled(settled).map_err(|reason| self.language.error(settled, reason))
            }
            _ => Ok(verdict),
        }
    }

    /// The worst verdict of any seed in a column; over several seeds of the ends and the middle of its interval.
    fn verdict_in(
        &self,
        claim: &Claim,
        samples: &[Sample],
        column: Option<usize>,
        interval: Option<&Interval>,
    ) -> Result<Verdict, Error> {
        let mut verdicts = Vec::new();
        for sample in samples {
            let names = sample.judged(column);
            match interval {
                Some(interval) => {
                    let names = &with(names, "typical", interval.typical.clone());
                    for value in interval.ends_and_typical() {
                        verdicts.push(self.verdict(claim, &with(names, "value", value.clone()))?);
                    }
                }
                None => {
                    let typical = names.get("value").cloned().unwrap_or_default();
                    verdicts.push(self.verdict(claim, &with(names, "typical", typical))?);
                }
            }
        }
        Ok(Verdict::worst(verdicts))
    }

    /// What one seed measured of a claim, in each of these columns.
    fn sample(
        &self,
        claim: &Claim,
        requested: &[Option<&Column>],
        measured: &[Measured],
        more: &More<'_>,
    ) -> Result<Sample, Error> {
        let mut names = self.names(measured, more)?;
        names.extend(of_table(&claim.set));
        let mut columns = Vec::new();
        for column in requested {
            let Some(column) = column else {
                columns.push(None);
                continue;
            };
            let mut names = names.clone();
            names.insert("points".to_owned(), self.select(column.points.as_ref(), measured)?);
            names.extend(of_table(&column.set));
            self.define("name", claim.define.as_ref().unwrap_or(&Vec::new()), &mut names)?;
            let value = self.language.expression(&key(&claim.value), &Names::value("name", names.clone()))?;
            names.insert("value".to_owned(), value.clone());
            columns.push(Some((names, value)));
        }
        let values =
            columns.iter().map(|column| column.as_ref().map_or(Value::from(()), |(_, value)| value.clone()));
        let values: Value = values.collect::<Vec<_>>().into();
        for (names, _) in columns.iter_mut().flatten() {
            names.insert("values".to_owned(), values.clone());
        }
        names.insert("values".to_owned(), values);
        Ok(Sample { columns, names })
    }

    /// The kinds of a claim's numbers: one of all, or one for each member of a list.
    fn kinds(&self, claim: &Claim, samples: &[Sample]) -> Result<Vec<Kind>, Error> {
        let Some(kinds) = &claim.kind else { return Ok(vec![Kind::Gain]) };
        let values =
            samples.iter().flat_map(|sample| sample.columns.iter().flatten()).map(|(_, value)| value);
        let mut lists = values.filter(|value| !value.is_none()).map(|value| items(value).len());
        if kinds.len() > 1
            && let Some(count) = lists.find(|count| *count != kinds.len())
        {
            let reason =
                format!("{} kinds for a list of {count}; write one for each, or one for all", kinds.len());
            return Err(self.language.error(&kinds[0], reason));
        }
        let kind = |kind: &Text| kind.parse().map_err(|reason: String| self.language.error(kind, reason));
        kinds.iter().map(kind).collect()
    }

    /// The text of a value; over several seeds of its typical value, and of the ends of its interval unless they are shown alike.
    fn shown(
        &self,
        claim: &Claim,
        names: &Attributes,
        value: &Value,
        interval: Option<&Interval>,
    ) -> Result<String, Error> {
        let names = with(names, "typical", interval.map_or(value, |interval| &interval.typical).clone());
        let show = |value: &Value| self.claim_text(&claim.shown, &with(&names, "value", value.clone()));
        let Some(Interval { low, typical, high }) = interval else { return show(value) };
        let (low, typical, high) = (show(low)?, show(typical)?, show(high)?);
        Ok(if low == high { typical } else { between(&low, &typical, &high) })
    }

    fn verdict(&self, claim: &Claim, names: &Attributes) -> Result<Verdict, Error> {
        let expression = key(&claim.verdict);
        let word = self.language.expression(&expression, &Names::value("name", names.clone()))?;
        word.to_string().parse().map_err(|error| self.language.error(&expression, error))
    }

    fn claim_text(&self, template: &Option<Text>, names: &Attributes) -> Result<String, Error> {
        self.language.line(&key(template), &Names::value("name", names.clone()))
    }

    /// The names that every claim and table finds: constants, further findings, and all points.
    pub(crate) fn names(&self, measured: &[Measured], more: &More<'_>) -> Result<Attributes, Error> {
        let mut names = self.constants.clone();
        names.extend(more.iter().map(|(name, value)| ((*name).to_owned(), of_json(value))));
        names.insert("all".to_owned(), measured.iter().map(Measured::value).collect());
        self.define("name", &self.document.evaluation, &mut names)?;
        Ok(names)
    }

    /// The points for which an expression is true.
    pub(crate) fn select(&self, which: Option<&Text>, measured: &[Measured]) -> Result<Value, Error> {
        let mut points = Vec::new();
        for one in measured {
            if self.language.holds(which, &one.value())? {
                points.push(one.value());
            }
        }
        Ok(points.into())
    }
}

impl Taken {
    /// The typical value in a column.
    pub(crate) fn typical(&self, at: usize) -> Value {
        match (&self.intervals[at], &self.samples[0].columns[at]) {
            (Some(interval), _) => interval.typical.clone(),
            (None, Some((_, value))) => value.clone(),
            (None, None) => Value::from(()),
        }
    }

    /// The names of the first column with the first seed.
    pub(crate) fn names(&self) -> &Attributes {
        self.samples[0].judged(Some(0))
    }
}

impl Sample {
    /// The names of the column that is judged.
    fn judged(&self, column: Option<usize>) -> &Attributes {
        let column = column.and_then(|at| self.columns.get(at)?.as_ref());
        column.map_or(&self.names, |(names, _)| names)
    }
}

/// The reading of a claim; each had one when the file was read.
fn reading(claim: &Claim) -> &Reading {
    claim.reading.as_ref().expect("a claim without a reading was refused")
}

/// The text of a key. Keys that are missing were refused when the file was read.
fn key(text: &Option<Text>) -> Text {
    text.clone().unwrap_or_default()
}

/// A typical value with the ends of its interval. What follows the last semicolons, alike in all three, is said once.
fn between(mut low: &str, mut typical: &str, mut high: &str) -> String {
    let mut alike = String::new();
    while let (Some((before_low, one)), Some((before_typical, two)), Some((before_high, three))) =
        (low.rsplit_once("; "), typical.rsplit_once("; "), high.rsplit_once("; "))
        && one == two
        && two == three
    {
        alike.insert_str(0, &format!("; {one}"));
        (low, typical, high) = (before_low, before_typical, before_high);
    }
    format!("{typical} [{low} to {high}]{alike}")
}

impl Findings {
    /// The titles of the columns of the table of claims.
    pub fn head(&self) -> Vec<&str> {
        let measured = self.columns.iter().map(|column| column.title.as_str());
        ["", "result", "printed"].into_iter().chain(measured).chain(["verdict"]).collect()
    }

    /// Its rows.
    pub fn rows(&self) -> Vec<Vec<String>> {
        let row = |claim: &Finding| {
            let before = [claim.id.clone(), claim.what.clone(), claim.printed.clone()];
            before
                .into_iter()
                .chain(claim.measured.iter().cloned())
                .chain([claim.verdict.to_string()])
                .collect()
        };
        self.claims.iter().map(row).collect()
    }

    /// What the numbers are: over several seeds, or of one, which has no verdicts.
    pub fn about_seeds(&self) -> String {
        match self.seeds {
            0 | 1 => {
                "One seed says nothing of chance, so there are no verdicts: repeat with --seeds 5.".to_owned()
            }
            seeds => format!(
                "Typical values over {seeds} seeds, with 95 % intervals of Student in brackets: of ratios and gains those of the \
                 mean logarithm. Reasons, tables and figures are those of the first seed."
            ),
        }
    }

    /// The readings that are judged, each once with the claims that have it, and what departs from print.
    pub fn readings(&self) -> Vec<String> {
        let mut readings: Vec<(Vec<&str>, &Finding)> = Vec::new();
        for claim in &self.claims {
            let is_same = |other: &&mut (Vec<&str>, &Finding)| {
                (&other.1.reading, &other.1.support) == (&claim.reading, &claim.support)
            };
            match readings.iter_mut().find(is_same) {
                Some((ids, _)) => ids.push(&claim.id),
                None => readings.push((vec![&claim.id], claim)),
            }
        }
        let judged = readings
            .iter()
            .map(|(ids, claim)| format!("{}: {}. {}", ids.join(", "), claim.reading, claim.support));
        let departures = self.columns.iter().filter_map(|column| {
            Some(format!("\"{}\" departs from print: {}", column.title, column.departs.as_ref()?))
        });
        judged.chain(departures).collect()
    }

    /// The table of claims, and below it the readings and the rationales, as Markdown that a terminal shows well too.
    pub fn markdown(&self) -> String {
        let (head, claims) = (self.head(), self.rows());
        let mut rows = table(&head);
        claims.iter().for_each(|claim| _ = rows.add_row(claim));
        let list = |lines: Vec<String>| lines.iter().map(|line| format!("- {line}\n")).collect::<String>();
        let rationales = self.claims.iter().map(|claim| format!("{}: {}", claim.id, claim.rationale));
        let about = self.about_seeds();
        let (readings, reasons) = (list(self.readings()), list(rationales.collect()));
        format!("{rows}\n\n{about}\n\nWhat is judged:\n\n{readings}\nReasons:\n\n{reasons}")
    }

    /// The same for programs.
    pub(crate) fn json(&self) -> serde_json::Value {
        let claim = |claim: &Finding| {
            let mut value = Map::new();
            let mut set = |key: &str, text: &str| _ = value.insert(key.to_owned(), json!(text));
            set("row", &claim.id);
            set("result", &claim.what);
            set("printed", &claim.printed);
            set("reading", &claim.reading);
            set("support", &claim.support);
            for (column, text) in self.columns.iter().zip(&claim.measured) {
                set(&column.key, text);
            }
            set("verdict", &claim.verdict.to_string());
            set("reason", &claim.rationale);
            let with_interval = self.columns.iter().zip(&claim.intervals);
            let intervals: Map<_, _> = with_interval
                .filter_map(|(column, interval)| Some((column.key.clone(), interval.as_ref()?.json())))
                .collect();
            if !intervals.is_empty() {
                value.insert("intervals".to_owned(), intervals.into());
            }
            serde_json::Value::Object(value)
        };
        self.claims.iter().map(claim).collect()
    }
}
