//! The simulator's parity logging and the overhead model of paper 001 give the same counts, as long as requests do
//! not merge, the log does not fill and no row has more deltas than its limit.

use stripewise_array::Scheme;
use stripewise_base::prng::Prng;
use stripewise_flash::DeviceSpec;
use stripewise_runs::overhead::{Cost, Counter, Stripe};
use stripewise_sim::{RunConfig, Totals, capacity, run};
use stripewise_trace::{Kind, Request, Source, TraceError};

const PAGE: u64 = 8192;

struct Trace(std::vec::IntoIter<Request>);

impl Source for Trace {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        batch.clear();
        batch.extend(self.0.by_ref().take(batch.capacity()));
        Ok(())
    }
}

/// Writes of sectors, pages and stripes, with reads between them, over `bytes` of which a tenth is hot.
fn requests(seed: u64, bytes: u64, data: u64) -> Vec<Request> {
    let mut prng = Prng::new(seed);
    let stripe = data * PAGE;
    let request = |_| {
        let (grain, most) = [(512, 2 * PAGE), (PAGE, stripe), (stripe, 3 * stripe)][prng.below(3) as usize];
        let room = if prng.chance(1, 2) { bytes / 10 } else { bytes };
        let offset = prng.below(room) / grain * grain;
        let length = (1 + prng.below(most / grain)) * grain;
        let kind = if prng.chance(1, 5) { Kind::Read } else { Kind::Write };
        Request { time_ns: 0, offset, bytes: length.min(bytes - offset) as u32, volume: 0, kind }
    };
    (0..3000).map(request).collect()
}

fn config(level: &str, members: u32, filled: bool) -> RunConfig {
    let mut device = DeviceSpec::preset("ssdsim-5+1").expect("a preset");
    device.geometry.blocks = 64;
    let text = format!(
        "name = 'test'\n[geometry]\nlevel = '{level}'\n[placement]\npolicy = 'parity-logging'\n\
         [parity_logging]\ncommit = 'never'\nrow_deltas = 64\n"
    );
    RunConfig {
        precondition: if filled { "sequential:100%" } else { "fresh" }.parse().expect("a state"),
        pacing: "closed:1".parse().expect("a pacing"),
        ..RunConfig::new(
            Scheme::from_toml("test", &text).expect("a scheme"),
            device,
            format!("ssd:{members}").parse().expect("a layout"),
        )
    }
}

fn cost(totals: &Totals) -> Cost {
    Cost {
        pre_reads: totals.sum(|row| row.pre_read_pages),
        log_writes: totals.sum(|row| row.log_write_pages),
        parity_writes: totals.sum(|row| row.parity_write_pages),
    }
}

#[test]
fn the_simulator_counts_what_the_model_counts() {
    for (seed, (level, data, parity, filled)) in
        [("raid5", 7, 1, false), ("raid5", 4, 1, true), ("raid6", 6, 2, false), ("raid6", 3, 2, true)]
            .into_iter()
            .enumerate()
    {
        let config = config(level, data + 2 * parity, filled);
        let requests = requests(seed as u64, capacity(&config).expect("an array"), data.into());
        let stripe = Stripe { data, parity, chunk_bytes: PAGE };
        let mut model = Counter::new(stripe, filled).expect("a stripe");
        requests.iter().for_each(|request| model.add(request));
        let model = *model.overhead();
        let totals = run(&config, &mut Trace(requests.into_iter()), &mut (), &mut |_| true).expect("a run");
        assert_eq!(cost(&totals), model.parity_logging, "{level}, {data} data chunks, filled: {filled}");
        let updates = totals.requests.updates;
        assert_eq!((updates.full_stripe, updates.logged), (model.full_stripes, model.updates));
        assert!(model.full_stripes > 300 && model.updates > 1000, "{model:?}");
    }
}
