//! The specification of a comparison, as plain data.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stripewise_base::units;
use stripewise_flash::{Share, State};
use stripewise_sim::{Layout, Pacing, Precondition};

use crate::budget::DEFAULT_BUDGET;
use crate::error::{Error, What};
use crate::label::split_label;
use crate::named::Document;
use crate::policy::NamedPolicy;
use crate::remote::Remote;
use crate::setting::Setting;
use crate::span::Span;
use crate::warm_up::WarmUp;
use crate::workload::WorkloadSpec;

/// The default device.
pub const DEFAULT_DEVICE: &str = "ssdsim-5+1";

/// The specification of a comparison: the same requests through several schemes, on one device.
#[derive(Clone, Debug)]
pub struct ComparisonSpec {
    /// The source of the requests.
    pub workload: WorkloadSpec,
    /// When they are sent; by default at their times, or 16 in flight where they have none.
    pub pacing: Option<Pacing>,
    /// The range of addresses that requests are folded onto.
    pub span: Span,
    /// The start of each run that is not counted.
    pub warmup: WarmUp,
    /// Seed of everything random: generated requests, random choices of the device.
    pub seed: u64,
    /// The number of seeds for each scheme, beginning with `seed`.
    pub seeds: NonZero<u32>,
    /// The device.
    pub device: Document,
    /// The array's members.
    pub members: Layout,
    /// The content of the devices before the first request.
    pub precondition: Precondition,
    /// The schemes, a run each.
    pub schemes: Vec<SchemeSpec>,
    /// Changes to every scheme or to the device.
    pub settings: Vec<Setting>,
    /// The optional tables that are kept.
    pub tables: Tables,
    /// The most that the rows of these tables may take on disk, of all runs together.
    pub budget: units::Bytes,
    /// The directory of results.
    pub out: PathBuf,
    /// Where finished runs are kept beside `out`, and looked for.
    pub remote: Option<Arc<dyn Remote>>,
    /// Compute runs that are in the store once more, and check that they yield the same results.
    pub force: bool,
}

impl ComparisonSpec {
    /// The default comparison: `schemes` over the default workload, on the default device.
    ///
    /// # Errors
    /// None as long as the default device is shipped.
    pub fn new(schemes: Vec<SchemeSpec>) -> Result<Self, Error> {
        Ok(Self {
            workload: WorkloadSpec::default(),
            pacing: None,
            span: Span::default(),
            warmup: WarmUp::default(),
            seed: 1,
            seeds: NonZero::<u32>::MIN,
            device: Document::find(What::Device, DEFAULT_DEVICE)?,
            members: Layout { level: stripewise_flash::Level::Channel, devices: 1 },
            precondition: Precondition::Filled(State::Steady, Share(700_000)),
            schemes,
            settings: Vec::new(),
            tables: Tables::default(),
            budget: DEFAULT_BUDGET,
            out: "stripewise-results".into(),
            remote: None,
            force: false,
        })
    }
}

/// A scheme, and the settings of its own.
#[derive(Clone, Debug)]
pub struct SchemeSpec {
    /// The scheme.
    pub document: Document,
    /// Its own settings, which appear in its name in the results.
    pub settings: Vec<Setting>,
    /// A policy of the caller that replaces the scheme's update policy, and appears in its name.
    pub policy: Option<NamedPolicy>,
    /// The name of the scheme in the results, instead of the one with its settings.
    pub label: Option<String>,
}

impl SchemeSpec {
    /// Parses `NAME|FILE.toml[,KEY=VALUE]...`. A comma inside brackets, braces or quotes belongs to its value.
    ///
    /// # Errors
    /// An unknown name, a file that cannot be read, a text that is no setting.
    pub fn parse(argument: &str) -> Result<Self, Error> {
        if Path::new(argument).is_file() || !argument.contains(',') {
            let document = Document::find(What::Scheme, argument)?;
            return Ok(Self { document, settings: Vec::new(), policy: None, label: None });
        }
        let mut parts = settings(argument);
        let document = Document::find(What::Scheme, parts.next().unwrap_or_default())?;
        let refuse = |error: String| Error::spec(format!("scheme {argument}: {error}"));
        let settings = parts.map(|part| part.parse().map_err(refuse)).collect::<Result<_, _>>()?;
        Ok(Self { document, settings, policy: None, label: None })
    }

    /// Parses `[LABEL=]NAME|FILE.toml[,KEY=VALUE]...`.
    ///
    /// # Errors
    /// As [`Self::parse`]; a label that misleads.
    pub fn labelled(argument: &str) -> Result<Self, Error> {
        let (label, scheme) = split_label(argument)?;
        Ok(Self { label: label.map(str::to_owned), ..Self::parse(scheme)? })
    }
}

/// The parts of a text between commas, but for those inside brackets, braces and quotes.
fn settings(text: &str) -> impl Iterator<Item = &str> {
    let (mut depth, mut quote) = (0u32, None);
    text.split(move |letter: char| {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '"' | '\'') => quote = Some(letter),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') => return depth == 0,
            _ => {}
        }
        false
    })
}

/// The tables of a run in addition to its totals and its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tables {
    /// A row of every request, its latency split into parts.
    pub requests: bool,
    /// A row of every parity update: its routine, Baseline's, and the cost of both.
    pub updates: bool,
    /// A row of every garbage collection.
    pub gcs: bool,
    /// Length of the slices of time by which `gc_slices` counts; zero for none.
    pub gc_slice: units::Span,
    /// The interval of rows with every member's state; zero for none.
    pub sample_every: units::Span,
}

impl Default for Tables {
    /// No optional table; slices of the length in paper 003.
    fn default() -> Self {
        let gc_slice = stripewise_sim::GC_SLICE;
        Self { requests: false, updates: false, gcs: false, gc_slice, sample_every: units::Span(0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_inside_a_value_does_not_end_it() {
        fn parts(text: &str) -> Vec<&str> {
            settings(text).collect()
        }
        assert_eq!(parts("was,hotness.policy=direct"), ["was", "hotness.policy=direct"]);
        let list = "zones.mixed=[{ chunk = \"16KiB\", parts = 2 }, { parts = 3 }]";
        let whole = format!("paper004-mc-rais,{list},mix.history=4");
        assert_eq!(parts(&whole), ["paper004-mc-rais", list, "mix.history=4"]);
        assert_eq!(parts("x,description='a, b',y=\"[\",z=1"), ["x", "description='a, b'", "y=\"[\"", "z=1"]);
        assert_eq!(parts("x,y=],z=1"), ["x", "y=]", "z=1"], "a bracket that closes nothing changes nothing");
    }

    #[test]
    fn lists_of_zones_are_settings() {
        let spec = SchemeSpec::parse(
            "paper004-mc-rais,zones.mixed=[{ chunk = \"16KiB\" }, { parts = 2 }],mix.history=4",
        );
        let settings: Vec<String> = spec.unwrap().settings.iter().map(ToString::to_string).collect();
        assert_eq!(settings, ["zones.mixed=[{ chunk = \"16KiB\" }, { parts = 2 }]", "mix.history=4"]);
    }
}
