//! The figures of paper 003, drawn for runs with its write caches.

mod cast;
mod responses;
mod synchrony;

use crate::set::Set;

use super::figure::Figure;
pub(super) use synchrony::of_any_runs as together;

/// Every figure of paper 003, in the paper's order.
pub(super) fn all(set: &Set) -> Vec<Figure> {
    vec![
        responses::compared(set),
        responses::places(set),
        synchrony::distributions(set),
        responses::grid(set),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Cell;
    use crate::run::LoadedRun;
    use crate::{Beside, Paper};
    use stripewise_results::{Figure as Value, Figures};

    /// A run with a cache and invented totals.
    fn run(policy: &str, workload: &str, mean: u64, collecting: &[u64]) -> LoadedRun {
        let settings = [
            ("scheme.name", format!("paper003-{policy}")),
            ("scheme.cache.policy", policy.to_owned()),
            ("scheme.geometry.level", "raid5".to_owned()),
        ];
        let mut totals = Figures::new();
        totals.add("response_mean_ns", Value::Count(mean)).expect("each once");
        LoadedRun {
            digest: format!("{policy}-{workload}"),
            workload: workload.to_owned(),
            scheme: format!("paper003-{policy}"),
            structure: "8+1".to_owned(),
            settings: settings.map(|(key, value)| (key.to_owned(), value)).into(),
            totals,
            members: [("member".to_owned(), (0..9).collect())].into(),
            collecting: collecting.to_vec(),
            ..LoadedRun::default()
        }
    }

    fn set() -> Set {
        let of = |workload: &'static str| {
            [("none", 9_000), ("isc", 5_000), ("wow", 2_000), ("siw", 1_500), ("hybrid", 1_400)]
                .map(|(policy, mean)| run(policy, workload, mean, &[50, 30, 10, 10]))
        };
        let all = ["HPC-G-5", "Exchange-P-5", "W(4, 20, 60)-G-5", "HPC-G-5; sweeps"].into_iter().flat_map(of);
        Set::new(all.collect(), Beside { paper: Some(Paper::P003), ..Beside::default() })
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
        assert_eq!(ids, ["4a", "4b", "4cd", "5"].map(|id| format!("paper003-figure-{id}")));
        for figure in &figures {
            assert!(figure.panels.iter().any(|panel| panel.body.is_ok()), "{}", figure.id);
        }
        assert_eq!(cell(&figures[0], &["HPC-G-5", "SIW"], "over WOW"), "0.750");
        assert_eq!(figures[0].data.rows.len(), 6, "two workloads and three caches; Table 1 and sweeps apart");
        assert_eq!(cell(&figures[1], &["HPC-G-5", "None"], "over WOW"), "4.50");
        // Of 50 slices with any collection, 30 have one and 40 up to two.
        assert_eq!(cell(&figures[2], &["HPC-G-5", "WOW"], "up to 1"), "0.600");
        assert_eq!(cell(&figures[2], &["HPC-G-5", "WOW"], "2 or more"), "0.400");
        assert_eq!(cell(&figures[3], &["W(4, 20, 60)-G-5", "hybrid"], "over WOW"), "0.700");
    }

    #[test]
    fn caches_over_raid0_are_in_the_figures_and_other_variants_are_not() {
        let of = |settings: &str, workload| {
            [("wow", 2_000), ("siw", 1_000)].map(|(policy, mean)| {
                let mut run = run(policy, workload, mean, &[]);
                run.scheme.push_str(settings);
                run
            })
        };
        let runs = of(",geometry.level=raid0", "HPC-G-0").into_iter().chain(of(",cache.strips=2", "HPC-G-5"));
        let set = Set::new(runs.collect(), Beside { paper: Some(Paper::P003), ..Beside::default() });
        let figures = crate::figures::all(&set).expect("figures");
        assert_eq!(cell(&figures[0], &["HPC-G-0", "SIW"], "over WOW"), "0.500");
        assert_eq!(figures[0].data.rows.len(), 2);
    }

    #[test]
    fn any_runs_that_counted_slices_have_them_under_their_own_names() {
        let runs = [run("none", "w", 5, &[5, 4, 1]), run("wow", "w", 5, &[9, 0, 1]), run("siw", "w", 5, &[])];
        let figure = together(&Set::new(runs.into(), Beside::default()));
        let rows: Vec<&str> = figure.data.rows.iter().map(|row| row[2].text()).collect();
        assert_eq!(rows, ["paper003-none", "paper003-wow"]);
        assert!(figure.panels[0].body.is_ok());
    }

    #[test]
    fn a_paper_without_runs_has_no_figure_and_zeros_are_no_panic() {
        let of = |runs| {
            crate::figures::all(&Set::new(runs, Beside { paper: Some(Paper::P003), ..Beside::default() }))
                .expect("figures")
        };
        assert!(of(Vec::new()).is_empty());
        assert!(of(vec![run("wow", "w", 0, &[0, 0])]).is_empty());
        assert!(of(vec![run("siw", "W(4, 20, 60)", 0, &[])]).is_empty());
    }
}
