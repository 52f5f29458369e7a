//! Figure 2: throughput of random accesses by request size and chunk size.

use stripewise_base::units::Bytes;

use crate::chart::{Bar, Bars, Group, Look, Unit, figure};
use crate::figures::figure::{Data, Figure, Key, Panel};
use crate::run::LoadedRun;
use crate::set::Set;

use super::cast::named;

/// What its workloads' names begin with.
const ACCESSES: [&str; 2] = ["random reads", "random writes"];

/// Throughputs of a request size, by chunk size.
struct Scene<'a> {
    workload: &'a str,
    /// The workload's name without the request size: the accesses, and where given the requests at a time and the SSD.
    panel: String,
    /// The request size.
    size: &'a str,
    rates: Vec<(u64, f64, &'a LoadedRun)>,
}

/// Figure 2.
pub(super) fn rates(set: &Set) -> Figure {
    let about = "MiB a second that hosts read or write at random, by request size and chunk size. \
                 Printed: paper 004, Figure 2, finds on four SSDs that reads grow with the chunk and are best where a \
                 request is three chunks, and that writes are best with the smallest chunk.";
    let (id, title) = named("2", "2", "chunk sizes and random accesses");
    let mut data = Data::new(&["workload", "chunk", "run"], &["MiB/s"]);
    let mut chunks: Vec<u64> = Vec::new();
    let mut titles: Vec<&str> = Vec::new();
    let mut panels = Vec::new();
    let all: Vec<Scene<'_>> = ACCESSES.iter().flat_map(|access| scenes(set, access)).collect();
    for scene in &all {
        if !titles.contains(&&*scene.panel) {
            titles.push(&scene.panel);
        }
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
    for title in titles {
        let scenes = || all.iter().filter(|scene| scene.panel == title);
        if scenes().all(|scene| scene.rates.iter().all(|(_, rate, _)| *rate <= 0.0)) {
            continue;
        }
        let groups: Vec<Group> = scenes().map(|scene| group(scene, &chunks)).collect();
        let chart = Bars {
            title,
            description: about,
            axis: "throughput",
            unit: Unit { name: "MiB/s", size: 1.0 },
            log: false,
            groups: &groups,
            reference: None,
        };
        let body = Ok(chart.draw(&format!("{id}-{}", panels.len())));
        panels.push(Panel { title: title.to_owned(), body });
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
    for run in &set.runs {
        let Some((panel, size)) = parts(&run.workload, access) else { continue };
        let chunk = run.settings.get("scheme.geometry.chunk").and_then(|text| text.parse::<Bytes>().ok());
        let Some((Bytes(chunk), rate)) = chunk.zip(rate(run)) else { continue };
        let at = scenes.iter().position(|scene| scene.workload == run.workload).unwrap_or(scenes.len());
        if at == scenes.len() {
            scenes.push(Scene { workload: &run.workload, panel, size, rates: Vec::new() });
        }
        scenes[at].rates.push((chunk, rate, run));
    }
    scenes
}

/// The panel and the request size of a workload with these accesses: its name is the accesses, the request size, and where
/// given the requests at a time and the SSD.
fn parts<'a>(workload: &'a str, access: &str) -> Option<(String, &'a str)> {
    let (size, rest) = match workload.strip_prefix(access)?.strip_prefix(", ")?.split_once(", ") {
        Some((size, rest)) => (size, format!(", {rest}")),
        None => (&workload[access.len() + 2..], String::new()),
    };
    Some((format!("{access}{rest}"), size))
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
        Bar { look: Look(at), value: found.map(|(_, rate, _)| *rate), spread: None, tip }
    };
    Group { label: scene.size.to_owned(), bars: chunks.iter().enumerate().map(bar).collect() }
}
