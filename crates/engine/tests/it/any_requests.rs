//! Any requests, in flight together, over any array: reads return admissible content, and parity is correct on the
//! files.

use proptest::prelude::*;
use proptest::sample::select;
use rustix::io::Errno;
use stripewise_array::placement::Commit;
use stripewise_array::{MemberNo, Scheme, SubmitError};
use stripewise_engine::{
    Backend, Completion, Engine, Options, Order, Rejected, Request, Ticket, Timekeeping,
};

use crate::support::faulty::Faults;
use crate::support::media::Media;
use crate::support::model::{Model, SECTOR};
use crate::support::scheme;

/// Pages of a member: few rows, so that requests overlap.
const PAGES: u32 = 8;

/// How a member fails.
#[derive(Clone, Copy, Debug)]
enum Failing {
    /// By a call of [`Engine::fail`].
    Requested,
    /// Every operation ends in this error from now on.
    Dead(Errno),
    /// One page cannot be written.
    Write(u32),
    /// It cannot be flushed.
    Flush,
}

/// An array and how it is run.
#[derive(Clone, Debug)]
struct Setting {
    scheme: String,
    members: u32,
    columns: u32,
    pages: u32,
    page_bytes: u32,
    window: u32,
    seed: u64,
    /// Members that a group may lose.
    parity: usize,
    gathers: bool,
    /// The last members, which have a log.
    logs: u32,
    /// Members from one column of a group to the next.
    stride: u32,
}

impl Setting {
    /// Whether the array tolerates the loss of `member` in addition to those that `failed`. A log belongs to every
    /// group.
    fn tolerates(&self, failed: &[u16], member: u16) -> bool {
        let groups = (self.members - self.logs) / self.columns;
        let group = |member: u16| match u32::from(member) {
            log if log >= groups * self.columns => groups,
            member if self.stride > 1 => member % groups,
            member => member / self.columns,
        };
        let lost = |wanted: u32| failed.iter().filter(|&&other| group(other) == wanted).count();
        let in_log = failed.iter().filter(|&&other| group(other) >= groups).count();
        let in_groups = match group(member) {
            group if group < groups => lost(group),
            _ => (0..groups).map(lost).max().unwrap_or(0),
        };
        in_groups + in_log < self.parity
    }
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Read,
    Write,
    Trim,
    Flush,
}

#[derive(Clone, Debug)]
enum Action {
    /// `at` and `sectors` are taken modulo the size of the array.
    Submit { kind: Kind, at: usize, sectors: usize },
    /// This many operations are executed.
    Step(u8),
    /// A member fails, of a group that tolerates it.
    Fail(u32, Failing),
    /// Everything completes, and the whole array is read.
    Settle,
}

fn any_setting(first_writes: &'static str) -> impl Strategy<Value = Setting> {
    let geometry = (
        select(vec![
            ("raid0", 0, ""),
            ("raid5", 1, ""),
            ("raid5", 1, ""),
            ("raid6", 2, ""),
            ("raid6", 2, "[code]\nkind = \"rdp\"\n"),
            ("raid6", 2, "[code]\nkind = \"evenodd\"\nprime = 257\n"),
        ]),
        4u32..7,
        1u32..3,
        select(vec![1u32, 2, 4]),
        select(vec!["left-symmetric", "left-asymmetric", "right-symmetric", "right-asymmetric", "none"]),
        1u32..3,
    );
    let policies = (
        select(vec![
            "policy = \"baseline\"",
            "policy = \"baseline\"\ntie = \"rcw\"",
            "policy = \"always-rmw\"",
            "policy = \"always-rcw\"",
            "policy = \"bpu\"",
            "policy = \"adaptive\"",
        ]),
        (
            select(vec!["arrival", "read-first", "rounds"]),
            select(vec!["0", "0", "1", "3", "\"members\""]),
            any::<bool>(),
        ),
        1u32..4,
        // Few plans and requests, so that both run out; the largest values too.
        select(vec![1u32, 2, 3, 8, 64]),
        select(vec![1u32, 2, 5, 32]),
        select(vec!["persistent", "volatile"]),
        select(vec!["0ns", "1us", "20us"]),
        select(vec!["0ns", "5us"]),
    );
    let log = select(vec![
        "",
        "",
        "row_deltas = 16\n",
        "row_deltas = 2\ncommits = 1\n",
        "capacity = \"2 pages\"\nhigh_watermark = \"50%\"\nlow_watermark = \"0%\"\n",
        "capacity = \"1 pages\"\nhigh_watermark = \"100%\"\n",
        "commit = \"never\"\n",
    ]);
    let dispatch = select(vec![
        "",
        "policy = \"sync-fifo\"\n",
        "policy = \"sync-fifo\"\nstrict = false\n",
        "policy = \"piq\"\n",
        "policy = \"piq\"\nsync = true\novertake = 0\n",
        "policy = \"piq\"\nqueue = 1\n",
        "queue = 2\n",
    ]);
    // Files do not expose their internal state: policies use the times of operations.
    let reads = select(vec![
        "policy = \"direct\"\n",
        "policy = \"brr\"\nstate = \"observed\"\n",
        "policy = \"gc-avoiding\"\nstate = \"observed\"\nslow = 1\n",
        "policy = \"hedged\"\nhedge = \"proactive\"\n",
        "policy = \"hedged\"\nslow = 1\n",
        "policy = \"hedged\"\nhedge = \"adaptive\"\nslow = 1\n",
        "policy = \"least-finish\"\nstate = \"observed\"\n",
    ]);
    let run =
        (select(vec![512u32, 1024, 4096]), 1u32..5, any::<u64>(), log, any::<bool>(), (dispatch, reads));
    let cache = (
        // Mostly no cache, mostly smaller than a stripe.
        select(vec!["none", "none", "parity-caching"]),
        select(vec![1u32, 2, 3, 8, 100]),
        select(vec![1u32, 3, 100]),
        select(vec!["persistent", "volatile"]),
        select(vec!["0ns", "5us"]),
    );
    (geometry, policies, cache, run).prop_map(move |(geometry, policies, cache, run)| {
        let ((level, parity, code), columns, groups, chunk_pages, rotation, rotate_every) = geometry;
        let (update, (order, late, after_data), lookahead, plans, requests, persistence, wait, latency) =
            policies;
        let (page_bytes, window, seed, log, is_apart, (dispatch, read)) = run;
        let read = if parity > 0 { format!("[read]\n{read}") } else { String::new() };
        let log = log
            .replace("2 pages", &format!("{}B", 2 * page_bytes))
            .replace("1 pages", &format!("{page_bytes}B"));
        let (policy, chunks, destaging, survives, access) = cache;
        // One member fewer for one parity chunk fewer.
        let columns = columns - u32::from(parity < 2);
        let is_logging = parity > 0 && !log.is_empty();
        let logs = if is_logging { parity } else { 0 };
        let (placement, log) =
            if is_logging { ("parity-logging", format!("[parity_logging]\n{log}")) } else { ("in-place", String::new()) };
        let late = if parity > 0 && !is_logging { late } else { "0" };
        let acknowledge = if parity > 0 && after_data { "after-data" } else { "after-parity" };
        let plans = if late == "0" { plans } else { plans.max(columns) };
        let stride = if is_apart && parity > 0 { groups } else { 1 };
        let membership = if stride > 1 { "longest-code-interval" } else { "contiguous" };
        let first_writes = if parity == 0 && first_writes == "encode" { "in-place" } else { first_writes };
        let gathers = first_writes == "gather";
        // Gathered pages get their members when they are written, so no dispatch policy can wait for those members.
        let dispatch = if gathers && !dispatch.ends_with("fifo\"\n") { "" } else { dispatch };
        let scheme = format!(
            "name = \"any\"\n\
             [geometry]\nlevel = \"{level}\"\nchunk = \"{chunk}B\"\ngroups = {groups}\n\
             membership = \"{membership}\"\nrotation = \"{rotation}\"\nrotate_every = {rotate_every}\n\
             {code}[update]\n{update}\n\
             {read}{log}[placement]\n\
             policy = \"{placement}\"\nfirst_writes = \"{first_writes}\"\nbuffer_persistence = \"{persistence}\"\n\
             gather_wait = \"{wait}\"\nencode_wait = \"{wait}\"\nbuffer_latency = \"{latency}\"\n\
             [cache]\npolicy = \"{policy}\"\nchunks = {chunks}\ndestaging = {destaging}\n\
             persistence = \"{survives}\"\nlatency = \"{access}\"\n\
             [dispatch]\n{dispatch}order = \"{order}\"\nlookahead = {lookahead}\n\
             [queues]\nplans = {plans}\nrequests = {requests}\n\
             [parity]\nwindow = {late}\nidle = \"20us\"\nacknowledge = \"{acknowledge}\"\n",
            chunk = chunk_pages * page_bytes,
        );
        let members = columns * groups + logs;
        let parity = parity as usize;
        Setting { scheme, members, columns, pages: PAGES, page_bytes, window, seed, parity, gathers, logs, stride }
    })
}

fn any_actions() -> impl Strategy<Value = Vec<Action>> {
    let kind = prop_oneof![
        5 => Just(Kind::Read),
        8 => Just(Kind::Write),
        2 => Just(Kind::Trim),
        1 => Just(Kind::Flush),
    ];
    // Short requests overlap on few rows; long ones cover several.
    let sectors = prop_oneof![6 => 1usize..10, 2 => 10usize..80, 1 => Just(usize::MAX)];
    // Most begin in the same few rows.
    let at = prop_oneof![1 => any::<usize>(), 2 => 0usize..24];
    let failing = prop_oneof![
        3 => Just(Failing::Requested),
        2 => select(vec![Errno::NODEV, Errno::TIMEDOUT]).prop_map(Failing::Dead),
        2 => (0..PAGES).prop_map(Failing::Write),
        1 => Just(Failing::Flush),
    ];
    let action = prop_oneof![
        60 => (kind, at, sectors).prop_map(|(kind, at, sectors)| Action::Submit { kind, at, sectors }),
        40 => (0u8..12).prop_map(Action::Step),
        2 => (any::<u32>(), failing).prop_map(|(member, how)| Action::Fail(member, how)),
        2 => Just(Action::Settle),
    ];
    prop::collection::vec(action, 1..150)
}

/// An array under test, with the model of its admissible answers.
struct Bench<B: Backend> {
    engine: Engine<B>,
    model: Model<Ticket>,
    faults: Faults,
    failed: Vec<u16>,
}

impl<B: Backend> Bench<B> {
    fn submit(&mut self, kind: Kind, at: usize, sectors: usize) {
        let first = at % self.model.len();
        let sectors = first..first + sectors.min(self.model.len() - first);
        let (offset, bytes) = ((first * SECTOR) as u64, sectors.len() * SECTOR);
        let request = match kind {
            Kind::Read => Request::read(offset, bytes),
            Kind::Write => Request::write(offset, &self.model.fresh(sectors.clone())),
            Kind::Trim => Request::trim(offset, bytes as u64),
            Kind::Flush => Request::Flush,
        };
        let ticket = loop {
            match self.engine.submit(request.clone()) {
                Ok(ticket) => break ticket,
                Err(Rejected { error: SubmitError::Busy, .. }) => self.step(),
                Err(rejected) => panic!("{request:?}: {rejected}"),
            }
        };
        match kind {
            Kind::Read => self.model.read_submitted(ticket, sectors),
            Kind::Write => self.model.write_submitted(ticket, sectors),
            Kind::Trim => self.model.trim_submitted(ticket, sectors),
            Kind::Flush => {}
        }
        // Requests that the array answers at once.
        self.take_completions();
    }

    fn step(&mut self) {
        self.engine.step();
        self.take_completions();
    }

    fn take_completions(&mut self) {
        while let Some(completion) = self.engine.take_completion() {
            self.completed(&completion);
        }
    }

    fn completed(&mut self, completion: &Completion) {
        completion.result.expect("nothing that parity can bear fails a request");
        self.model.completed(completion.ticket, &completion.payload);
    }

    /// Completes everything, reads everything twice, and flushes.
    fn settle(&mut self) {
        while let Some(completion) = self.engine.poll() {
            self.completed(&completion);
        }
        assert_eq!(self.model.in_flight(), 0, "a request was never acknowledged");
        assert!(self.engine.is_quiet());
        let mut bytes = vec![0; self.model.len() * SECTOR];
        for _ in 0..2 {
            self.engine.read(0, &mut bytes).unwrap();
            self.model.settle(&bytes);
        }
        self.engine.flush().unwrap();
        if self.engine.array().parity_log_member(0).is_some() {
            // Commits continue in the background; their writes are not part of the flush.
            while self.engine.step() {}
            self.engine.flush().unwrap();
        }
        for member in 0..64 {
            if !self.failed.contains(&member) {
                assert_eq!(self.faults.unflushed(member), 0, "member {member} was not flushed");
            }
        }
    }
}

fn run(setting: &Setting, actions: &[Action]) {
    let scheme: Scheme = scheme(&setting.scheme);
    let media = Media::new(setting.members, setting.pages, setting.page_bytes);
    let options = Options {
        page_bytes: setting.page_bytes,
        window: setting.window,
        order: Order::Shuffled(setting.seed),
        time: Timekeeping::Counted(1_000),
        ..Options::default()
    };
    let faults = Faults::default();
    let engine = Engine::scratch(&scheme, faults.around(media.open()), options).unwrap();
    let model = Model::new(engine.capacity());
    let mut bench = Bench { engine, model, faults, failed: Vec::new() };
    for action in actions {
        match *action {
            Action::Submit { kind, at, sectors } => bench.submit(kind, at, sectors),
            Action::Step(steps) => (0..steps).for_each(|_| bench.step()),
            Action::Fail(member, how) => {
                let member = (member % setting.members) as u16;
                let is_new = !bench.failed.contains(&member);
                if is_new && setting.tolerates(&bench.failed, member) {
                    match how {
                        Failing::Requested => bench.engine.fail(MemberNo::new(member)).unwrap(),
                        Failing::Dead(errno) => bench.faults.kill(member, errno),
                        Failing::Write(page) => bench.faults.refuse_writes(member, page, Errno::IO),
                        Failing::Flush => bench.faults.refuse_flushes(member, Errno::IO),
                    }
                    bench.failed.push(member);
                    bench.take_completions();
                }
            }
            Action::Settle => bench.settle(),
        }
    }
    bench.settle();
    let mut bytes = vec![0; bench.model.len() * SECTOR];
    bench.engine.read(0, &mut bytes).unwrap();
    let failed = bench.failed.clone();
    drop(bench.engine.close().unwrap());
    if failed.iter().all(|&member| u32::from(member) >= setting.members - setting.logs) {
        if setting.logs == 0 || scheme.parity_logging.commit == Commit::Watermark {
            media.check_parity(&scheme);
        }
        if !setting.gathers {
            assert!(bytes == media.assemble(&scheme), "the files hold what was read, where geometry says");
        }
    }
}

proptest! {
    #[test]
    fn in_place_arrays_return_what_they_may(setting in any_setting("in-place"), actions in any_actions()) {
        run(&setting, &actions);
    }

    #[test]
    fn encoding_arrays_return_what_they_may(setting in any_setting("encode"), actions in any_actions()) {
        run(&setting, &actions);
    }

    #[test]
    fn gathering_arrays_return_what_they_may(setting in any_setting("gather"), actions in any_actions()) {
        run(&setting, &actions);
    }
}

/// Whether a model with one acknowledged write and one in flight accepts a read that returns the choice of `choose`
/// from zeros, the old and the new content.
fn model_accepts(choose: impl FnOnce([Box<[u8]>; 3]) -> Box<[u8]>) -> bool {
    let mut model = Model::new(SECTOR as u64);
    let old = model.fresh(0..1);
    model.write_submitted(1, 0..1);
    model.completed(1, &[]);
    let new = model.fresh(0..1);
    model.write_submitted(2, 0..1);
    model.read_submitted(3, 0..1);
    let data = choose([vec![0; SECTOR].into(), old, new]);
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| model.completed(3, &data))).is_ok()
}

#[test]
fn the_model_accepts_what_is_admissible_and_refuses_the_rest() {
    assert!(model_accepts(|[_, old, _]| old));
    assert!(model_accepts(|[_, _, new]| new));
    assert!(!model_accepts(|[zeros, _, _]| zeros), "what an acknowledged write replaced is gone");
    assert!(!model_accepts(|[_, mut old, new]| {
        old[256..].copy_from_slice(&new[256..]);
        old
    }));
}
