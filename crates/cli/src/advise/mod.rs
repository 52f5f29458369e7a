//! `stripewise advise`: which schemes over how many members are worth considering for a device and a workload.

mod pareto;
mod range;

use std::num::NonZero;
use std::path::PathBuf;

use clap::Args as ClapArgs;
use serde_json::{Value, json};
use stripewise_reliability::Model;
use stripewise_results::Figure;
use stripewise_results::paired::margin;
use stripewise_results::summary::{Unit, significant};
use stripewise_results::totals::{BEHIND, FALLS_BEHIND};
use stripewise_runs::{
    Comparison, ComparisonSpec, DEFAULT_DEVICE, Document, Finished, SchemeSpec, Setting, Span, What,
    Workload, acknowledges,
};
use stripewise_sim::{Layout, Precondition};

use crate::compare::print_settings;
use crate::comparison::{self, JobsArgs, Patient, RequestArgs, at_least_one};
use crate::context::{Context, width};
use crate::examples::{Example, section};
use crate::failure::{Failure, Outcome};
use crate::human;
use crate::reliability::{LongTime, runs::Worn};
use crate::table::Table;
use crate::wrap::wrap;

use pareto::{Offer, beaten_by, mean};
use range::Layouts;

const EXAMPLES: &[Example] = &[
    (
        "stripewise advise --device paper001 --trace trace.csv --members 4..5 --seeds 2",
        "a trace over 4 and 5 SSDs",
    ),
    (
        "stripewise advise -d paper001 --gen zipf:write=0.7,size=4KiB,span=256MiB,requests=2k -m 4 --seeds 2 --all",
        "a generated workload, and the schemes that others beat too",
    ),
    (
        "stripewise advise -d paper001 -t trace.csv -m 5..6 -s was -s raid6-was --json",
        "two schemes only, as JSON",
    ),
];

/// What acknowledges a write that is on members.
const MEMBERS: &str = "members";

/// The schemes with redundancy that are no variant of another one and need no unusual device.
const SCHEMES: [&str; 10] = [
    "stripewise",
    "baseline",
    "adaptive",
    "parity-caching",
    "parity-logging",
    "esap",
    "was",
    "raid6",
    "raid6-adaptive",
    "raid6-was",
];

/// Find the schemes and numbers of members worth considering
///
/// Every scheme runs over every number of members, with the same requests: those that fit onto a fifth of what the fewest
/// members hold, unless --span says otherwise. A candidate is listed if no other one beats it: acknowledges writes from the
/// same place, is no worse in capacity, p99, programs a host page, mean time to data loss, persistent memory and memory of
/// maps, and better in one of them. A p99 that is lower only within its 95 % interval beats nothing. The failure rate of a
/// member grows with its erases, as in paper 001: the member that is erased least lives --mttf. Runs that exist are not
/// computed again.
#[derive(Debug, ClapArgs)]
#[command(after_help = section(EXAMPLES))]
pub(crate) struct Args {
    #[command(flatten)]
    requests: RequestArgs,

    /// Run each candidate with N seeds, beginning with --seed
    #[arg(
        long,
        value_name = "N",
        default_value = "5",
        value_parser = at_least_one::<NonZero<u32>>,
        help_heading = "Workload"
    )]
    seeds: NonZero<u32>,

    /// The device: a preset's name or a file
    #[arg(short, long, value_name = "NAME|FILE.toml", default_value = DEFAULT_DEVICE, help_heading = "Array")]
    device: String,

    /// The numbers of members: `4..8` SSDs, or `channel` or `chip` of a number of devices, as in `channel:1..2`
    #[arg(
        short,
        long,
        short_alias = 'e',
        value_name = "[LEVEL:]N[..N]",
        default_value = "ssd:4..8",
        help_heading = "Array"
    )]
    members: Layouts,

    /// A scheme to consider, optionally with settings; repeat the option for several [default: ten schemes with redundancy]
    #[arg(short, long, value_name = "[LABEL=]NAME|FILE.toml[,KEY=VALUE]...", help_heading = "Array")]
    scheme: Vec<String>,

    /// The state of the devices before the first request: `fresh`, or STATE:SHARE of their pages
    #[arg(long, value_name = "STATE", default_value = "steady:70%", help_heading = "Array")]
    precondition: Precondition,

    /// Change a key of every scheme or of the device, as in gc.victim=fifo
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Array")]
    set: Vec<Setting>,

    /// Mean time to failure of the member that is erased least, as in 4y or 2Mh; mean times to data loss are in years then
    ///
    /// Without it, they are ratios to the least that is listed, where that member lives 4 years.
    #[arg(long, value_name = "TIME", help_heading = "Array")]
    mttf: Option<LongTime>,

    /// The directory of results
    #[arg(short, long, value_name = "DIR", default_value = "stripewise-results", help_heading = "Results")]
    out: PathBuf,

    #[command(flatten)]
    jobs: JobsArgs,

    /// List the candidates that others beat too
    #[arg(long, help_heading = "Results")]
    all: bool,

    /// Print JSON, with all candidates
    #[arg(long, help_heading = "Results")]
    json: bool,
}

/// A scheme over a number of members, with its results.
struct Candidate {
    /// The scheme as it was given on the command line.
    argument: String,
    name: String,
    layout: Layout,
    offer: Offer,
    /// Members of a group and parity chunks; the failure rate follows once the erases of all candidates are known.
    worn: Worn,
    /// Blocks erased a member, the mean over seeds.
    erases: f64,
    /// Requests and MiB a second, means over the seeds.
    rates: [f64; 2],
    /// The window over the time of the arrivals, the most of all seeds; 0 unless in open loop.
    behind: f64,
}

/// A scheme that does not work over a number of members, and the reason.
struct Skipped {
    scheme: String,
    layout: Layout,
    reason: Failure,
}

pub(crate) fn run(args: Args, context: &mut Context<'_>) -> Outcome {
    let mut search = Search::new(&args)?;
    for layout in args.members.iter() {
        search.consider(layout, context)?;
    }
    let Search { mut candidates, skipped, span, .. } = search;
    if candidates.is_empty() {
        let reason = skipped.into_iter().next().map(|first| first.reason);
        let none = || Failure::usage("there is no scheme to consider");
        return Err(reason.unwrap_or_else(none).within("no scheme works over these members"));
    }
    age(&mut candidates, args.mttf);
    candidates.sort_by(|a, b| {
        let key = |it: &Candidate| (it.offer.acknowledges != MEMBERS, it.offer.acknowledges);
        key(a).cmp(&key(b)).then(mean(&a.offer.p99_ns).total_cmp(&mean(&b.offer.p99_ns)))
    });
    let offers: Vec<Offer> = candidates.iter().map(|candidate| candidate.offer.clone()).collect();
    let beaten = beaten_by(&offers);
    let span = span.unwrap_or_default();
    if args.json {
        return context.json(&args.value(&candidates, &beaten, &skipped, span));
    }
    args.print(&candidates, &beaten, &skipped, span, context)
}

/// Makes the runs of all candidates.
struct Search<'a> {
    args: &'a Args,
    schemes: Vec<String>,
    spec: ComparisonSpec,
    workload: Workload,
    /// Bytes that requests are folded onto: by default what the first number of members, the fewest, can take.
    span: Option<u64>,
    candidates: Vec<Candidate>,
    skipped: Vec<Skipped>,
}

impl<'a> Search<'a> {
    fn new(args: &'a Args) -> Outcome<Self> {
        let spec = args.spec()?;
        let workload = Workload::new(&spec.workload, spec.seed, &Patient)?;
        workload.check_warmup(spec.warmup, &Patient)?;
        let given = || args.scheme.clone();
        let schemes = if args.scheme.is_empty() { SCHEMES.map(str::to_owned).to_vec() } else { given() };
        let span = args.requests.span.map(|span| span.0);
        Ok(Self { args, schemes, spec, workload, span, candidates: Vec::new(), skipped: Vec::new() })
    }

    fn comparison(&self, schemes: &[String], layout: Layout) -> Outcome<Comparison> {
        let schemes = schemes.iter().map(|name| SchemeSpec::labelled(name)).collect::<Result<_, _>>()?;
        let span = self.span.map_or(Span::default(), Span::Bytes);
        let spec = ComparisonSpec { schemes, members: layout, span, ..self.spec.clone() };
        Ok(Comparison::over(spec, &self.workload)?)
    }

    /// Runs every scheme that works over these members.
    fn consider(&mut self, layout: Layout, context: &mut Context<'_>) -> Outcome {
        let mut fit = Vec::new();
        for scheme in self.schemes.clone() {
            // A name or a key that does not exist is the user's mistake, not the scheme's.
            SchemeSpec::labelled(&scheme)?;
            match self.comparison(std::slice::from_ref(&scheme), layout) {
                Ok(_) => fit.push(scheme),
                Err(reason) => self.skipped.push(Skipped { scheme, layout, reason }),
            }
        }
        if fit.is_empty() {
            return Ok(());
        }
        let comparison = self.comparison(&fit, layout)?;
        if self.candidates.is_empty() && !context.quiet && !self.args.json {
            print_settings(&comparison.settings()?, context)?;
            context.out.flush()?;
        }
        self.span.get_or_insert(comparison.span_bytes());
        let capacities: Vec<u64> = comparison.capacities().collect();
        let finished = comparison::run(&comparison, self.args.jobs.threads(), context);
        let finished = finished.into_iter().collect::<Result<Vec<_>, _>>()?;
        let seeds = self.args.seeds.get() as usize;
        for ((runs, capacities), scheme) in finished.chunks(seeds).zip(capacities.chunks(seeds)).zip(&fit) {
            self.candidates.push(Candidate::of(scheme, layout, capacities[0], runs)?);
        }
        Ok(())
    }
}

impl Args {
    fn spec(&self) -> Outcome<ComparisonSpec> {
        Ok(ComparisonSpec {
            seeds: self.seeds,
            device: Document::find(What::Device, &self.device)?,
            precondition: self.precondition,
            settings: self.set.clone(),
            out: self.out.clone(),
            ..self.requests.spec()?
        })
    }

    /// The command that makes the run of a candidate with the first seed again.
    fn command(&self, candidate: &Candidate, span: u64) -> String {
        let mut words = vec!["stripewise".to_owned(), "run".to_owned()];
        let mut option = |name: &str, value: String| words.extend([format!("--{name}"), value]);
        option("scheme", candidate.argument.clone());
        option("device", self.device.clone());
        option("members", candidate.layout.to_string());
        let RequestArgs { workload, pacing, warmup, seed, .. } = &self.requests;
        if let Some(trace) = &workload.trace {
            option("trace", trace.display().to_string());
            workload.format().iter().for_each(|format| option("format", format.to_string()));
            if workload.skip_bad.0 > 0 {
                option("skip-bad", workload.skip_bad.0.to_string());
            }
        }
        workload.generator.iter().for_each(|generator| option("gen", generator.to_string()));
        workload.profile.iter().for_each(|profile| option("profile", profile.clone()));
        workload.requests.iter().for_each(|requests| option("requests", requests.0.to_string()));
        option("fold", workload.fold.to_string());
        pacing.iter().for_each(|pacing| option("pacing", pacing.to_string()));
        option("span", format!("{span}B"));
        option("warmup", warmup.to_string());
        option("seed", seed.to_string());
        option("precondition", self.precondition.to_string());
        self.set.iter().for_each(|setting| option("set", setting.to_string()));
        option("out", self.out.display().to_string());
        words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }

    fn print(
        &self,
        candidates: &[Candidate],
        beaten: &[Option<usize>],
        skipped: &[Skipped],
        span: u64,
        context: &mut Context<'_>,
    ) -> Outcome {
        let listed = |at: &usize| self.all || beaten[*at].is_none();
        let p99s = (0..candidates.len()).filter(listed).map(|at| mean(&candidates[at].offer.p99_ns));
        let unit = Unit::of(p99s.map(|ns| ("response_p99_ns", ns)));
        let (p99, margin_head) = (format!("p99_{}", unit.name), format!("±_{}", unit.name));
        let soonest = soonest((0..candidates.len()).filter(listed).map(|at| &candidates[at]));
        let mttdl = if self.mttf.is_some() { "MTTDL_years" } else { "MTTDL_ratio" };
        let mut columns = vec![
            "ack",
            "scheme",
            "members",
            "usable",
            &p99,
            &margin_head,
            "requests/s",
            "MiB/s",
            "programs/page",
            mttdl,
            "maps",
            "persistent",
        ];
        if self.all {
            columns.push("beaten_by");
        }
        let mut table = Table::new(&columns);
        for at in (0..candidates.len()).filter(listed) {
            let Candidate { name, layout, offer, rates, .. } = &candidates[at];
            let in_unit = |ns: f64| significant(ns / unit.size);
            let lives = match self.mttf {
                Some(_) => format!("{:.3e}", offer.mttdl_years),
                None => significant(offer.mttdl_years / soonest),
            };
            let mut cells = vec![
                json!(offer.acknowledges),
                json!(name),
                json!(layout.to_string()),
                json!(human::bytes(offer.capacity)),
                json!(in_unit(mean(&offer.p99_ns))),
                json!(margin(&offer.p99_ns).map_or("–".to_owned(), in_unit)),
                json!(significant(rates[0])),
                json!(significant(rates[1])),
                json!(format!("{:.2}", mean(&offer.programs))),
                json!(lives),
                json!(human::bytes(offer.map_bytes)),
                json!(human::bytes(offer.persistent)),
            ];
            if self.all {
                let by = |other: usize| format!("{}, {}", candidates[other].name, candidates[other].layout);
                cells.push(json!(beaten[at].map_or(String::new(), by)));
            }
            table.row(cells);
        }
        table.print(context, false)?;
        let others = beaten.iter().flatten().count();
        let mut text = String::new();
        if others > 0 && !self.all {
            let line = format!(
                "\n{others} more candidates are beaten by one with the same acknowledgement; --all lists them"
            );
            wrap(&line, 0, width(), &mut text);
        }
        if self.seeds.get() == 1 {
            wrap("\nwith one seed no p99 beats another: give --seeds 5", 0, width(), &mut text);
        }
        let behind = (0..candidates.len()).filter(listed).map(|at| &candidates[at]);
        let behind: Vec<&str> =
            behind.filter(|it| it.behind > FALLS_BEHIND).map(|it| it.name.as_str()).collect();
        if !behind.is_empty() {
            let line = format!(
                "\nfalls behind the requests: {}; its p99 depends on their number",
                behind.join(", ")
            );
            wrap(&line, 0, width(), &mut text);
        }
        for Skipped { scheme, layout, reason } in skipped {
            wrap(
                &format!("\n{scheme} over {layout} was left out: {}", reason.message()),
                4,
                width(),
                &mut text,
            );
        }
        context.out.write_all(text.as_bytes())?;
        writeln!(context.out, "\nThe runs of the first seed, each by its command:")?;
        for candidate in (0..candidates.len()).filter(listed).map(|at| &candidates[at]) {
            writeln!(context.out, "  {}", self.command(candidate, span))?;
        }
        Ok(())
    }

    fn value(
        &self,
        candidates: &[Candidate],
        beaten: &[Option<usize>],
        skipped: &[Skipped],
        span: u64,
    ) -> Value {
        let soonest = soonest(candidates);
        let names = |at: usize| json!({ "scheme": candidates[at].name, "members": candidates[at].layout });
        let rows = candidates.iter().zip(beaten).map(|(candidate, beaten)| {
            let Candidate { name, layout, offer, erases, rates, behind, .. } = candidate;
            json!({
                "scheme": name,
                "members": layout,
                "capacity_bytes": offer.capacity,
                "response_p99_ns": mean(&offer.p99_ns),
                "response_p99_margin_ns": margin(&offer.p99_ns),
                "requests_per_second": rates[0],
                "mib_per_second": rates[1],
                "window_over_arrivals": behind,
                "programs_per_host_page": mean(&offer.programs),
                "mttdl_years": self.mttf.map(|_| offer.mttdl_years),
                "mttdl_ratio": offer.mttdl_years / soonest,
                "map_bytes": offer.map_bytes,
                "persistent_peak_bytes": offer.persistent,
                "erases_a_member": erases,
                "acknowledges": offer.acknowledges,
                "beaten_by": beaten.map(names),
                "command": self.command(candidate, span),
            })
        });
        let skipped = skipped.iter().map(|Skipped { scheme, layout, reason }| {
            json!({ "scheme": scheme, "members": layout, "reason": reason.message() })
        });
        json!({
            "span_bytes": span,
            "candidates": rows.collect::<Vec<_>>(),
            "skipped": skipped.collect::<Vec<_>>(),
        })
    }
}

impl Candidate {
    fn of(argument: &str, layout: Layout, capacity: u64, runs: &[Finished]) -> Outcome<Self> {
        let totals =
            runs.iter().map(|run| run.run.totals()).collect::<Result<Vec<_>, stripewise_results::Error>>()?;
        let all = |name: &str| -> Vec<f64> {
            let number = |figure| match figure {
                Figure::Count(count) => count as f64,
                Figure::Real(ratio) => ratio,
            };
            totals.iter().map(|totals| totals.get(name).map_or(0.0, number)).collect()
        };
        let worn = runs.iter().map(|run| Worn::of(&run.run)).collect::<Outcome<Vec<_>>>()?;
        let erases: Vec<f64> = worn.iter().map(Worn::erases_a_member).collect();
        Ok(Self {
            argument: argument.to_owned(),
            name: runs[0].scheme.clone(),
            layout,
            offer: Offer {
                acknowledges: acknowledges(runs[0].run.inputs()).unwrap_or("?"),
                capacity,
                mttdl_years: 0.0,
                persistent: all("persistent_peak_bytes").into_iter().fold(0.0, f64::max) as u64,
                map_bytes: all("map_bytes").into_iter().fold(0.0, f64::max) as u64,
                p99_ns: all("response_p99_ns"),
                programs: all("programs_per_host_page"),
            },
            erases: mean(&erases),
            rates: ["requests_per_second", "mib_per_second"].map(|name| mean(&all(name))),
            behind: all(BEHIND).into_iter().fold(0.0, f64::max),
            worn: worn[0].clone(),
        })
    }
}

/// The least mean time to data loss, in years.
fn soonest<'a>(candidates: impl IntoIterator<Item = &'a Candidate>) -> f64 {
    candidates.into_iter().map(|candidate| candidate.offer.mttdl_years).fold(f64::INFINITY, f64::min)
}

/// Fills in the mean times to data loss: a member fails as many times as often as it is erased as often as the one that is
/// erased least (paper 001, section V-E). Where some candidate erases nothing, all age alike.
fn age(candidates: &mut [Candidate], mttf: Option<LongTime>) {
    let least = candidates.iter().map(|candidate| candidate.erases).fold(f64::INFINITY, f64::min);
    let paper = Model::PAPER001;
    let failures_per_year = mttf.map_or(paper.failures_per_year, |LongTime(years)| 1.0 / years);
    for candidate in candidates {
        let Worn { members, parity, groups, .. } = candidate.worn;
        let alpha = if least > 0.0 { candidate.erases / least } else { 1.0 };
        let model = Model { members, parity, groups, failures_per_year, ..paper };
        candidate.offer.mttdl_years = model.aged(alpha).mttdl_years();
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=%+@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
