//! One controller, two drivers: for the same requests the engine over files and the simulator over modelled flash get
//! the same plans, step by step.
//!
//! Each request runs to its very end before the next, because the requests that are in flight together depend on time,
//! and the two drivers do not share time. Flushes are left out: files have a volatile cache and modelled flash has
//! none, so flushes need no plan there.

use std::collections::BTreeSet;
use std::sync::mpsc;

use stripewise_array::cache::CachePolicy;
use stripewise_array::placement::FirstWrites;
use stripewise_array::update::Reason;
use stripewise_array::{
    Acknowledgement, HostRequest, MemberNo, Members, NoMemory, PlanView, Purpose, RequestKind, Scheme,
    SubmitError, WindowSize,
};
use stripewise_base::Nanos;
use stripewise_base::prng::Prng;
use stripewise_engine::{Engine, Options, PlanRecord, Request, Timekeeping};
use stripewise_flash::{DeviceSpec, Flash, Level};
use stripewise_sim::{Host, Next, Simulation};

use crate::support::media::Media;
use crate::support::scheme;

/// An array, the requests to it, and the failures in between.
struct Draw {
    scheme: Scheme,
    members: u32,
    page_bytes: u32,
    /// Failures, each before the request with this number.
    failures: Vec<(usize, u16)>,
    requests: Vec<(RequestKind, u64, u32)>,
}

impl Draw {
    fn new(seed: u64) -> Self {
        let mut prng = Prng::new(seed);
        let mut one_of = |of: &[&'static str]| of[prng.below(of.len() as u64) as usize];
        let level = one_of(&["raid5", "raid5", "raid6", "raid6", "raid0"]);
        let code = if level == "raid6" { one_of(&["pq", "rdp", "evenodd"]) } else { "" };
        let code = if code.is_empty() { String::new() } else { format!("[code]\nkind = \"{code}\"\n") };
        let rotation =
            one_of(&["left-symmetric", "left-asymmetric", "right-symmetric", "right-asymmetric", "none"]);
        let update = one_of(&[
            "policy = \"baseline\"",
            "policy = \"baseline\"\ntie = \"rcw\"",
            "policy = \"always-rmw\"",
            "policy = \"always-rcw\"",
        ]);
        let window = if level != "raid0" { one_of(&["0", "0", "1", "3", "\"members\""]) } else { "0" };
        let acknowledge =
            if level != "raid0" { one_of(&["after-parity", "after-data"]) } else { "after-parity" };
        let first_writes = one_of(&["in-place", "in-place", "gather"]);
        let persistence = one_of(&["persistent", "volatile"]);
        let order = one_of(&["arrival", "read-first", "rounds"]);
        let cache = one_of(&["none", "none", "parity-caching"]);
        let chunks = one_of(&["1", "3", "20"]);
        // Pages that gather while a write waits for room in the cache gather for as long as that takes.
        let destaging = if first_writes == "gather" { "10000" } else { chunks };
        let columns = if level == "raid6" { 4 } else { 3 } + prng.below(4) as u32;
        let groups = 1 + prng.below(2) as u32;
        let page_bytes = 512 << prng.below(4) as u32;
        let chunk = page_bytes << prng.below(3) as u32;
        let rotate_every = 1 + prng.below(2);
        let is_apart = groups > 1 && level != "raid0" && Prng::stream(seed, 3).chance(1, 2);
        let membership = if is_apart { "longest-code-interval" } else { "contiguous" };
        let mut log = Prng::stream(seed, 2);
        let is_logging = level != "raid0" && log.chance(1, 3);
        let logs = if !is_logging { 0 } else { 1 + u32::from(level == "raid6") };
        let window = if is_logging { "0" } else { window };
        // The time when a page leaves a cache, and so the content of a log, depends on timing.
        let cache = if is_logging { "none" } else { cache };
        let placement = if is_logging {
            let section = [
                "row_deltas = 16\n",
                "row_deltas = 2\ncommit = \"never\"\n",
                "capacity = \"16KiB\"\nhigh_watermark = \"50%\"\nlow_watermark = \"20%\"\n",
            ][log.below(3) as usize];
            format!("[parity_logging]\n{section}[placement]\npolicy = \"parity-logging\"\n")
        } else {
            "[placement]\n".into()
        };
        let scheme = scheme(&format!(
            "name = \"seed {seed}\"\n\
             [geometry]\nlevel = \"{level}\"\nchunk = \"{chunk}B\"\ngroups = {groups}\n\
             membership = \"{membership}\"\nrotation = \"{rotation}\"\nrotate_every = {rotate_every}\n\
             {code}[update]\n{update}\n\
             {placement}first_writes = \"{first_writes}\"\nbuffer_persistence = \"{persistence}\"\n\
             [cache]\npolicy = \"{cache}\"\nchunks = {chunks}\ndestaging = {destaging}\npersistence = \"{persistence}\"\n\
             [dispatch]\norder = \"{order}\"\n\
             [parity]\nwindow = {window}\nacknowledge = \"{acknowledge}\"\n"
        ));
        let members = columns * groups;
        let mut failures = if prng.chance(1, 2) {
            (0..1 + prng.below(3))
                .map(|_| (prng.below(60) as usize, prng.below(members.into()) as u16))
                .collect()
        } else {
            Vec::new()
        };
        if is_logging && log.chance(1, 4) {
            failures.push((log.below(60) as usize, members as u16));
        }
        Self { scheme, members: members + logs, page_bytes, failures, requests: Vec::new() }
    }

    /// Random requests over an array of `capacity` bytes, most in few rows.
    fn ask(&mut self, seed: u64, capacity: u64) {
        let mut prng = Prng::stream(seed, 1);
        let sectors = capacity / 512;
        for _ in 0..60 {
            let kind = match prng.below(10) {
                0..3 => RequestKind::Read,
                3..9 => RequestKind::Write,
                _ => RequestKind::Trim,
            };
            let most = if prng.chance(1, 4) { 400 } else { 20 };
            let span = if prng.chance(1, 2) { sectors } else { sectors.min(64) };
            let first = prng.below(span);
            let count = (1 + prng.below(most)).min(sectors - first);
            self.requests.push((kind, first * 512, count as u32 * 512));
        }
    }

    fn failing_before(&self, index: usize) -> impl Iterator<Item = u16> {
        self.failures.iter().filter(move |&&(before, _)| before == index).map(|&(_, member)| member)
    }

    /// A device with one channel for each member.
    fn flash(&self) -> Flash<()> {
        let text = format!(
            "name = \"small\"\n\
             [geometry]\nchannels = {}\nchips = 1\ndies = 2\nplanes = 1\nblocks = 12\npages = 8\n\
             page_bytes = \"{}B\"\n\
             [timing]\nread = \"45us\"\nprogram = \"700us\"\nerase = \"3.5ms\"\nbus = \"5ns/B\"\n\
             [ftl]\nover_provisioning = \"40%\"\npool = \"member\"\n\
             [gc]\nvictim = \"greedy\"\nlow_watermark = {{ block-count = 1 }}\nblocking = \"die\"\n",
            self.members, self.page_bytes
        );
        let spec = DeviceSpec::from_toml("small", &text).unwrap_or_else(|error| panic!("{error}"));
        Flash::new(&spec, Level::Channel, 1, 1).unwrap()
    }
}

/// A host with at most one request at a time, which records the plans.
#[derive(Default)]
struct Asking {
    request: Option<HostRequest>,
    acknowledged: usize,
    plans: Vec<PlanRecord>,
}

impl Host<NoMemory> for Asking {
    const OBSERVES: bool = true;

    fn next(&mut self, now: Nanos) -> Next {
        if self.request.is_some() { Next::At(now) } else { Next::End }
    }
    fn take(&mut self, now: Nanos) -> (HostRequest, ()) {
        (HostRequest { arrival: now, ..self.request.take().unwrap() }, ())
    }
    fn refused(&mut self, request: HostRequest, (): (), error: SubmitError) {
        panic!("{request:?}: {error}");
    }
    fn acknowledged(&mut self, _: Nanos, _: &Acknowledgement, (): ()) {
        self.acknowledged += 1;
    }
    fn planned(&mut self, plan: &PlanView<'_>) {
        self.plans.push(PlanRecord::from(plan));
    }
}

/// Plans of each request, and at the end of the final write-out, by the simulator.
fn simulated(case: &Draw) -> Vec<Vec<PlanRecord>> {
    let host = Asking::default();
    // Files keep no old versions. Modelled members with old versions would be read differently.
    let flash = case.flash();
    let members = Members { old_versions: 0, ..stripewise_sim::members(flash.spec(), flash.shape()) };
    let mut simulation = Simulation::with_members(&case.scheme, members, flash, NoMemory, host).unwrap();
    let mut plans = Vec::new();
    for (index, &(kind, offset, bytes)) in case.requests.iter().enumerate() {
        for member in case.failing_before(index) {
            simulation.fail_member(MemberNo::new(member));
        }
        simulation.world.host.request =
            Some(HostRequest { tag: index as u64, arrival: 0, offset, bytes, kind });
        simulation.run();
        assert_eq!(simulation.world.host.acknowledged, index + 1);
        plans.push(std::mem::take(&mut simulation.world.host.plans));
    }
    plans
}

/// The same by the engine.
fn engine(case: &Draw, pages: u32) -> Vec<Vec<PlanRecord>> {
    let media = Media::new(case.members, pages, case.page_bytes);
    let options =
        Options { page_bytes: case.page_bytes, time: Timekeeping::Counted(10_000), ..Options::default() };
    let mut engine = Engine::scratch(&case.scheme, media.open(), options).unwrap();
    let (notes, noted) = mpsc::channel();
    engine.observe(move |plan| drop(notes.send(PlanRecord::from(plan))));
    let mut plans = Vec::new();
    for (index, &(kind, offset, bytes)) in case.requests.iter().enumerate() {
        for member in case.failing_before(index) {
            engine.fail(MemberNo::new(member)).unwrap();
        }
        let request = match kind {
            RequestKind::Read => Request::read(offset, bytes as usize),
            RequestKind::Write => Request::write(offset, &vec![index as u8; bytes as usize]),
            RequestKind::Trim => Request::trim(offset, bytes.into()),
            RequestKind::Flush => unreachable!("flushes are left out"),
        };
        engine.submit(request).unwrap();
        assert!(engine.poll().is_some());
        while engine.step() {}
        plans.push(noted.try_iter().collect());
    }
    plans
}

fn is_update(purpose: Purpose) -> bool {
    matches!(purpose, Purpose::Write | Purpose::Parity)
}

#[test]
fn both_drivers_get_the_same_plans_step_by_step() {
    let mut seen = BTreeSet::new();
    for seed in 0..150 {
        let mut case = Draw::new(seed);
        let flash = case.flash();
        let media = Media::new(case.members, flash.logical_pages(), case.page_bytes);
        let capacity = media.geometry(&case.scheme).pages() * u64::from(case.page_bytes);
        case.ask(seed, capacity);
        let (mut simulated, mut real) = (simulated(&case), engine(&case, flash.logical_pages()));
        let is_late = case.scheme.parity.window != WindowSize::default();
        let caches = case.scheme.cache.policy != CachePolicy::None;
        let commits = case.scheme.parity_log_members() > 0;
        if is_late || caches || commits || case.scheme.placement.first_writes == FirstWrites::Gather {
            // A request may then have several plans for a row. Each waits for the one before, and which row's comes
            // first depends on time; the order within a row does not.
            simulated.iter_mut().chain(&mut real).for_each(|plans| plans.sort_by_key(|plan| plan.row));
        }
        if commits {
            // Whether a row is about to be committed when a full stripe makes its deltas worthless depends on time,
            // too: the commit then finds nothing to do.
            let is_some = |plan: &PlanRecord| plan.decision.reason != Reason::NothingLate;
            simulated.iter_mut().chain(&mut real).for_each(|plans| plans.retain(is_some));
        }
        for (index, (simulated, real)) in simulated.iter().zip(&real).enumerate() {
            let requested = (seed, index, case.requests[index]);
            for (simulated, real) in simulated.iter().zip(real) {
                assert_eq!(simulated, real, "{requested:?}");
            }
            assert_eq!(simulated.len(), real.len(), "{requested:?}");
        }
        for plan in real.iter().flatten().filter(|plan| is_update(plan.purpose)) {
            seen.insert((plan.lost != 0, plan.decision.routine.name(), plan.decision.reason.sentence()));
        }
    }
    // Every update method was compared, with all columns present and with one lost.
    let whole = [
        ("plain", Reason::NoParity),
        ("full stripe", Reason::NothingToRead),
        ("log", Reason::Logged),
        ("RMW", Reason::FewerPreReads),
        ("RCW", Reason::FewerPreReads),
        ("RMW", Reason::Tie),
        ("RCW", Reason::Tie),
        ("RMW", Reason::Always),
        ("RCW", Reason::Always),
    ];
    let degraded = [
        ("plain", Reason::NoParity),
        ("plain", Reason::ParityLost),
        ("full stripe", Reason::NothingToRead),
        ("RMW", Reason::OtherNeedsLost),
        ("RCW", Reason::OtherNeedsLost),
        ("reconstruct", Reason::BothNeedLost),
    ];
    for (is_degraded, ways) in [(false, &whole[..]), (true, &degraded[..])] {
        for &(routine, reason) in ways {
            let way = (is_degraded, routine, reason.sentence());
            assert!(seen.contains(&way), "{way:?} is not among {seen:#?}");
        }
    }
}
