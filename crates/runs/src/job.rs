//! The runs of a comparison: the array of each scheme, and the simulation of one run.

use std::sync::OnceLock;

use stripewise_array::Scheme;
use stripewise_flash::DeviceSpec;
use stripewise_results::RunInputs;
use stripewise_sim::tables::Sink;
use stripewise_sim::{Pacing, Policies, Progress, RunConfig, Totals, capacity};
use stripewise_trace::Source;

use crate::error::Error;
use crate::memory;
use crate::policy::{Failures, NamedPolicy, Routines};
use crate::setting::{self, Overlaid, Setting};
use crate::span;
use crate::spec::ComparisonSpec;
use crate::warm_up::WarmUp;

/// One run of a comparison.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) config: RunConfig,
    /// The index of its workload.
    pub(crate) workload: usize,
    pub(crate) capacity: u64,
    pub(crate) policy: Option<NamedPolicy>,
    /// The inputs of a run of this job with any seed, once they are known: they are large texts.
    pub(crate) inputs: OnceLock<RunInputs>,
}

/// The array of each scheme of `spec`, as a run over the first workload. Settings that change nothing are added to
/// `idle`, each with its scheme.
///
/// # Errors
/// An error in a scheme, or one that does not fit the device; two schemes of one name.
pub(crate) fn arrays(
    spec: &ComparisonSpec,
    pacing: Pacing,
    for_schemes: &[Setting],
    device: &DeviceSpec,
    idle: &mut Vec<(String, Setting)>,
) -> Result<Vec<Job>, Error> {
    let mut jobs: Vec<Job> = Vec::new();
    for named in &spec.schemes {
        let settings: Vec<Setting> = named.settings.iter().chain(for_schemes).cloned().collect();
        let Overlaid { spec: mut scheme, idle: its } = setting::overlaid_scheme(&named.document, &settings)?;
        idle.extend(its.into_iter().map(|setting| (named.document.shown.clone(), setting)));
        for setting in &named.settings {
            scheme.name.push_str(&format!(",{setting}"));
        }
        if let Some(NamedPolicy { name, .. }) = &named.policy {
            scheme.name.clone_from(name);
        }
        for setting in for_schemes {
            scheme.name.push_str(&format!(",{setting}"));
        }
        if let Some(label) = &named.label {
            scheme.name.clone_from(label);
        }
        if jobs.iter().any(|job| job.config.scheme.name == scheme.name) {
            let remedy = "give each a name of its own (LABEL=SCHEME), or leave one out";
            return Err(Error::spec(format!("two schemes are called `{}`; {remedy}", scheme.name)));
        }
        let mut config = config(spec, pacing, scheme, device.clone());
        if let Some(NamedPolicy { policy, .. }) = &named.policy {
            policy.axes().into_iter().for_each(|axis| axis.leave(&mut config));
        }
        let capacity = capacity(&config)?;
        let policy = named.policy.clone();
        jobs.push(Job { config, workload: 0, capacity, policy, inputs: OnceLock::new() });
    }
    Ok(jobs)
}

/// The initial content of the smallest array of `spec`, in bytes: the largest span for which all its schemes have
/// room.
///
/// # Errors
/// A setting that was not understood; a scheme that does not fit the device.
pub fn smallest_bytes(spec: &ComparisonSpec) -> Result<u64, Error> {
    let (for_schemes, for_device) = setting::sort(&spec.settings, &spec.schemes, &spec.device)?;
    let device = setting::device(&spec.device, &for_device)?;
    let arrays = arrays(spec, spec.pacing.unwrap_or_default(), &for_schemes, &device, &mut Vec::new())?;
    let holds = arrays.iter().map(|array| span::filled(spec.precondition, array.capacity));
    Ok(holds.min().unwrap_or(0))
}

/// Makes the run of `job`.
pub(crate) fn simulate(
    job: &Job,
    source: &mut dyn Source,
    sink: &mut dyn Sink,
    report: &mut dyn FnMut(Progress) -> bool,
) -> Result<Totals, Error> {
    memory::check(&job.config)?;
    let Some(NamedPolicy { policy, .. }) = &job.policy else {
        return Ok(stripewise_sim::run(&job.config, source, sink, report)?);
    };
    let failed = |source| {
        let scheme = job.config.scheme.name.clone();
        Error::Policy { scheme, seed: job.config.seed, source }
    };
    let failures = Failures::default();
    let (mut routines, array, block) = Routines::sort(policy.begin(&failures).map_err(failed)?);
    let policies = Policies { update: Some(&mut routines), array, block };
    let totals = stripewise_sim::run_choosing(&job.config, source, sink, policies, &mut |progress| {
        !failures.is_any() && report(progress)
    });
    match failures.take() {
        Some(failure) => Err(failed(failure)),
        None => Ok(totals?),
    }
}

fn config(spec: &ComparisonSpec, pacing: Pacing, scheme: Scheme, device: DeviceSpec) -> RunConfig {
    RunConfig {
        members: spec.members,
        precondition: spec.precondition,
        pacing,
        warmup_requests: match spec.warmup {
            WarmUp::Requests(requests) => requests,
            WarmUp::Auto => 0,
        },
        // The workload ends by itself, so only replayed requests are folded and counted.
        limit_requests: u64::MAX,
        seed: spec.seed,
        gc_slice: spec.tables.gc_slice,
        sample_every: spec.tables.sample_every,
        request_rows: spec.tables.requests,
        gc_rows: spec.tables.gcs,
        scheme,
        device,
    }
}
