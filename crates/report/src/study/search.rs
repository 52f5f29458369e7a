//! The trials of a search: the Pareto front of its goals, or the best value so far.

use stripewise_results::summary::Unit;

use crate::chart::{Dot, Front, Look, Scatter, figure};
use crate::figures::{Cell, Data, Figure, Key, Panel};

use super::data::is_time;

/// A search: its goals and its trials, in the order in which they were made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Search {
    /// What is searched for.
    pub goals: Vec<Goal>,
    /// The trials that were made in full.
    pub trials: Vec<Trial>,
    /// The trials that were dropped early or fit no scheme.
    pub others: usize,
}

/// A goal of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Goal {
    /// The total.
    pub total: String,
    /// Whether more is better.
    pub is_most: bool,
}

/// A trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// Its number.
    pub number: u64,
    /// Its settings, keys and values.
    pub settings: Vec<(String, String)>,
    /// A value for each goal.
    pub values: Vec<f64>,
}

/// The look of trials that others beat, and of those on the front.
const BEATEN: Look = Look(6);
const BEST: Look = Look(0);

impl Search {
    /// Whether a trial is on the front: none is at least as good in all goals and better in one. Of equals, the first is.
    fn is_best(&self, trial: &Trial) -> bool {
        let equals = |other: &Trial| other.values == trial.values && other.number < trial.number;
        !self.trials.iter().any(|other| self.beats(other, trial) || equals(other))
    }

    fn beats(&self, one: &Trial, other: &Trial) -> bool {
        let pairs = || self.goals.iter().zip(one.values.iter().zip(&other.values));
        let is_worse =
            |goal: &Goal, one: f64, other: f64| if goal.is_most { one < other } else { one > other };
        let none_worse = pairs().all(|(goal, (&one, &other))| !is_worse(goal, one, other));
        none_worse && pairs().any(|(goal, (&one, &other))| is_worse(goal, other, one))
    }

    /// The figure of the search.
    pub(super) fn figure(&self) -> Figure {
        let panels = match self.goals.len() {
            0 | 1 => vec![self.over_trials()],
            goals => {
                let pairs =
                    (0..goals).flat_map(|first| (first + 1..goals).map(move |second| (first, second)));
                pairs.map(|(first, second)| self.pair(first, second)).collect()
            }
        };
        let (title, about) = match self.goals.len() {
            0 | 1 => ("Best trial so far", "The line is the best value up to each trial."),
            _ => (
                "Pareto front of the trials",
                "A trial is on the front if no other one is at least as good in all goals and better in one.",
            ),
        };
        let others = match self.others {
            0 => String::new(),
            others => format!(" {others} further trials were dropped early or fit no scheme."),
        };
        let key = |look, name: &str| Key { look, name: name.to_owned(), is_line: false };
        Figure {
            id: "search".to_owned(),
            title: title.to_owned(),
            about: format!("{} trials. {about}{others}", self.trials.len()),
            legend: vec![key(BEST, "best"), key(BEATEN, "others")],
            panels,
            notes: Vec::new(),
            data: self.best(),
        }
    }

    fn dots(&self, at: impl Fn(&Trial) -> (f64, f64)) -> Vec<Dot> {
        let said = |trial: &Trial| {
            let settings = trial.settings.iter().map(|(key, value)| format!("{key} {value}"));
            format!("trial {}: {}", trial.number, settings.collect::<Vec<_>>().join(", "))
        };
        let dot = |trial: &Trial| Dot {
            look: if self.is_best(trial) { BEST } else { BEATEN },
            name: format!("trial {}", trial.number),
            at: at(trial),
            tip: said(trial),
        };
        let mut dots: Vec<Dot> = self.trials.iter().map(dot).collect();
        // Those on the front are drawn last, on top.
        dots.sort_by_key(|dot| dot.look == BEST);
        dots
    }

    /// Two goals against each other. With two goals in all, a line along the front.
    fn pair(&self, first: usize, second: usize) -> Panel {
        let dots = self.dots(|trial| (trial.values[first], trial.values[second]));
        let front = (self.goals.len() == 2).then(|| {
            let mut best: Vec<(f64, f64)> =
                dots.iter().filter(|dot| dot.look == BEST).map(|dot| dot.at).collect();
            best.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1)));
            // What lies beyond the stairs is beaten: up to the next point, no trial is better than the one before it; where
            // more is better across, no trial is better than the next one.
            let is_most = self.goals[first].is_most;
            let mut corners: Vec<(f64, f64)> = Vec::new();
            for pair in best.windows(2) {
                let corner = if is_most { (pair[0].0, pair[1].1) } else { (pair[1].0, pair[0].1) };
                corners.extend([pair[0], corner]);
            }
            corners.extend(best.last());
            Front { look: BEST, corners, tip: "the front".to_owned() }
        });
        let goal = |at: usize| (Unit::bare(&self.goals[at].total), is_time(&self.goals[at].total));
        let title = format!("{} and {}", self.said(first), self.said(second));
        let chart = Scatter {
            title: &title,
            description: "Each trial by two of its goals",
            across: goal(first),
            upward: goal(second),
            dots: &dots,
            front,
        };
        Panel { body: Ok(chart.draw(&format!("search-{first}-{second}"))), title }
    }

    /// The value of each trial by its number, and the best so far.
    fn over_trials(&self) -> Panel {
        let is_most = self.goals.first().is_some_and(|goal| goal.is_most);
        let dots = self.dots(|trial| (trial.number as f64, trial.values[0]));
        let mut corners: Vec<(f64, f64)> = Vec::new();
        let mut best = f64::NAN;
        for trial in &self.trials {
            let (number, value) = (trial.number as f64, trial.values[0]);
            let is_better = best.is_nan() || if is_most { value > best } else { value < best };
            if is_better {
                corners.extend((!best.is_nan()).then_some((number, best)));
                best = value;
                corners.push((number, best));
            }
        }
        corners.extend(self.trials.last().map(|trial| (trial.number as f64, best)));
        let (title, total) = (self.said(0), self.goals.first().map_or("", |goal| &goal.total));
        let chart = Scatter {
            title: &title,
            description: "Each trial by its number",
            across: ("trial", false),
            upward: (Unit::bare(total), is_time(total)),
            dots: &dots,
            front: Some(Front { look: BEST, corners, tip: "the best so far".to_owned() }),
        };
        Panel { body: Ok(chart.draw("search-0")), title }
    }

    /// `least response_p99`.
    fn said(&self, goal: usize) -> String {
        let Some(goal) = self.goals.get(goal) else { return String::new() };
        format!("{} {}", if goal.is_most { "most" } else { "least" }, Unit::bare(&goal.total))
    }

    /// The trials on the front.
    fn best(&self) -> Data {
        let mut best: Vec<&Trial> = self.trials.iter().filter(|trial| self.is_best(trial)).collect();
        best.sort_by(|one, other| one.values[0].total_cmp(&other.values[0]));
        let settings = best.first().map_or(&[][..], |trial| &trial.settings[..]);
        let keys = settings.iter().map(|(key, _)| key.clone());
        let mut data = Data { texts: 1 + settings.len(), ..Data::default() };
        data.head = ["trial".to_owned()].into_iter().chain(keys).collect();
        data.head.extend(self.goals.iter().map(|goal| Unit::bare(&goal.total).to_owned()));
        for trial in best {
            let mut row: Vec<Cell> = vec![trial.number.to_string().into()];
            row.extend(trial.settings.iter().map(|(_, value)| value.clone().into()));
            let values = self.goals.iter().zip(&trial.values);
            row.extend(values.map(|(goal, &value)| match is_time(&goal.total) {
                true => Cell::time(value),
                false => figure(value).into(),
            }));
            data.rows.push(row);
        }
        data
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(goals: &[(&str, bool)], values: &[&[f64]]) -> Search {
        let goal = |&(total, is_most): &(&str, bool)| Goal { total: total.to_owned(), is_most };
        let trial = |(number, values): (usize, &&[f64])| Trial {
            number: number as u64,
            settings: vec![("gc.victim".to_owned(), format!("<{number}>"))],
            values: values.to_vec(),
        };
        let trials = values.iter().enumerate().map(trial).collect();
        Search { goals: goals.iter().map(goal).collect(), trials, others: 3 }
    }

    fn best(search: &Search) -> Vec<u64> {
        search.trials.iter().filter(|trial| search.is_best(trial)).map(|trial| trial.number).collect()
    }

    #[test]
    fn the_front_has_the_trials_that_no_other_beats_in_the_direction_of_each_goal() {
        let goals = [("response_p99_ns", false), ("mib_per_second", true)];
        let two = search(&goals, &[&[2e6, 10.0], &[1e6, 5.0], &[3e6, 9.0], &[2e6, 9.0], &[2e6, 10.0]]);
        assert_eq!(best(&two), [0, 1], "the first of equals");
        let figure = two.figure();
        assert_eq!((figure.panels.len(), figure.data.rows.len()), (1, 2));
        assert!(figure.about.starts_with("5 trials.") && figure.about.contains("3 further trials"));
        let svg = &figure.panels[0].body.as_ref().expect("drawn").svg;
        assert!(svg.contains("the front") && svg.contains("&lt;2&gt;"), "{svg}");
    }

    #[test]
    fn one_goal_has_the_best_so_far_and_three_have_all_their_pairs() {
        let one = search(&[("response_p99_ns", false)], &[&[3.0], &[4.0], &[1.0], &[2.0]]);
        let json =
            |figure: &Figure| figure.panels[0].body.as_ref().expect("drawn").svg.matches(" mark").count();
        assert_eq!((best(&one), json(&one.figure())), (vec![2], 4));
        let three = search(&[("a", false), ("b", false), ("c", true)], &[&[1.0, 2.0, 3.0], &[2.0, 1.0, 3.0]]);
        assert_eq!(three.figure().panels.len(), 3);
    }
}
