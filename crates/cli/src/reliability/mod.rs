//! `stripewise reliability`: estimates the mean time to data loss, from given rates or from the erases of runs.

pub(crate) mod runs;

use std::fmt;
use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use serde_json::{Value, json};
use stripewise_base::units::{Bytes, Count, Span};
use stripewise_reliability::monte_carlo::{Estimate, NoEstimate, biased, direct};
use stripewise_reliability::{Model, Rate, Repair, YEAR_NS, years};

use crate::compare::print_settings;
use crate::context::Context;
use crate::examples::{Example, section};
use crate::failure::{Failure, Outcome};
use crate::level::Level;
use crate::table::Table;
use crate::{human, interrupt};

use runs::Worn;

const EXAMPLES: &[Example] = &[
    ("stripewise reliability --paper 001", "the numbers behind paper 001's Fig. 11"),
    ("stripewise reliability --paper 001 --monte-carlo 100k", "the same, and by simulation"),
    (
        "stripewise reliability --level raid6 --members 12 --mttf 2Mh --capacity 8TB --rebuild-rate 200MB/s",
        "drives with a datasheet",
    ),
    ("stripewise reliability --level raid5 --alpha 1,0.5 --groups 4 --repair parallel --json", "as JSON"),
    (
        "stripewise reliability stripewise-results --against paper000-baseline",
        "lifetimes estimated from the erases of each scheme's runs, made by `stripewise compare`",
    ),
];

/// The values of alpha that paper 001 evaluates, after the scheme that it compares with.
///
/// Source: paper 001, section V-E and Fig. 11.
const PAPER001_ALPHAS: [f64; 4] = [1.0, 0.37, 0.5, 0.77];

/// Estimate the mean time to data loss (MTTDL) of arrays
///
/// Members fail and are repaired at constant rates. Data is lost when a parity group misses more members than it has parity
/// chunks. A member that is erased alpha times as often fails alpha times as often, as in paper 001: with runs, alpha is the
/// erases per member of each run over those of the reference. The defaults are those of paper 001: 8 members with a lifetime of
/// four years, 10,000 repairs a year, one at a time.
#[derive(Debug, ClapArgs)]
#[command(after_help = section(EXAMPLES))]
pub(crate) struct Args {
    /// Directories of results, or of single runs, whose erases give alpha
    #[arg(value_name = "DIR|RUN")]
    runs: Vec<PathBuf>,

    /// The run that the others are compared with: its scheme, or the beginning of its digest [default: the first]
    #[arg(long, value_name = "SCHEME|DIGEST", requires = "runs")]
    against: Option<String>,

    /// Use the parameters of a paper, and its values of alpha: 001
    #[arg(long, value_name = "PAPER", conflicts_with_all = ["runs", "alpha"])]
    paper: Option<String>,

    /// Redundancy; repeat the option for several [default: that of the runs; else raid5 and raid6]
    #[arg(short, long, value_name = "LEVEL", help_heading = "Array")]
    level: Vec<Level>,

    /// Parity chunks of a stripe, instead of a level
    #[arg(long, value_name = "N", conflicts_with = "level", help_heading = "Array")]
    parity: Option<u32>,

    /// Members of a parity group, parity included [default: those of the runs; else 8]
    #[arg(long, short_alias = 'e', alias = "elements", value_name = "N", help_heading = "Array")]
    members: Option<u32>,

    /// Parity groups of the array [default: those of the runs; else 1]
    #[arg(long, value_name = "N", help_heading = "Array")]
    groups: Option<u32>,

    /// Mean time to failure of a member at alpha 1, as in 4y or 2Mh [default: 4y]
    #[arg(long, value_name = "TIME", conflicts_with = "failure_rate", help_heading = "Rates")]
    mttf: Option<LongTime>,

    /// The same as a rate of failures, as in 0.25/y
    #[arg(long, value_name = "RATE", help_heading = "Rates")]
    failure_rate: Option<Rate>,

    /// Time to repair a member, as in 66min
    #[arg(long, value_name = "TIME", conflicts_with_all = ["repair_rate", "capacity"], help_heading = "Rates")]
    rebuild_time: Option<Span>,

    /// The same as a rate of repairs [default: 1e4/y]
    #[arg(long, value_name = "RATE", conflicts_with = "capacity", help_heading = "Rates")]
    repair_rate: Option<Rate>,

    /// The bytes that a member holds, as in 400GB: gives the time to repair, with --rebuild-rate
    #[arg(long, value_name = "SIZE", requires = "rebuild_rate", help_heading = "Rates")]
    capacity: Option<Bytes>,

    /// The speed of a rebuild, as in 100MB/s
    #[arg(long, value_name = "SIZE/TIME", requires = "capacity", help_heading = "Rates")]
    rebuild_rate: Option<Speed>,

    /// How a group repairs when several members have failed: `single`, `parallel` or `together`
    ///
    /// `single`: one after the other. `parallel`: each by itself, at the same time. `together`: all by one repair.
    #[arg(long, value_name = "HOW", default_value_t = Repair::Single, help_heading = "Rates")]
    repair: Repair,

    /// Ratios of erases to those of the reference, which multiply the rate of failures [default: 1]
    #[arg(
        long,
        value_name = "RATIO,...",
        value_delimiter = ',',
        conflicts_with = "runs",
        help_heading = "Rates"
    )]
    alpha: Vec<f64>,

    /// Also simulate failures and repairs, with N samples
    #[arg(short, long, value_name = "N", help_heading = "Simulation")]
    monte_carlo: Option<Count>,

    /// The kind of sample: `biased` or `direct`
    ///
    /// `biased`: the time from all members working until all work again; failures are made likelier and weighted by the ratio
    /// of likelihoods. `direct`: the whole time until the loss, with as many events as there are repairs before it: with
    /// paper 001's rates 40 million for RAID-6.
    #[arg(
        long,
        value_name = "HOW",
        default_value = "biased",
        requires = "monte_carlo",
        help_heading = "Simulation"
    )]
    sampling: Sampling,

    /// Seed of the first line's simulation; each further line takes the next
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        requires = "monte_carlo",
        value_parser = crate::comparison::seed,
        help_heading = "Simulation"
    )]
    seed: u64,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Sampling {
    Biased,
    Direct,
}

/// A time in years, also where it is longer than nanoseconds can count: `4y`, `2Mh`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LongTime(pub(crate) f64);

impl std::str::FromStr for LongTime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // Datasheets give millions of hours, more than 2^64 ns.
        let (number, unit) = text.split_at(text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len()));
        if let Some(unit) = unit.strip_prefix('M').filter(|_| !unit.eq_ignore_ascii_case("min")) {
            let one: Span = format!("1{unit}").parse().map_err(|error| format!("{error}"))?;
            let millions: f64 = number.trim().parse().map_err(|_| format!("`{number}` is no number"))?;
            return Ok(Self(millions * 1e6 * years(one.0)));
        }
        text.parse::<Span>().map(|span| Self(years(span.0))).map_err(|error| error.to_string())
    }
}

/// Bytes in a time: `100MB/s`.
#[derive(Clone, Copy, Debug)]
struct Speed {
    bytes: u64,
    ns: u64,
}

impl std::str::FromStr for Speed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (bytes, unit) = text.split_once('/').ok_or("expected a size over a time, as in 100MB/s")?;
        let bytes: Bytes = bytes.parse().map_err(|error| format!("{error}"))?;
        let span: Span = format!("1{unit}").parse().map_err(|error| format!("{error}"))?;
        if bytes.0 == 0 {
            return Err("nothing is rebuilt at 0 bytes".to_owned());
        }
        Ok(Self { bytes: bytes.0, ns: span.0 })
    }
}

/// One line of the output.
struct Line {
    /// The run that alpha comes from.
    worn: Option<Worn>,
    alpha: f64,
    model: Model,
    mttdl_years: f64,
    /// The MTTDL as a multiple of that of the reference.
    times: f64,
    /// The result of the simulation, and its seed.
    estimate: Option<(Estimate, u64)>,
}

pub(crate) fn run(args: Args, context: &mut Context<'_>) -> Outcome {
    if let Some(paper) = args.paper.as_deref().filter(|paper| *paper != "001") {
        return Err(Failure::usage(format!("--paper {paper}: only 001 gives rates of failure and repair")));
    }
    let rates = args.rates()?;
    let mut lines = Vec::new();
    if args.runs.is_empty() {
        let alphas = match (&args.alpha[..], &args.paper) {
            ([], Some(_)) => PAPER001_ALPHAS.to_vec(),
            ([], None) => vec![1.0],
            (given, _) => given.to_vec(),
        };
        for parity in args.parities() {
            for &alpha in &alphas {
                let model = Model { parity, ..rates };
                lines.push(line(None, model, alpha, model)?);
            }
        }
    } else {
        for group in runs::read(&args.runs, args.against.as_deref(), context)? {
            for run in &group {
                args.lines(&rates, run, &group[0], &mut lines)?;
            }
        }
    }
    if let Some(samples) = args.monte_carlo {
        for (line, seed) in lines.iter_mut().zip(args.seed..) {
            line.estimate = Some((simulate(&args, line, samples.0, seed)?, seed));
        }
        let disagrees = |line: &Line| line.estimate.is_some_and(|(found, _)| !found.holds(line.mttdl_years));
        if lines.iter().any(|line| line.model.groups > 1 && disagrees(line)) {
            context.remark(
                "the rates at which groups lose data add only while repairs are short beside lives; where the \
                 simulation of several groups disagrees, it is the simulation that holds",
            );
        }
    }
    if args.json {
        return context.json(&Value::Array(lines.iter().map(Line::json).collect()));
    }
    print(&rates, &lines, context)
}

impl Args {
    /// The model of the array, without the parities and the values that runs decide.
    fn rates(&self) -> Outcome<Model> {
        let paper = Model::PAPER001;
        let failures = match (self.mttf, self.failure_rate) {
            (Some(LongTime(years)), _) => 1.0 / years,
            (None, Some(Rate(rate))) => rate,
            (None, None) => paper.failures_per_year,
        };
        let repairs = match (self.rebuild_time, self.repair_rate, self.capacity.zip(self.rebuild_rate)) {
            (Some(time), ..) => 1.0 / years(time.0),
            (None, Some(Rate(rate)), _) => rate,
            (None, None, Some((Bytes(bytes), speed))) => speed.bytes as f64 / years(speed.ns) / bytes as f64,
            (None, None, None) => paper.repairs_per_year,
        };
        let model = Model {
            parity: 0,
            members: self.members.unwrap_or(paper.members),
            groups: self.groups.unwrap_or(paper.groups),
            failures_per_year: failures,
            repairs_per_year: repairs,
            repair: self.repair,
        };
        model.check().map_err(|error| Failure::usage(error.to_string()))?;
        Ok(model)
    }

    /// The parities that the user requested by number or level.
    fn requested_parities(&self) -> Vec<u32> {
        self.parity.into_iter().chain(self.level.iter().map(|level| level.parity())).collect()
    }

    /// Adds the lines of `run`, compared with `reference`: at the requested levels, or each at its own level.
    fn lines(&self, rates: &Model, run: &Worn, reference: &Worn, lines: &mut Vec<Line>) -> Outcome {
        let of = |run: &Worn, parity| Model {
            parity,
            members: self.members.unwrap_or(run.members),
            groups: self.groups.unwrap_or(run.groups),
            ..*rates
        };
        let requested = self.requested_parities();
        let own = requested.is_empty().then_some((run.parity, reference.parity));
        let alpha = run.erases_a_member() / reference.erases_a_member();
        for (ours, theirs) in requested.into_iter().map(|parity| (parity, parity)).chain(own) {
            lines.push(line(Some(run), of(run, ours), alpha, of(reference, theirs))?);
        }
        Ok(())
    }

    fn parities(&self) -> Vec<u32> {
        let requested = self.requested_parities();
        if requested.is_empty() { vec![1, 2] } else { requested }
    }
}

/// The MTTDL of `model` when its members age `alpha` times as fast, and its ratio to that of `reference`.
fn line(worn: Option<&Worn>, model: Model, alpha: f64, reference: Model) -> Outcome<Line> {
    let model = model.aged(alpha);
    for checked in [&model, &reference] {
        checked.check().map_err(|error| Failure::usage(format!("alpha {alpha}: {error}")))?;
    }
    let mttdl_years = model.mttdl_years();
    let times = mttdl_years / reference.mttdl_years();
    Ok(Line { worn: worn.cloned(), alpha, model, mttdl_years, times, estimate: None })
}

fn simulate(args: &Args, line: &Line, samples: u64, seed: u64) -> Outcome<Estimate> {
    let mut may_continue = || !interrupt::requested();
    let estimate = match args.sampling {
        Sampling::Biased => biased(&line.model, samples, seed, &mut may_continue),
        Sampling::Direct => direct(&line.model, samples, seed, &mut may_continue),
    };
    estimate.map_err(|error| match error {
        NoEstimate::Stopped => Failure::Interrupted,
        other => Failure::usage(format!("--monte-carlo {samples}: {other}")),
    })
}

impl Line {
    fn json(&self) -> Value {
        let Model { members, parity, groups, failures_per_year, repairs_per_year, repair } = self.model;
        let simulated = self.estimate.map(|(estimate, seed)| {
            let (low, high) = estimate.interval_years();
            json!({
                "mean_years": estimate.mean_years,
                "standard_error_years": estimate.standard_error_years,
                "low_99_years": low,
                "high_99_years": high,
                "samples": estimate.samples,
                "seed": seed,
                "agrees": estimate.holds(self.mttdl_years),
            })
        });
        json!({
            "level": name(parity).to_string(),
            "members": members,
            "parity": parity,
            "groups": groups,
            "failures_per_year": failures_per_year,
            "repairs_per_year": repairs_per_year,
            "repair": repair.to_string(),
            "alpha": self.alpha,
            "mttdl_years": self.mttdl_years,
            "times_reference": self.times,
            "simulated": simulated,
            "run": self.worn.as_ref().map(Worn::json),
        })
    }

    fn cells(&self) -> Vec<Value> {
        let Model { members, parity, groups, .. } = self.model;
        let own = self.worn.as_ref().filter(|worn| (worn.members, worn.parity) == (members, parity));
        let logs = own.map_or(0, |worn| worn.logs);
        let stripe = format!("{}+{parity}", members - parity - logs);
        let stripe = match logs {
            0 => stripe,
            1 => format!("{stripe}, 1 log member"),
            more => format!("{stripe}, {more} log members"),
        };
        let stripe = if groups > 1 { format!("{groups} x {stripe}") } else { stripe };
        let mut cells: Vec<Value> = self.worn.iter().flat_map(Worn::cells).collect();
        cells.extend([name(parity).to_string().into(), stripe.into(), rounded(self.alpha, 4)]);
        cells.extend([rounded(self.mttdl_years, 5), rounded(self.times, 4)]);
        if let Some((estimate, _)) = &self.estimate {
            let (low, high) = estimate.interval_years();
            cells.extend([estimate.mean_years, low, high].map(|years| rounded(years, 5)));
            cells.push(if estimate.holds(self.mttdl_years) { "yes" } else { "no" }.into());
        }
        cells
    }
}

fn print(rates: &Model, lines: &[Line], context: &mut Context<'_>) -> Outcome {
    if !context.quiet {
        let repair_ns = YEAR_NS as f64 / rates.repairs_per_year;
        let how = match rates.repair {
            Repair::Single => "one member at a time",
            Repair::Parallel => "all failed members side by side",
            Repair::Together => "all failed members at once",
        };
        let (failures, repairs) = (rates.failures_per_year, rates.repairs_per_year);
        let settings = [
            (
                "failures",
                format!(
                    "{} a year of each member at alpha 1: a mean life of {} y",
                    shown(failures),
                    shown(1.0 / failures)
                ),
            ),
            ("repairs", format!("{} a year, {} each, {how}", shown(repairs), human::time(repair_ns as u64))),
        ];
        print_settings(&settings, context)?;
    }
    let mut workloads: Vec<&str> =
        lines.iter().filter_map(|line| line.worn.as_ref()).map(|run| run.workload.as_str()).collect();
    workloads.dedup();
    let several = workloads.len() > 1;
    let mut columns = Vec::new();
    if several {
        columns.push("workload");
    }
    if lines.iter().any(|line| line.worn.is_some()) {
        columns.extend(Worn::COLUMNS);
    }
    columns.extend(["level", "stripe", "alpha", "MTTDL_years", "times"]);
    if lines.iter().any(|line| line.estimate.is_some()) {
        columns.extend(["simulated", "99_%_from", "to", "agrees"]);
    }
    let mut table = Table::new(&columns);
    for line in lines {
        let workload = line.worn.iter().filter(|_| several).map(|run| run.workload.clone().into());
        table.row(workload.chain(line.cells()));
    }
    table.print(context, false)
}

/// The usual name of a level of redundancy.
fn name(parity: u32) -> impl fmt::Display {
    match parity {
        0 => "raid0".to_owned(),
        1 => "raid5".to_owned(),
        2 => "raid6".to_owned(),
        more => format!("{more} parities"),
    }
}

/// A number with `digits` digits, as a whole number where it is one.
fn rounded(value: f64, digits: usize) -> Value {
    if !value.is_finite() {
        return "beyond counting".into();
    }
    let text = format!("{value:.*e}", digits.max(1) - 1);
    let rounded: f64 = text.parse().unwrap_or(value);
    if rounded.fract() == 0.0 && (0.0..1e18).contains(&rounded) {
        return Value::from(rounded as u64);
    }
    rounded.into()
}

fn shown(value: f64) -> String {
    match rounded(value, 4) {
        Value::Number(number) => number.as_u64().map_or_else(|| number.to_string(), human::count),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_to_digits_and_whole_where_they_can_be() {
        for (value, text) in [(2858.214, "2858.2"), (19_053_570.1, "19054000"), (0.37, "0.37"), (1.0, "1")] {
            assert_eq!(rounded(value, 5).to_string(), text);
        }
        assert_eq!(rounded(f64::INFINITY, 5), "beyond counting");
    }

    #[test]
    fn times_of_datasheets_and_speeds_are_read() {
        let of = |text: &str| text.parse::<LongTime>().map(|time| time.0);
        assert_eq!(of("4y"), Ok(4.0));
        assert!((of("2.5Mh").unwrap() - 285.2).abs() < 0.1, "2.5 million hours of 8766 a year");
        assert!((of("30min").unwrap() - 30.0 / 525_960.0).abs() < 1e-12);
        for bad in ["4", "2Mparsec", "xMh", ""] {
            assert!(of(bad).is_err(), "{bad}");
        }
        let speed: Speed = "100MB/s".parse().unwrap();
        assert_eq!((speed.bytes, speed.ns), (100_000_000, 1_000_000_000));
        for bad in ["100MB", "100/s", "0B/s", "1MB/x"] {
            assert!(bad.parse::<Speed>().is_err(), "{bad}");
        }
    }
}
