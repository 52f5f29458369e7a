//! Generates docs/composition.md: which members can be combined, which cannot, and why.

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
        "# What goes with what

Any member of an axis goes with any member of every other one, unless the two have no meaning together or nobody has built it.
`stripewise-check compose --table > docs/composition.md` makes this document from the code that decides what a run begins with;
a test holds it up to date ([checking.md](checking.md#composition) tells how combinations are run).

Of the {all} combinations of {COUNT} axes, {accepted} are accepted. Each refusal is one of two members: {direct} pairs refuse each
other (one of them a member that is always refused), and all else that never comes together follows. {} triples of members of
three axes occur in some accepted combination; {} combinations are enough to have each of them once.
",
        triples.count,
        covering(pairs).len(),
    );
}

fn members(text: &mut String) {
    text.push_str("\n## Axes\n\nThe first member of an axis is what a scheme has that says nothing.\n\n");
    text.push_str("| axis | member | is had by |\n| --- | --- | --- |\n");
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

*No meaning*: the two contradict each other, or one would have nothing to do. *Not built*: they could be had together.

| who | the array's reason | review |
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

`.` goes together, `x` refuse each other, `-` never come together because of such a pair, `X` is always refused. Columns are
numbered as rows are.

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

These members are accepted, and what they keep in memory alone goes with a loss of power; the array refuses to start again over
them. With all others, and none of these, it finds its content.

| axis | member | reason |
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
