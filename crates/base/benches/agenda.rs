//! Cost of a hold (pop the earliest event, schedule another) beside two binary heaps, in nanoseconds:
//! `cargo bench -p stripewise-base --bench agenda`.

#[path = "../tests/it/heap.rs"]
#[allow(unreachable_pub, dead_code, reason = "shared by tests and benchmarks")]
mod heap;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;
use std::time::Instant;

use stripewise_base::agenda::Agenda;
use stripewise_base::prng::Prng;

const REPEATS: usize = 7;

/// Delays of each kind, a power of two many. They are drawn beforehand so that drawing is not measured.
fn delays(kind: &str) -> Vec<u64> {
    let mut prng = Prng::new(1);
    let one = |prng: &mut Prng| match kind {
        // One constant: the delays of a single operation type.
        "constant" => 25_000,
        // Bus transfers, cell reads, programs and erases, in the proportions of updates with garbage collection.
        "flash" => match prng.below(100) {
            0..45 => 20_000 + prng.below(40_000),
            45..70 => 25_000,
            70..98 => 200_000 + prng.below(1_000_000),
            _ => 1_500_000 + prng.below(2_000_000),
        },
        // Uniform over a millisecond.
        _ => prng.below(1_000_000),
    };
    (0..1 << 16).map(|_| one(&mut prng)).collect()
}

/// Nanoseconds a hold, the best of a few repeats.
fn measure<Q>(
    mut queue: Q,
    pending: usize,
    delays: &[u64],
    schedule: impl Fn(&mut Q, u64, u32),
    pop: impl Fn(&mut Q) -> (u64, u32),
) -> f64 {
    (0..pending).for_each(|index| schedule(&mut queue, delays[index], index as u32));
    let mut next = pending;
    let holds = 1_000_000.max(pending * 4);
    let mut hold = |count: usize| {
        let begin = Instant::now();
        for _ in 0..count {
            let (now, event) = pop(&mut queue);
            schedule(&mut queue, now + delays[next % delays.len()], event);
            next += 1;
        }
        begin.elapsed().as_nanos() as f64 / count as f64
    };
    hold(holds);
    (0..REPEATS).map(|_| hold(holds)).fold(f64::INFINITY, f64::min)
}

fn main() {
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    println!("{:>9} {:>8} {:>8} {:>8} {:>8}", "delays", "pending", "agenda", "u128heap", "heap");
    for kind in ["flash", "even", "constant"] {
        let delays = delays(kind);
        for pending in [1, 4, 16, 64, 1024, 16_384] {
            let agenda = measure(
                Agenda::new(),
                pending,
                &delays,
                |queue, at, event| queue.schedule(at, event),
                |queue| black_box(queue.pop()).expect("not empty"),
            );
            let compact = measure(
                (BinaryHeap::<Reverse<u128>>::new(), 0u32),
                pending,
                &delays,
                |(heap, sequence), at, event| {
                    heap.push(Reverse(
                        u128::from(at) << 64 | u128::from(*sequence) << 32 | u128::from(event),
                    ));
                    *sequence += 1;
                },
                |(heap, _)| {
                    black_box(heap.pop())
                        .map(|Reverse(key)| ((key >> 64) as u64, key as u32))
                        .expect("not empty")
                },
            );
            let plain = measure(
                heap::HeapAgenda::default(),
                pending,
                &delays,
                |queue, at, event| queue.schedule(at, event),
                |queue| black_box(queue.pop()).expect("not empty"),
            );
            println!("{kind:>9} {pending:>8} {agenda:>8.1} {compact:>8.1} {plain:>8.1}");
        }
    }
}
