//! The numbers that the values of an axis are: `open:4`, `open:1/2`, `64KiB`, `70%`, `25us`.

use stripewise_base::units::{Bytes, Count, Span};

/// The value of each text, if all are numbers of one kind behind the same prefix.
pub(super) fn numbers(texts: &[String]) -> Option<Vec<f64>> {
    let split = |text: &'_ str| text.rfind(':').map_or(0, |colon| colon + 1);
    let prefix = |text: &String| text[..split(text)].to_owned();
    let first = prefix(texts.first()?);
    if texts.iter().any(|text| prefix(text) != first) {
        return None;
    }
    let kinds: [fn(&str) -> Option<f64>; 5] = [
        |text| match text.split_once('/') {
            Some((over, under)) => Some(over.parse::<f64>().ok()? / under.parse::<f64>().ok()?),
            None => text.parse().ok(),
        },
        |text| text.strip_suffix('%')?.parse().ok(),
        |text| text.parse::<Count>().ok().map(|count| count.0 as f64),
        |text| text.parse::<Bytes>().ok().map(|bytes| bytes.0 as f64),
        |text| text.parse::<Span>().ok().map(|span| span.0 as f64),
    ];
    let all = |kind: &fn(&str) -> Option<f64>| texts.iter().map(|text| kind(&text[split(text)..])).collect();
    let found: Vec<f64> = kinds.iter().find_map(all)?;
    found.iter().all(|value| value.is_finite()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_numbers_where_all_of_them_are_of_one_kind() {
        let of = |texts: &[&str]| numbers(&texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["open:1/2", "open:1", "open:2.5"]), Some(vec![0.5, 1.0, 2.5]));
        assert_eq!(of(&["4KiB", "1MiB"]), Some(vec![4096.0, 1_048_576.0]));
        assert_eq!(of(&["25us", "1ms"]), Some(vec![25_000.0, 1e6]));
        assert_eq!(of(&["70%", "7.5%"]), Some(vec![70.0, 7.5]));
        assert_eq!(of(&["10k", "1M"]), Some(vec![1e4, 1e6]));
        assert_eq!(of(&["open:1", "closed:1"]), None, "another prefix is another thing");
        assert_eq!(of(&["4KiB", "25us"]), None);
        assert_eq!(of(&["greedy", "fifo"]), None);
        assert_eq!(of(&["1", "inf"]), None);
        assert_eq!(of(&[]), None);
    }
}
