//! The sizes of a profile's requests.

use serde::{Deserialize, Serialize};
use stripewise_base::units::Bytes;

use crate::TraceError;

/// Sizes by sort of request. Writes are given together, or first and update writes separately.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    /// Reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<SizeLaw>,
    /// Writes of both sorts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<SizeLaw>,
    /// Writes to pages none of which was written before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_write: Option<SizeLaw>,
    /// Update writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_write: Option<SizeLaw>,
    /// Trims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim: Option<SizeLaw>,
}

/// A distribution of sizes: either a mean or all sizes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeLaw {
    /// Mean size in KiB. Sizes are then multiples of 4 KiB (of 512 B for a mean below 4 KiB), geometrically
    /// distributed up to eight times the mean: the shape with the fewest further assumptions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_kib: Option<f64>,
    /// Sizes with their shares, `[size, share]`, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub atoms: Vec<(Bytes, f64)>,
}

impl Sizes {
    pub(super) fn read_law(&self) -> Result<Law, TraceError> {
        law("read", [&self.read, &self.write])
    }

    pub(super) fn first_write_law(&self) -> Result<Law, TraceError> {
        law("first_write", [&self.first_write, &self.write])
    }

    pub(super) fn update_write_law(&self) -> Result<Law, TraceError> {
        law("update_write", [&self.update_write, &self.write])
    }

    pub(super) fn trim_law(&self) -> Result<Law, TraceError> {
        law("trim", [&self.trim, &self.write])
    }
}

/// A law of sizes in bytes: sizes with their shares.
pub(super) type Law = Vec<(u32, f64)>;

/// The first given law; a page where no request needs one.
fn law(name: &str, laws: [&Option<SizeLaw>; 2]) -> Result<Law, TraceError> {
    match laws.into_iter().flatten().next() {
        Some(law) => {
            law.table().map_err(|message| TraceError::Setting(format!("profile: sizes.{name}: {message}")))
        }
        None => Ok(vec![(4096, 1.0)]),
    }
}

/// Mean of a law in bytes.
pub(super) fn mean(law: &Law) -> f64 {
    let total: f64 = law.iter().map(|atom| atom.1).sum();
    law.iter().map(|atom| f64::from(atom.0) * atom.1).sum::<f64>() / total
}

impl SizeLaw {
    fn table(&self) -> Result<Law, String> {
        match (self.mean_kib, self.atoms.as_slice()) {
            (Some(mean), []) => geometric(mean * 1024.0),
            (None, []) => Err("give { mean_kib = 8 } or atoms".to_owned()),
            (Some(_), _) => Err("a mean and atoms exclude each other; keep one".to_owned()),
            (None, atoms) => {
                let mut table = Vec::with_capacity(atoms.len());
                for &(size, share) in atoms {
                    match u32::try_from(size.0) {
                        Ok(bytes) if bytes > 0 && share >= 0.0 && share.is_finite() => {
                            table.push((bytes, share))
                        }
                        _ => {
                            return Err(format!(
                                "[{size}, {share}]: a size is 1 B to 4 GiB - 1, a share 0 or more"
                            ));
                        }
                    }
                }
                let total: f64 = table.iter().map(|atom| atom.1).sum();
                if total > 0.0 { Ok(table) } else { Err("all shares are zero".to_owned()) }
            }
        }
    }
}

/// Multiples m = 1..=M of a grain with probability proportional to q^(m-1), q such that the mean is `mean` bytes.
fn geometric(mean: f64) -> Result<Law, String> {
    if !(512.0..=67_108_864.0).contains(&mean) {
        return Err("a mean size lies between 0.5 and 65536 KiB; use atoms for others".to_owned());
    }
    let mut grain = if mean < 4096.0 { 512.0 } else { 4096.0 };
    while mean / grain > 512.0 {
        grain *= 2.0;
    }
    let target = mean / grain;
    let most = (8.0 * target) as u32 + 1;
    let table = |q: f64| {
        let mut share = 1.0;
        let atoms = (1..=most).map(|m| {
            let atom = (m * grain as u32, share);
            share *= q;
            atom
        });
        atoms.collect::<Law>()
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if self::mean(&table(middle)) < mean { low = middle } else { high = middle }
    }
    let mut table = table(0.5 * (low + high));
    table.retain(|atom| atom.1 > 0.0);
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_alone_becomes_a_geometric_law_with_that_mean() {
        for mean_kib in [0.5, 2.4, 4.0, 6.4, 8.887_619, 34.6, 500.0, 65_536.0] {
            let law = SizeLaw { mean_kib: Some(mean_kib), atoms: Vec::new() }.table().expect("in range");
            assert!((mean(&law) / 1024.0 / mean_kib - 1.0).abs() < 1e-6, "{mean_kib}: {}", mean(&law));
            assert!(law.len() <= 4097);
            assert!(law.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 >= pair[1].1));
        }
    }

    #[test]
    fn a_law_without_meaning_is_refused() {
        for (mean_kib, atoms) in [
            (None, vec![]),
            (Some(8.0), vec![(Bytes(4096), 1.0)]),
            (Some(0.1), vec![]),
            (Some(f64::NAN), vec![]),
            (None, vec![(Bytes(0), 1.0)]),
            (None, vec![(Bytes(1 << 32), 1.0)]),
            (None, vec![(Bytes(512), f64::NAN)]),
            (None, vec![(Bytes(512), 0.0)]),
        ] {
            let law = SizeLaw { mean_kib, atoms };
            assert!(law.table().is_err(), "{law:?}");
        }
    }
}
