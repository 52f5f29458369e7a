//! Measures a case: the whole path, from the generated request to the Parquet tables.

use anyhow::{Context, Result};
use serde_json::json;
use stripewise_flash::Flash;
use stripewise_results::{Figures, Optional, RunInputs, Store};
use stripewise_sim::{Layout, Progress, run_on};
use stripewise_trace::generate::Generator;

use crate::cases::Benchmark;
use crate::yardstick::{self, Yardstick};

/// The best run of a case, and of its yardstick.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    pub(crate) seconds: f64,
    pub(crate) operations: u64,
    pub(crate) write_amplification: f64,
    yardstick: Option<(f64, u64)>,
}

impl Measured {
    pub(crate) fn requests_per_second(&self, case: &Benchmark) -> f64 {
        case.config.limit_requests as f64 / self.seconds
    }

    pub(crate) fn ns_per_operation(&self) -> f64 {
        self.seconds * 1e9 / self.operations as f64
    }

    /// Flash operations per CPU-second, relative to the yardstick.
    pub(crate) fn ratio(&self) -> Option<f64> {
        let (seconds, operations) = self.yardstick?;
        Some((self.operations as f64 / self.seconds) / (operations as f64 / seconds))
    }

    pub(crate) fn json(&self, case: &Benchmark) -> String {
        json!({
            "case": case.name,
            "requests": case.config.limit_requests,
            "cpu_seconds": self.seconds,
            "requests_per_cpu_second": self.requests_per_second(case),
            "flash_operations": self.operations,
            "ns_per_flash_operation": self.ns_per_operation(),
            "share_of_yardstick": self.ratio(),
            "write_amplification": self.write_amplification,
        })
        .to_string()
    }
}

/// Runs a case and its yardstick in turn.
pub(crate) fn best_of(case: &Benchmark, runs: u32, with_yardstick: bool) -> Result<Measured> {
    let mut best: Option<Measured> = None;
    for _ in 0..runs {
        let mut measured = once(case).with_context(|| format!("case {}", case.name))?;
        if with_yardstick {
            let yardstick = Yardstick::new(&case.yardstick);
            let start = cpu_seconds();
            let operations = yardstick::run(yardstick, case.config.limit_requests);
            measured.yardstick = Some((cpu_seconds() - start, operations));
        }
        best = Some(match best {
            None => measured,
            Some(best) => Measured {
                seconds: best.seconds.min(measured.seconds),
                yardstick: best.yardstick.zip(measured.yardstick).map(|(a, b)| if b.0 < a.0 { b } else { a }),
                ..measured
            },
        });
    }
    best.context("no runs were asked for")
}

fn once(case: &Benchmark) -> Result<Measured> {
    let generator: Generator = case.workload.parse()?;
    let mut source = generator.source(case.config.seed);
    let folder = tempfile::tempdir()?;
    let store = Store::new(folder.path());
    let configuration = toml::to_string(&case.config)?;
    let inputs = RunInputs::new(&configuration, "", &generator.to_string(), case.config.seed, "bench")?;
    let mut writer = store.begin(&inputs, Optional { requests: case.config.request_rows, updates: false })?;
    // Building and preconditioning the device are not measured, nor is the kernel's first touch of its maps.
    let Layout { level, devices } = case.config.members;
    let mut flash = Flash::new(&case.config.device, level, devices, case.config.seed)?;
    case.config.precondition.apply(&mut flash, case.config.seed);
    flash.touch_maps();
    let started = cpu_seconds();
    let totals = run_on(flash, &case.config, &mut *source, &mut writer, &mut |_: Progress| true)?;
    let mut figures = Figures::new();
    for (name, figure) in totals.figures() {
        figures.add(name, figure)?;
    }
    writer.finish(&totals.members, &figures)?;
    let seconds = cpu_seconds() - started;
    Ok(Measured {
        seconds,
        operations: totals.sum(|row| row.flash_read_pages + row.flash_program_pages + row.erase_blocks),
        write_amplification: totals.programs_per_member_page(),
        yardstick: None,
    })
}

fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
