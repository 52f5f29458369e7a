//! The other yardstick: the same requests by fio, an independent program, on the same files.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::load::{Load, Pattern, Taken};
use crate::raw;

/// Runs a load to its end, on this processor. Requests go to the files in turn.
///
/// # Errors
/// If fio is missing or fails.
pub(crate) fn drive(files: &[PathBuf], load: &Load) -> Result<Taken> {
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let pattern = match (load.pattern, load.write) {
        (Pattern::Random, false) => "randread",
        (Pattern::Random, true) => "randwrite",
        (Pattern::Sequential, false) => "read",
        (Pattern::Sequential, true) => "write",
    };
    let is_direct = raw::open_direct(&files[0]).is_ok();
    let bytes = load.count * load.bytes as u64;
    let output = Command::new("fio")
        .args([
            "--name=yardstick",
            "--ioengine=io_uring",
            "--output-format=json",
            "--norandommap",
            "--randrepeat=0",
        ])
        .arg(format!("--filename={}", names.join(":")))
        .arg(format!("--rw={pattern}"))
        .arg(format!("--bs={}", load.bytes))
        .arg(format!("--iodepth={}", load.depth))
        .arg(format!("--direct={}", u8::from(is_direct)))
        .arg(format!("--fdatasync={}", load.flush_every))
        .arg(format!("--size={}", load.span))
        .arg(format!("--io_size={bytes}"))
        .output()
        .context("fio cannot be run; install it (Debian: apt install fio)")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "fio failed: {said}");
    taken(&output.stdout, load).with_context(|| format!("what fio said is not understood: {said}"))
}

/// The results of fio.
fn taken(report: &[u8], load: &Load) -> Result<Taken> {
    let report: Value = serde_json::from_slice(report)?;
    let side = &report["jobs"][0][if load.write { "write" } else { "read" }];
    let number = |value: &Value| value.as_f64().context("a figure is missing");
    let seconds = number(&side["runtime"])? / 1e3;
    Ok(Taken {
        requests: number(&side["total_ios"])? as u64,
        bytes: number(&side["io_bytes"])? as u64,
        seconds,
        // fio does not report the work of kernel threads for it on other processors.
        cpu_seconds: f64::NAN,
        ..Taken::default()
    })
}
