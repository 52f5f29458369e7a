//! A fuzzer for where there is no libFuzzer: changed files of a target's corpus, without knowledge of the code that they reach.
//!
//! As a test it runs a few hundred inputs of a fixed seed. `fuzz/short.sh` runs each target for some seconds, from a new seed,
//! in a process of its own, and prints how many inputs it checked. The variables:
//! - `STRIPEWISE_FUZZ_LIST`: nothing runs, and the names of the targets are appended to this file;
//! - `STRIPEWISE_FUZZ_TARGET`: only this target runs;
//! - `STRIPEWISE_FUZZ_SECONDS`: how long each target runs;
//! - `STRIPEWISE_FUZZ_SEED`: the seed, to run the same inputs again;
//! - `STRIPEWISE_FUZZ_COUNTS`: the file that a line for each target is appended to.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

/// Inputs of a target without a time.
const FEW: u64 = 200;
/// Changes of one input, at most.
const CHANGES: u64 = 6;

/// A target: its name, which is that of its folder in the corpus, its check, and the longest input that it gets.
pub struct Target<'a> {
    /// The name.
    pub name: &'a str,
    /// The check, which panics if a property does not hold.
    pub check: &'a (dyn Fn(&[u8]) + Sync),
    /// Bytes of the longest input.
    pub longest: usize,
}

#[allow(dead_code, reason = "some crates have targets of one length only")]
impl<'a> Target<'a> {
    /// A target with inputs of up to 4 KiB.
    pub fn new(name: &'a str, check: &'a (dyn Fn(&[u8]) + Sync)) -> Self {
        Self { name, check, longest: 4096 }
    }

    /// The same with inputs of up to 64 KiB, for formats whose headers describe longer inputs.
    pub fn long(name: &'a str, check: &'a (dyn Fn(&[u8]) + Sync)) -> Self {
        Self { name, check, longest: 65_536 }
    }
}

/// Runs targets on all processors, or the one that the variables ask for. `corpus` has a folder for each.
///
/// # Panics
/// At the first input for which a property does not hold; the input is in a file whose name is printed.
pub fn run(corpus: &Path, targets: &[Target<'_>]) {
    if let Some(list) = std::env::var_os("STRIPEWISE_FUZZ_LIST") {
        targets.iter().for_each(|target| append(&list, &format!("{}\n", target.name)));
        return;
    }
    let only = std::env::var("STRIPEWISE_FUZZ_TARGET").ok();
    let is_requested = |target: &&Target<'_>| only.as_deref().is_none_or(|only| only == target.name);
    let next = Mutex::new(targets.iter().filter(is_requested));
    let work = || {
        loop {
            let target = next.lock().expect("no thread panics while it takes a target").next();
            let Some(target) = target else { return };
            one(corpus, target);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(targets.len());
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
    });
}

fn one(corpus: &Path, target: &Target<'_>) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seconds = number("STRIPEWISE_FUZZ_SECONDS");
    let now =
        || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
    let seed =
        number("STRIPEWISE_FUZZ_SEED").unwrap_or_else(|| if seconds.is_some() { now() >> 10 } else { 1 });
    let mut files = files(&corpus.join(target.name));
    assert!(!files.is_empty(), "fuzz/corpus/{} is empty", target.name);
    files.iter_mut().for_each(|file| file.truncate(target.longest));
    let begun = Instant::now();
    let continues = |done: u64| match seconds {
        Some(seconds) => begun.elapsed() < Duration::from_secs(seconds),
        None => done < FEW,
    };
    let (mut prng, mut done) = (Prng::new(seed), 0);
    while continues(done) {
        let mut input = pick(&mut prng, &files).clone();
        for _ in 0..1 + prng.below(CHANGES) {
            change(&mut prng, &mut input, &files);
        }
        input.truncate(target.longest);
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| (target.check)(&input))) {
            let kept = std::env::temp_dir().join(format!("stripewise-fuzz-{}-{seed}-{done}", target.name));
            let _ = fs::write(&kept, &input);
            eprintln!("{}: seed {seed}, input {done}: {}", target.name, kept.display());
            resume_unwind(panic);
        }
        done += 1;
    }
    let line = format!(
        "fuzz {} {done} inputs in {:.1} s, seed {seed}\n",
        target.name,
        begun.elapsed().as_secs_f64()
    );
    print!("{line}");
    if let Some(counts) = std::env::var_os("STRIPEWISE_FUZZ_COUNTS") {
        append(&counts, &line);
    }
}

fn append(path: &OsStr, line: &str) {
    let file = File::options().create(true).append(true).open(path);
    file.and_then(|mut file| file.write_all(line.as_bytes()))
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

fn files(folder: &Path) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("a file of the corpus")).collect()
}

fn pick<'a, T>(prng: &mut Prng, from: &'a [T]) -> &'a T {
    &from[prng.below(from.len() as u64) as usize]
}

/// A place in `bytes`, or its end.
fn place(prng: &mut Prng, bytes: &[u8]) -> usize {
    prng.below(bytes.len() as u64 + 1) as usize
}

/// A number at the edge of a type, a small one, or any.
fn edge(prng: &mut Prng) -> u64 {
    let at = 1u64.checked_shl(prng.below(65) as u32).unwrap_or(0);
    match prng.below(4) {
        0 => at,
        1 => at.wrapping_sub(1),
        2 => prng.below(17),
        _ => prng.next_u64(),
    }
}

/// Changes an input once.
fn change(prng: &mut Prng, input: &mut Vec<u8>, files: &[Vec<u8>]) {
    let at = place(prng, input);
    match prng.below(9) {
        // A bit, a byte.
        0 if at < input.len() => input[at] ^= 1 << prng.below(8),
        1 if at < input.len() => input[at] = edge(prng) as u8,
        // A word, where words of its size begin, most of the time.
        2 | 3 => {
            let size = 1 << (1 + prng.below(3));
            let at = if prng.below(4) == 0 { at } else { at / size * size };
            if let Some(word) = input.get_mut(at..at + size) {
                let mut bytes = edge(prng).to_le_bytes();
                if prng.below(4) == 0 {
                    bytes[..size].reverse();
                }
                word.copy_from_slice(&bytes[..size]);
            }
        }
        // A number in a text.
        4 => {
            let digits = |bytes: &[u8]| bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let at = at + input[at..].iter().take_while(|byte| !byte.is_ascii_digit()).count();
            let end = at + digits(&input[at..]);
            input.splice(at..end, edge(prng).to_string().into_bytes());
        }
        5 => drop(input.drain(at..(at + 1 + prng.below(16) as usize).min(input.len()).max(at))),
        // A part of this input or of another one, put in or written over.
        6 | 7 => {
            let other = if prng.below(2) == 0 { input.clone() } else { pick(prng, files).clone() };
            let from = place(prng, &other);
            let part = &other[from..(from + 1 + prng.below(64) as usize).min(other.len())];
            let end = if prng.below(2) == 0 { at } else { (at + part.len()).min(input.len()) };
            input.splice(at..end, part.iter().copied());
        }
        8 => input.truncate(at),
        _ => {}
    }
}

/// Random numbers. Not those of the crate `base`, as one of the crates that are tested has no dependency on it.
///
/// Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014 (SplitMix64).
struct Prng(u64);

impl Prng {
    fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not 0.
    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }
}
