//! Generates docs/reference/composition.md: which members can be combined, which cannot, and why.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::axes::{AXES, COUNT};
use super::bits::{Numbers, Triples};
use super::covering::{covering, feasible};
use super::review::{REVIEW, review};
use super::{At, Combination, Pairs, Refusal, Space};

/// The document.
pub fn document(space: &Space, pairs: &Pairs) -> String {
    let mut text = String::new();
    head(&mut text, pairs);
    members(&mut text);
    reasons(&mut text, pairs);
    matrix(&mut text, pairs);
    power(&mut text, space);
    text
}

fn name((axis, member): At) -> &'static str {
    AXES[axis].members[member as usize].name
}

fn head(text: &mut String, pairs: &Pairs) {
    let mut accepted = 0_u64;
    pairs.each(|_| {
        accepted += 1;
        true
    });
    let all: u64 = AXES.iter().map(|axis| axis.members.len() as u64).product();
    let triples: Triples = feasible(pairs);
    let direct = pairs.refusals.len();
    let _ = write!(
        text,
        "# Which settings combine

Each choice on an axis combines with each choice on every other axis, unless the two contradict each other or their
combination is not implemented. `stripewise-check compose --table > docs/reference/composition.md` generates this page
from the code that resolves a scheme at the start of every run; a test keeps it up to date.
[checking.md](../evidence/checking.md#composition) describes how combinations are run.

Of the {all} combinations of {COUNT} axes, {accepted} are accepted. Each refusal is due to two choices: {direct} pairs refuse
each other (one of them is a choice that is always refused), and all other impossible combinations follow from these
pairs. {} triples of choices on three axes occur in some accepted combination; {} combinations contain every possible triple at
least once.
",
        triples.count,
        covering(pairs).len(),
    );
}

fn members(text: &mut String) {
    text.push_str("\n## Axes\n\nThe first choice on an axis is the default.\n\n");
    text.push_str("| axis | choice | set by |\n| --- | --- | --- |\n");
    for axis in &AXES {
        for (nth, member) in axis.members.iter().enumerate() {
            let axis = if nth == 0 { format!("**{}**: {}", axis.name, axis.about) } else { String::new() };
            let _ = writeln!(text, "| {axis} | {} | {} |", member.name, member.sets.words());
        }
    }
}

/// Members of one axis that are refused with the same members of another one, or with every member.
type Block = (usize, Option<usize>, Vec<&'static str>);

/// Members by axes: `geometry raid5, raid4 with code pq, rdp`.
fn who(refusals: &[&Refusal]) -> String {
    // First the refused members by first member and other axis; then first members with equal sets together.
    let mut others: BTreeMap<(At, Option<usize>), Vec<&'static str>> = BTreeMap::new();
    for refusal in refusals {
        let of = others.entry((refusal.one, refusal.other.map(|at| at.0))).or_default();
        of.extend(refusal.other.map(name));
    }
    let mut groups: BTreeMap<Block, Vec<&str>> = BTreeMap::new();
    for ((one, axis), others) in others {
        groups.entry((one.0, axis, others)).or_default().push(name(one));
    }
    let words = groups.into_iter().map(|((one, axis, others), ones)| {
        let ones = format!("{} {}", AXES[one].name, ones.join(", "));
        match axis {
            Some(axis) => format!("{ones} with {} {}", AXES[axis].name, others.join(", ")),
            None => format!("{ones} with anything"),
        }
    });
    words.collect::<Vec<_>>().join("; ")
}

fn reasons(text: &mut String, pairs: &Pairs) {
    text.push_str(
        "
## Refusals

*No meaning*: the two contradict each other, or one would have no effect. *Not built*: they could be combined, but the
combination is not implemented.

| choices | the array's reason | review |
| --- | --- | --- |
",
    );
    let mut by_review: BTreeMap<Option<usize>, Vec<&Refusal>> = BTreeMap::new();
    for refusal in &pairs.refusals {
        by_review.entry(review(&refusal.why)).or_default().push(refusal);
    }
    for (line, refusals) in by_review {
        let review = line.map_or_else(
            || "not reviewed".into(),
            |line| format!("{}: {}", REVIEW[line].verdict.words(), REVIEW[line].because),
        );
        let why = &refusals[0].why;
        let setting = why.setting.split(" = ").next().unwrap_or_default();
        let _ = writeln!(text, "| {} | `{setting}` {} | {review} |", who(&refusals), why.reason);
    }
}

fn matrix(text: &mut String, pairs: &Pairs) {
    text.push_str(
        "
## Every pair

`.` combines, `x` refuse each other, `-` are impossible together because of such a pair, `X` is always refused. Columns
have the numbers of the rows.

```text
",
    );
    let all: Vec<At> = Numbers::all().collect();
    let width = all.iter().map(|&at| AXES[at.0].name.len() + name(at).len() + 1).max().unwrap_or(0);
    for (nth, &row) in all.iter().enumerate() {
        let label = format!("{} {}", AXES[row.0].name, name(row));
        let mut line = format!("{label:width$} {nth:2} ");
        let mut axis = 0;
        for &column in all[..nth].iter().filter(|column| column.0 != row.0) {
            if column.0 != axis {
                line.push(' ');
                axis = column.0;
            }
            line.push(cell(pairs, column, row));
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    let mut line = " ".repeat(width + 4);
    let mut axis = 0;
    for (nth, column) in all.iter().enumerate() {
        if column.0 != axis {
            line.push(' ');
            axis = column.0;
        }
        let digit = |number: usize| char::from(b'0' + (number % 10) as u8);
        line.push(digit(nth));
    }
    let _ = writeln!(text, "{line}\n```");
}

fn cell(pairs: &Pairs, one: At, other: At) -> char {
    let refuses = |refusal: &&Refusal| {
        refusal.one == one && refusal.other == Some(other)
            || refusal.other.is_none() && [one, other].contains(&refusal.one)
    };
    match pairs.refusals.iter().find(refuses) {
        _ if pairs.go_together(one, other) => '.',
        Some(Refusal { other: None, .. }) => 'X',
        Some(_) => 'x',
        None => '-',
    }
}

fn power(text: &mut String, space: &Space) {
    text.push_str(
        "
## Loss of power

These choices are accepted, but the state that they keep only in memory is lost with power, so the array refuses to
restart with them. With all other choices, and none of these, it finds its content.

| axis | choice | reason |
| --- | --- | --- |
",
    );
    for at in Numbers::all() {
        let scheme = space.scheme(&Combination::default().with(at.0, at.1));
        if let Err(error) = scheme.check_restart() {
            let error = error.to_string();
            let reason = error.split_once(": ").map_or(error.as_str(), |(_, reason)| reason);
            let _ = writeln!(text, "| {} | {} | {reason} |", AXES[at.0].name, name(at));
        }
    }
}
