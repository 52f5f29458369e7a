//! The figures of paper 004, drawn for runs of its arrays.

mod cast;
mod chunks;
mod responses;

use crate::set::Set;

use super::figure::Figure;

/// Every figure of paper 004, in the paper's order.
pub(super) fn all(set: &Set) -> Vec<Figure> {
    vec![
        chunks::rates(set),
        responses::means(set),
        responses::deviations(set),
        responses::ssds(set),
        responses::zones(set),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Cell;
    use crate::run::LoadedRun;
    use crate::{Beside, Paper};
    use stripewise_results::{Figure as Value, Figures};

    /// A run of an array with invented totals.
    fn run(scheme: &str, chunk: &str, workload: &str, mean: u64, bytes: u64) -> LoadedRun {
        let settings = [
            ("scheme.name", scheme.to_owned()),
            ("scheme.geometry.level", "raid5".to_owned()),
            ("scheme.geometry.chunk", chunk.to_owned()),
        ];
        let mut totals = Figures::new();
        for (name, value) in [
            ("response_mean_ns", mean),
            ("response_deviation_ns", mean / 2),
            ("read_bytes", bytes),
            ("written_bytes", 0),
            ("simulated_ns", 1_000_000_000),
        ] {
            totals.add(name, Value::Count(value)).expect("each once");
        }
        LoadedRun {
            digest: format!("{scheme}-{workload}"),
            workload: workload.to_owned(),
            scheme: scheme.to_owned(),
            structure: "3+1".to_owned(),
            settings: settings.map(|(key, value)| (key.to_owned(), value)).into(),
            totals,
            members: [("member".to_owned(), (0..4).collect())].into(),
            ..LoadedRun::default()
        }
    }

    fn set() -> Set {
        let of = |workload: &'static str| {
            [
                ("paper004-4k", "4KiB", 1_000),
                ("paper004-8k", "8KiB", 1_100),
                ("paper004-mc-rais", "4KiB", 600),
            ]
            .map(|(scheme, chunk, mean)| run(scheme, chunk, workload, mean, 0))
        };
        let names = ["proj_0", "proj_0, used SSDs", "proj_0, 3 SSDs", "proj_0, zones of 120 GB", "x; slice"];
        let mut all: Vec<LoadedRun> = names.into_iter().flat_map(of).collect();
        let accesses = [
            ("random reads, 4 KiB", 2 << 20),
            ("random reads, 16 KiB", 3 << 20),
            ("random reads, 16 KiB, 8 at a time, s3700-like", 5 << 20),
        ];
        for (workload, bytes) in accesses {
            all.push(run("paper004-4k", "4KiB", workload, 1, bytes));
            all.push(run("paper004-4k,geometry.chunk=16KiB", "16KiB", workload, 1, bytes * 2));
        }
        Set::new(all, Beside { paper: Some(Paper::P004), ..Beside::default() })
    }

    fn cell<'a>(figure: &'a Figure, row: &[&str], column: &str) -> &'a str {
        let column = figure.data.head.iter().position(|head| head == column).expect("a column");
        let ours = |cells: &&Vec<Cell>| cells.iter().zip(row).all(|(cell, expected)| cell == *expected);
        figure.data.rows.iter().find(ours).expect("a row")[column].text()
    }

    #[test]
    fn every_figure_of_the_paper_is_drawn_with_its_values() {
        let set = set();
        let figures = crate::figures::all(&set).expect("figures");
        let ids: Vec<&str> = figures.iter().map(|figure| figure.id.as_str()).collect();
        assert_eq!(ids, ["2", "5", "6", "7", "8"].map(|id| format!("paper004-figure-{id}")));
        for figure in &figures {
            assert!(figure.panels.iter().any(|panel| panel.body.is_ok()), "{}", figure.id);
        }
        assert_eq!(cell(&figures[0], &["random reads, 4 KiB", "16KiB"], "MiB/s"), "4.00");
        assert_eq!(cell(&figures[0], &["random reads, 16 KiB", "4KiB"], "MiB/s"), "3.00");
        let panels: Vec<&str> = figures[0].panels.iter().map(|panel| panel.title.as_str()).collect();
        assert_eq!(panels, ["random reads", "random reads, 8 at a time, s3700-like"]);
        let sizes = figures[0].panels[1].body.as_ref().expect("it is drawn");
        assert!(sizes.svg.contains(">16 KiB<") && !sizes.svg.contains(">4 KiB<"), "{}", sizes.svg);
        assert_eq!(cell(&figures[1], &["proj_0", "MC-RAIS"], "over 4 KB-RAIS"), "0.600");
        assert_eq!(figures[1].data.rows.len(), 9, "two states and a slice of three arrays");
        assert_eq!(cell(&figures[2], &["proj_0", "MC-RAIS"], "over 4 KB-RAIS"), "0.600");
        assert_eq!(cell(&figures[3], &["proj_0, 3 SSDs", "8 KB-RAIS"], "over 4 KB-RAIS"), "1.10");
        assert_eq!(figures[3].data.rows.len(), 9, "three SSDs, and four in both states");
        assert_eq!(cell(&figures[4], &["proj_0, zones of 120 GB", "MC-RAIS"], "over 4 KB-RAIS"), "0.600");
        let sizes = figures[4].panels[1].body.as_ref().expect("sizes of zones are drawn");
        let sizes = &sizes.svg;
        assert!(sizes.contains("proj_0: ") && sizes.contains("proj_0, zones of 120 GB: "), "{sizes}");
        assert!(!sizes.contains("used"), "of used SSDs there is one size");
    }

    #[test]
    fn a_paper_without_runs_has_no_figure_and_zeros_are_no_panic() {
        let of = |runs| {
            crate::figures::all(&Set::new(runs, Beside { paper: Some(Paper::P004), ..Beside::default() }))
                .expect("figures")
        };
        let zeros =
            ["w", "random reads, 4 KiB", "w, 3 SSDs"].map(|name| run("paper004-4k", "4KiB", name, 0, 0));
        assert!(of(zeros.to_vec()).is_empty());
        assert!(of(Vec::new()).is_empty());
    }
}
