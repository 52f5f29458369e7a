//! Estimates rare losses, by regeneration and failure biasing.
//!
//! An array with all members working has no memory of its past. So its life is a sequence of independent cycles, from
//! one such time to the next or to the loss, and MTTDL = E[length of a cycle] / P(a cycle ends in loss). The lengths
//! come from unmodified cycles. The probability, which is tiny, comes from cycles in which the next event of an array
//! under repair is a failure half of the time; a cycle that ends in loss is weighted with its ratio of likelihoods.
//!
//! Source: E. E. Lewis, F. Böhm, "Monte Carlo Simulation of Markov Unreliability Models", Nuclear Engineering and Design
//! 77(1), 1984; A. Goyal et al., "A Unified Framework for Simulating Markovian Models of Highly Dependable Systems",
//! IEEE Transactions on Computers 41(1), 1992.

use stripewise_base::prng::Prng;

use super::{Estimate, LOSSES_MIN, Moments, NoEstimate, Patience, exponential};
use crate::{Model, Repair};

/// Least probability of a failure as the next event, in biased cycles.
const FAILURE_BIAS: f64 = 0.5;

/// Simulates `cycles` unmodified cycles, for their length, and as many biased ones, for the probability of loss.
/// `may_continue` is called from time to time. The standard error is that of the ratio to first order: the two parts are
/// independent.
///
/// # Errors
/// [`NoEstimate::FewLosses`], [`NoEstimate::Stopped`].
pub fn biased(
    model: &Model,
    cycles: u64,
    seed: u64,
    may_continue: &mut dyn FnMut() -> bool,
) -> Result<Estimate, NoEstimate> {
    let mut patience = Patience::new(may_continue);
    let (mut lengths, mut losses) = (Moments::default(), Moments::default());
    let mut seen = 0;
    let (mut plain, mut bent) = (Prng::stream(seed, 0), Prng::stream(seed, 1));
    for _ in 0..cycles {
        lengths.add(cycle(model, None, &mut plain, &mut patience)?.years);
        let loss = cycle(model, Some(FAILURE_BIAS), &mut bent, &mut patience)?.loss;
        seen += u64::from(loss > 0.0);
        losses.add(loss);
    }
    if seen < LOSSES_MIN {
        return Err(NoEstimate::FewLosses { losses: seen, samples: cycles });
    }
    let mean_years = lengths.mean / losses.mean;
    let relative = |moments: &Moments| moments.variance_of_mean() / (moments.mean * moments.mean);
    let standard_error_years = mean_years * (relative(&lengths) + relative(&losses)).sqrt();
    Ok(Estimate { mean_years, standard_error_years, samples: cycles })
}

/// The result of a cycle.
struct Cycle {
    years: f64,
    /// The ratio of likelihoods when it ended in loss, otherwise 0.
    loss: f64,
}

/// Simulates from all members working to all working again, or to the loss.
fn cycle(
    model: &Model,
    bias: Option<f64>,
    prng: &mut Prng,
    patience: &mut Patience<'_>,
) -> Result<Cycle, NoEstimate> {
    let mut failed = vec![0u32; model.groups as usize];
    let mut cycle = Cycle { years: 0.0, loss: 0.0 };
    let mut likelihood = 1.0;
    loop {
        patience.event()?;
        let working = |failed: u32| u64::from(model.members - failed);
        let repairs = |failed: u32| match model.repair {
            Repair::Parallel => u64::from(failed),
            Repair::Single | Repair::Together => u64::from(failed.min(1)),
        };
        let all_working: u64 = failed.iter().map(|&failed| working(failed)).sum();
        let all_repairs: u64 = failed.iter().map(|&failed| repairs(failed)).sum();
        let failing = all_working as f64 * model.failures_per_year;
        let repairing = all_repairs as f64 * model.repairs_per_year;
        cycle.years += exponential(prng, failing + repairing);
        let share = failing / (failing + repairing);
        let drawn = bias.map_or(share, |bias| share.max(bias));
        if prng.unit() < drawn {
            likelihood *= share / drawn;
            let group = pick(&failed, prng.below(all_working), working);
            failed[group] += 1;
            if failed[group] > model.parity {
                cycle.loss = likelihood;
                return Ok(cycle);
            }
        } else {
            likelihood *= (1.0 - share) / (1.0 - drawn);
            let group = pick(&failed, prng.below(all_repairs), repairs);
            failed[group] = if model.repair == Repair::Together { 0 } else { failed[group] - 1 };
            if failed.iter().all(|&failed| failed == 0) {
                return Ok(cycle);
            }
        }
    }
}

/// The group that contains index `at`, when `places` returns the number of indices of each group.
fn pick(failed: &[u32], mut at: u64, places: impl Fn(u32) -> u64) -> usize {
    for (group, &failed) in failed.iter().enumerate() {
        let here = places(failed);
        if at < here {
            return group;
        }
        at -= here;
    }
    unreachable!("the places of all groups are counted before one is drawn")
}
