//! Figure 2: throughput of random accesses by request size and chunk size.

use stripewise_base::units::Bytes;

use crate::chart::{Bar, Bars, Group, Look, Unit, figure};
use crate::figures::figure::{Data, Figure, Key, Panel};
use crate::run::LoadedRun;
use crate::set::Set;

use super::cast::named;

/// Its two panels: the prefixes of the workloads' names.
const ACCESSES: [&str; 2] = ["random reads, ", "random writes, "];

/// Throughputs of a request size, by chunk size.
struct Scene<'a> {
    workload: &'a str,
    rates: Vec<(u64, f64, &'a LoadedRun)>,
}

/// Figure 2.
pub(super) fn rates(set: &Set) -> Figure {
    let about = "MiB a second that hosts read or write, 32 random requests in flight, by request size and chunk size. \
                 Printed: paper 004, Figure 2, finds on four SSDs that reads grow with the chunk and are best where a \
                 request is three chunks, and that writes are best with the smallest chunk.";
    let (id, title) = named("2", "2", "chunk sizes and random accesses");
    let mut data = Data::new(&["workload", "chunk", "run"], &["MiB/s"]);
    let mut chunks: Vec<u64> = Vec::new();
    let mut panels = Vec::new();
    let all = ACCESSES.map(|access| (access, scenes(set, access)));
    for scene in all.iter().flat_map(|(_, scenes)| scenes) {
        for (chunk, rate, run) in &scene.rates {
            data.row([
                scene.workload.to_owned(),
                Bytes(*chunk).to_string(),
                run.digest.clone(),
                figure(*rate),
            ]);
            chunks.push(*chunk);
        }
    }
    chunks.sort_unstable();
    chunks.dedup();
    for (access, scenes) in &all {
        let access = access.trim_end_matches(", ");
        if scenes.iter().all(|scene| scene.rates.iter().all(|(_, rate, _)| *rate <= 0.0)) {
            continue;
        }
        let groups: Vec<Group> = scenes.iter().map(|scene| group(scene, &chunks)).collect();
        let chart = Bars {
            title: access,
            description: about,
            axis: "throughput",
            unit: Unit { name: "MiB/s", size: 1.0 },
            log: false,
            groups: &groups,
            reference: None,
        };
        let body = Ok(chart.draw(&format!("{id}-{}", panels.len())));
        panels.push(Panel { title: access.to_owned(), body });
    }
    let key = |(at, chunk): (usize, &u64)| {
        let name = format!("chunk {}", Bytes(*chunk));
        Key { look: Look(at), name, is_line: false }
    };
    let legend = chunks.iter().enumerate().map(key).collect();
    Figure { id, title, about: about.to_owned(), legend, panels, notes: Vec::new(), data }
}

fn scenes<'a>(set: &'a Set, access: &str) -> Vec<Scene<'a>> {
    let mut scenes: Vec<Scene<'a>> = Vec::new();
    for run in set.runs.iter().filter(|run| run.workload.starts_with(access)) {
        let chunk = run.settings.get("scheme.geometry.chunk").and_then(|text| text.parse::<Bytes>().ok());
        let Some((Bytes(chunk), rate)) = chunk.zip(rate(run)) else { continue };
        let at = scenes.iter().position(|scene| scene.workload == run.workload).unwrap_or(scenes.len());
        if at == scenes.len() {
            scenes.push(Scene { workload: &run.workload, rates: Vec::new() });
        }
        scenes[at].rates.push((chunk, rate, run));
    }
    scenes
}

/// MiB a second.
fn rate(run: &LoadedRun) -> Option<f64> {
    let bytes = run.total("read_bytes")? + run.total("written_bytes")?;
    Some(bytes / 1_048_576.0 * 1e9 / run.total("simulated_ns")?.max(1.0))
}

fn group(scene: &Scene<'_>, chunks: &[u64]) -> Group {
    let bar = |(at, chunk): (usize, &u64)| {
        let found = scene.rates.iter().find(|(ours, ..)| ours == chunk);
        let tip = found.map_or(String::new(), |(_, rate, _)| {
            format!("{}, chunk {}: {} MiB/s", scene.workload, Bytes(*chunk), figure(*rate))
        });
        Bar { look: Look(at), value: found.map(|(_, rate, _)| *rate), whisker: None, tip }
    };
    let label = scene.workload.rsplit(", ").next().unwrap_or(scene.workload).to_owned();
    Group { label, bars: chunks.iter().enumerate().map(bar).collect() }
}
