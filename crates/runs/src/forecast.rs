//! What the rows of a comparison will take on disk, before it runs.

use stripewise_base::human;
use stripewise_base::units::{Bytes, Span};
use stripewise_flash::Shape;
use stripewise_sim::Pacing;
use stripewise_trace::Source;

use crate::budget::{REQUEST, SAMPLE};
use crate::comparison::Comparison;
use crate::error::Error;
use crate::observer::Observer;
use crate::warm_up::WarmUp;

impl Comparison {
    /// Refuses rows that would exceed the budget, as far as that is known before the runs: of samples in open loop, and of
    /// requests whose number is given. Others end their run when they exceed it.
    pub(crate) fn check_budget(&self, observer: &dyn Observer) -> Result<(), Error> {
        let (tables, budget) = (self.spec.tables, self.spec.budget);
        let Some(config) = self.configs().next() else { return Ok(()) };
        let runs = self.len() as u128;
        let of_runs = if runs == 1 { "one run".to_owned() } else { format!("{runs} runs") };
        if let (true, Some(requests)) = (tables.requests, self.workload().limit()) {
            let bytes = u128::from(requests) * runs * u128::from(REQUEST);
            if bytes > u128::from(budget.0) {
                let count = human::count(requests);
                return Err(refusal(
                    bytes,
                    &format!("rows of {count} requests (--rows) in {of_runs}"),
                    budget,
                    "replay fewer requests",
                ));
            }
        }
        let Pacing::Open { numerator, denominator } = self.pacing else { return Ok(()) };
        if tables.sample_every.0 == 0 {
            return Ok(());
        }
        let members = Shape::new(&config.device, config.members.level, config.members.devices)?.members;
        let lasts =
            u128::from(self.arrivals_ns(observer)?) * u128::from(denominator) / u128::from(numerator.max(1));
        let bytes =
            lasts / u128::from(tables.sample_every.0) * u128::from(members) * runs * u128::from(SAMPLE);
        if bytes <= u128::from(budget.0) {
            return Ok(());
        }
        let time = human::time(u64::try_from(lasts).unwrap_or(u64::MAX));
        let every = Span(tables.sample_every.0);
        let what = format!("samples of {members} members every {every} over {time} in {of_runs}");
        Err(refusal(bytes, &what, budget, "take samples less often (--sample-every)"))
    }

    /// The time from the first counted arrival to the last, in the clock of the workload.
    fn arrivals_ns(&self, observer: &dyn Observer) -> Result<u64, Error> {
        let warmup = match self.spec.warmup {
            WarmUp::Requests(requests) => requests,
            WarmUp::Auto => 0,
        };
        let mut source = self.folded(observer)?;
        let (mut batch, mut seen, mut first, mut last) = (Vec::with_capacity(4096), 0, 0, 0);
        loop {
            source.next_batch(&mut batch)?;
            let Some(end) = batch.last() else { return Ok(last - first) };
            for request in &batch {
                if seen == warmup {
                    first = request.time_ns;
                }
                seen += 1;
            }
            last = end.time_ns.max(first);
        }
    }
}

fn refusal(bytes: u128, what: &str, budget: Bytes, remedy: &str) -> Error {
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    let enough = Bytes(bytes.checked_next_power_of_two().unwrap_or(u64::MAX));
    Error::spec(format!(
        "{what} would take about {}, more than the budget of {budget}; {remedy} or raise the budget (--table-budget {enough})",
        human::bytes(bytes)
    ))
}
