//! What several seeds measured: the typical value of each number, and its interval.
//!
//! The value of a claim is a number, or a list or map of numbers, words, statements and study points. Over several seeds each
//! number becomes its typical value with a Student interval at 95 %, by its kind ([`Kind`]). Statements must be the same for
//! all seeds. Words and study points are those of the first seed: which workload is the best case, say.

use minijinja::value::{Value, ValueKind};
use serde_json::{Value as Json, json};

use crate::kind::Kind;
use crate::language::{items, to_json};
use crate::point::{MeasuredPoint, PointRun};

/// The interval of a claim's value over several seeds.
#[derive(Clone, Debug)]
pub struct Interval {
    /// The lower end of each number.
    pub(crate) low: Value,
    /// Its typical value: of differences the mean, of ratios the geometric mean.
    pub(crate) typical: Value,
    /// The upper end.
    pub(crate) high: Value,
}

impl Interval {
    /// The interval of what several seeds measured, with the kind of all its numbers, or one for each member of a list. None for
    /// one seed, and where statements or the shapes of values differ.
    pub(crate) fn of(values: &[Value], kinds: &[Kind]) -> Option<Self> {
        if values.len() < 2 {
            return None;
        }
        let [low, typical, high] = combine(&values.iter().collect::<Vec<_>>(), kinds)?;
        Some(Self { low, typical, high })
    }

    /// The values by which a claim is judged.
    pub(crate) fn ends_and_typical(&self) -> [&Value; 3] {
        [&self.low, &self.typical, &self.high]
    }

    /// Whether any number differs between the seeds.
    pub fn varies(&self) -> bool {
        self.low != self.high
    }

    /// The same for programs.
    pub(crate) fn json(&self) -> Json {
        let typical = to_json(&self.typical);
        // `mean` is its former name, for one release.
        json!({ "low": to_json(&self.low), "typical": typical, "mean": typical, "high": to_json(&self.high) })
    }
}

/// Lower end, typical value and upper end, number by number. A number that any seed lacks is missing.
fn combine(values: &[&Value], kinds: &[Kind]) -> Option<[Value; 3]> {
    let first = *values.first()?;
    let all = |value: Value| [value.clone(), value.clone(), value];
    if values.iter().any(|value| value.is_none() || value.is_undefined()) {
        return Some(all(Value::from(())));
    }
    if values.iter().any(|value| value.kind() != first.kind()) {
        return None;
    }
    match first.kind() {
        ValueKind::Number => {
            let numbers: Vec<f64> =
                values.iter().map(|value| f64::try_from((*value).clone()).ok()).collect::<Option<_>>()?;
            Some(kinds.first()?.interval(&numbers)?.map(Value::from))
        }
        // Lists that were joined are iterables.
        ValueKind::Seq | ValueKind::Iterable => {
            let lists: Vec<Vec<Value>> = values.iter().map(|value| items(value)).collect();
            let is_alike = lists.iter().all(|list| list.len() == lists[0].len());
            let of = |at: usize| {
                let own = if kinds.len() > 1 { &kinds[at..=at] } else { kinds };
                combine(&lists.iter().map(|list| &list[at]).collect::<Vec<_>>(), own)
            };
            let is_alike = is_alike && (kinds.len() < 2 || kinds.len() == lists[0].len());
            let each = is_alike.then(|| (0..lists[0].len()).map(of).collect::<Option<Vec<_>>>())??;
            Some([0, 1, 2].map(|end| each.iter().map(|ends| ends[end].clone()).collect()))
        }
        ValueKind::Map if !is_point(first) => {
            let keys: Vec<Value> = items(first);
            let is_alike = values.iter().all(|value| items(value) == keys);
            let of = |key: &Value| {
                let fields: Vec<Value> =
                    values.iter().map(|value| value.get_item(key).ok()).collect::<Option<_>>()?;
                combine(&fields.iter().collect::<Vec<_>>(), kinds)
            };
            let each = is_alike.then(|| keys.iter().map(of).collect::<Option<Vec<_>>>())??;
            let with =
                |end: usize| keys.iter().zip(&each).map(move |(key, ends)| (key.clone(), ends[end].clone()));
            Some([0, 1, 2].map(|end| Value::from_pairs(with(end))))
        }
        ValueKind::Bool => values.iter().all(|value| *value == first).then(|| all(first.clone())),
        _ => Some(all(first.clone())),
    }
}

/// Whether a value is a study point or a run, which expressions ask for more.
fn is_point(value: &Value) -> bool {
    value.downcast_object_ref::<MeasuredPoint>().is_some()
        || value.downcast_object_ref::<PointRun>().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::of_json;

    /// Lower ends, means and upper ends of differences, as programs see them.
    fn ends(values: &[Json]) -> Option<[Json; 3]> {
        ends_of(values, &[Kind::Difference])
    }

    fn ends_of(values: &[Json], kinds: &[Kind]) -> Option<[Json; 3]> {
        let values: Vec<Value> = values.iter().map(of_json).collect();
        let interval = Interval::of(&values, kinds)?;
        Some(interval.ends_and_typical().map(to_json))
    }

    #[test]
    fn numbers_become_means_with_the_interval_of_student() {
        let [low, mean, high] = ends(&[json!(1.0), json!(2.0), json!(3.0)]).unwrap();
        // Standard error 1 / sqrt(3), and 4.3027 for two degrees of freedom.
        assert_eq!(mean, json!(2.0));
        assert!((low.as_f64().unwrap() - (2.0 - 2.4841)).abs() < 1e-3, "{low}");
        assert!((high.as_f64().unwrap() - (2.0 + 2.4841)).abs() < 1e-3, "{high}");
    }

    #[test]
    fn lists_and_maps_are_combined_number_by_number() {
        let of = |a: f64, b: f64| json!({ "gains": [a, b], "name": "x", "holds": true });
        let [low, mean, high] = ends(&[of(0.25, 0.5), of(0.75, 0.5)]).unwrap();
        assert_eq!(mean, of(0.5, 0.5));
        assert_eq!((&low["gains"][1], &high["gains"][1]), (&json!(0.5), &json!(0.5)), "nothing varied");
        assert!(low["gains"][0].as_f64() < Some(0.25) && high["gains"][0].as_f64() > Some(0.75));
    }

    #[test]
    fn each_member_of_a_list_may_have_a_kind_of_its_own() {
        let seeds = [json!([1.0, 0.5]), json!([4.0, 0.875])];
        let [_, typical, _] = ends_of(&seeds, &[Kind::Difference, Kind::Gain]).unwrap();
        assert_eq!(typical, json!([2.5, 0.75]));
    }

    #[test]
    fn a_number_that_a_seed_lacks_is_missing() {
        assert_eq!(ends(&[json!([1.0, null]), json!([1.0, 2.0])]).unwrap()[1], json!([1.0, null]));
    }

    #[test]
    fn words_are_those_of_the_first_seed_and_other_differences_combine_to_nothing() {
        assert_eq!(ends(&[json!("hm_0"), json!("Ali_1")]).unwrap()[1], json!("hm_0"));
        assert!(ends(&[json!(true), json!(false)]).is_none());
        assert!(ends(&[json!([1.0]), json!([1.0, 2.0])]).is_none());
        assert!(ends(&[json!({ "a": 1.0 }), json!({ "b": 1.0 })]).is_none());
        assert!(ends(&[json!(1.0)]).is_none(), "one seed has no interval");
    }
}
