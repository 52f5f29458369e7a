//! The figures of paper 001, drawn for runs with elastic striping and the runs compared with them.

mod cast;
mod mttdl;
mod overhead;
mod values;
mod wear;

use crate::set::Set;

use super::cast::Cast;
use super::figure::Figure;
use cast::{is_elastic, label};

/// Every figure of paper 001, in the paper's order. For other runs the figures that need no input from the paper,
/// under the schemes' own names. None where no run has the placement `elastic`.
pub(super) fn all(set: &Set) -> Vec<Figure> {
    if !set.runs.iter().any(is_elastic) {
        return Vec::new();
    }
    let is_paper = set.paper.is_some();
    let cast = if is_paper { Cast::called(set, label) } else { Cast::own(set) };
    let mut figures = vec![
        values::rewrites(set, &cast),
        values::responses(set, &cast),
        values::erases(set, &cast),
        wear::by_member(set, &cast),
    ];
    if is_paper {
        figures.push(mttdl::by_alpha(set, &cast));
    }
    figures.push(overhead::parts(set, &cast));
    if is_paper {
        figures.push(values::identification(set, &cast));
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::cast::tests::run;
    use super::*;
    use crate::figures::Cell;
    use crate::run::LoadedRun;
    use crate::{Beside, Logging, Paper};

    const ELASTIC: (&str, &str) = ("scheme.placement.policy", "elastic");
    const STRIPE: (&str, &str) = ("scheme.elastic.buffer", "stripe");
    const GLRU: (&str, &str) = ("scheme.hotness.policy", "glru");
    const HCA: (&str, &str) = ("scheme.hotness.policy", "hca");

    /// eSAP, WAS(2) by GLRU and HCA, and updates in place, on two workloads.
    fn runs() -> Vec<LoadedRun> {
        let of = |workload| {
            let totals = |rewrites: u64, erases: u64| {
                [
                    ("requests", 1000),
                    ("array_gc_moved_chunks", rewrites),
                    ("stripe_parity_chunks", 200),
                    ("stripe_data_chunks", 900),
                    ("buffer_absorbed_chunks", 100),
                    ("erase_blocks", erases),
                    ("response_mean_ns", 10 * rewrites + 1_000_000),
                ]
            };
            [
                run("esap", workload, &[ELASTIC, STRIPE], &totals(4000, 800)),
                run("was", workload, &[ELASTIC, GLRU], &totals(1000, 400)),
                run("was,hotness.policy=hca", workload, &[ELASTIC, HCA], &totals(2000, 480)),
                run(
                    "baseline",
                    workload,
                    &[],
                    &[("requests", 1000), ("erase_blocks", 1600), ("response_mean_ns", 5)],
                ),
                run("raid6-was", workload, &[ELASTIC, GLRU], &totals(1500, 500)),
            ]
        };
        ["Financial1", "Online"].into_iter().flat_map(of).collect()
    }

    fn set(runs: Vec<LoadedRun>) -> Set {
        let logging = ["Financial1", "Online"].map(|workload| Logging {
            workload: workload.to_owned(),
            parity: 1,
            pre_reads: 950,
            log_writes: 1000,
            parity_writes: 0,
        });
        Set::new(runs, Beside { logging: logging.into(), paper: Some(Paper::P001), ..Beside::default() })
    }

    fn cell<'a>(figure: &'a Figure, workload: &str, scheme: &str, column: &str) -> &'a str {
        let column = figure.data.head.iter().position(|head| head == column).expect("a column");
        let ours = |row: &&Vec<Cell>| row[..3] == [workload, "7+1", scheme].map(Cell::from);
        figure.data.rows.iter().find(ours).expect("a row")[column].text()
    }

    #[test]
    fn every_figure_of_the_paper_is_drawn_with_its_values() {
        let set = set(runs());
        let figures = crate::figures::all(&set).expect("figures");
        let numbers: Vec<&str> = figures.iter().map(|figure| figure.id.as_str()).collect();
        let expected = ["rewrites", "mean-response", "erases", "wear", "mttdl", "overhead", "identification"];
        assert_eq!(numbers, expected);
        for figure in &figures {
            let drawn = figure.panels.iter().filter(|panel| panel.body.is_ok()).count();
            assert!(drawn > 0 && !figure.data.rows.is_empty() && !figure.legend.is_empty(), "{}", figure.id);
            assert_eq!(figure.panels[0].title.split(',').next(), Some("6+2"), "{}: both levels", figure.id);
        }
        let [rewrites, _, _, wear, mttdl, overhead, identification] = figures.as_slice() else {
            panic!("seven")
        };
        assert_eq!(cell(rewrites, "Online", "WAS(2), HCA", "over eSAP"), "0.500");
        assert_eq!(cell(identification, "Online", "WAS(2)", "over HCA"), "0.500");
        // 100 and 107 blocks: the invented members differ by one each.
        assert_eq!(cell(wear, "Online", "eSAP", "most over least"), "1.07");
        assert!(wear.panels[1].title.contains("Online"), "the workload that the paper shows");
        // Half the erases: RAID-5 lasts about four times as long.
        assert_eq!(
            (cell(mttdl, "Online", "WAS(2)", "alpha"), cell(mttdl, "Online", "WAS(2)", "over eSAP")),
            ("0.500", "4.00")
        );
        // 950 + 1000 chunks over the 1000 that hosts wrote.
        assert_eq!(cell(overhead, "Online", "parity logging", "for each data chunk"), "1.95");
        assert_eq!(cell(overhead, "Online", "WAS(2)", "for each data chunk"), "1.20");
    }

    #[test]
    fn updates_in_place_stand_beside_where_they_have_something_to_show() {
        let figures = all(&set(runs()));
        let names = |figure: &Figure| figure.legend.iter().map(|key| key.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&figures[0]), ["eSAP", "WAS(2)", "WAS(2), HCA"]);
        assert_eq!(names(&figures[1]), ["eSAP", "WAS(2)", "WAS(2), HCA", "in place"]);
        assert_eq!(names(&figures[6]), ["WAS(2)", "WAS(2), HCA"]);
    }

    /// Four schemes; paper 001 calls two of them "in place" and two eSAP.
    #[test]
    fn every_run_is_drawn_under_its_own_name() {
        let totals = [("array_gc_moved_chunks", 5), ("erase_blocks", 80), ("response_mean_ns", 9)];
        let schemes = [
            run("baseline", "w", &[], &totals),
            run("bpu", "w", &[], &totals),
            run("raid6", "w", &[], &totals),
            run("stripewise", "w", &[ELASTIC, GLRU, ("scheme.elastic.acknowledge", "buffered")], &totals),
            run("esap", "w", &[ELASTIC, STRIPE], &totals),
            run("esap,gc.reserve=9", "w", &[ELASTIC, STRIPE], &totals),
        ];
        let expected = schemes.each_ref().map(|run| run.scheme.clone());
        let mut own = Set::new(schemes.to_vec(), Beside::default());
        assert_eq!(own.structures, ["8 members"], "whatever their stripes are");
        for figure in all(&own)
            .iter()
            .filter(|figure| ["mean-response", "erases", "wear"].contains(&figure.id.as_str()))
        {
            let names = figure.legend.iter().map(|key| key.name.clone()).collect::<Vec<_>>();
            let rows: Vec<&str> = figure.data.rows.iter().map(|row| row[2].text()).collect();
            assert_eq!(
                (names, rows),
                (expected.to_vec(), expected.iter().map(String::as_str).collect()),
                "{}",
                figure.id
            );
            assert!(
                !figure.title.contains("Figure") && !figure.about.contains("Printed"),
                "{}",
                figure.title
            );
        }
        own.paper = Some(Paper::P001);
        let called = all(&own);
        let names: Vec<&str> = called[1].legend.iter().map(|key| key.name.as_str()).collect();
        let of_paper = ["baseline", "bpu", "raid6", "WAS(2), buffered", "eSAP", "eSAP, gc.reserve=9"];
        assert_eq!(names, of_paper, "a name that two would share is not used");
        assert!(
            called[1].title.starts_with("Figure 8 of paper 001: ")
                && called[1].about.contains("Printed: paper 001")
        );
    }

    #[test]
    fn without_elastic_striping_there_is_none_of_it_and_zeros_are_no_panic() {
        let in_place: Vec<LoadedRun> = runs().into_iter().filter(|run| run.scheme == "baseline").collect();
        assert!(all(&set(in_place)).is_empty());
        let own = Set::new(runs(), Beside::default());
        assert!(
            all(&own).iter().all(|figure| figure.id != "mttdl"),
            "printed alphas are the paper's reports' alone"
        );
        let nothing =
            [ELASTIC, GLRU].map(|setting| run("was", "w", &[ELASTIC, setting], &[("response_mean_ns", 0)]));
        assert_eq!(all(&set(nothing.into())).len(), 7);
    }
}
