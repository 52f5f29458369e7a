//! Copy-back: moves that do not use the bus.

use stripewise_base::prng::Prng;
use stripewise_flash::spec::Domain;
use stripewise_flash::{Flash, Level, Share, State};

use crate::support::{Rig, read, small, write};

const US: u64 = 1000;

#[test]
fn a_move_inside_its_plane_takes_its_commands_and_cells_only() {
    // One page is moved: 1 + 10 us; then 2 x 4 us without copy-back; then 2 + 100 us. The erase takes 3 + 1000.
    let bus = "bus = \"1ns/B\"\nread_command = \"1us\"\nprogram_command = \"2us\"\nerase_command = \"3us\"";
    for (copy_back, move_us, bus_us) in [("false", 121, 11), ("true", 113, 3)] {
        // With a separate bus for the die, and with a shared one.
        for chips in ["chips = 1", "chips = 2"] {
            let switch = format!("blocking = \"plane\"\ncopy_back = {copy_back}");
            let changes = [
                ("bus = \"1ns/B\"", bus),
                ("planes = 2", "planes = 1"),
                ("chips = 2", chips),
                ("blocking = \"plane\"", switch.as_str()),
            ];
            let mut rig = Rig::new(&small(&changes), Level::Chip);
            rig.flash.enable_gc_log();
            for page in (0..16).chain([0, 1, 2, 4, 5, 6, 8, 9, 10]) {
                rig.one(0, write(page));
            }
            let row = rig.flash.drain_gc_log().next().expect("a collection");
            assert_eq!((row.moved_pages, row.end_ns - row.start_ns), (1, (move_us + 1003) * US));
            assert_eq!(rig.flash.counters(rig.now, 0).bus_busy_ns, (25 * 6 + bus_us + 3) * US);
        }
    }
}

#[test]
fn copy_back_frees_the_bus_and_shortens_reads_of_other_dies() {
    // Four dies share a bus that is slow compared with their cells; one die collects at a time.
    let run = |copy_back: bool| {
        let mut spec = small(&[
            ("channels = 2", "channels = 1"),
            ("chips = 2", "chips = 4"),
            ("bus = \"1ns/B\"", "bus = \"10ns/B\""),
        ]);
        (spec.geometry.blocks, spec.geometry.pages) = (32, 16);
        spec.ftl.over_provisioning = Share(200_000);
        (spec.gc.blocking, spec.gc.copy_back) = (Domain::Die, copy_back);
        let mut flash = Flash::new(&spec, Level::Ssd, 1, 1).unwrap_or_else(|error| panic!("{error}"));
        flash.precondition(State::Steady, Share::ALL, 1);
        let (mut rig, mut random, mut reads) = (Rig::over(flash), Prng::new(3), Vec::new());
        let pages = u64::from(rig.flash.logical_pages());
        for _ in 0..6_000 {
            let at = rig.now + random.below(800 * US);
            rig.run_until(at);
            let page = random.below(pages) as u32;
            if random.chance(1, 2) {
                reads.push(rig.submit(0, read(page)));
            } else {
                rig.submit(0, write(page));
            }
        }
        rig.run();
        let mut of = vec![0; rig.finished.len()];
        rig.finished.iter().for_each(|finished| of[finished.token as usize] = finished.end - finished.start);
        let mean = reads.iter().map(|&token| of[token as usize]).sum::<u64>() / reads.len() as u64;
        (mean, rig.flash.counters(rig.now, 0).bus_busy_ns)
    };
    let ((plain, bus), (copied, less)) = (run(false), run(true));
    println!("mean read {plain} and {copied} ns, bus {bus} and {less} ns");
    assert!(less < bus * 3 / 4, "{bus} and {less}");
    assert!(copied < plain * 19 / 20, "{plain} and {copied}");
}
