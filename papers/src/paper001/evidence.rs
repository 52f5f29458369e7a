//! What speaks for a result: which part of it comes from where, study by study.

use super::measured::{Measured, Run};
use super::variant::Variant;
use crate::text::range;

/// What less of something is called, and what more of it.
#[derive(Clone, Copy)]
pub(super) struct Words(pub(super) &'static str, pub(super) &'static str);

/// Of what is counted.
pub(super) const FEWER: Words = Words("fewer", "more");
/// Of what is measured.
pub(super) const LOWER: Words = Words("lower", "higher");

/// How much less in words, from the least to the most of the studies, with their names.
pub(super) fn span(gains: &[(&Measured, f64)], words: Words) -> String {
    let by = |a: &&(&Measured, f64), b: &&(&Measured, f64)| a.1.total_cmp(&b.1);
    let (Some(least), Some(most)) = (gains.iter().min_by(by), gains.iter().max_by(by)) else {
        return NOTHING.to_owned();
    };
    if gains.len() == 1 {
        return gain(least.1, words);
    }
    let names = format!("({}, {})", least.0.cell.workload, most.0.cell.workload);
    if least.1 >= 0.0 {
        return format!("{:.1} to {} {names}", least.1 * 100.0, gain(most.1, words));
    }
    format!("{} to {} {names}", gain(least.1, words), gain(most.1, words))
}

/// What stands where nothing was measured.
pub(super) const NOTHING: &str = "–";

/// One gain in words; what is more than twice as much is told in times.
fn gain(gain: f64, Words(less, more): Words) -> String {
    match gain {
        _ if gain <= -1.0 => format!("{:.1} times as much", 1.0 - gain),
        _ if gain < 0.0 => format!("{:.1} % {more}", -gain * 100.0),
        _ => format!("{:.1} % {less}", gain * 100.0),
    }
}

/// How much less `ours` has than `theirs` in each study that has both.
pub(super) fn gains<'a>(
    group: &[&'a Measured],
    (ours, theirs): (Variant, Variant),
    value: &dyn Fn(&Run) -> f64,
) -> Vec<(&'a Measured, f64)> {
    group.iter().filter_map(|one| Some((*one, one.gain(ours, theirs, value)?))).collect()
}

/// Where fewer GC rewrites come from: the buffer alone, the separation of hot and cold on top of it.
pub(super) fn rewrites(group: &[&Measured]) -> String {
    let value = |run: &Run| run.gc_chunks;
    let of = |pair| span(&gains(group, pair, &value), FEWER);
    let buffer = of((Variant::EsapGroup, Variant::Esap));
    let heat = of((Variant::Was(2), Variant::EsapGroup));
    let threshold = of((Variant::Threshold, Variant::Was(2)));
    let absorbed = |variant| {
        let share = |one: &&Measured| {
            let run = one.run(variant)?;
            let all = run.absorbed_chunks + run.data_chunks;
            (all > 0.0).then(|| run.absorbed_chunks / all)
        };
        range(group.iter().filter_map(share))
            .map_or("–".to_owned(), |(low, high)| format!("{:.1} to {:.1} %", low * 100.0, high * 100.0))
    };
    let cost = |variant| {
        let chunks = |one: &&Measured| {
            let run = one.run(variant)?;
            (run.data_chunks > 0.0).then(|| run.gc_chunks / run.data_chunks)
        };
        range(group.iter().filter_map(chunks))
            .map_or("–".to_owned(), |(low, high)| format!("{low:.2} to {high:.2}"))
    };
    format!(
        "a group-sized buffer alone, without hotness, gives eSAP {buffer}, hot and cold apart on top of it {heat}, a \
         threshold of 4 instead of 2 {threshold} than WAS(2); overwritten in the buffer: {} of eSAP's writes, {} of WAS(2)'s; \
         chunks rewritten for each that hosts wrote: eSAP {}, WAS(2) {}; ",
        absorbed(Variant::Esap),
        absorbed(Variant::Was(2)),
        cost(Variant::Esap),
        cost(Variant::Was(2)),
    )
}

/// What the acknowledgement does to response times.
pub(super) fn responses(group: &[&Measured]) -> String {
    let (mean, writes) = (|run: &Run| run.mean_ns[0], |run: &Run| run.mean_ns[1]);
    let tail = |run: &Run| run.p999_ns;
    let of = |pair, value: &dyn Fn(&Run) -> f64| span(&gains(group, pair, value), LOWER);
    format!(
        "of writes alone: {}; against eSAP that acknowledges when a write is on the SSDs: {}, and with WAS(2) doing so too: \
         {}; against updates in place: {}; the 99.9th percentile: {}; ",
        of((Variant::Was(2), Variant::Esap), &writes),
        of((Variant::Was(2), Variant::EsapDurable), &mean),
        of((Variant::WasDurable, Variant::EsapDurable), &mean),
        of((Variant::Was(2), Variant::InPlace), &mean),
        of((Variant::Was(2), Variant::Esap), &tail),
    )
}

/// What erases are made of.
pub(super) fn erases(group: &[&Measured]) -> String {
    let amplification = |variant| {
        let all = group.iter().filter_map(|one| one.run(variant)).map(|run| run.programs_per_member_page);
        range(all).map_or("–".to_owned(), |(low, high)| format!("{low:.2} to {high:.2}"))
    };
    let even = |one: &&Measured| {
        let [least, most] = one.run(Variant::Was(2))?.erases_between;
        (least > 0.0).then_some(most / least)
    };
    let uneven = range(group.iter().filter_map(even)).map_or(1.0, |(_, high)| high);
    format!(
        "pages programmed inside the SSDs for each page that the array wrote: eSAP {}, WAS(2) {}, in place {}; the SSD \
         that erases most erases at most {:.1} % more than the one that erases least (Fig. 10); ",
        amplification(Variant::Esap),
        amplification(Variant::Was(2)),
        amplification(Variant::InPlace),
        (uneven - 1.0) * 100.0,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_are_told_by_what_they_are() {
        let texts = [0.706, 0.0, -0.083, -1.0, -19.52].map(|value| gain(value, FEWER));
        assert_eq!(
            texts,
            ["70.6 % fewer", "0.0 % fewer", "8.3 % more", "2.0 times as much", "20.5 times as much"]
        );
    }
}
