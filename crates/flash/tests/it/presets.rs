//! The device presets of the program.

use stripewise_base::prng::Prng;
use stripewise_flash::spec::{GcSpan, Isolation, Moves, MultiPlane, PRESETS, Preemption};
use stripewise_flash::{DeviceSpec, Flash, Level, Op, Share, State};

use crate::support::Rig;

fn presets() -> impl Iterator<Item = DeviceSpec> {
    PRESETS.iter().map(|(name, _)| DeviceSpec::preset(name).unwrap_or_else(|error| panic!("{error}")))
}

/// The levels whose members a device can be divided into: only whole SSDs have the queues that some options need.
fn levels(spec: &DeviceSpec) -> &'static [Level] {
    let of_ssd = spec.scheduling.multi_plane != MultiPlane::Off;
    if of_ssd { &[Level::Ssd] } else { &[Level::Channel, Level::Ssd, Level::Chip] }
}

/// Raw capacity of a device, in GiB.
fn raw_gib(name: &str) -> f64 {
    let spec = DeviceSpec::preset(name).unwrap_or_else(|error| panic!("{error}"));
    let g = &spec.geometry;
    let counts = [g.channels, g.chips, g.dies, g.planes, g.blocks, g.pages];
    counts.map(f64::from).iter().product::<f64>() * g.page_bytes.0 as f64 / f64::from(1 << 30)
}

#[test]
fn every_preset_is_valid_and_named_as_it_is_found() {
    for (name, _) in PRESETS {
        let spec = DeviceSpec::preset(name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(spec.name, name);
        for &level in levels(&spec) {
            Flash::new(&spec, level, 1, 1).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}

#[test]
fn presets_have_the_sizes_of_their_sources() {
    assert_eq!([raw_gib("ssdsim-5+1"), raw_gib("ssdsim-7+1")], [24.0, 32.0]);
    assert_eq!([raw_gib("ssdsim-5+1-ldpc"), raw_gib("ssdsim-7+1-ldpc")], [24.0, 32.0]);
    assert_eq!([raw_gib("disksim"), raw_gib("disksim-chips"), raw_gib("paper003")], [32.0, 256.0, 2.0]);
    assert_eq!([raw_gib("paper001"), raw_gib("paper001-fdp")], [0.30078125; 2]);
    assert_eq!(raw_gib("s3700-like"), 256.0);
    assert_eq!([raw_gib("disksim-suite"), raw_gib("mqsim"), raw_gib("mqsim-gc-2gib")], [32.0, 512.0, 2.0]);
}

#[test]
fn the_ssd_of_paper_002_is_64_chips_of_table_1_whose_bus_is_far_faster_than_their_cells() {
    let spec = DeviceSpec::preset("paper002").unwrap_or_else(|error| panic!("{error}"));
    let flash = Flash::new(&spec, Level::Chip, 1, 1).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((raw_gib("paper002"), flash.shape().members), (256.0, 64));
    // 15 % are reserved, and the last page of each block holds its summary.
    let of_chip = f64::from(flash.logical_pages()) / f64::from(16_384 * 63);
    assert!((0.849..=0.8501).contains(&of_chip), "{of_chip} of a chip is exported");
    let transfer_ns = spec.timing.bus.time_of(4096 + 128);
    assert_eq!(transfer_ns, 10_560);
    assert!(
        transfer_ns * 18 < spec.timing.program.0,
        "a page moves in a fraction of the time that it is programmed in"
    );

    // Except for buses, wear and host link, it equals DiskSim's.
    let mut chips = DeviceSpec::preset("disksim-chips").unwrap_or_else(|error| panic!("{error}"));
    chips.name.clone_from(&spec.name);
    (chips.geometry.channels, chips.geometry.chips) = (8, 8);
    chips.timing.bus = spec.timing.bus;
    (chips.timing.host_link, chips.timing.host_link_unit) = Default::default();
    chips.wear = spec.wear;
    assert_eq!(chips, spec);
}

#[test]
fn the_ssd_of_paper_004_has_the_32_gib_of_its_table_1() {
    let [ours, mut disksim] = ["paper004", "disksim"]
        .map(|name| DeviceSpec::preset(name).unwrap_or_else(|error| panic!("{error}")));
    assert_eq!(raw_gib("paper004"), 32.0);
    disksim.name.clone_from(&ours.name);
    assert_eq!(ours, disksim, "the SSD extension's model at these sizes had a preset before the paper had");
}

#[test]
fn an_ssd_of_paper_001_is_the_smallest_that_holds_the_working_set_of_256_mib() {
    let mut spec = DeviceSpec::preset("paper001").unwrap_or_else(|error| panic!("{error}"));
    let exported_bytes = |spec: &DeviceSpec| {
        let flash = Flash::new(spec, Level::Ssd, 1, 1).unwrap_or_else(|error| panic!("{error}"));
        u64::from(flash.logical_pages()) * spec.geometry.page_bytes.0
    };
    assert!(exported_bytes(&spec) >= 256 << 20);
    spec.geometry.blocks -= 1;
    assert!(exported_bytes(&spec) < 256 << 20);
}

#[test]
fn the_device_with_streams_of_paper_001_differs_in_its_streams_alone() {
    let [plain, mut fdp] = ["paper001", "paper001-fdp"]
        .map(|name| DeviceSpec::preset(name).unwrap_or_else(|error| panic!("{error}")));
    assert_eq!(fdp.ftl.streams, 5);
    (fdp.name, fdp.ftl.streams) = (plain.name.clone(), 1);
    assert_eq!(fdp, plain);
}

#[test]
fn a_preset_written_out_reads_back_as_itself() {
    for spec in presets() {
        let text = toml::to_string(&spec).expect("every specification can be written");
        let back = DeviceSpec::from_toml("back", &text).unwrap_or_else(|error| panic!("{text}\n{error}"));
        assert_eq!(back, spec);
    }
}

#[test]
fn state_takes_at_most_12_bytes_a_page() {
    for spec in presets() {
        let flash = Flash::new(&spec, levels(&spec)[0], 1, 1).unwrap_or_else(|error| panic!("{error}"));
        assert!(flash.bytes_per_page() < 12.0, "{}: {} bytes a page", spec.name, flash.bytes_per_page());
    }
}

#[test]
fn the_ssd_like_an_s3700_exports_200_gb_and_reads_as_its_data_sheet_says() {
    let mut spec = DeviceSpec::preset("s3700-like").unwrap_or_else(|error| panic!("{error}"));
    let planes = 8 * 4 * 2 * 2;
    let exported = u64::from(spec.logical_per_plane()) * planes * spec.geometry.page_bytes.0;
    assert!(exported.abs_diff(200_000_000_000) < 10_000_000, "{exported}");
    // Rates do not depend on the size.
    spec.geometry.blocks = 64;
    // 32 commands of `pages` consecutive pages at a time; bytes a second.
    let rate = |pages: u32, commands: u32| {
        let mut rig = Rig::new(&spec, Level::Ssd);
        rig.flash.precondition(State::Sequential, Share::ALL, 1);
        let mut random = Prng::new(1);
        let last = u64::from(rig.flash.logical_pages() - pages);
        let mut give = |rig: &mut Rig, request: u32| {
            let first = random.below(last) as u32;
            for page in first..first + pages {
                rig.submit(0, Op { page, request, ..Op::default() });
            }
        };
        (0..32).for_each(|request| give(&mut rig, request));
        let mut given = 32;
        while rig.step() {
            while given < commands && rig.finished.len() as u32 >= (given - 31) * pages {
                give(&mut rig, given);
                given += 1;
            }
        }
        f64::from(commands * pages) * 4096.0 * 1e9 / rig.now as f64
    };
    let (random, large) = (rate(1, 20_000) / 4096.0, rate(32, 2_000) / 1e6);
    println!("{random:.0} random reads a second, {large:.1} MB/s of large ones");
    assert!((random / 75_000.0 - 1.0).abs() < 0.02, "{random} random reads a second");
    assert!((large / 500.0 - 1.0).abs() < 0.04, "{large} MB/s");
}

/// The error for a preset with one line replaced.
fn refusal(name: &str, from: &str, to: &str) -> String {
    let text = PRESETS.iter().find(|preset| preset.0 == name).expect("a preset").1;
    assert!(text.contains(from), "no `{from}` in {name}");
    match DeviceSpec::from_toml("device.toml", &text.replace(from, to)) {
        Ok(_) => panic!("{to} was taken"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_is_wrong_is_said_with_the_remedy() {
    let cases = [
        // Keys and values that do not exist: the message names the most similar one, with file and line.
        ("channels = 8", "chanels = 8", "did you mean `channels`"),
        ("channels = 8", "chanels = 8", "device.toml:5:1"),
        ("blocking = \"plane\"", "blocking = \"plain\"", "did you mean `plane`"),
        ("order = \"CWDP\"", "order = \"CWDD\"", "the letters C, W, D and P once each"),
        ("bus = \"3ns/B\"", "bus = \"3ns\"", "such as `25ns/B`"),
        ("read = \"75us\"", "read = 75", "unit"),
        // Counts out of range.
        ("planes = 2 ", "planes = 65 ", "geometry.planes is 65; it must be from 1 to 64"),
        ("blocks = 2048", "blocks = 70000", "geometry.blocks is 70000"),
        ("d-choices = 11", "d-choices = 0", "gc.victim.d-choices is 0"),
        ("window = 512", "window = 0", "scheduling.window is 0"),
        ("\"3.8ms\"", "\"2000s\"", "timing.erase (ns) is 2000000000000"),
        // Streams: their number, and whether they have a meaning and enough space.
        ("[scheduling]", "streams = 17\n[scheduling]", "ftl.streams is 17; it must be from 1 to 16"),
        ("[scheduling]", "streams = 0\n[scheduling]", "ftl.streams is 0"),
        ("[scheduling]", "isolation = \"persistent\"\n[scheduling]", "one stream has none to be kept from"),
        ("[scheduling]", "streams = 2\nisolation = \"none\"\n[scheduling]", "known: initial, persistent"),
        // Space for collection.
        ("over_provisioning = \"7%\"", "over_provisioning = \"5%\"", "raise ftl.over_provisioning"),
        (
            "{ blocks = \"5%\" }",
            "{ block-count = 0 }",
            "gc.low_watermark is 0 pages; it must be at least one block of 256",
        ),
        ("{ blocks = \"5%\" }", "{ pages = \"0.01%\" }", "at least one block"),
        (
            "blocking = \"plane\"",
            "blocking = \"plane\"\nhigh_watermark = { blocks = \"4%\" }",
            "gc.high_watermark is below",
        ),
        (
            "blocking = \"plane\"",
            "blocking = \"plane\"\nhigh_watermark = { pages = \"6%\" }",
            "not of the same kind",
        ),
        (
            "blocking = \"plane\"",
            "blocking = \"plane\"\nhigh_watermark = { blocks = \"7%\" }",
            "lower gc.high_watermark",
        ),
        ("blocking = \"plane\"", "blocking = \"plane\"\nerase_blocking = \"die\"", "wider than gc.blocking"),
    ];
    for (from, to, expected) in cases {
        let found = refusal("mqsim", from, to);
        assert!(found.contains(expected), "{to}: expected `{expected}` in\n{found}");
    }
    assert!(DeviceSpec::preset("mqsin").unwrap_err().to_string().contains("did you mean `mqsim`"));
}

#[test]
fn streams_need_room_for_their_open_blocks() {
    let refused = |streams: u32, isolation: Isolation, moves: Moves| {
        let mut spec = DeviceSpec::preset("paper001").unwrap_or_else(|error| panic!("{error}"));
        (spec.ftl.streams, spec.ftl.isolation, spec.gc.moves) = (streams, isolation, moves);
        spec.validate().err().map(|error| error.to_string())
    };
    // Of 77 blocks of 63 pages, 4124 pages are exported and 3 blocks kept free: 8 blocks may be open, but not 9.
    let (initial, persistent) = (Isolation::Initial, Isolation::Persistent);
    for (streams, isolation, moves) in
        [(8, initial, Moves::Shared), (7, initial, Moves::Apart), (4, persistent, Moves::Apart)]
    {
        assert_eq!(refused(streams, isolation, moves), None);
        let message = refused(streams + 1, isolation, moves).expect("no room");
        assert!(message.contains("has blocks of") && message.contains("or ftl.streams"), "{message}");
    }
}

#[test]
fn levels_and_numbers_of_devices_that_are_too_large_are_refused() {
    let refuse = |spec: &DeviceSpec, level, devices| {
        let refused = Flash::new(spec, level, devices, 1).map(drop);
        refused.expect_err("refused").to_string()
    };
    let mut spec = DeviceSpec::preset("mqsim").unwrap_or_else(|error| panic!("{error}"));
    assert!(refuse(&spec, Level::Ssd, 0).contains("0 members"));
    assert!(refuse(&spec, Level::Chip, 17).contains("544 members; there must be from 1 to 512"));
    // 32 times as large: 2^31 pages in one member, but not in one channel.
    spec.geometry.blocks *= 16;
    spec.geometry.pages *= 2;
    assert!(refuse(&spec, Level::Ssd, 1).contains("2147483648 pages is too large"));
}

#[test]
fn the_preemptive_ssd_of_paper_003_is_the_other_one_but_for_where_collection_lets_operations_in() {
    let preset = |name: &str| DeviceSpec::preset(name).unwrap_or_else(|error| panic!("{error}"));
    let (mut plain, preemptive) = (preset("paper003"), preset("paper003-preemptive"));
    plain.name.clone_from(&preemptive.name);
    (plain.gc.preemption, plain.gc.hard_watermark) = (preemptive.gc.preemption, preemptive.gc.hard_watermark);
    assert!(plain.gc.hard_watermark.is_some() && plain.gc.preemption == Preemption::Moves);
    // A busy span cannot be preempted. `collection.rs` checks that its steps take the same time.
    (plain.gc.span, plain.gc.copy_back) = (GcSpan::Steps, true);
    assert_eq!(plain, preemptive);
}
