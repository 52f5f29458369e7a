//! The cases, and the baseline of each.

use std::fs::File;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use comfy_table::Table;
use stripewise_array::MemberNo;
use stripewise_base::prng::Prng;
use stripewise_engine::Engine;
use stripewise_runs::SchemeSpec;

use crate::bed::{Bed, PAGE_BYTES};
use crate::load::{Load, Pattern, Taken, Watch, drive};
use crate::{Arguments, Yardstick};
use crate::{fio, raw};

/// A case: a load on the array, and its baseline.
pub(crate) struct EngineBenchmark {
    pub(crate) name: &'static str,
    pub(crate) load: Load,
    pub(crate) against: Against,
}

/// The baseline of a case.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Against {
    /// The same requests to one file per member.
    Files,
    /// The same requests to as many files, with the result reduced by parity's share of a stripe.
    FilesLessParity,
    /// The same requests to one file, which is flushed as often.
    OneFile,
    /// The same load on the complete array.
    Whole,
}

/// Files without an array, and the program that reads and writes them.
struct Plain {
    paths: Vec<PathBuf>,
    /// Empty if fio opens the files itself.
    files: Vec<File>,
}

impl Plain {
    fn new(yardstick: Yardstick, paths: Vec<PathBuf>) -> Result<Self> {
        let files = match yardstick {
            Yardstick::IoUring => paths.iter().map(raw::open).collect::<Result<_>>()?,
            Yardstick::Fio => Vec::new(),
        };
        Ok(Self { paths, files })
    }

    fn name(&self) -> &'static str {
        if self.files.is_empty() { "fio" } else { "io_uring" }
    }

    /// Runs a load on the first `count` files.
    fn drive(&self, count: usize, load: &Load, random: &mut Prng) -> Result<Taken> {
        match &*self.files {
            [] => fio::drive(&self.paths[..count], load),
            files => raw::drive(&files[..count], load, random),
        }
    }
}

/// Measures all cases and prints them.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let spec = SchemeSpec::parse(&arguments.scheme)?;
    let scheme = stripewise_runs::scheme(&spec.document, &spec.settings)?;
    let bed = Bed::new(arguments, scheme)?;
    let plain = Plain::new(arguments.yardstick, bed.plain_files()?)?;
    let mut engine = bed.create()?;
    println!(
        "{} over {} files of {} MiB in {}, by {}: {:.0} MiB",
        arguments.scheme,
        arguments.members,
        arguments.mib,
        arguments.folder.display(),
        engine.status().way,
        engine.capacity() as f64 / f64::from(1 << 20),
    );
    let mut report = Report::new(arguments);
    report.counts_without_collection(&bed, &mut engine)?;
    drop(engine);
    report.degraded_without_collection(&bed)?;
    let mut engine = bed.create()?;
    bed.fill(&mut engine)?;
    for case in cases(&bed.load(&engine), arguments.requests) {
        if case.against != Against::Whole {
            report.case(&case, &mut engine, &plain)?;
        }
    }
    report.rebuilding(&bed, &mut engine)?;
    report.degraded(&bed, &mut engine)?;
    report.maintenance(&bed, engine)?;
    report.print();
    Ok(())
}

/// All cases, derived from a load of small random reads, with this number of requests.
pub(crate) fn cases(small: &Load, requests: u64) -> Vec<EngineBenchmark> {
    let small = Load { count: requests, ..*small };
    let large =
        Load { pattern: Pattern::Sequential, bytes: 1 << 20, depth: 8, count: requests / 200, ..small };
    let write = |load: Load| Load { write: true, ..load };
    let alone = |load: Load| Load { depth: 1, count: load.count / 4, ..load };
    let flushed = |every, count| Load { flush_every: every, count, ..write(small) };
    let case = |name, load, against| EngineBenchmark { name, load, against };
    vec![
        case("4 KiB random writes, 32 at a time", write(small), Against::Files),
        case("4 KiB random writes, one at a time", write(alone(small)), Against::Files),
        case("4 KiB random reads, 32 at a time", small, Against::Files),
        case("4 KiB random reads, one at a time", alone(small), Against::Files),
        case("1 MiB sequential writes, 8 at a time", write(large), Against::FilesLessParity),
        case("1 MiB sequential reads, 8 at a time", large, Against::Files),
        case("4 KiB random writes, a flush after each", flushed(1, requests / 20), Against::OneFile),
        case("4 KiB random writes, a flush after 32", flushed(32, requests / 4), Against::OneFile),
        case("4 KiB random reads, a member lost", small, Against::Whole),
        case("4 KiB random writes, a member lost", write(small), Against::Whole),
    ]
}

/// The measurements so far.
pub(crate) struct Report<'a> {
    arguments: &'a Arguments,
    table: Table,
    notes: Vec<String>,
    pub(crate) random: Prng,
}

impl<'a> Report<'a> {
    pub(crate) fn new(arguments: &'a Arguments) -> Self {
        let mut table = Table::new();
        table.load_style(comfy_table::presets::ASCII_MARKDOWN);
        table.set_header([
            "case",
            "requests/s",
            "MiB/s",
            "CPU us a request",
            "p50 us",
            "p99 us",
            "member bytes a byte",
            "reads a request",
            "compared with",
            "its MiB/s",
            "ratio",
            "of CPU time",
        ]);
        Self { arguments, table, notes: Vec::new(), random: Prng::stream(2, 0) }
    }

    /// Whether a case of this name was requested.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.arguments.only.as_ref().is_none_or(|only| name.contains(only))
    }

    pub(crate) fn print(&self) {
        println!("{}", self.table);
        self.notes.iter().for_each(|note| println!("{note}"));
    }

    /// Writes to an empty array: measures the cost of parity and metadata only.
    fn counts_without_collection(&mut self, bed: &Bed, engine: &mut Engine) -> Result<()> {
        let load = Load { write: true, ..bed.load(engine) };
        let count = load.span / u64::from(PAGE_BYTES) / 4;
        let taken = drive(engine, &Load { count, ..load }, &mut self.random)?;
        self.notes.push(format!(
            "without collection {:.3} member bytes are written a byte of 4 KiB random writes",
            bytes_a_byte(&taken)
        ));
        Ok(())
    }

    /// Writes to empty arrays, one of which has lost a member: measures the cost of a write without the collection,
    /// which starts sooner because there is less space.
    fn degraded_without_collection(&mut self, bed: &Bed) -> Result<()> {
        let name = "4 KiB random writes, a member lost, nothing to collect";
        if !self.wants(name) {
            return Ok(());
        }
        let mut runs = Vec::new();
        for _ in 0..self.arguments.runs {
            let mut engine = bed.create()?;
            let load = Load { write: true, ..bed.load(&engine) };
            let load = Load { count: load.span / u64::from(PAGE_BYTES) / 4, ..load };
            let whole = drive(&mut engine, &load, &mut self.random)?;
            drop(engine);
            let mut engine = bed.create()?;
            engine.fail(MemberNo::new(1))?;
            runs.push((drive(&mut engine, &load, &mut self.random)?, whole));
        }
        self.row(name, &runs, "the whole array", 1.0);
        Ok(())
    }

    /// Runs a case on the complete array and its baseline in turn.
    fn case(&mut self, case: &EngineBenchmark, engine: &mut Engine, plain: &Plain) -> Result<()> {
        if !self.wants(case.name) {
            return Ok(());
        }
        let (count, span) = match case.against {
            Against::OneFile => (1, plain.paths[0].metadata()?.len()),
            _ => (plain.paths.len(), case.load.span),
        };
        let other = Load { span, ..case.load };
        let mut runs = Vec::new();
        for _ in 0..self.arguments.runs {
            let ours = drive(engine, &case.load, &mut self.random)?;
            runs.push((ours, plain.drive(count, &other, &mut self.random)?));
        }
        let data = f64::from(self.arguments.members - parity(engine));
        let (what, factor) = match case.against {
            Against::FilesLessParity => (", less parity", data / f64::from(self.arguments.members)),
            Against::OneFile => (", one file, fdatasync", 1.0),
            Against::Files | Against::Whole => ("", 1.0),
        };
        self.row(case.name, &runs, &format!("{}{what}", plain.name()), factor);
        Ok(())
    }

    /// Rebuilds a member that takes part in all stripes; stripes written without it do not contain it.
    fn rebuilding(&mut self, bed: &Bed, engine: &mut Engine) -> Result<()> {
        if !self.wants("rebuild") {
            return Ok(());
        }
        engine.fail(MemberNo::new(1))?;
        let before = engine.status().members[1].counts.writes;
        let seconds = rebuild(bed, engine)?;
        let pages = engine.status().members[1].counts.writes - before;
        let mib = (pages * u64::from(PAGE_BYTES)) as f64 / f64::from(1 << 20);
        self.notes
            .push(format!("rebuild of {mib:.0} MiB of a member: {seconds:.2} s, {:.0} MiB/s", mib / seconds));
        Ok(())
    }

    /// Measures an array with a lost member, compared with the complete array. Runs of both alternate, and each time
    /// the member is rebuilt.
    fn degraded(&mut self, bed: &Bed, engine: &mut Engine) -> Result<()> {
        for case in cases(&bed.load(engine), self.arguments.requests) {
            if case.against != Against::Whole || !self.wants(case.name) {
                continue;
            }
            let mut runs = Vec::new();
            for _ in 0..self.arguments.runs {
                let whole = drive(engine, &case.load, &mut self.random)?;
                engine.fail(MemberNo::new(1))?;
                let degraded = drive(engine, &case.load, &mut self.random)?;
                runs.push((degraded, whole));
                rebuild(bed, engine)?;
            }
            self.row(case.name, &runs, "the whole array", 1.0);
        }
        Ok(())
    }

    /// Scrub, memory, and assembly after an unclean stop.
    fn maintenance(&mut self, bed: &Bed, mut engine: Engine) -> Result<()> {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        if self.wants("scrub") {
            let watch = Watch::start();
            engine.scrub();
            while engine.status().scrub.progress.is_some() {
                ensure!(engine.step(), "the scrub does not end");
            }
            let (seconds, _) = watch.stop();
            let scrub = engine.status().scrub;
            ensure!(scrub.bad == 0, "the scrub found {} bad pages", scrub.bad);
            let read = mib(scrub.pages * u64::from(PAGE_BYTES));
            self.notes.push(format!("scrub of {read:.0} MiB: {seconds:.2} s, {:.0} MiB/s", read / seconds));
        }
        let status = engine.status();
        let stored = status.used.unwrap_or(status.capacity);
        self.notes.push(format!(
            "memory: {:.2} MB of maps and {:.2} MB of pages for {:.2} GB stored",
            status.memory.1 as f64 / 1e6,
            status.memory.0 as f64 / 1e6,
            stored as f64 / 1e9
        ));
        // Dropped as if it had been killed.
        drop(engine);
        let mut engine = bed.create()?;
        bed.fill(&mut engine)?;
        drop(engine);
        let watch = Watch::start();
        drop(bed.open()?);
        let (seconds, cpu_seconds) = watch.stop();
        self.notes.push(format!(
            "opening after an unclean stop, {:.0} MiB stored: {:.1} ms, {:.1} ms of processor time",
            mib(stored),
            seconds * 1e3,
            cpu_seconds * 1e3
        ));
        Ok(())
    }

    /// Medians of runs, each with its baseline.
    pub(crate) fn row(&mut self, name: &str, runs: &[(Taken, Taken)], other: &str, factor: f64) {
        let mib = |taken: &Taken| taken.bytes as f64 / f64::from(1 << 20) / taken.seconds;
        let of = |figure: &dyn Fn(&(Taken, Taken)) -> f64| median(runs.iter().map(figure).collect());
        let pages_of_request =
            |taken: &Taken| taken.bytes as f64 / f64::from(PAGE_BYTES) / taken.requests as f64;
        let ratio = of(&|(ours, theirs)| mib(ours) / (mib(theirs) * factor));
        let of_cpu = of(&|(ours, theirs)| theirs.cpu_seconds / (ours.cpu_seconds * factor));
        self.table.add_row([
            name.to_string(),
            format!("{:.0}", of(&|(ours, _)| ours.per_second())),
            format!("{:.0}", of(&|(ours, _)| mib(ours))),
            format!("{:.2}", of(&|(ours, _)| ours.cpu_seconds * 1e6 / ours.requests as f64)),
            format!("{:.1}", of(&|(ours, _)| ours.p50_us)),
            format!("{:.1}", of(&|(ours, _)| ours.p99_us)),
            format!("{:.3}", of(&|(ours, _)| bytes_a_byte(ours))),
            format!(
                "{:.3}",
                of(&|(ours, _)| ours.pages_read as f64 / ours.requests as f64 / pages_of_request(ours))
            ),
            other.to_string(),
            format!("{:.0}", of(&|(_, theirs)| mib(theirs) * factor)),
            format!("{ratio:.2}"),
            if of_cpu.is_nan() { String::new() } else { format!("{of_cpu:.2}") },
        ]);
    }
}

/// Number of parity members of a stripe.
fn parity(engine: &Engine) -> u16 {
    engine.array().geometry().parity() as u16
}

/// Member bytes written per host byte.
fn bytes_a_byte(taken: &Taken) -> f64 {
    (taken.pages_written * u64::from(PAGE_BYTES)) as f64 / taken.bytes as f64
}

/// Replaces member 1 with a new file, and waits until it is rebuilt. Returns seconds.
fn rebuild(bed: &Bed, engine: &mut Engine) -> Result<f64> {
    while !engine.is_quiet() {
        ensure!(engine.step(), "what is under way does not end");
    }
    let file = bed.replacement()?;
    let watch = Watch::start();
    engine.replace(MemberNo::new(1), file)?;
    while engine.status().rebuild.is_some() {
        ensure!(engine.step(), "the rebuild does not end");
    }
    Ok(watch.stop().0)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
