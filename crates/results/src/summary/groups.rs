//! Groups runs of one setup, which differ only in their seed, and chooses the groups to compare.

use super::{Base, Entry};
use crate::settings::{Settings, apart, is_of_scheme, is_seed};
use std::collections::BTreeMap;

/// Runs that differ only in their seed: a row of a comparison.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// The scheme, and the settings that distinguish this setup from the others.
    pub(super) label: String,
    pub(super) scheme: String,
    /// The settings that distinguish this setup from the others, without the scheme's name.
    pub(super) setup: Vec<String>,
    /// The place of a write when it is acknowledged, where that is known.
    pub(super) acknowledges: Option<&'static str>,
    /// Seeds and indices of its runs, in the order of the seeds, which are distinct.
    pub(super) runs: BTreeMap<u64, usize>,
    /// The index of the group that it is compared with.
    pub(super) first: Option<usize>,
}

/// The groups, and the group of each run. A repeated run counts once. Groups with one acknowledgement stand together; otherwise
/// they are in the order of their first runs.
///
/// Schemes of one setup are compared with its first scheme, by [`Base::Acknowledgement`] with the first that acknowledges
/// writes from the same place. Where no two share a setup and an acknowledgement, those of a setup are compared; where no
/// setup has several, all are compared with the first.
pub(super) fn groups(entries: &[Entry], base: Base) -> (Vec<Group>, Vec<usize>) {
    let order = match base {
        Base::First => (0..entries.len()).collect(),
        Base::Acknowledgement => by_acknowledgement(entries),
    };
    let mut places: BTreeMap<_, usize> = BTreeMap::new();
    let mut groups: Vec<Group> = Vec::new();
    let mut settings: Vec<&Settings> = Vec::new();
    let mut rows = vec![0; entries.len()];
    for run in order {
        let entry = &entries[run];
        let key = (&entry.scheme, chosen(&entry.settings, |name| !is_seed(name)));
        let place = *places.entry(key).or_insert_with(|| {
            let scheme = entry.scheme.clone();
            groups.push(Group {
                label: scheme.clone(),
                scheme,
                setup: Vec::new(),
                acknowledges: entry.acknowledges,
                runs: BTreeMap::new(),
                first: None,
            });
            settings.push(&entry.settings);
            groups.len() - 1
        });
        groups[place].runs.entry(entry.seed).or_insert(run);
        rows[run] = place;
    }
    name_apart(&mut groups, &settings);
    let promises: &[bool] = if base == Base::First { &[false] } else { &[true, false] };
    for &by_promise in promises {
        choose_firsts(&mut groups, &settings, by_promise);
        if groups.iter().any(|group| group.first.is_some()) {
            return (groups, rows);
        }
    }
    groups.iter_mut().skip(1).for_each(|group| group.first = Some(0));
    (groups, rows)
}

/// The indices of runs, those with one acknowledgement together, in the order of the first of each.
fn by_acknowledgement(entries: &[Entry]) -> Vec<usize> {
    let mut known: Vec<Option<&str>> = Vec::new();
    for entry in entries {
        if !known.contains(&entry.acknowledges) {
            known.push(entry.acknowledges);
        }
    }
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by_key(|&run| known.iter().position(|known| *known == entries[run].acknowledges));
    order
}

/// Sets the first group of each setup as the one that the others of the setup are compared with; `by_promise` where they also
/// acknowledge from the same place.
fn choose_firsts(groups: &mut [Group], settings: &[&Settings], by_promise: bool) {
    let mut firsts: BTreeMap<_, usize> = BTreeMap::new();
    for (place, settings) in settings.iter().enumerate() {
        let setup = chosen(settings, |name| !is_seed(name) && !is_of_scheme(name));
        let promise = groups[place].acknowledges.filter(|_| by_promise);
        let first = *firsts.entry((setup, promise)).or_insert(place);
        groups[place].first = (first != place).then_some(first);
    }
}

fn name_apart(groups: &mut [Group], settings: &[&Settings]) {
    let of_scheme = |name: &str| is_of_scheme(name) && name != "scheme.name" && name != "scheme.description";
    let by_scheme: Vec<_> =
        groups.iter().map(|group| group.scheme.as_str()).zip(settings.iter().copied()).collect();
    let together: Vec<_> = settings.iter().map(|settings| ("", *settings)).collect();
    let setups = apart(&together, |name| !is_of_scheme(name) && !is_seed(name));
    let words: Vec<_> = apart(&by_scheme, of_scheme).into_iter().zip(setups).collect();
    for (group, (scheme, setup)) in groups.iter_mut().zip(words) {
        group.setup = [scheme, setup].concat();
        if !group.setup.is_empty() {
            group.label = format!("{} ({})", group.scheme, group.setup.join(", "));
        }
    }
}

/// Names and values of the settings that `counts` accepts.
fn chosen(settings: &Settings, counts: impl Fn(&str) -> bool) -> Vec<(&String, &String)> {
    settings.iter().filter(|(name, _)| counts(name)).collect()
}

impl Group {
    /// Its seeds, in few words.
    pub(super) fn seeds(&self) -> String {
        let seeds: Vec<u64> = self.runs.keys().copied().collect();
        match seeds[..] {
            [first, .., last] if last - first == seeds.len() as u64 - 1 => format!("{first} to {last}"),
            _ => seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(","),
        }
    }

    /// Indices of the runs of seeds that both have: the other's, and its own.
    pub(super) fn pairs<'a>(&'a self, other: &'a Group) -> impl Iterator<Item = (usize, usize)> + 'a {
        self.runs.iter().filter_map(|(seed, &run)| Some((*other.runs.get(seed)?, run)))
    }
}
