//! Speed of XOR parity beside memcpy, in GB of source read a second: `cargo bench -p stripewise-code --bench
//! xor`.

use std::hint::black_box;
use std::time::Instant;

use stripewise_code::{xor_into, xor_of};

const REPEATS: usize = 7;

/// GB/s of `bytes` that one call of `work` goes through, the best of a few repeats.
fn speed(bytes: usize, mut work: impl FnMut()) -> f64 {
    let calls = ((256 << 20) / bytes).max(1);
    let once = |work: &mut dyn FnMut()| {
        let begin = Instant::now();
        (0..calls).for_each(|_| work());
        (bytes * calls) as f64 / begin.elapsed().as_nanos() as f64
    };
    (0..REPEATS).map(|_| once(&mut work)).fold(0.0, f64::max)
}

fn main() {
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    println!("{:>10} {:>8} {:>9} {:>9} {:>9}", "chunk", "memcpy", "xor_into", "xor_of 4", "xor_of 7");
    for length in [512, 4096, 65_536, 1 << 20, 32 << 20] {
        let sources: Vec<Vec<u8>> = (0..7u8).map(|member| vec![member; length]).collect();
        let slices: Vec<&[u8]> = sources.iter().map(Vec::as_slice).collect();
        let mut target = vec![0; length];
        let copy = speed(length, || black_box(&mut target[..]).copy_from_slice(black_box(slices[0])));
        let into = speed(length, || xor_into(black_box(&mut target), black_box(slices[0])));
        let four = speed(4 * length, || xor_of(black_box(&mut target), black_box(&slices[..4])));
        let seven = speed(7 * length, || xor_of(black_box(&mut target), black_box(&slices)));
        println!("{length:>10} {copy:>8.1} {into:>9.1} {four:>9.1} {seven:>9.1}");
    }
}
