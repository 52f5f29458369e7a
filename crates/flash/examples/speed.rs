//! Measures the CPU time of the flash alone per host operation:
//! `cargo run --release -p stripewise-flash --example speed`.

use stripewise_base::agenda::Agenda;
use stripewise_base::prng::Prng;
use stripewise_flash::spec::Scheduling;
use stripewise_flash::{Admission, DeviceSpec, Done, Flash, Level, Op, OpKind, Rate, Share, State};

/// CPU time of this thread in seconds, as the kernel counts it.
fn cpu_time() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).expect("nanoseconds on CPU") * 1e-9
}

/// Requests that the driver knows in advance.
const AHEAD: usize = 16;

/// Runs uniform random programs (and one read in `reads`, unless 0) on one member, `depth` at a time.
fn run(name: &str, spec: &DeviceSpec, level: Level, depth: u32, span: f64, requests: u64, reads: u64) {
    let started = cpu_time();
    let mut flash = Flash::new(spec, level, 1, 1).expect("a valid device");
    let built = cpu_time() - started;
    let mut agenda = Agenda::new();
    let mut random = Prng::new(7);
    let pages = (f64::from(flash.logical_pages()) * span) as u64;
    let members = u64::from(flash.shape().members);
    let mut done: Vec<Done> = Vec::new();
    let (mut issued, mut completed) = (0, 0);
    let mut waiting: Vec<Vec<Op>> = vec![Vec::new(); members as usize];
    let started = cpu_time();
    let mut moved_at_third = (0, 0);
    let mut ahead: Vec<(u32, Op)> = Vec::new();
    let mut touched: Vec<(u32, u32)> = Vec::new();
    let mut submit =
        |flash: &mut Flash, waiting: &mut Vec<Vec<Op>>, random: &mut Prng, now, agenda: &mut Agenda| {
            if ahead.is_empty() {
                ahead.extend((0..AHEAD).map(|_| {
                    let kind =
                        if reads > 0 && random.below(reads) == 0 { OpKind::Read } else { OpKind::Program };
                    let member = random.below(members) as u32;
                    (member, Op { kind, page: random.below(pages) as u32, ..Op::default() })
                }));
                touched.clear();
                touched.extend(ahead.iter().map(|(member, op)| (*member, op.page)));
                flash.touch_all(&touched);
            }
            let Some((member, op)) = ahead.pop() else { return };
            if waiting[member as usize].is_empty()
                && flash.admits(now, member, &op, agenda) == Admission::Admitted
            {
                flash.start(now, member, 0, op, agenda);
            } else {
                waiting[member as usize].push(op);
            }
        };
    while issued < u64::from(depth).min(requests) {
        submit(&mut flash, &mut waiting, &mut random, 0, &mut agenda);
        issued += 1;
    }
    let mut now = 0;
    while let Some((at, event)) = agenda.pop() {
        now = at;
        flash.handle(now, event, &mut agenda, &mut done);
        let finished = done.len() as u64;
        completed += finished;
        done.clear();
        while let Some(member) = flash.next_ready() {
            while let Some(&op) = waiting[member as usize].last() {
                if flash.admits(now, member, &op, &mut agenda) != Admission::Admitted {
                    break;
                }
                waiting[member as usize].pop();
                flash.start(now, member, 0, op, &mut agenda);
            }
        }
        for _ in 0..finished {
            if issued < requests {
                if issued == requests / 3 {
                    let counters = flash.counters(now, 0);
                    moved_at_third = (counters.program_pages, counters.gc_move_pages);
                }
                submit(&mut flash, &mut waiting, &mut random, now, &mut agenda);
                issued += 1;
            }
        }
    }
    let spent = cpu_time() - started;
    assert_eq!(completed, requests);
    let counters = flash.counters(now, 0);
    let (written, moved) =
        (counters.program_pages - moved_at_third.0, counters.gc_move_pages - moved_at_third.1);
    println!(
        "{name}: built in {:.3} s, {:.1} ns a request, write amplification of the last two thirds {:.3}, {:.1} bytes a page",
        built,
        spent * 1e9 / requests as f64,
        1.0 + moved as f64 / written as f64,
        flash.bytes_per_page(),
    );
}

/// Brings a new 512 GiB device to its steady state.
fn precondition(spec: &DeviceSpec) {
    let started = cpu_time();
    let mut flash = Flash::new(spec, Level::Ssd, 1, 1).expect("a valid device");
    let fresh = cpu_time() - started;
    flash.precondition(State::Steady, Share::ALL, 1);
    let steady = cpu_time() - started;
    println!("{}: fresh in {fresh:.3} s, steady in {steady:.2} s", spec.name);
}

fn main() {
    let preset = |name: &str| DeviceSpec::preset(name).unwrap_or_else(|error| panic!("{error}"));
    let (collecting, mut large, channels) = (preset("mqsim-gc-2gib"), preset("mqsim"), preset("ssdsim-5+1"));
    // Independent dies, whose queues take the least time.
    large.scheduling = Scheduling::default();
    let mut unlinked = large.clone();
    unlinked.timing.host_link = Rate::INSTANT;
    let mut wide = large.clone();
    wide.geometry.channels = 64;
    wide.geometry.blocks /= 8;
    let cases: [(&str, &dyn Fn()); 7] = [
        ("steady", &|| precondition(&large)),
        ("gc", &|| run("2 GiB that collect, 90 % of it", &collecting, Level::Ssd, 16, 0.9, 3_000_000, 0)),
        ("writes", &|| run("512 GiB, writes", &large, Level::Ssd, 16, 1.0, 5_000_000, 0)),
        ("unlinked", &|| run("512 GiB, writes, no host link", &unlinked, Level::Ssd, 16, 1.0, 5_000_000, 0)),
        ("mixed", &|| run("512 GiB, half reads", &large, Level::Ssd, 16, 1.0, 5_000_000, 2)),
        ("wide", &|| run("64 channels, writes", &wide, Level::Ssd, 16, 1.0, 5_000_000, 0)),
        ("channels", &|| {
            run("6 channels of ssdsim-5+1, half reads", &channels, Level::Channel, 16, 1.0, 3_000_000, 2)
        }),
    ];
    // The named cases, or all.
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    for (name, case) in cases {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            case();
        }
    }
}
