//! The schemes of paper 001, independent of their RAID level.

use crate::run::LoadedRun;

/// Settings that the short name of a scheme describes in words.
const SHOWN: [&str; 4] = ["hotness.tiers=", "hotness.policy=", "elastic.buffer=", "elastic.acknowledge="];

/// Whether the placement of a run is elastic striping.
pub(super) fn is_elastic(run: &LoadedRun) -> bool {
    run.settings.get("scheme.placement.policy").is_some_and(|policy| policy == "elastic")
}

/// The policy that finds hot data: `none`, `glru` …
pub(super) fn policy(run: &LoadedRun) -> &str {
    run.settings.get("scheme.hotness.policy").map_or("none", String::as_str)
}

/// Tiers of hotness, which are also the buffers and streams.
pub(super) fn tiers(run: &LoadedRun) -> u32 {
    let tiers = run.settings.get("scheme.hotness.tiers").and_then(|tiers| tiers.parse().ok());
    if policy(run) == "none" { 1 } else { tiers.unwrap_or(2) }
}

/// Whether this is the paper's scheme of reference: unmodified elastic striping without hotness.
pub(super) fn is_esap(run: &LoadedRun) -> bool {
    is_elastic(run) && label(run) == "eSAP"
}

/// The paper's name of a scheme: the same at every RAID level. Different schemes may share it.
pub(super) fn label(run: &LoadedRun) -> String {
    let is = |key: &str, value: &str| run.settings.get(key).is_some_and(|found| found == value);
    if !is_elastic(run) {
        return match run.settings.get("scheme.placement.policy").map(String::as_str) {
            None | Some("in-place") if run.has_parity() => "in place".to_owned(),
            _ => run.scheme.clone(),
        };
    }
    let mut name = match policy(run) {
        "none" => "eSAP".to_owned(),
        "glru" => format!("WAS({})", tiers(run)),
        "hca" => format!("WAS({}), HCA", tiers(run)),
        other => format!("WAS({}), {other}", tiers(run)),
    };
    // A group-sized buffer is the default, which a run's settings leave out.
    if policy(run) == "none" && !is("scheme.elastic.buffer", "stripe") {
        name += ", group buffer";
    }
    if is("scheme.elastic.acknowledge", "durable") || is("scheme.elastic.acknowledge", "buffered") {
        name += &format!(", {}", run.settings["scheme.elastic.acknowledge"]);
    }
    // The scheme's further settings. The paper's P_wait, and none for a group-sized buffer, are expected and left
    // out.
    let expected = |setting: &str| matches!(setting, "elastic.wait=200ms" | "elastic.wait=0ns");
    for setting in run.scheme.split(',').skip(1).filter(|part| part.contains('=') && !expected(part)) {
        if !SHOWN.iter().any(|shown| setting.starts_with(shown)) {
            name += &format!(", {setting}");
        }
    }
    name
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use stripewise_results::{Figure, Figures};

    /// A run of eight SSDs with invented totals.
    pub(in super::super) fn run(
        scheme: &str,
        workload: &str,
        settings: &[(&str, &str)],
        totals: &[(&str, u64)],
    ) -> LoadedRun {
        let level = if scheme.starts_with("raid6") { ("raid6", "6+2") } else { ("raid5", "7+1") };
        let mut all = vec![("scheme.geometry.level", level.0), ("scheme.name", scheme)];
        all.extend(settings);
        let mut figures = Figures::new();
        for (name, value) in totals {
            figures.add(name, Figure::Count(*value)).expect("each once");
        }
        let erases = totals.iter().find(|total| total.0 == "erase_blocks").map_or(0, |total| total.1);
        LoadedRun {
            digest: format!("{scheme}-{workload}"),
            workload: workload.to_owned(),
            scheme: scheme.to_owned(),
            structure: level.1.to_owned(),
            settings: all.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
            totals: figures,
            members: [
                ("member".to_owned(), (0..8).collect()),
                ("erase_blocks".to_owned(), (0..8).map(|at| erases / 8 + at).collect()),
            ]
            .into(),
            ..LoadedRun::default()
        }
    }

    const ELASTIC: (&str, &str) = ("scheme.placement.policy", "elastic");

    #[test]
    fn a_scheme_is_called_as_the_paper_calls_it_at_every_level() {
        let of = |scheme: &str, settings: &[(&str, &str)]| label(&run(scheme, "w", settings, &[]));
        assert_eq!(of("raid6-esap", &[ELASTIC, ("scheme.elastic.buffer", "stripe")]), "eSAP");
        assert_eq!(of("esap,elastic.buffer=group,elastic.wait=0ns", &[ELASTIC]), "eSAP, group buffer");
        let was = |more: &[(&str, &str)], scheme: &str| {
            let mut all =
                vec![ELASTIC, ("scheme.elastic.buffer", "group"), ("scheme.hotness.policy", "glru")];
            all.extend(more);
            of(scheme, &all)
        };
        assert_eq!(was(&[], "raid6-was"), "WAS(2)", "tiers by default");
        assert_eq!(was(&[("scheme.hotness.tiers", "4")], "was,hotness.tiers=4"), "WAS(4)");
        assert_eq!(was(&[("scheme.elastic.acknowledge", "durable")], "was"), "WAS(2), durable");
        assert_eq!(was(&[], "was,hotness.thresholds=[4]"), "WAS(2), hotness.thresholds=[4]");
        assert_eq!(of("baseline", &[("scheme.placement.policy", "in-place")]), "in place");
        assert_eq!(of("was-hca", &[ELASTIC, ("scheme.hotness.policy", "hca")]), "WAS(2), HCA");
    }
}
