//! `stripewise serve`: serves an array as a block device to NBD clients and virtual machines.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args as ClapArgs;
use stripewise_array::format::{MemberRecord, MemberState, SUPERBLOCK_MEMBERS_MAX, Superblock};
use stripewise_array::{AssemblyOptions, MemberNo, NamedMembers, RecoveryReport};
use stripewise_base::units::{Bytes, Span, UnitError};
use stripewise_engine::owner::{Claiming, Keeper};
use stripewise_engine::transcript::Scribe;
use stripewise_engine::{Engine, EngineError, FailMode, FileMedia, Flushes, Options, Rate};
use stripewise_serve::events::{RotatingFile, check_program};
use stripewise_serve::{Address, ERROR_LIMIT, ServeError, Server, Settings, signature};

use super::places::{Hint, Places, array_name};
use super::search::Copied;
use super::{detach, scheme_for, search};
use crate::context::Context;
use crate::examples::{Example, section_and};
use crate::failure::{Failure, Outcome};
use crate::log::{self, LogFormat};

/// Time between two searches for missing members.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

const EXAMPLES: &[Example] = &[
    ("stripewise serve pool", "at the socket pool.sock of the runtime folder"),
    (
        "stripewise serve pool --nbd unix:pool.sock --nbd tcp:127.0.0.1:10809 --metrics 127.0.0.1:9180",
        "at two addresses, with metrics and a status page at http://127.0.0.1:9180/",
    ),
    (
        "stripewise serve pool --vhost-user unix:pool.vhost",
        "also as a disk of a virtual machine: -chardev socket,id=pool,path=pool.vhost -device vhost-user-blk-pci,chardev=pool",
    ),
    (
        "stripewise serve pool --files pool --record served",
        "the files of a folder as members; records the requests as a trace",
    ),
    (
        "stripewise serve pool --detach --on-event /usr/local/bin/notify",
        "in the background: returns when clients can connect; starts a program for each event",
    ),
    (
        "stripewise serve pool --transcript run.transcript",
        "with a transcript, which `stripewise replay` replays after a failure",
    ),
];

const EXIT_CODES: &str = "\
SIGTERM, SIGINT and `stripewise stop NAME` end the server: it finishes the requests in flight and makes all data durable.

Exit codes:
    0  stopped on request
    1  the array could not be served or closed
    2  the command line was not understood";

/// Serve an array as a block device over NBD
///
/// Clients are qemu, nbdfuse, nbd-client, nbdcopy and virtual machines. The members are found at their last paths, or on any
/// block device with the array's UUID, or where the command line names them. Starts degraded if no more members are missing than
/// parity tolerates. The members are opened exclusively. All data that a flush covered survives, no matter how the last server
/// ended.
#[derive(Debug, ClapArgs)]
#[command(after_help = section_and(EXAMPLES, EXIT_CODES))]
pub(crate) struct Args {
    /// The array
    #[arg(value_parser = array_name)]
    name: String,

    /// The address for clients: unix:PATH or tcp:127.0.0.1:PORT; repeat the option for several [default: unix:NAME.sock in
    /// the runtime folder]
    ///
    /// A Unix socket is open to this user alone. TCP on loopback is open to every local account and every program of this
    /// machine. NBD asks for no password, so each of them can read and write the whole array. Use TCP only where all of them
    /// may.
    #[arg(long, value_name = "ADDRESS")]
    nbd: Vec<Address>,

    /// A socket for a virtual machine that uses the array as a disk (vhost-user-blk): unix:PATH; repeat the option, one
    /// socket for each machine
    #[arg(long, value_name = "ADDRESS", value_parser = unix_path)]
    vhost_user: Vec<PathBuf>,

    /// A folder with the files of the members, instead of the remembered paths
    #[arg(long, value_name = "DIR")]
    files: Option<PathBuf>,

    /// A device or file of a member, instead of the remembered paths; give all members
    #[arg(long, value_name = "DEVICE")]
    device: Vec<PathBuf>,

    /// The scheme that the array was created with, and its settings [default: the remembered scheme, or the preset that the
    /// superblocks name]
    #[arg(short, long, value_name = "NAME|FILE.toml")]
    scheme: Option<String>,

    /// How long to wait for missing members that are not known to have failed, before a degraded start
    #[arg(
        long,
        value_name = "TIME",
        default_value = "0",
        hide_default_value = true,
        overrides_with = "wait"
    )]
    wait: Span,

    /// Return when clients can connect, and serve in the background. Errors before that are errors of this command; later
    /// ones are in NAME.server.log in the state folder
    #[arg(long)]
    detach: bool,

    /// Start this program for each event, with its kind, the array and the member's path as arguments and the event as a line of
    /// JSON on its standard input (docs/reference/events.md)
    #[arg(long, value_name = "PROGRAM")]
    on_event: Option<PathBuf>,

    /// The number of recent read errors, write errors and timeouts beyond which a spare takes the place of a member, if
    /// redundancy allows. Without a spare the member stays. An error counts half after an hour; errors of one MiB in one minute
    /// count once; 0: never
    #[arg(long, value_name = "N", default_value_t = ERROR_LIMIT)]
    error_limit: u64,

    /// What happens to writes and flushes while more members are lost than parity tolerates: error, they fail at once, or
    /// wait=TIME, they wait until members return, for that time at most
    #[arg(long, value_name = "MODE", default_value = "error", value_parser = failmode)]
    failmode: FailMode,

    /// Which flushes reach members: auto, those of members that may keep writes in volatile memory and have written since their
    /// last flush, or always, all of them. Files in memory keep nothing that a flush could save, nor do block devices whose queue
    /// says "write through"; give always if a device says so and loses writes
    #[arg(long, value_name = "MODE", default_value = "auto", value_parser = flushes)]
    flush: Flushes,

    /// Serve read-only: refuse writes, and rebuild and repair nothing
    #[arg(long)]
    read_only: bool,

    /// Assemble the array despite data loss, and list the lost data. Members without superblocks are recognized by their
    /// content and get new superblocks
    #[arg(long)]
    force: bool,

    /// How long a member may take for an operation before it is failed: 100ms to 1h
    ///
    /// Reads do not wait that long: they avoid a member that has not answered for 50 ms.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = timeout, overrides_with = "timeout")]
    timeout: Span,

    /// How long writes of a log wait for a member that does not answer, before the log continues without it: 100ms to 1h
    ///
    /// The member is taken back when it answers, and gets the writes that it missed. If it does not answer within --timeout, it
    /// stays failed.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = timeout, overrides_with = "stall")]
    stall: Span,

    /// With --force: the file or device without a superblock that is member N, if its content does not prove it; repeat the
    /// option for several
    #[arg(long, value_name = "N=PATH", value_parser = numbered, requires = "force", conflicts_with = "transcript")]
    member: Vec<(MemberNo, PathBuf)>,

    /// Take over the array from another host that no longer serves it and could not release it
    ///
    /// The command watches the owner's heartbeat for twelve intervals, and refuses the array if the heartbeat changes.
    #[arg(long)]
    takeover: bool,

    /// The interval of the heartbeats, which keep other hosts from serving the array; it must be the same on all hosts
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = heartbeat)]
    heartbeat: Span,

    /// The limit for rebuilds and scrubs, in bytes a second [default: no limit]
    #[arg(long, value_name = "SIZE")]
    rate: Option<Bytes>,

    /// The address of the metrics for Prometheus and of the status page, over HTTP
    #[arg(long, value_name = "IP:PORT")]
    metrics: Option<SocketAddr>,

    /// A host name that requests for metrics and the status page may use, besides localhost, the address and the machine's
    /// own name; repeat the option for several. Requests with other names are refused, so that no web page reads the status
    /// through a browser
    #[arg(long, value_name = "NAME", requires = "metrics")]
    metrics_host: Vec<String>,

    /// Allow an address of --metrics that other machines reach. Every client that reaches the address can read the status
    #[arg(long, requires = "metrics")]
    metrics_public: bool,

    /// Record the served requests as a trace for `stripewise compare --trace`, in a folder of Parquet files; the folder may
    /// hold the recording of an earlier server
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,

    /// Record every input and answer of the controller for `stripewise replay`; this costs some processor time and 20 bytes
    /// per operation
    #[arg(long, value_name = "FILE")]
    transcript: Option<PathBuf>,

    /// Record the writes to members in this folder, which must exist, for `stripewise-check kill`
    #[arg(long, value_name = "DIR", hide = true)]
    record_unflushed: Option<PathBuf>,

    /// The format of the log: text, or one line of JSON for each event
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    log: LogFormat,

    #[command(flatten)]
    places: Places,
}

pub(crate) fn run(args: Args, context: &mut Context<'_>) -> Outcome {
    refuse_what_cannot_be(&args)?;
    if args.detach && !detach::is_background() {
        return detach::start(context);
    }
    args.places.make_state()?;
    log::install(args.log, context.quiet, background_log(&args, context)?);
    // Named members need no hint.
    let known = match args.files.is_none() && args.device.is_empty() {
        true => args.places.hint(&args.name)?,
        false => args.places.hint_or_remark(&args.name, context)?,
    };
    let KnownArray { mut paths, block, is_whole, .. } = find(&args, known.as_ref())?;
    let named = offer_blanks(&args, known.as_ref(), &mut paths)?;
    let scheme = scheme_for(args.scheme.as_deref(), known.as_ref(), &block, context)?;
    let mut media = match args.read_only {
        true => FileMedia::open_to_read(&paths, block.page_bytes)?,
        false => FileMedia::open(&paths, block.page_bytes)?,
    };
    if let Some(folder) = &args.record_unflushed {
        media.record(folder).map_err(|error| Failure::failed(format!("`{}`: {error}", folder.display())))?;
    }
    let rate = args.rate.map_or(Rate::Unlimited, |rate| Rate::BytesPerSecond(rate.0));
    let timeout = Duration::from_nanos(args.timeout.0);
    let options = Options {
        page_bytes: block.page_bytes,
        rate,
        timeout,
        failmode: args.failmode,
        flushes: args.flush,
        stall: Duration::from_nanos(args.stall.0),
        ..Options::default()
    };
    let opening =
        AssemblyOptions { read_only: args.read_only, force: args.force, named, ..AssemblyOptions::default() };
    let keeper = if args.read_only { None } else { claim(&args, &media, &block)? };
    let scribe = args.transcript.as_deref().map(Scribe::create).transpose()?;
    let (mut engine, opened) = Engine::resume_transcribed(&scheme, media, options, opening, scribe)?;
    if let Some(keeper) = keeper {
        engine.keep(keeper, &block);
    }
    for loss in &opened.losses {
        tracing::error!(%loss, "something that was promised is lost");
    }
    report_reconstructed(&opened, &mut paths, known.as_ref());
    let absent = opened.positions.iter().filter(|position| position.is_none()).count();
    if absent > 0 {
        tracing::warn!(absent, "members are absent or stale: the array is degraded");
    }
    if let Some(remark) = engine.remark() {
        tracing::warn!("{remark}");
    }
    // The array is remembered from now on, wherever it was found.
    let its = known.as_ref().filter(|hint| hint.array == block.array.to_string());
    let spares = its.map(spares).unwrap_or_default();
    let mut hint = Hint { spares: spares.clone(), ..Hint::new(block.array.to_string(), &scheme, &paths)? };
    if let Some(its) = its.filter(|_| !is_whole) {
        hint.paths.extend(away(its));
    }
    if known.as_ref() != Some(&hint)
        && let Err(Failure::Failed(reason)) = args.places.remember(&args.name, &hint)
    {
        context.remark(&reason);
    }
    args.places.make_runtime()?;
    let default = || args.places.nbd(&args.name).map(|path| vec![Address::Unix(path)]);
    let settings = Settings {
        nbd: if args.nbd.is_empty() { default()? } else { args.nbd },
        vhost_user: args.vhost_user,
        control: args.places.control(&args.name)?,
        metrics: args.metrics,
        metrics_hosts: args.metrics_host,
        record: args.record,
        // A read-only array rebuilds nothing.
        spares: if args.read_only { Vec::new() } else { spares },
        events: Some(args.places.events(&args.name)?),
        on_event: args.on_event,
        error_limit: Some(args.error_limit),
        name: args.name,
    };
    let server = Server::start(engine, &settings)?;
    server.obey_signals()?;
    for line in greeting(&server, &settings.name) {
        // The caller may not read the output. The server serves anyway.
        let _ = writeln!(context.out, "{line}").and_then(|()| context.out.flush());
    }
    let tail = opened.replayed;
    tracing::info!(
        array = settings.name,
        epoch = opened.epoch,
        replayed = tail,
        dropped = opened.dropped,
        "serving"
    );
    if args.detach {
        server.catch_up();
        detach::serves(context)?;
    }
    server.run()?;
    tracing::info!(array = settings.name, "ended");
    Ok(())
}

/// Refuses options that cannot work, before anything is opened.
fn refuse_what_cannot_be(args: &Args) -> Outcome {
    if let Some(address) = args.metrics.filter(|at| !at.ip().is_loopback() && !args.metrics_public) {
        return Err(Failure::usage(format!(
            "--metrics {address}: other machines reach this address, and every client that reaches it reads the status; give \
             --metrics-public too if that is meant, or listen at 127.0.0.1"
        )));
    }
    args.on_event
        .as_deref()
        .map_or(Ok(()), check_program)
        .map_err(|why| Failure::usage(format!("--on-event: {why}")))
}

/// The log file of a server in the background. A server with a terminal has none.
fn background_log(args: &Args, context: &Context<'_>) -> Outcome<Option<RotatingFile>> {
    if !args.detach {
        return Ok(None);
    }
    let at = args.places.log(&args.name)?;
    let path = at.current.display().to_string();
    let opened = RotatingFile::open(at);
    Ok(opened.inspect_err(|error| context.remark(&format!("no log: cannot open `{path}`: {error}"))).ok())
}

/// Parses `N=PATH`.
fn numbered(text: &str) -> Result<(MemberNo, PathBuf), String> {
    let (number, path) =
        text.split_once('=').ok_or("a member is named `N=PATH`, with its number and its file or device")?;
    let number = number.parse().map_err(|_| format!("`{number}` is no number of a member"))?;
    Ok((number, path.into()))
}

/// Adds to `paths` the files without a superblock that are named or were members before: with `--force` they may get
/// one again. Returns the member numbers that the user assigned.
fn offer_blanks(args: &Args, known: Option<&Hint>, paths: &mut Vec<PathBuf>) -> Outcome<NamedMembers> {
    let mut named = NamedMembers::default();
    if !args.force {
        return Ok(named);
    }
    let places: Vec<PathBuf> = args.device.iter().chain(&args.files).cloned().collect();
    let mut places = match known.filter(|_| places.is_empty()) {
        Some(hint) => hint.paths.clone(),
        None => search::expand(&places)?,
    };
    places.extend(args.member.iter().map(|(_, path)| path.clone()));
    let first = paths.len();
    for path in search::distinct(places.into_iter()) {
        if matches!(FileMedia::superblock(&path), Ok(None)) {
            paths.push(path);
        }
    }
    for (member, path) in &args.member {
        let blank = paths.iter().skip(first).position(|other| search::are_same(other, path));
        let Some(offered) = blank.map(|nth| first + nth) else {
            return Err(Failure::failed(format!(
                "`{}` is named member {member}, and cannot be read or has a superblock: leave it out",
                path.display()
            )));
        };
        if !named.name(*member, offered as u16) {
            return Err(Failure::usage(format!(
                "there is no member {member}: numbers go up to {}",
                SUPERBLOCK_MEMBERS_MAX - 1
            )));
        }
    }
    Ok(named)
}

/// Reports the fate of files without superblocks. Files that the array did not take are not remembered, unless they
/// were before.
fn report_reconstructed(opened: &RecoveryReport, paths: &mut Vec<PathBuf>, known: Option<&Hint>) {
    let all = std::mem::take(paths);
    for (offered, path) in (0u16..).zip(all) {
        let found = opened.reconstructed.iter().find(|one| one.offered == offered);
        if let Some(one) = found {
            tracing::warn!("`{}` had no superblock: {one}", path.display());
        }
        let was_known = || known.is_some_and(|hint| hint.paths.contains(&path));
        if found.is_none_or(|one| one.is_taken() || was_known()) {
            paths.push(path);
        }
    }
}

/// Claims the array for this host. Does nothing where the array has no page for an owner.
fn claim(args: &Args, media: &FileMedia, block: &Superblock) -> Outcome<Option<Keeper>> {
    if block.owner.pages == 0 {
        return Ok(None);
    }
    let claiming = Claiming { interval: Duration::from_nanos(args.heartbeat.0), takeover: args.takeover };
    if args.takeover {
        tracing::info!(array = args.name, "watching whether another host serves the array");
    }
    Ok(Keeper::claim(media, block, &args.places.host(block.array)?, claiming)?)
}

/// Parses the time between two heartbeats.
fn heartbeat(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|error| format!("{error}"))?;
    let fits = (10_000_000..=60_000_000_000).contains(&span.0);
    if fits { Ok(span) } else { Err("expected 10ms to 60s".into()) }
}

/// The remembered spares that still are spares: neither those that became members, nor those that now hold something
/// else.
fn spares(known: &Hint) -> Vec<PathBuf> {
    let is_spare = |path: &&PathBuf| {
        let block = FileMedia::superblock(path).ok().flatten();
        if block.is_some_and(|block| block.array.to_string() == known.array) {
            return false;
        }
        // An absent spare may return. The server reports it as absent.
        let Some(what) = signature::content(path).ok().flatten() else { return true };
        let path = path.display();
        tracing::warn!(%path, what, "a spare holds something now, and is forgotten; `stripewise spare --force` takes it");
        false
    };
    known.spares.iter().filter(is_spare).cloned().collect()
}

/// Remembered paths of members that cannot be read now: a member that is away is found there when it returns.
fn away(known: &Hint) -> impl Iterator<Item = PathBuf> {
    known.paths.iter().filter(|path| FileMedia::superblock(path).is_err()).cloned()
}

/// Parses the timeout of members. A shorter one would fail them for a pause that devices make; a longer one would let
/// writes wait in vain.
fn timeout(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|error: UnitError| error.to_string())?;
    let bounds = 100_000_000..=3_600_000_000_000;
    if bounds.contains(&span.0) { Ok(span) } else { Err("expected 100ms to 1h".to_owned()) }
}

/// Parses which flushes reach members.
fn flushes(text: &str) -> Result<Flushes, String> {
    match text {
        "auto" => Ok(Flushes::Auto),
        "always" => Ok(Flushes::Always),
        _ => Err("expected `auto` or `always`".to_owned()),
    }
}

/// Parses what happens to writes and flushes while too many members are lost.
fn failmode(text: &str) -> Result<FailMode, String> {
    match text.split_once('=') {
        None if text == "error" => Ok(FailMode::Error),
        Some(("wait", limit)) => {
            let limit: Span = limit.parse().map_err(|error: UnitError| error.to_string())?;
            Ok(FailMode::Wait(Duration::from_nanos(limit.0)))
        }
        _ => Err("expected `error`, or `wait=TIME` such as wait=5min".to_owned()),
    }
}

/// Parses the path of `unix:PATH`.
fn unix_path(text: &str) -> Result<PathBuf, String> {
    match text.parse()? {
        Address::Unix(path) => Ok(path),
        Address::Tcp(_) => Err("memory is shared over a Unix socket only: `unix:PATH`".to_owned()),
    }
}

/// The addresses for clients, and the address of the status page.
fn greeting(server: &Server, name: &str) -> Vec<String> {
    let addresses = server.addresses().into_iter();
    let mut lines: Vec<String> =
        addresses.map(|address| format!("serving \"{name}\" at {address}")).collect();
    if let Some(address) = server.metrics() {
        lines.push(format!("status page at http://{address}/, metrics at http://{address}/metrics"));
    }
    lines
}

/// An array's members.
struct KnownArray {
    /// Their paths.
    paths: Vec<PathBuf>,
    /// The newest of their superblocks.
    block: Superblock,
    /// The number of members that the array counts on and that are absent.
    missing: usize,
    /// Whether all members that it lists are present, failed ones included.
    is_whole: bool,
}

/// Finds the named or remembered members. Waits for missing ones up to the allowed time.
fn find(args: &Args, known: Option<&Hint>) -> Outcome<KnownArray> {
    let named = args.device.iter().chain(&args.files).cloned().collect::<Vec<_>>();
    if named.is_empty() && known.is_none() {
        return Err(Failure::failed(format!(
            "no array called \"{}\" is remembered; name its members by --files or --device, or find them by \
             `stripewise scan`",
            args.name
        )));
    }
    let mut copies = Vec::new();
    let mut look = || {
        let paths = match known.filter(|_| named.is_empty()) {
            Some(hint) => {
                search::refuse_newer(hint.places(), Some(&hint.array))?;
                let (paths, found) = search::members_and_copies_of(hint);
                copies = found;
                paths
            }
            None => search::expand(&named)?,
        };
        members(paths, &args.name, known)
    };
    let until = Instant::now() + Duration::from_nanos(args.wait.0);
    let mut found = look();
    let is_whole = |found: &Outcome<KnownArray>| found.as_ref().is_ok_and(|found| found.missing == 0);
    if !is_whole(&found) && args.wait.0 > 0 {
        tracing::info!(array = args.name, at_most = %args.wait, "waiting for members that are missing");
    }
    while !is_whole(&found) && Instant::now() < until {
        std::thread::sleep(LOOK_AGAIN.min(until.saturating_duration_since(Instant::now())));
        found = look();
    }
    for Copied { copy, member, number } in copies {
        let (copy, member) = (copy.display(), member.display());
        tracing::warn!(%copy, %member, number, "a copy of a member is ignored; remove it, or name the members by --device");
    }
    found
}

/// The `paths` that are members of the requested array.
fn members(paths: Vec<PathBuf>, name: &str, known: Option<&Hint>) -> Outcome<KnownArray> {
    let found: Vec<(PathBuf, Superblock)> = search::superblocks(&paths).collect();
    let is_known = |block: &Superblock| known.is_some_and(|hint| block.array.to_string() == hint.array);
    // The hint decides; without one the name in the superblocks; otherwise there may be one array only.
    let newest = |wanted: &dyn Fn(&Superblock) -> bool| {
        let wanted = found.iter().map(|(_, block)| block).filter(|block| wanted(block));
        wanted.max_by_key(|block| (block.epoch, block.update)).cloned()
    };
    let meant =
        newest(&is_known).or_else(|| newest(&|block| block.name == name)).or_else(|| newest(&|_| true));
    search::refuse_newer(&paths, meant.as_ref().map(|block| block.array.to_string()).as_deref())?;
    let Some(meant) = meant else {
        let number = paths.len();
        return Err(Failure::failed(format!(
            "no superblock in {number} files and devices: they hold no array, are missing, or both copies of each are \
             damaged\n  `stripewise scan` finds arrays"
        )));
    };
    let others = found.iter().any(|(_, block)| block.array != meant.array);
    if others && meant.name != name && !is_known(&meant) {
        return Err(Failure::failed(format!(
            "several arrays are offered, and none is called \"{name}\"; `stripewise scan` lists them"
        )));
    }
    let is_there = |member: &MemberRecord| {
        found.iter().any(|(_, block)| (block.array, block.uuid) == (meant.array, member.uuid))
    };
    let absent = || meant.members.iter().filter(|member| !is_there(member));
    let missing = absent().filter(|member| member.state != MemberState::Failed).count();
    let is_whole = absent().next().is_none();
    let members = found.into_iter().filter(|(_, block)| block.array == meant.array).map(|(path, _)| path);
    Ok(KnownArray { paths: search::without_replaced(members.collect()), block: meant, missing, is_whole })
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Scheme(error) => error.into(),
            EngineError::Open(error) => error.into(),
            other => Self::failed(other.to_string()),
        }
    }
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        Self::failed(error.to_string())
    }
}
