//! Sizes of requests: exact counts of each size, and a short form that a profile can carry.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Most sizes listed separately in [`SizeStats::atoms`].
pub const ATOMS: usize = 64;

const SECTOR: u64 = 512;
/// Sizes of up to this many sectors are counted without a search.
const SMALL_SECTORS: usize = 512;
/// With this many distinct other sizes, further ones are rounded up to 64 KiB, so memory stays bounded.
const MOST_DISTINCT: usize = 65_536;

/// A size, or a group of neighbouring sizes by their mean, and how often it occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Atom {
    /// Size in bytes.
    pub bytes: u32,
    /// Requests of this size.
    pub requests: u64,
}

/// The sizes of one sort of request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SizeStats {
    /// Requests counted.
    pub requests: u64,
    /// Their bytes together.
    pub total_bytes: u64,
    /// Mean size in bytes; zero without requests.
    pub mean_bytes: f64,
    /// Smallest size in bytes.
    pub min_bytes: u32,
    /// Largest size in bytes.
    pub max_bytes: u32,
    /// Sizes in bytes that 5, 25, 50, 75, 95 and 99 % of the requests do not exceed.
    pub quantiles_bytes: [u32; 6],
    /// Distinct sizes seen. Beyond some ten thousands sizes are rounded, so the number is not exact.
    pub distinct: u64,
    /// Every size with its count, ascending, where at most [`ATOMS`] sizes occur. Otherwise the most common half of
    /// that number exactly and the others in groups, each at its mean, so the total stays within a sector.
    pub atoms: Vec<Atom>,
}

/// Shares of [`SizeStats::quantiles_bytes`].
pub(super) const QUANTILES: [f64; 6] = [0.05, 0.25, 0.50, 0.75, 0.95, 0.99];

impl SizeStats {
    /// The `most` commonest atoms, commonest first; the smaller of equals first.
    pub fn commonest(&self, most: usize) -> Vec<Atom> {
        let mut atoms = self.atoms.clone();
        atoms.sort_by_key(|atom| (std::cmp::Reverse(atom.requests), atom.bytes));
        atoms.truncate(most);
        atoms
    }
}

/// Counts of sizes.
pub(super) struct Sizes {
    small: Vec<u64>,
    other: BTreeMap<u32, u64>,
    requests: u64,
    bytes: u64,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { small: vec![0; SMALL_SECTORS + 1], other: BTreeMap::new(), requests: 0, bytes: 0 }
    }
}

impl Sizes {
    pub(super) fn add(&mut self, bytes: u32) {
        self.requests += 1;
        self.bytes = self.bytes.saturating_add(u64::from(bytes));
        let sectors = (u64::from(bytes) / SECTOR) as usize;
        if u64::from(bytes).is_multiple_of(SECTOR) && sectors <= SMALL_SECTORS {
            self.small[sectors] += 1;
            return;
        }
        let full = self.other.len() >= MOST_DISTINCT && !self.other.contains_key(&bytes);
        let key = if full { bytes.div_ceil(65_536).saturating_mul(65_536) } else { bytes };
        *self.other.entry(key).or_insert(0) += 1;
    }

    pub(super) fn summary(&self) -> SizeStats {
        let mut atoms: Vec<Atom> = (0u32..).zip(&self.small).map(small_atom).collect();
        atoms.extend(self.other.iter().map(|(&bytes, &requests)| Atom { bytes, requests }));
        atoms.retain(|atom| atom.requests > 0);
        atoms.sort_by_key(|atom| atom.bytes);
        let (Some(first), Some(last)) = (atoms.first().copied(), atoms.last().copied()) else {
            return SizeStats::default();
        };
        SizeStats {
            requests: self.requests,
            total_bytes: self.bytes,
            mean_bytes: self.bytes as f64 / self.requests as f64,
            min_bytes: first.bytes,
            max_bytes: last.bytes,
            quantiles_bytes: QUANTILES.map(|share| quantile(&atoms, self.requests, share)),
            distinct: atoms.len() as u64,
            atoms: shorten(atoms),
        }
    }
}

fn small_atom((sectors, &requests): (u32, &u64)) -> Atom {
    Atom { bytes: sectors * SECTOR as u32, requests }
}

/// The smallest size that at least `share` of all `requests` do not exceed.
fn quantile(ascending: &[Atom], requests: u64, share: f64) -> u32 {
    let mut below = 0;
    let reached = ascending.iter().find(|atom| {
        below += atom.requests;
        below as f64 >= share * requests as f64
    });
    reached.or(ascending.last()).map_or(0, |atom| atom.bytes)
}

/// At most [`ATOMS`] atoms with the same number of requests and, to a sector, the same bytes.
fn shorten(ascending: Vec<Atom>) -> Vec<Atom> {
    if ascending.len() <= ATOMS {
        return ascending;
    }
    let mut by_count: Vec<Atom> = ascending.clone();
    by_count.sort_by_key(|atom| (std::cmp::Reverse(atom.requests), atom.bytes));
    let (common, rare) = by_count.split_at_mut(ATOMS / 2);
    rare.sort_by_key(|atom| atom.bytes);
    let grain =
        if ascending.iter().all(|atom| u64::from(atom.bytes).is_multiple_of(SECTOR)) { SECTOR } else { 1 };
    let total: u64 = rare.iter().map(|atom| atom.requests).sum();
    let mut atoms = common.to_vec();
    let (mut done, mut requests, mut bytes, mut debt) = (0, 0, 0i128, 0i128);
    for (at, atom) in rare.iter().enumerate() {
        requests += atom.requests;
        bytes += i128::from(atom.bytes) * i128::from(atom.requests);
        // A group is closed when it has reached its share of the rare requests.
        let groups = (atoms.len() - ATOMS / 2 + 1) as u64;
        if done + requests >= total * groups / (ATOMS / 2) as u64 || at + 1 == rare.len() {
            let mean = (bytes + debt) as f64 / requests as f64 / grain as f64;
            let size = (mean + 0.5).max(1.0) as i128 * i128::from(grain);
            debt += bytes - size * i128::from(requests);
            atoms.push(Atom { bytes: u32::try_from(size).unwrap_or(u32::MAX), requests });
            done += requests;
            (requests, bytes) = (0, 0);
        }
    }
    atoms.sort_by_key(|atom| atom.bytes);
    atoms.dedup_by(|next, kept| {
        let same = next.bytes == kept.bytes;
        kept.requests += if same { next.requests } else { 0 };
        same
    });
    atoms
}

#[cfg(test)]
mod tests {
    use super::*;
    use stripewise_base::prng::Prng;

    fn summary(sizes: impl IntoIterator<Item = u32>) -> SizeStats {
        let mut counts = Sizes::default();
        sizes.into_iter().for_each(|bytes| counts.add(bytes));
        counts.summary()
    }

    #[test]
    fn a_few_sizes_are_kept_exactly() {
        let stats = summary([4096, 512, 4096, 1000, 1 << 20]);
        let atom = |bytes, requests| Atom { bytes, requests };
        assert_eq!(stats.atoms, [atom(512, 1), atom(1000, 1), atom(4096, 2), atom(1 << 20, 1)]);
        assert_eq!((stats.min_bytes, stats.max_bytes, stats.distinct), (512, 1 << 20, 4));
        assert_eq!(stats.mean_bytes, (4096.0 * 2.0 + 512.0 + 1000.0 + 1_048_576.0) / 5.0);
        assert_eq!(stats.quantiles_bytes, [512, 1000, 4096, 4096, 1 << 20, 1 << 20]);
        assert_eq!(stats.commonest(2), [atom(4096, 2), atom(512, 1)]);
    }

    #[test]
    fn many_sizes_are_shortened_without_moving_the_mean() {
        for grain in [512u32, 1] {
            let mut prng = Prng::new(5);
            let stats = summary((0..50_000).map(|_| grain * (1 + prng.below(1 + 4000) as u32)));
            assert!(stats.atoms.len() <= ATOMS);
            assert_eq!(stats.atoms.iter().map(|atom| atom.requests).sum::<u64>(), stats.requests);
            let bytes: f64 =
                stats.atoms.iter().map(|atom| f64::from(atom.bytes) * atom.requests as f64).sum();
            let mean = bytes / stats.requests as f64;
            assert!((mean / stats.mean_bytes - 1.0).abs() < 1e-3, "{mean} for {}", stats.mean_bytes);
        }
    }

    #[test]
    fn memory_is_bounded_whatever_sizes_come() {
        let mut counts = Sizes::default();
        (0..200_000u32).for_each(|n| counts.add(n * 21_001 + 1));
        assert!(counts.other.len() <= MOST_DISTINCT + (1 << 16));
        assert_eq!(counts.summary().requests, 200_000);
    }

    #[test]
    fn no_request_has_no_size() {
        assert_eq!(summary([]), SizeStats::default());
    }
}
