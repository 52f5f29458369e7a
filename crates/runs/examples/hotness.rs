//! Measures hot data identification on a workload: how soon chunks of the hot and of the cold tier are written again.
//!
//! ```sh
//! cargo run --release -p stripewise-comparison --example hotness -- TRACE|GENERATOR|PROFILE...
//! ```
//!
//! A tier deserves a stream of its own if its chunks become invalid together. So for each write of a chunk the
//! example counts the chunk writes until that chunk is written again. It counts the write as soon if that number is
//! no more than the workload has distinct chunks: a log that is twice as large as its data returns to the chunk no
//! earlier.

use std::error::Error;
use std::path::PathBuf;

use stripewise_array::hotness::{Hotness, HotnessPolicy, HotnessSection};
use stripewise_base::prng::Prng;
use stripewise_runs::{Origin, Workload, WorkloadSpec};
use stripewise_trace::fold::Fold;
use stripewise_trace::{Kind, OpenOptions, Request, Source};

/// Traces are folded onto this many chunks of 4 KiB, without gaps.
const CHUNKS: u64 = 1 << 22;
const CHUNK: u64 = 4096;

/// A method that sorts chunks into tiers, and the results of its choices.
struct Contender {
    name: &'static str,
    /// None draws tiers at random.
    hotness: Option<Hotness>,
    lot: Prng,
    /// For each chunk the number of its last write, from 1, and the tier of that write.
    last: Vec<(u64, u8)>,
    /// By tier.
    writes: [u64; 2],
    soon: [u64; 2],
}

impl Contender {
    fn new(name: &'static str, section: Option<HotnessSection>) -> Self {
        Self {
            name,
            hotness: section.map(|section| Hotness::new(&section, CHUNKS, CHUNK as u32)),
            lot: Prng::new(1),
            last: vec![(0, 0); CHUNKS as usize],
            writes: [0; 2],
            soon: [0; 2],
        }
    }

    fn begin(&mut self, request: &Request) {
        if let Some(hotness) = &mut self.hotness {
            hotness.begin_request(request.offset, request.bytes.into());
        }
    }

    fn write(&mut self, chunk: u64, number: u64, horizon: u64) {
        let tier = match &mut self.hotness {
            Some(hotness) => hotness.classify(chunk),
            None => u8::from(self.lot.chance(1, 2)),
        };
        let (before, tier_before) = std::mem::replace(&mut self.last[chunk as usize], (number, tier));
        self.writes[usize::from(tier)] += 1;
        self.soon[usize::from(tier_before)] += u64::from(before > 0 && number - before <= horizon);
    }

    fn print(&self) {
        let percent = |part: u64, whole: u64| {
            if whole == 0 {
                "    –  ".into()
            } else {
                format!("{:5.1} %", 100.0 * part as f64 / whole as f64)
            }
        };
        println!(
            "  {:28} {:>10} bytes  hot {}  again soon: hot {}  cold {}",
            self.name,
            self.hotness.as_ref().map_or(0, Hotness::bytes),
            percent(self.writes[1], self.writes[0] + self.writes[1]),
            percent(self.soon[1], self.writes[1]),
            percent(self.soon[0], self.writes[0]),
        );
    }
}

fn contenders() -> Vec<Contender> {
    let of = |policy| HotnessSection { policy, ..HotnessSection::default() };
    let glru = |lists| HotnessSection { lists, ..of(HotnessPolicy::Glru) };
    let always = HotnessSection { sequential_shortcut: false, ..of(HotnessPolicy::Glru) };
    let mut all = vec![
        Contender::new("at random", None),
        Contender::new("glru 128 x 8", Some(glru(128))),
        Contender::new("glru 128 x 8, no shortcut", Some(always)),
        Contender::new("glru 1024 x 8", Some(glru(1024))),
        Contender::new("glru 16384 x 8", Some(glru(16_384))),
    ];
    all.push(Contender::new("direct", Some(of(HotnessPolicy::Direct))));
    all.push(Contender::new("hca", Some(of(HotnessPolicy::Hca))));
    all
}

/// Every write request of a workload, and the chunks that it touches.
fn writes(
    workload: &Workload,
    mut each: impl FnMut(&Request, std::ops::Range<u64>),
) -> Result<(), Box<dyn Error>> {
    let mut source = workload.folded(CHUNKS * CHUNK, &())?;
    let mut batch = Vec::with_capacity(4096);
    loop {
        source.next_batch(&mut batch)?;
        if batch.is_empty() {
            return Ok(());
        }
        for request in batch.iter().filter(|request| request.kind == Kind::Write && request.bytes > 0) {
            let end = (request.offset + u64::from(request.bytes)).div_ceil(CHUNK);
            each(request, request.offset / CHUNK..end);
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    for argument in std::env::args().skip(1) {
        let path = PathBuf::from(&argument);
        let origin = match path.is_file() {
            true => Origin::Trace(path, OpenOptions::default()),
            false => Origin::generated(&argument)?,
        };
        let spec = WorkloadSpec { origin, requests: None, fold: Fold::Dense { unit: CHUNK } };
        let workload = Workload::new(&spec, 1, &())?;
        let (mut touched, mut distinct) = (vec![false; CHUNKS as usize], 0);
        writes(&workload, |_, chunks| {
            for chunk in chunks {
                distinct += u64::from(!std::mem::replace(&mut touched[chunk as usize], true));
            }
        })?;
        let (mut all, mut number) = (contenders(), 0);
        writes(&workload, |request, chunks| {
            all.iter_mut().for_each(|contender| contender.begin(request));
            for chunk in chunks {
                number += 1;
                all.iter_mut().for_each(|contender| contender.write(chunk, number, distinct));
            }
        })?;
        println!("{argument}: {number} chunk writes to {distinct} chunks");
        all.iter().for_each(Contender::print);
    }
    Ok(())
}
