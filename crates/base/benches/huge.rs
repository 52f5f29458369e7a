//! Cost of a fresh 512 MiB array, touched in full, and of random accesses, beside a `Vec`:
//! `cargo bench -p stripewise-base --bench huge`.

use std::hint::black_box;
use std::ops::{Deref, DerefMut};
use std::time::Instant;

use stripewise_base::huge::Huge;
use stripewise_base::prng::Prng;

const LENGTH: usize = 128 << 20;
const ACCESSES: u32 = 20_000_000;

fn measure<A: Deref<Target = [u32]> + DerefMut>(name: &str, fresh: impl Fn() -> A) {
    let begin = Instant::now();
    let mut array = fresh();
    let created = begin.elapsed();
    array.iter_mut().for_each(|value| *value = 1);
    let touched = begin.elapsed();
    let mut prng = Prng::new(1);
    let begin = Instant::now();
    for _ in 0..ACCESSES {
        // Through the dereference every time, as in code that is not optimized.
        array[prng.next_u64() as usize % LENGTH] += 1;
    }
    let access = begin.elapsed().as_nanos() as f64 / f64::from(ACCESSES);
    let slice = &mut array[..];
    let begin = Instant::now();
    for _ in 0..ACCESSES {
        slice[prng.next_u64() as usize % LENGTH] += 1;
    }
    let direct = begin.elapsed().as_nanos() as f64 / f64::from(ACCESSES);
    black_box(&array[..]);
    println!(
        "{name:>5}: created in {created:?}, touched in {touched:?}, \
         {access:.1} ns a random update, {direct:.1} ns through a slice"
    );
}

fn main() {
    if std::env::args().any(|argument| argument == "--bench") {
        for _ in 0..3 {
            measure("Huge", || Huge::<u32>::zeroed(LENGTH));
            measure("Vec", || vec![0u32; LENGTH]);
        }
    }
}
