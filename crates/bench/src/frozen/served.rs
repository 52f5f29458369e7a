//! Short runs in the engine, over files, in counted time.

use std::path::{Path, PathBuf};
use std::sync::mpsc;

use anyhow::{Result, bail, ensure};
use stripewise_array::cache::CachePolicy;
use stripewise_array::format::Uuid;
use stripewise_array::{
    AssemblyOptions, Controller, Identity, MemberNo, Metadata, Persistence, Scheme, SubmitError, create,
};
use stripewise_engine::{
    Engine, FileMedia, Files, IoMode, MemberFile, Options, PlanRecord, Rejected, Request, Timekeeping,
};
use stripewise_trace::Kind;

use crate::digests::{Hasher, Key};
use crate::workload::Workload;

/// The name of the members in a key.
pub(crate) const DEVICE: &str = "files";
const CONDITIONS: [&str; 4] = ["intact", "trims", "degraded", "rebuilding"];
/// Numbers of members: the first with which an array can be created is taken.
const MEMBERS: [u8; 2] = [6, 7];
const MEMBER_BYTES: u64 = 8 << 20;
const PAGE: u32 = 4096;
const REQUESTS: u32 = 400;
const DEPTH: usize = 8;
/// The member that fails, the number of requests before, and the number of requests before another takes its place.
const FAILS: (MemberNo, usize) = (MemberNo::new(2), 100);
const REPLACED: usize = 250;

/// The runs of `scheme`.
pub(crate) fn keys(scheme: &'static str) -> impl Iterator<Item = Key> {
    CONDITIONS
        .into_iter()
        .flat_map(move |condition| [1, 2].map(|seed| Key { scheme, device: DEVICE, condition, seed }))
}

/// The digest of a run, or the reason why such an array cannot be created.
pub(crate) fn digest(key: &Key) -> Result<String> {
    let mut scheme = Scheme::preset(key.scheme)?;
    // As `stripewise create` has it.
    scheme.metadata = Metadata::On;
    scheme.placement.buffer_persistence = Persistence::Volatile;
    if scheme.cache.policy != CachePolicy::None {
        scheme.cache.persistence = Persistence::Volatile;
    }
    let folder = tempfile::tempdir()?;
    let over = |members| created(&scheme, folder.path(), members);
    let paths = match over(MEMBERS[0]).or_else(|_| over(MEMBERS[1])) {
        Err(error) => return Ok(format!("refused: {error}")),
        Ok(paths) => paths,
    };
    let options = Options { time: Timekeeping::Counted(10_000), way: IoMode::Plain, ..Options::default() };
    let media = FileMedia::open(&paths, PAGE)?;
    let (engine, _) = Engine::resume(&scheme, media, options, AssemblyOptions::default())?;
    let (sender, plans) = mpsc::channel();
    let mut run = Run { engine, plans, in_flight: 0, hasher: Hasher::default() };
    run.engine.observe(move |plan| drop(sender.send(PlanRecord::from(plan))));
    let fails = matches!(key.condition, "degraded" | "rebuilding");
    let workload = Workload::new(key.seed, REQUESTS, run.engine.capacity() / 2, key.condition == "trims");
    for (nth, request) in workload.enumerate() {
        if fails && nth == FAILS.1 {
            run.settle()?;
            run.engine.fail(FAILS.0)?;
        }
        if key.condition == "rebuilding" && nth == REPLACED {
            run.settle()?;
            let replacement = folder.path().join("replacement");
            run.engine.replace(FAILS.0, MemberFile::create(&replacement, MEMBER_BYTES, PAGE)?)?;
        }
        run.submit(match request.kind {
            _ if nth % 40 == 39 => Request::Flush,
            Kind::Read => Request::read(request.offset, request.bytes as usize),
            Kind::Trim => Request::trim(request.offset, request.bytes.into()),
            _ => Request::write(request.offset, &vec![nth as u8; request.bytes as usize]),
        })?;
    }
    run.settle()?;
    let (is_failed, is_rebuilding) =
        (run.engine.array().is_failed(FAILS.0), run.engine.array().rebuilding().is_some());
    ensure!(
        is_failed == (key.condition == "degraded") && !is_rebuilding,
        "the members are not as they should be"
    );
    run.engine.settle_for_good()?;
    run.take_plans();
    Ok(run.hasher.digest())
}

/// The files of a new array of `count` members in `folder`.
fn created(scheme: &Scheme, folder: &Path, count: u8) -> Result<Vec<PathBuf>> {
    let paths: Vec<_> = (0..count).map(|nth| folder.join(format!("{nth} of {count}"))).collect();
    let mut media = FileMedia::new(MemberFile::create_all(&paths, MEMBER_BYTES, PAGE)?, PAGE);
    let identity = Identity {
        array: Uuid([7; 16]),
        members: (1..=count).map(|nth| Uuid([nth; 16])).collect(),
        name: "frozen".into(),
    };
    create(scheme, media.members(), &identity, &mut media)?;
    Ok(paths)
}

struct Run {
    engine: Engine<Files>,
    plans: mpsc::Receiver<PlanRecord>,
    in_flight: usize,
    hasher: Hasher,
}

impl Run {
    /// Submits `request`, as soon as fewer than [`DEPTH`] are in flight.
    fn submit(&mut self, mut request: Request) -> Result<()> {
        while self.in_flight >= DEPTH {
            self.complete_one()?;
        }
        loop {
            match self.engine.submit(request) {
                Ok(_) => {
                    self.in_flight += 1;
                    return Ok(());
                }
                Err(Rejected { error: SubmitError::Busy, request: back }) => request = back,
                Err(rejected) => bail!("{}", rejected.error),
            }
            self.complete_one()?;
        }
    }

    /// Waits for everything that hosts asked for.
    fn settle(&mut self) -> Result<()> {
        while self.complete_one()? {}
        Ok(())
    }

    /// Waits for a request. False if none is in flight.
    fn complete_one(&mut self) -> Result<bool> {
        let Some(completion) = self.engine.poll() else { return Ok(false) };
        self.in_flight -= 1;
        self.take_plans();
        self.hasher.add(&(completion.ticket, completion.result.is_ok()));
        self.hasher.add_bytes(&completion.payload);
        Ok(true)
    }

    fn take_plans(&mut self) {
        for plan in self.plans.try_iter() {
            self.hasher.add(&plan);
        }
    }
}
