//! Ranges of an axis: `{ from = 1, to = 64, factor = 2 }`, `{ from = "4KiB", to = "64KiB", step = "4KiB" }`.

use crate::error::Error;
use crate::text::{Item, Section};

/// The most values of an axis.
pub(crate) const VALUES_MAX: usize = 1_000_000;

/// A decimal number with what stands around it: `open:1.5` or `16KiB`. The number is `digits` over a power of ten.
struct Quantity {
    before: String,
    digits: i128,
    decimals: u32,
    after: String,
}

impl Quantity {
    fn parse(text: &str) -> Option<Self> {
        let is_number = |c: char| c.is_ascii_digit();
        let from = text.find(is_number)?;
        let from = if text[..from].ends_with('-') { from - 1 } else { from };
        let length = text[from..].char_indices().skip(1).find(|(_, c)| !is_number(*c) && *c != '.');
        let to = length.map_or(text.len(), |(at, _)| from + at);
        let (whole, fraction) = text[from..to].split_once('.').unwrap_or((&text[from..to], ""));
        let digits = format!("{whole}{fraction}").parse().ok()?;
        let decimals = fraction.len() as u32;
        (decimals <= 9).then(|| Self {
            before: text[..from].to_owned(),
            digits,
            decimals,
            after: text[to..].to_owned(),
        })
    }

    fn scaled(&self, decimals: u32) -> Option<i128> {
        self.digits.checked_mul(10i128.pow(decimals - self.decimals))
    }

    fn print(&self, digits: i128, decimals: u32) -> String {
        let unit = 10i128.pow(decimals);
        let sign = if digits < 0 { "-" } else { "" };
        let (whole, rest) = (digits.abs() / unit, digits.abs() % unit);
        let mut number = format!("{sign}{whole}");
        if rest > 0 {
            let width = decimals as usize;
            number.push_str(format!(".{rest:0width$}").trim_end_matches('0'));
        }
        format!("{}{number}{}", self.before, self.after)
    }
}

/// The values of a range, as texts; none if the item is no range.
pub(crate) fn values(item: &Item<'_>) -> Result<Option<Vec<String>>, Error> {
    let Some(table) = item.table().filter(|table| table.get("from").is_some()) else { return Ok(None) };
    table.only(&["from", "to", "step", "factor"])?;
    let from = quantity(&table, "from", item)?;
    let to = quantity(&table, "to", item)?;
    if (&from.before, &from.after) != (&to.before, &to.after) {
        return Err(item.refuse("`from` and `to` must have the same unit"));
    }
    let (step, factor) = (table.get("step"), table.get("factor"));
    let by = match (step, factor) {
        (Some(_), None) => quantity(&table, "step", item)?,
        (None, Some(_)) => quantity(&table, "factor", item)?,
        _ => {
            return Err(
                item.refuse("a range needs either `step` or `factor`, as in { from = 1, to = 9, step = 2 }")
            );
        }
    };
    if step.is_some() && !by.after.is_empty() && by.after != from.after {
        return Err(item.refuse("`step` must have the unit of `from`"));
    }
    let decimals = if step.is_some() { from.decimals.max(to.decimals).max(by.decimals) } else { 9 };
    let too_large = || item.refuse("the numbers of this range are too large");
    let (first, last) = (from.scaled(decimals), to.scaled(decimals));
    let (first, last) = (first.ok_or_else(too_large)?, last.ok_or_else(too_large)?);
    let grows = if step.is_some() { by.digits > 0 } else { by.digits > 10i128.pow(by.decimals) && first > 0 };
    if !grows || last < first {
        return Err(item
            .refuse("a range grows: give `to` from `from` on, and a positive `step` or a `factor` above 1"));
    }
    let (mut values, mut value) = (Vec::new(), first);
    while value <= last {
        if values.len() == VALUES_MAX {
            return Err(item.refuse(format!("a range has at most {VALUES_MAX} values; give a larger step")));
        }
        values.push(from.print(value, decimals));
        let next = match step {
            Some(_) => by.scaled(decimals).and_then(|step| value.checked_add(step)),
            None => value.checked_mul(by.digits).map(|next| next / 10i128.pow(by.decimals)),
        };
        value = next.filter(|&next| next > value).ok_or_else(too_large)?;
    }
    Ok(Some(values))
}

fn quantity(table: &Section<'_>, key: &str, whole: &Item<'_>) -> Result<Quantity, Error> {
    let item = table.get(key).ok_or_else(|| whole.refuse(format!("this range has no `{key}`")))?;
    let plain = item.plain()?;
    Quantity::parse(&plain)
        .ok_or_else(|| item.refuse(format!("`{key}`: expected a number, with or without a unit")))
}

#[cfg(test)]
mod tests {
    use crate::text::Text;

    fn range(text: &str) -> Result<Vec<String>, String> {
        let text = format!("r = {text}");
        let text = Text { file: "study.toml", text: &text };
        let table = text.parse().unwrap();
        let values = super::values(&text.section("", table.get_ref()).items[0]);
        values.map(Option::unwrap).map_err(|error| error.to_string())
    }

    #[test]
    fn steps_and_factors_reach_their_end_exactly() {
        for (text, values) in [
            ("{ from = 1, to = 64, factor = 4 }", "1 4 16 64"),
            ("{ from = 1, to = 63, factor = 4 }", "1 4 16"),
            ("{ from = 0.1, to = 0.5, step = 0.1 }", "0.1 0.2 0.3 0.4 0.5"),
            ("{ from = \"4KiB\", to = \"16KiB\", step = \"6KiB\" }", "4KiB 10KiB 16KiB"),
            ("{ from = \"open:1\", to = \"open:4\", factor = 2 }", "open:1 open:2 open:4"),
            ("{ from = -2, to = 2, step = 2 }", "-2 0 2"),
            ("{ from = 5, to = 5, step = 1 }", "5"),
            ("{ from = 1, to = 4, factor = 1.5 }", "1 1.5 2.25 3.375"),
            ("{ from = \"5%\", to = \"15%\", step = 5 }", "5% 10% 15%"),
        ] {
            assert_eq!(range(text).unwrap().join(" "), values, "{text}");
        }
    }

    #[test]
    fn ranges_without_end_or_sense_are_refused_with_the_line() {
        for (text, remedy) in [
            ("{ from = 1, to = 9 }", "either `step` or `factor`"),
            ("{ from = 1, to = 9, step = 1, factor = 2 }", "either `step` or `factor`"),
            ("{ from = 1, to = 9, step = 0 }", "positive"),
            ("{ from = 9, to = 1, step = 1 }", "from `from` on"),
            ("{ from = 0, to = 9, factor = 2 }", "positive"),
            ("{ from = 1, to = \"9KiB\", step = 1 }", "same unit"),
            ("{ from = 1, step = 1 }", "no `to`"),
            ("{ from = 1, to = 1000000000, step = 1 }", "at most 1000000"),
            ("{ from = 1, to = 9, stp = 1 }", "did you mean `step`?"),
        ] {
            let message = range(text).unwrap_err();
            assert!(message.starts_with("study.toml:1:") && message.contains(remedy), "{text}: {message}");
        }
    }
}
