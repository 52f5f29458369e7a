//! Burstiness, reuse, balance, runs and extents, against definitions written down once more over whole lists.

use std::collections::BTreeSet;

use stripewise_base::prng::Prng;
use stripewise_trace::stats::{Collector, Stats};
use stripewise_trace::{Kind, Request};

/// Requests in bursts, some of which continue others or return, with ties.
fn requests(count: usize, seed: u64) -> Vec<Request> {
    let mut prng = Prng::new(seed);
    let mut made: Vec<Request> = Vec::with_capacity(count);
    let mut time_ns = 12_345;
    for _ in 0..count {
        let scale = [0, 3_000, 400_000, 90_000_000][prng.below(4) as usize];
        time_ns += prng.below(scale + 1);
        let kind = if prng.chance(2, 3) { Kind::Write } else { Kind::Read };
        let (mut volume, mut offset) = (prng.below(2) as u32, prng.below(3_000) * 4096);
        if prng.chance(1, 2)
            && let Some(back) = made.len().checked_sub(1 + prng.below(9) as usize)
        {
            let before = made[back];
            volume = before.volume;
            offset = if prng.chance(1, 2) { before.offset } else { before.offset + u64::from(before.bytes) };
        }
        let bytes = 512 * (1 + prng.below(40) as u32);
        made.push(Request { time_ns, offset, bytes, volume, kind });
    }
    made
}

fn collect(requests: &[Request]) -> Stats {
    let mut collector = Collector::default();
    requests.iter().for_each(|request| collector.add(request));
    collector.finish()
}

fn pages(request: &Request) -> impl Iterator<Item = (u32, u64)> + use<> {
    let volume = request.volume;
    let last = (request.offset + u64::from(request.bytes) - 1) / 4096;
    (request.offset / 4096..=last).map(move |page| (volume, page))
}

fn page_writes(requests: &[Request]) -> Vec<(u32, u64)> {
    requests.iter().filter(|request| request.kind == Kind::Write).flat_map(pages).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / values.len() as f64
}

/// The counts of the whole windows of a length.
fn counts(requests: &[Request], window_ns: u64) -> Vec<f64> {
    let since = |request: &Request| request.time_ns - requests[0].time_ns;
    let whole = since(&requests[requests.len() - 1]) / window_ns;
    let mut counts = vec![0.0; whole as usize];
    for request in requests {
        if let Some(count) = counts.get_mut((since(request) / window_ns) as usize) {
            *count += 1.0;
        }
    }
    counts
}

#[track_caller]
fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{found} for {expected}");
}

#[test]
fn dispersion_and_correlation_are_those_of_the_whole_list() {
    for seed in 0..5 {
        let requests = requests(10_000, seed);
        let found = collect(&requests).burstiness;
        assert_eq!(found.dispersion.len(), 5, "some 113 s: ten windows of 10 s, one of 60 s");
        for window in &found.dispersion {
            let counts = counts(&requests, window.window_ns);
            assert_eq!(window.windows, counts.len() as u64);
            near(window.index, variance(&counts) / mean(&counts));
        }
        let logs: Vec<f64> =
            requests.windows(2).map(|pair| ((pair[1].time_ns - pair[0].time_ns) as f64).ln_1p()).collect();
        let middle = mean(&logs);
        let together: f64 = logs.windows(2).map(|pair| (pair[0] - middle) * (pair[1] - middle)).sum();
        near(found.log_gap_lag1.expect("intervals differ"), together / (variance(&logs) * logs.len() as f64));
        let points: Vec<(f64, f64)> = (0..46)
            .map(|doublings| (doublings, counts(&requests, 1 << (16 + doublings))))
            .filter(|(_, counts)| counts.len() >= 32 && mean(counts) >= 1.0)
            .map(|(doublings, counts)| (doublings as f64, variance(&counts).log2()))
            .collect();
        assert!(points.len() >= 4, "{points:?}");
        let [x, y]: [Vec<f64>; 2] =
            [points.iter().map(|p| p.0).collect(), points.iter().map(|p| p.1).collect()];
        let slope = points.iter().map(|p| (p.0 - mean(&x)) * (p.1 - mean(&y))).sum::<f64>()
            / (variance(&x) * x.len() as f64);
        near(found.hurst.expect("long enough"), slope / 2.0);
    }
}

#[test]
fn reuse_and_balance_are_those_of_the_whole_list() {
    for seed in 0..5 {
        let requests = requests(4_000, seed);
        let (found, writes) = (collect(&requests), page_writes(&requests));
        let within = |most: usize| {
            let again =
                (0..writes.len()).filter(|&at| writes[at.saturating_sub(most)..at].contains(&writes[at]));
            again.count() as f64 / writes.len() as f64
        };
        near(found.reuse.within_6, within(6));
        near(found.reuse.within_64, within(64));
        near(found.reuse.within_1024, within(1024));
        assert_eq!(
            found.balance.len(),
            4,
            "some 8,000 page writes: two lengths of run, over 6 and 8 members"
        );
        for balance in &found.balance {
            let cvs: Vec<f64> = writes
                .chunks_exact(balance.page_writes as usize)
                .map(|run| {
                    let mut counts = vec![0.0; balance.members as usize];
                    run.iter()
                        .for_each(|&(_, page)| counts[(page % u64::from(balance.members)) as usize] += 1.0);
                    variance(&counts).sqrt() / mean(&counts)
                })
                .collect();
            assert_eq!(balance.runs, cvs.len() as u64);
            near(balance.cv, mean(&cvs));
        }
    }
}

#[test]
fn extents_and_hottest_pages_are_those_of_the_whole_list() {
    for seed in 0..5 {
        let requests = requests(400, seed);
        let found = collect(&requests);
        let touched: BTreeSet<(u32, u64)> = requests.iter().flat_map(pages).collect();
        let begins = |&&(volume, page): &&(u32, u64)| page == 0 || !touched.contains(&(volume, page - 1));
        let mut lengths: Vec<u64> = touched
            .iter()
            .filter(begins)
            .map(|&(volume, page)| {
                (0..).take_while(|more| touched.contains(&(volume, page + more))).count() as u64
            })
            .collect();
        lengths.sort_unstable();
        assert_eq!(
            (found.extents.extents, found.extents.max_pages),
            (lengths.len() as u64, lengths[lengths.len() - 1])
        );
        near(found.extents.mean_pages, touched.len() as f64 / lengths.len() as f64);
        let logs: Vec<f64> = lengths.iter().map(|&length| (length as f64).ln()).collect();
        near(found.extents.mean_ln, mean(&logs));
        near(found.extents.sd_ln, variance(&logs).sqrt());
        let all: Vec<(u32, u64)> = requests.iter().flat_map(pages).collect();
        let mut accesses: Vec<usize> =
            touched.iter().map(|page| all.iter().filter(|other| *other == page).count()).collect();
        accesses.sort_unstable_by(|a, b| b.cmp(a));
        for (share, most) in found.skew.hottest.iter().zip([1, 10, 100]) {
            near(*share, accesses.iter().take(most).sum::<usize>() as f64 / all.len() as f64);
        }
    }
}
