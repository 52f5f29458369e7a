//! The figures of paper 002, drawn for runs with redirected reads and the runs compared with them.

mod breakdown;
mod cast;
mod sweeps;
mod values;

use crate::run::LoadedRun;
use crate::set::Set;

use super::figure::Figure;
use super::values::draw;
use cast::Cast;

/// Waiting times and utilisation of any runs under their own names; none where no run redirects reads.
pub(super) fn of_any_runs(set: &Set) -> Vec<Figure> {
    let redirects =
        |run: &LoadedRun| run.settings.get("scheme.read.policy").is_some_and(|policy| policy != "direct");
    if !set.runs.iter().any(redirects) {
        return Vec::new();
    }
    let names = super::cast::Cast::own(set);
    values::OF_ANY_RUNS.map(|shown| draw(set, &names, shown())).into()
}

/// Every figure of paper 002, in the paper's order.
pub(super) fn all(set: &Set) -> Vec<Figure> {
    let cast = Cast::of(set);
    vec![
        values::utilisation(&cast),
        breakdown::responses(&cast),
        values::read_waiting(&cast),
        values::write_waiting(&cast),
        values::utilisations(&cast),
        sweeps::queues(&cast),
        sweeps::groups(&cast),
    ]
}

#[cfg(test)]
mod tests {
    use super::cast::tests::run;
    use super::*;
    use crate::figures::Cell;
    use crate::{Beside, Paper};

    /// Two traces, sped up and in real time; sweeps of one.
    fn runs() -> Vec<LoadedRun> {
        let main = |workload: &'static str| {
            [("paper002-fifo", 1000), ("paper002-piq", 800), ("paper002-brr", 600)]
                .map(|(scheme, wait)| run(scheme, workload, 8, 64, wait))
        };
        let mut all: Vec<LoadedRun> =
            ["HM_0, sped up", "PROJ_3, sped up", "HM_0, real time"].into_iter().flat_map(main).collect();
        all.push(run("paper002-brr", "HM_0, sweeps", 8, 64, 500));
        all.push(run("paper002-brr,dispatch.queue=1", "HM_0, sweeps", 8, 1, 1000));
        all.push(run("paper002-brr,geometry.groups=16", "HM_0, sweeps", 16, 64, 400));
        all.push(run("paper002-brr,read.at=off", "HM_0, sweeps", 8, 64, 300));
        all
    }

    fn set(runs: Vec<LoadedRun>) -> Set {
        Set::new(runs, Beside { paper: Some(Paper::P002), ..Beside::default() })
    }

    fn cell<'a>(figure: &'a Figure, row: &[&str], column: &str) -> &'a str {
        let column = figure.data.head.iter().position(|head| head == column).expect("a column");
        let ours = |cells: &&Vec<Cell>| cells.iter().zip(row).all(|(cell, expected)| cell == *expected);
        figure.data.rows.iter().find(ours).expect("a row")[column].text()
    }

    #[test]
    fn every_figure_of_the_paper_is_drawn_with_its_values() {
        let set = set(runs());
        let figures = crate::figures::all(&set).expect("figures");
        let numbers: Vec<&str> = figures.iter().map(|figure| figure.id.as_str()).collect();
        assert_eq!(numbers, [4, 6, 10, 11, 12, 13, 14].map(|number| format!("paper002-figure-{number}")));
        for figure in &figures {
            let drawn = figure.panels.iter().filter(|panel| panel.body.is_ok()).count();
            assert!(drawn > 0 && !figure.data.rows.is_empty(), "{}", figure.id);
        }
        assert_eq!(figures[2].panels.len(), 2, "sped up and in real time; sweeps stand apart");
        assert_eq!(cell(&figures[2], &["sped up", "HM_0", "BRR"], "over Async_FIFO"), "0.600");
        assert_eq!(cell(&figures[5], &["1"], "mean"), "1.00");
        assert_eq!(cell(&figures[5], &["64"], "mean"), "0.500");
        assert_eq!(
            cell(&figures[6], &["8"], "mean"),
            "1.25",
            "over groups of 4, which come from 16 groups of 64 chips"
        );
    }

    #[test]
    fn any_runs_have_what_waits_under_their_own_names_and_none_is_left_out() {
        let schemes = ["paper002-fifo", "paper002-fifo,dispatch.queue=1", "paper002-brr"];
        let runs = |wait| Set::new(schemes.map(|name| run(name, "w", 8, 64, wait)).into(), Beside::default());
        let figures = of_any_runs(&runs(5));
        assert_eq!(figures.len(), 3);
        for figure in &figures {
            let names: Vec<&str> = figure.legend.iter().map(|key| key.name.as_str()).collect();
            assert_eq!((names, figure.data.rows.len()), (schemes.to_vec(), 3), "{}", figure.title);
            assert!(!figure.title.contains("paper") && !figure.about.contains("Figure"), "{}", figure.title);
        }
        let none = Set::new(vec![run("paper002-fifo", "w", 8, 64, 5)], Beside::default());
        assert!(of_any_runs(&none).is_empty());
        assert!(
            crate::figures::all(&runs(0)).expect("figures").is_empty(),
            "zeros are no panic, and no figure"
        );
    }

    #[test]
    fn a_paper_without_runs_has_no_figure_and_no_panic() {
        assert!(crate::figures::all(&set(Vec::new())).expect("figures").is_empty());
        assert!(
            !crate::figures::all(&set(vec![run("paper002-brr", "w", 8, 64, 0)]))
                .expect("figures")
                .iter()
                .any(|f| f.panels.is_empty())
        );
    }
}
