//! `stripewise explain`: prints the plans of requests, and why their routines were chosen.

use std::str::FromStr;

use clap::{Arg, ArgAction, ArgMatches, Args as ClapArgs, Command, FromArgMatches};
use serde_json::{Value, json};
use stripewise_array::coordination::GcControl;
use stripewise_array::explain::explain;
use stripewise_array::format::FailReason;
use stripewise_array::geometry::Membership;
use stripewise_array::{
    Acknowledgement, Admission, Array, Controller, Driver, HostRequest, MemberLoad, MemberNo, NoMemory,
    Operation, OperationId, Outcome as Ended, PlanId, PlanView, RequestKind, Timer, Timing,
};
use stripewise_base::Nanos;
use stripewise_base::units::parse_bytes;
use stripewise_flash::Shape;
use stripewise_runs::{self as runs, SchemeSpec, Setting, describe_members};
use stripewise_sim::{Layout, members};

use crate::compare::print_settings;
use crate::comparison::ArrayArgs;
use crate::context::{Context, width};
use crate::examples::{Example, section};
use crate::failure::{Failure, Outcome};
use crate::human;
use crate::wrap::wrap;
const EXAMPLES: &[Example] = &[
    ("stripewise explain --write 24KiB@0", "what an update of three chunks pre-reads, and why"),
    ("stripewise explain --scheme linux-md --write 16KiB@0", "how a scheme decides between equals"),
    (
        "stripewise explain --scheme always-rcw --write 8KiB@0 --read 64KiB@8KiB",
        "two requests, one after the other",
    ),
    ("stripewise explain --fail 2 --read 8KiB@16KiB --write 8KiB@16KiB", "with a member that failed"),
    (
        "stripewise explain --scheme parity-caching --write 4KiB@0 --write 4KiB@8KiB --read 4KiB@0",
        "what waits in a write cache, and leaves it together",
    ),
    (
        "stripewise explain --scheme gc-avoiding --collecting 1 --read 8KiB@8KiB",
        "a read around a member that collects garbage",
    ),
    (
        "stripewise explain --members ssd:5 --device mqsim --set geometry.chunk=64KiB --write 4KiB@1MiB",
        "over SSDs",
    ),
];

/// Print the plan of a request, and why its routine was chosen
///
/// The array is empty and idle; requests are planned one after the other, in the order given. The data columns of a row are D0,
/// D1 …; its parity is P, and Q if there are two.
#[derive(Debug, ClapArgs)]
#[command(after_help = section(EXAMPLES))]
pub(crate) struct Args {
    #[command(flatten)]
    requests: Requests,

    /// The scheme: a preset's name or a file
    #[arg(short, long, value_name = "NAME|FILE.toml", default_value = "baseline", help_heading = "Array")]
    scheme: String,

    #[command(flatten)]
    array: ArrayArgs,

    /// Change a key of the scheme or of the device, as in update.tie=rcw
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Array")]
    set: Vec<Setting>,

    /// A failed member; repeat the option for several
    #[arg(long, value_name = "MEMBER", help_heading = "Array")]
    fail: Vec<MemberNo>,

    /// A member that collects garbage, for longer than all requests take; repeat the option for several
    ///
    /// Operations for it wait there, and policies count them.
    #[arg(long, value_name = "MEMBER", help_heading = "Array")]
    collecting: Vec<MemberNo>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A request in an argument: `SIZE@OFFSET`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    offset: u64,
    bytes: u32,
}

impl FromStr for Extent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (size, offset) = text.split_once('@').ok_or("expected SIZE@OFFSET, as in 24KiB@0")?;
        let bytes = parse_bytes(size).map_err(|error| error.to_string())?;
        let offset = parse_bytes(offset).map_err(|error| error.to_string())?;
        match u32::try_from(bytes) {
            Ok(bytes) if bytes > 0 => Ok(Self { offset, bytes }),
            _ => Err("a request has 1 byte to 4 GiB - 1".to_owned()),
        }
    }
}

/// Reads, writes and trims in the order in which they were typed, which derived arguments would lose.
#[derive(Clone, Debug, Default)]
struct Requests(Vec<(RequestKind, Extent)>);

const KINDS: [(&str, RequestKind, &str); 3] = [
    ("write", RequestKind::Write, "A write of SIZE bytes at OFFSET, as in 24KiB@0"),
    ("read", RequestKind::Read, "A read"),
    ("trim", RequestKind::Trim, "A trim"),
];

impl ClapArgs for Requests {
    fn augment_args(command: Command) -> Command {
        KINDS.iter().fold(command, |command, (name, _, help)| {
            let arg = Arg::new(*name).long(*name).value_name("SIZE@OFFSET").help(*help);
            let others = KINDS.iter().map(|(other, ..)| *other).filter(|other| other != name);
            let arg = arg.action(ArgAction::Append).required_unless_present_any(others);
            command.arg(arg.value_parser(clap::value_parser!(Extent)).help_heading("Requests"))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Requests {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut typed = Vec::new();
        for (name, kind, _) in KINDS {
            let extents = matches.get_many::<Extent>(name).into_iter().flatten();
            typed.extend(
                matches.indices_of(name).into_iter().flatten().zip(extents.map(|extent| (kind, *extent))),
            );
        }
        typed.sort_by_key(|(index, _)| *index);
        Ok(Self(typed.into_iter().map(|(_, request)| request).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The heading of the work after all requests were answered.
const END: &str = "at the end, controller memory is written out";

/// The heading of the work after the members have collected their garbage.
const AFTER_GC: &str = "when garbage collection is over";

/// Takes every operation and completes it at once; keeps the plans in words.
#[derive(Default)]
struct Listener {
    started: Vec<(OperationId, MemberNo)>,
    failed: Vec<MemberNo>,
    collecting: Vec<MemberNo>,
    /// Cell times of a read and of a write.
    cell_ns: (Nanos, Nanos),
    timers: Vec<Nanos>,
    plans: Vec<Heard>,
    acknowledged: bool,
    /// The geometry that explanations need; known once the array exists.
    geometry: Option<stripewise_array::geometry::Geometry>,
}

/// Where the operations of a step begin in a plan's text.
const STEP: usize = "  step 1: ".len();

/// A plan, made before the acknowledgement of its request or after.
struct Heard {
    text: String,
    late: bool,
}

impl Heard {
    /// The plan's lines, wrapped at `width`. A plan that was made after the acknowledgement shows no acknowledgement.
    fn wrapped(&self, width: usize) -> String {
        let mut text = String::new();
        let lines = self.text.lines().filter(|line| !(self.late && line.starts_with("  -- ")));
        lines.for_each(|line| wrap(line, STEP, width, &mut text));
        text
    }
}

/// A collection that outlasts all other work.
const COLLECTION_NS: Nanos = 10_000_000;

impl MemberLoad for Listener {
    fn gc_wait_ns(&self, member: MemberNo, _page: u32) -> Option<Nanos> {
        Some(if self.collecting.contains(&member) { COLLECTION_NS } else { 0 })
    }

    fn start_ns(&self, member: MemberNo, page: u32) -> Option<Nanos> {
        self.gc_wait_ns(member, page)
    }

    fn read_ns(&self, _member: MemberNo, _page: u32, _old_version: bool) -> Option<Nanos> {
        Some(self.cell_ns.0)
    }

    fn write_ns(&self, _member: MemberNo) -> Option<Nanos> {
        Some(self.cell_ns.1)
    }
}

impl Timer for Listener {
    fn set_timer(&mut self, at: Nanos) {
        self.timers.push(at);
        self.timers.sort_unstable_by_key(|at| std::cmp::Reverse(*at));
    }
}

impl GcControl for Listener {}

impl Driver<NoMemory> for Listener {
    const OBSERVES: bool = true;

    fn admits(&mut self, _operation: &Operation) -> Admission {
        Admission::Admitted
    }

    fn start(&mut self, id: OperationId, operation: &Operation, _page: u32, _memory: &mut NoMemory) {
        self.started.push((id, operation.member));
    }

    fn compute(&mut self, _plan: PlanId, _pages: u32) -> bool {
        true
    }

    fn acknowledge(&mut self, _acknowledgement: &Acknowledgement, (): ()) {
        self.acknowledged = true;
    }

    fn planned(&mut self, plan: &PlanView<'_>) {
        if let Some(geometry) = &self.geometry {
            self.plans
                .push(Heard { text: explain(plan, geometry), late: self.acknowledged || plan.destages });
        }
    }
}

/// Completes all work in flight, timers included, except the work that waits for garbage collection.
fn settle(array: &mut Array<NoMemory>, listener: &mut Listener, now: &mut Nanos) {
    loop {
        array.dispatch(listener);
        let is_free = |(_, member): &(OperationId, MemberNo)| !listener.collecting.contains(member);
        if let Some(last) = listener.started.iter().rposition(is_free) {
            let (id, member) = listener.started.remove(last);
            let outcome = if listener.failed.contains(&member) { Ended::Gone } else { Ended::Done };
            array.completed(*now, id, outcome, Timing::default(), listener);
        } else if let Some(at) = listener.timers.pop() {
            *now = at.max(*now);
            array.timer(*now, listener);
        } else {
            return;
        }
    }
}

pub(crate) fn run(args: Args, context: &mut Context<'_>) -> Outcome {
    let scheme = SchemeSpec::parse(&args.scheme)?;
    let (device, layout) = args.array.resolved(false)?;
    let (for_scheme, for_device) = runs::sort(&args.set, std::slice::from_ref(&scheme), &device)?;
    let all: Vec<Setting> = scheme.settings.into_iter().chain(for_scheme).collect();
    let former =
        [runs::former_names(&scheme.document, &all), runs::former_names(&device, &for_device)].concat();
    former.iter().for_each(|remark| context.remark(remark));
    let scheme = runs::scheme(&scheme.document, &all)?;
    let device = runs::device(&device, &for_device)?;
    let shape = Shape::new(&device, layout.level, layout.devices)?;
    let members = members(&device, &shape);
    let count = members.count;
    let mut array = Array::<NoMemory>::new(&scheme, members, NoMemory)?;
    let cell_ns = (device.timing.read.0, device.timing.program.0);
    let geometry = Some(array.geometry().clone());
    let mut listener = Listener { geometry, cell_ns, collecting: args.collecting, ..Listener::default() };
    let mut now = 0;
    if let Some(member) = listener.collecting.iter().find(|&&member| !member.is_within(count)) {
        let last = count - 1;
        return Err(Failure::usage(format!("--collecting {member}: the array's members are 0 to {last}")));
    }
    if !args.fail.is_empty() && scheme.has_overlapping_updates() {
        let reason = "--fail: parity.updates = \"each\" leaves nothing from which a lost chunk could be decoded; use \"row\"";
        return Err(Failure::usage(reason.to_owned()));
    }
    for member in args.fail {
        if !member.is_within(count) {
            let last = count - 1;
            return Err(Failure::usage(format!("--fail {member}: the array's members are 0 to {last}")));
        }
        listener.failed.push(member);
        array.member_failed(now, member, FailReason::Requested, &mut listener);
    }
    let mut answers = Vec::new();
    for (tag, (kind, extent)) in args.requests.0.iter().enumerate() {
        let Extent { offset, bytes } = *extent;
        let request = HostRequest { tag: tag as u64, arrival: now, offset, bytes, kind: *kind };
        listener.acknowledged = false;
        let title =
            format!("{} of {} at {}", verb(*kind), human::bytes(u64::from(bytes)), human::bytes(offset));
        array
            .submit(now, request, (), &mut listener)
            .map_err(|(error, ())| Failure::failed(format!("{title}: {error}")))?;
        settle(&mut array, &mut listener, &mut now);
        answers.push((title, std::mem::take(&mut listener.plans)));
    }
    listener.collecting.clear();
    settle(&mut array, &mut listener, &mut now);
    if !listener.plans.is_empty() {
        answers.push((AFTER_GC.to_owned(), std::mem::take(&mut listener.plans)));
    }
    // The rest of controller memory is written to the members, as at the end of a run.
    listener.acknowledged = true;
    array.drain(now, &mut listener);
    settle(&mut array, &mut listener, &mut now);
    if !listener.plans.is_empty() {
        answers.push((END.to_owned(), std::mem::take(&mut listener.plans)));
    }
    if args.json {
        let answer = |(title, plans): &(String, Vec<Heard>)| {
            let plans: Vec<Value> = plans
                .iter()
                .map(|plan| json!({ "plan": plan.text, "after_acknowledgement": plan.late }))
                .collect();
            json!({ "request": title, "plans": plans })
        };
        return context.json(&answers.iter().map(answer).collect::<Vec<_>>());
    }
    if !context.quiet {
        let settings = settings(&scheme, &device, layout, &array, &listener.failed)?;
        print_settings(&settings, context)?;
    }
    print(&answers, context)
}

fn settings(
    scheme: &stripewise_array::Scheme,
    device: &stripewise_flash::DeviceSpec,
    layout: Layout,
    array: &Array<NoMemory>,
    failed: &[MemberNo],
) -> Outcome<Vec<(&'static str, String)>> {
    let geometry = array.geometry();
    let parity = geometry.parity();
    // Without parity a stripe is one chunk; users expect a chunk on every member.
    let data = if parity == 0 { geometry.members } else { geometry.data };
    let page = device.geometry.page_bytes.0;
    let chunks: Vec<String> =
        geometry.chunks().map(|pages| human::bytes(u64::from(pages) * page).to_string()).collect();
    let chunk = match &chunks[..] {
        [one] => format!("chunk {one}"),
        zones => format!("zones of chunks of {}", zones.join(", ")),
    };
    let log = match scheme.parity_log_members() {
        0 => String::new(),
        1 => " + 1 log member".to_owned(),
        more => format!(" + {more} log members"),
    };
    let groups = match geometry.membership {
        _ if parity == 0 || geometry.groups == 1 => String::new(),
        Membership::Contiguous => format!("{} groups of ", geometry.groups),
        Membership::LongestCodeInterval => format!("{0} groups, every {0}th member, of ", geometry.groups),
    };
    let stripe = format!(
        "{groups}{data} data + {parity} parity{log}, {chunk}, page {}, {} in all",
        human::bytes(page),
        human::bytes(array.capacity())
    );
    let mut settings = vec![
        ("scheme", scheme.name.clone()),
        ("members", format!("{}, of {}", describe_members(layout, device)?, device.name)),
        ("stripe", stripe),
    ];
    if !failed.is_empty() {
        let plural = if failed.len() == 1 { "" } else { "s" };
        let failed: Vec<String> = failed.iter().map(ToString::to_string).collect();
        settings.push(("failed", format!("member{plural} {}", failed.join(", "))));
    }
    Ok(settings)
}

fn print(answers: &[(String, Vec<Heard>)], context: &mut Context<'_>) -> Outcome {
    for (at, (title, plans)) in answers.iter().enumerate() {
        if at > 0 {
            writeln!(context.out)?;
        }
        writeln!(context.out, "{title}")?;
        if title != END && plans.iter().all(|plan| plan.late) {
            writeln!(context.out, "acknowledged from controller memory")?;
        }
        let mut late = false;
        for plan in plans {
            if plan.late && !late && title != END {
                writeln!(context.out, "after the acknowledgement:")?;
                late = true;
            }
            context.out.write_all(plan.wrapped(width()).as_bytes())?;
        }
    }
    Ok(())
}

fn verb(kind: RequestKind) -> &'static str {
    match kind {
        RequestKind::Read => "read",
        RequestKind::Write => "write",
        RequestKind::Trim => "trim",
        RequestKind::Flush => "flush",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extent_is_a_size_at_an_offset() {
        assert_eq!("24KiB@8KiB".parse(), Ok(Extent { offset: 8192, bytes: 24_576 }));
        assert_eq!("512B@0".parse(), Ok(Extent { offset: 0, bytes: 512 }));
        for bad in ["24KiB", "0@0", "4GiB@0", "8@0", "8KiB@12", "@0"] {
            assert!(bad.parse::<Extent>().is_err(), "{bad}");
        }
    }
}
