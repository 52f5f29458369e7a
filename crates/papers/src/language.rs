//! The language of a paper's expressions and templates: Jinja, with what papers need of arithmetic and words.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use minijinja::value::{Kwargs, Value};
use minijinja::{Environment, ErrorKind, State, UndefinedBehavior};
use stripewise_base::suggest::{ConfigError, unknown};
use stripewise_reliability::closed_forms;
use stripewise_sim::uniformity::chi2_critical;

use crate::document::Text;
use crate::error::Error;
use crate::names::{Names, refuse};
use crate::point::MeasuredPoint;
use crate::text;
use crate::times;
use crate::verdict::{Verdict, judge, judge_range};

/// What stands where nothing was measured.
pub(crate) const NOTHING: &str = "–";

type Failure = minijinja::Error;

/// Evaluates the expressions and templates of one file.
pub(crate) struct Language {
    file: String,
    /// The contents of the file, to show where an error is.
    text: String,
    macros: String,
    environment: Environment<'static>,
    /// The same for the cells of tables, whose times have one unit.
    of_cells: Environment<'static>,
}

impl std::fmt::Debug for Language {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Language").field("file", &self.file).finish_non_exhaustive()
    }
}

impl Language {
    /// The language for `file` with these contents and macros.
    pub(crate) fn new(file: &str, text: &str, macros: &str) -> Self {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_debug(false);
        add_numbers(&mut environment);
        add_lists(&mut environment);
        add_shapes(&mut environment);
        add_verdicts(&mut environment);
        let mut of_cells = environment.clone();
        of_cells.add_filter("time", |value: Value| shown(&value, times::pending));
        let (file, text, macros) = (file.to_owned(), text.to_owned(), macros.to_owned());
        Self { file, text, macros, environment, of_cells }
    }

    /// An error at a place of the file.
    pub(crate) fn error(&self, at: &Text, reason: impl Display) -> Error {
        ConfigError::at(&self.file, &self.text, at.span.clone(), reason.to_string()).into()
    }

    fn failed(&self, text: &Text, error: &Failure) -> Error {
        let mut reason = match error.detail() {
            Some(detail) => detail.to_owned(),
            None => error.kind().to_string(),
        };
        if matches!(
            error.kind(),
            ErrorKind::UnknownFilter | ErrorKind::UnknownFunction | ErrorKind::UnknownTest
        ) {
            reason += "; crates/papers/README.md lists all";
        }
        let mut source = std::error::Error::source(error);
        while let Some(inner) = source {
            reason = format!("{reason}: {inner}");
            source = inner.source();
        }
        self.error(text, format!("{reason}, in `{}`", shortened(text)))
    }

    /// The value of an expression.
    ///
    /// # Errors
    /// What is no expression, an unknown name, an operation on values that have none.
    pub(crate) fn expression(&self, text: &Text, names: &Value) -> Result<Value, Error> {
        let found = self.environment.compile_expression(text).and_then(|compiled| compiled.eval(names));
        match found {
            Ok(value) if value.is_undefined() => {
                let reason = format!("`{}` has no value; see that each name in it is there", shortened(text));
                Err(self.error(text, reason))
            }
            Ok(value) => Ok(value),
            Err(error) => Err(self.failed(text, &error)),
        }
    }

    /// Whether an expression is true; true where there is none.
    ///
    /// # Errors
    /// As [`Self::expression`], and a value that is neither true nor false.
    pub(crate) fn holds(&self, text: Option<&Text>, names: &Value) -> Result<bool, Error> {
        let Some(text) = text else { return Ok(true) };
        let value = self.expression(text, names)?;
        bool::try_from(value.clone()).map_err(|_| {
            let reason =
                format!("`{}` is {value}; write an expression that is true or false", shortened(text));
            self.error(text, reason)
        })
    }

    /// A whole number that an expression gives; none where it gives `none`.
    ///
    /// # Errors
    /// As [`Self::expression`], and what is no whole number.
    pub(crate) fn count(&self, text: &Text, names: &Value) -> Result<Option<u64>, Error> {
        let value = self.expression(text, names)?;
        if value.is_none() {
            return Ok(None);
        }
        // A number above 64 bits counts as the largest that they hold.
        let count = i128::try_from(value.clone()).ok().filter(|count| *count >= 0);
        let count = count.map(|count| u64::try_from(count).unwrap_or(u64::MAX));
        count.map(Some).ok_or_else(|| {
            let reason = format!("`{}` is {value}; write an expression for a whole number", shortened(text));
            self.error(text, reason)
        })
    }

    /// The text of a template, on one line.
    ///
    /// # Errors
    /// As [`Self::expression`].
    pub(crate) fn line(&self, text: &Text, names: &Value) -> Result<String, Error> {
        Ok(in_one_line(&self.lines(text, names)?))
    }

    /// The text of a template as it is.
    ///
    /// # Errors
    /// As [`Self::expression`].
    pub(crate) fn lines(&self, text: &Text, names: &Value) -> Result<String, Error> {
        self.rendered(&self.environment, text, names)
    }

    /// The text of a template for the rows of a table, whose times are [`times::pending`].
    ///
    /// # Errors
    /// As [`Self::expression`].
    pub(crate) fn rows(&self, text: &Text, names: &Value) -> Result<String, Error> {
        self.rendered(&self.of_cells, text, names)
    }

    fn rendered(&self, environment: &Environment<'_>, text: &Text, names: &Value) -> Result<String, Error> {
        let source = format!("{}{}", self.macros, &**text);
        environment.render_str(&source, names.clone()).map_err(|error| self.failed(text, &error))
    }
}

/// A number as a filter shows it.
fn shown(value: &Value, show: impl Fn(f64) -> String) -> Result<String, Failure> {
    Ok(number(value)?.map_or_else(|| NOTHING.to_owned(), show))
}

/// A text whose white space is single spaces.
pub(crate) fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// An expression as an error shows it.
fn shortened(text: &str) -> String {
    let text = in_one_line(text);
    let shown: String = text.chars().take(SHOWN).collect();
    let more = if text.chars().count() > SHOWN { "..." } else { "" };
    format!("{shown}{more}")
}

/// The longest expression that an error shows whole, in characters.
const SHOWN: usize = 120;

/// A value of TOML.
pub(crate) fn of_toml(value: &toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::from(text),
        toml::Value::Integer(number) => Value::from(*number),
        toml::Value::Float(number) => Value::from(*number),
        toml::Value::Boolean(truth) => Value::from(*truth),
        toml::Value::Datetime(time) => Value::from(time.to_string()),
        toml::Value::Array(all) => Value::from(all.iter().map(of_toml).collect::<Vec<_>>()),
        toml::Value::Table(table) => Value::from(of_table(table).collect::<BTreeMap<_, _>>()),
    }
}

/// The names of a table with their values.
pub(crate) fn of_table(table: &toml::Table) -> impl Iterator<Item = (String, Value)> {
    table.iter().map(|(name, value)| (name.clone(), of_toml(value)))
}

/// A value that the program found besides the runs.
pub(crate) fn of_json(value: &serde_json::Value) -> Value {
    use serde_json::Value as Json;
    match value {
        Json::Null => none(),
        Json::Bool(truth) => (*truth).into(),
        Json::Number(number) => match number.as_u64() {
            Some(count) => count.into(),
            None => number.as_f64().into(),
        },
        Json::String(text) => text.into(),
        Json::Array(all) => all.iter().map(of_json).collect::<Vec<_>>().into(),
        Json::Object(all) => {
            Value::from_pairs(all.iter().map(|(name, value)| (name.clone(), of_json(value))))
        }
    }
}

/// A value for programs.
pub(crate) fn to_json(value: &Value) -> serde_json::Value {
    use minijinja::value::ValueKind;
    match value.kind() {
        ValueKind::Bool => serde_json::Value::Bool(value.is_true()),
        ValueKind::Number if value.is_integer() => {
            i64::try_from(value.clone()).map_or_else(|_| u64::try_from(value.clone()).ok().into(), Into::into)
        }
        ValueKind::Number => f64::try_from(value.clone()).map_or(serde_json::Value::Null, Into::into),
        ValueKind::String => serde_json::Value::String(value.as_str().unwrap_or_default().to_owned()),
        ValueKind::Seq | ValueKind::Iterable => items(value).iter().map(to_json).collect(),
        ValueKind::Map => items(value)
            .iter()
            .map(|key| {
                (key.to_string(), value.get_item(key).map_or(serde_json::Value::Null, |it| to_json(&it)))
            })
            .collect(),
        _ => serde_json::Value::Null,
    }
}

/// The members of a list; none of what is no list.
pub(crate) fn items(list: &Value) -> Vec<Value> {
    list.try_iter().map(Iterator::collect).unwrap_or_default()
}

/// The numbers of a list; `none` is left out.
fn numbers(list: &Value) -> Result<Vec<f64>, Failure> {
    list.try_iter()?.filter(|value| !value.is_none()).map(f64::try_from).collect()
}

/// A number, or `none`.
pub(crate) fn number(value: &Value) -> Result<Option<f64>, Failure> {
    if value.is_undefined() {
        return Err(refuse("a value is missing; see that each name is there"));
    }
    if value.is_none() { Ok(None) } else { f64::try_from(value.clone()).map(Some) }
}

fn add_numbers(environment: &mut Environment<'static>) {
    environment.add_filter("fixed", |value: Value, digits: usize| shown(&value, |x| format!("{x:.digits$}")));
    environment
        .add_filter("signed", |value: Value, digits: usize| shown(&value, |x| format!("{x:+.digits$}")));
    environment
        .add_filter("scientific", |value: Value, digits: usize| shown(&value, |x| format!("{x:.digits$e}")));
    environment.add_filter("plain", |value: Value| shown(&value, |x| x.to_string()));
    environment.add_filter("percent", |value: Value, digits: Option<usize>| {
        let digits = digits.unwrap_or(1);
        shown(&value, |x| format!("{:.digits$} %", x * 100.0))
    });
    environment
        .add_filter("signed_percent", |value: Value| shown(&value, |x| format!("{:+.1} %", x * 100.0)));
    environment.add_filter("percents", |shares: Vec<Value>| {
        if shares.iter().all(Value::is_none) {
            return Ok(NOTHING.to_owned());
        }
        let shares = shares.iter().map(|share| shown(share, |x| format!("{:.1} %", x * 100.0)));
        Ok::<_, Failure>(shares.collect::<Result<Vec<_>, _>>()?.join(" / "))
    });
    environment.add_filter("time", |value: Value| shown(&value, text::time));
    // The part of `theirs` that `ours` is, and how much less it is; none where one is missing, or `theirs` is not above 0.
    let ratio = |ours: Value, theirs: Value| -> Result<Option<f64>, Failure> {
        let theirs = number(&theirs)?.filter(|theirs| *theirs > 0.0);
        Ok(number(&ours)?.zip(theirs).map(|(ours, theirs)| ours / theirs))
    };
    environment.add_function("ratio", ratio);
    environment.add_function("mttdl", mttdl);
    environment.add_function("chi2_critical", |freedom: u32, significance: f64| {
        chi2_critical(freedom, significance)
    });
    environment.add_function("less", move |ours: Value, theirs: Value| {
        Ok::<_, Failure>(ratio(ours, theirs)?.map(|part| 1.0 - part))
    });
}

/// The mean time to data loss of `ssds` of which each fails `failures` times a year and is replaced `repairs` times a year.
fn mttdl(level: &str, ssds: u32, failures: f64, repairs: f64) -> Result<f64, Failure> {
    match level {
        "raid5" if ssds >= 2 => Ok(closed_forms::raid5(ssds, failures, repairs)),
        "raid6" if ssds >= 3 => Ok(closed_forms::raid6(ssds, failures, repairs)),
        "raid5" | "raid6" => Err(refuse(format!("{level} has more than {ssds} SSDs"))),
        _ => Err(refuse(unknown("level", level, &["raid5", "raid6"]))),
    }
}

fn add_lists(environment: &mut Environment<'static>) {
    environment.add_filter("mean", |list: Value| Ok::<_, Failure>(text::mean_of(&numbers(&list)?)));
    let low = |list: Value| Ok::<_, Failure>(text::range(numbers(&list)?.into_iter()).map(|(low, _)| low));
    environment.add_filter("low", low);
    environment.add_filter("high", |list: Value| {
        Ok::<_, Failure>(text::range(numbers(&list)?.into_iter()).map(|(_, high)| high))
    });
    // The points, or other things, that have these values.
    environment.add_filter("where", |list: Value, wanted: Kwargs| {
        let names: Vec<String> = wanted.args().map(str::to_owned).collect();
        let wanted: Vec<(String, Value)> = names
            .into_iter()
            .map(|name| Ok((name.clone(), wanted.get(&name)?)))
            .collect::<Result<_, Failure>>()?;
        let mut found = Vec::new();
        for item in list.try_iter()? {
            let mut is_wanted = true;
            for (name, value) in &wanted {
                is_wanted &= valid(item.get_attr(name)?)? == *value;
            }
            if is_wanted {
                found.push(item);
            }
        }
        Ok::<_, Failure>(found)
    });
    // How much less a scheme has of a metric than another: of each point that has both.
    environment.add_filter("gains", |points: Value, ours: &str, theirs: &str, metric: &str| {
        let each = each_gain(&points, ours, theirs, metric)?;
        Ok::<_, Failure>(each.into_iter().map(|(_, gain)| gain).collect::<Vec<_>>())
    });
    environment.add_filter("gain_of_each", |points: Value, ours: &str, theirs: &str, metric: &str| {
        let each = each_gain(&points, ours, theirs, metric)?;
        let pair =
            |(point, gain): (Value, f64)| Value::from_pairs([("point", point), ("gain", Value::from(gain))]);
        Ok::<_, Failure>(each.into_iter().map(pair).collect::<Vec<_>>())
    });
    // A metric of a scheme at each point that has it.
    environment.add_filter("values", |points: Value, scheme: &str, metric: &str| {
        let mut found = Vec::new();
        for point in points.try_iter()? {
            let value = MeasuredPoint::of(&point)?.value(scheme, metric)?;
            found.extend(Some(value).filter(|value| !value.is_none()));
        }
        Ok::<_, Failure>(found)
    });
    // The least and the most by an attribute: the first of equals is the least, the last the most, as with iterators.
    let by = |attribute: &str, one: &Value, other: &Value| -> Ordering {
        let of = |value: &Value| value.get_attr(attribute).ok().and_then(|it| f64::try_from(it).ok());
        of(one).unwrap_or(f64::NAN).total_cmp(&of(other).unwrap_or(f64::NAN))
    };
    environment.add_filter("least_by", move |list: Value, attribute: &str| {
        items(&list).into_iter().min_by(|one, other| by(attribute, one, other)).unwrap_or_else(none)
    });
    environment.add_filter("most_by", move |list: Value, attribute: &str| {
        items(&list).into_iter().max_by(|one, other| by(attribute, one, other)).unwrap_or_else(none)
    });
}

/// What looks at a list as a whole.
fn add_shapes(environment: &mut Environment<'static>) {
    // What an expression gives of each member, which it finds as `it`; other names are those around the filter.
    environment.add_filter("each", |state: &mut State, list: Value, text: &str| {
        let items = with_each(state, &list, text)?;
        Ok::<_, Failure>(items.into_iter().map(|(_, value)| value).collect::<Vec<_>>())
    });
    // The members for which an expression is true.
    environment.add_filter("such", |state: &mut State, list: Value, text: &str| {
        let items = with_each(state, &list, text)?;
        Ok::<_, Failure>(
            items.into_iter().filter(|(_, value)| value.is_true()).map(|(item, _)| item).collect::<Vec<_>>(),
        )
    });
    // The first member; none where there is none.
    environment.add_filter("one", |list: Value| items(&list).into_iter().next().unwrap_or_else(none));
    // Whether all are true, and how many are; `none` is left out, and nothing is neither true nor false.
    let truths = |list: Value| -> Result<Vec<bool>, Failure> {
        list.try_iter()?.filter(|value| !value.is_none()).map(bool::try_from).collect()
    };
    environment.add_filter("every", move |list: Value| {
        let all = truths(list)?;
        Ok::<_, Failure>((!all.is_empty()).then(|| all.iter().all(|holds| *holds)))
    });
    environment.add_filter("holding", move |list: Value| {
        Ok::<_, Failure>(truths(list)?.iter().filter(|holds| **holds).count())
    });
    environment.add_filter("known", |list: Value| {
        Ok::<_, Failure>(list.try_iter()?.filter(|value| !value.is_none()).collect::<Vec<_>>())
    });
    // Whether each value is below the one before; none where one is missing, or there are no two.
    environment.add_function("falls", |values: Vec<Option<f64>>| {
        let all: Option<Vec<f64>> = values.into_iter().collect();
        all.filter(|all| all.len() > 1).map(|all| all.windows(2).all(|pair| pair[1] < pair[0]))
    });
    // Whether each value is above that share of the one before.
    environment.add_function("rises", |values: Vec<f64>, share: f64| {
        values.windows(2).all(|pair| pair[1] > pair[0] * share)
    });
    // Whether a value is below all others; none where one is missing.
    environment.add_function("is_least", |ours: Option<f64>, others: Vec<Option<f64>>| {
        let others: Option<Vec<f64>> = others.into_iter().collect();
        Some(others?.iter().all(|other| ours < Some(*other))).filter(|_| ours.is_some())
    });
}

/// The members of a list, each with what an expression gives of it.
fn with_each(state: &mut State<'_, '_>, list: &Value, text: &str) -> Result<Vec<(Value, Value)>, Failure> {
    // All names that the expression has, also within the texts of inner filters.
    let names: BTreeSet<&str> = text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let mut around = BTreeMap::new();
    for name in names {
        if let Some(Ok(value)) = state.lookup(name).map(valid) {
            around.insert(name.to_owned(), value);
        }
    }
    let mut found = Vec::new();
    for item in list.try_iter()? {
        around.insert("it".to_owned(), item.clone());
        let names = Names::value("name", around.clone());
        found.push((item, state.env().compile_expression(text)?.eval(&names)?));
    }
    Ok(found)
}

fn none() -> Value {
    Value::from(())
}

/// A value, or the error that it is.
fn valid(value: Value) -> Result<Value, Failure> {
    Value::from(vec![value]).try_iter()?.checked().next().unwrap_or_else(|| Ok(none()))
}

fn each_gain(points: &Value, ours: &str, theirs: &str, metric: &str) -> Result<Vec<(Value, f64)>, Failure> {
    let mut found = Vec::new();
    for point in points.try_iter()? {
        if let Some(gain) = MeasuredPoint::of(&point)?.gain(ours, theirs, metric)? {
            found.push((point, gain));
        }
    }
    Ok(found)
}

fn add_verdicts(environment: &mut Environment<'static>) {
    let shown = |verdict: Verdict| verdict.to_string();
    environment.add_function("judge", move |printed: f64, found: Value| {
        Ok::<_, Failure>(shown(judge(printed, number(&found)?)))
    });
    environment.add_function("judge_each", move |printed: Vec<f64>, found: Vec<Value>| {
        if printed.len() != found.len() {
            let reason = format!("{} printed values for {} measured ones", printed.len(), found.len());
            return Err(refuse(reason + "; write a printed value for each"));
        }
        let words = printed.iter().zip(&found).map(|(printed, found)| Ok(judge(*printed, number(found)?)));
        Ok(shown(Verdict::worst(words.collect::<Result<Vec<_>, Failure>>()?)))
    });
    environment.add_function("judge_range", move |low: f64, high: f64, found: Value| {
        Ok::<_, Failure>(shown(judge_range((low, high), &numbers(&found)?)))
    });
    // Statements without numbers: agrees where all hold, differs where none does.
    environment.add_function("judge_all", move |holds: Vec<Option<bool>>| {
        let count = holds.iter().filter(|holds| **holds == Some(true)).count();
        shown(match count {
            _ if holds.iter().any(Option::is_none) => Verdict::NotMeasured,
            0 => Verdict::Differs,
            all if all == holds.len() => Verdict::Agrees,
            _ => Verdict::SameDirection,
        })
    });
    environment.add_function("worst", move |words: Vec<String>| {
        let words = words.iter().map(|word| word.parse().map_err(|reason: String| refuse(reason)));
        Ok::<_, Failure>(shown(Verdict::worst(words.collect::<Result<Vec<Verdict>, _>>()?)))
    });
}
