//! The default span: every built-in scheme has room for it.

use stripewise_array::{PRESETS as SCHEMES, Scheme};
use stripewise_base::units::Span;
use stripewise_flash::spec::PRESETS as DEVICES;
use stripewise_flash::{DeviceSpec, Shape};
use stripewise_runs::{Comparison, ComparisonSpec, DEFAULT_DEVICE, Document, SchemeSpec, What};
use stripewise_sim::{GC_SLICE, Layout, Pacing, Precondition, RunConfig, capacity};

/// The members of the largest shipped device, and those of papers: whole SSDs from two on, channels, chips.
const LAYOUTS: [&str; 10] =
    ["channel", "chip", "ssd:2", "ssd:3", "ssd:4", "ssd:5", "ssd:6", "ssd:7", "ssd:8", "ssd:9"];

fn config(scheme: &str, device: &str, members: Layout) -> RunConfig {
    RunConfig {
        members,
        precondition: Precondition::Fresh,
        pacing: Pacing::default(),
        warmup_requests: 0,
        limit_requests: 0,
        seed: 1,
        gc_slice: GC_SLICE,
        sample_every: Span(0),
        request_rows: false,
        gc_rows: false,
        scheme: Scheme::preset(scheme).unwrap(),
        device: DeviceSpec::preset(device).unwrap(),
    }
}

/// Bytes that the members of a run offer, parity included.
fn offered(config: &RunConfig) -> u64 {
    let shape = Shape::new(&config.device, config.members.level, config.members.devices).unwrap();
    u64::from(shape.logical_pages) * u64::from(shape.members) * config.device.geometry.page_bytes.0
}

#[test]
fn every_scheme_holds_the_default_span_on_every_device_and_any_members_that_it_takes() {
    let mut least = (f64::INFINITY, String::new());
    for (device, _) in DEVICES {
        for (scheme, _) in SCHEMES {
            for layout in LAYOUTS {
                let config = config(scheme, device, layout.parse().unwrap());
                // Too few members, or pages that do not fit the scheme's chunks.
                let Ok(holds) = capacity(&config) else { continue };
                let share = holds as f64 / offered(&config) as f64;
                let case = format!("{scheme} over {layout} of {device}");
                assert!(share >= 0.2, "{case} holds {share:.4} of what its members hold");
                if share < least.0 {
                    least = (share, case);
                }
            }
        }
    }
    // The reason for a fifth and not for a quarter.
    assert!(least.0 < 0.25, "all hold a quarter; the least is {} with {:.4}", least.1, least.0);
}

#[test]
fn every_scheme_that_fits_the_default_device_fits_its_default_span_and_has_the_same_one() {
    let mut spans = Vec::new();
    for (name, _) in SCHEMES {
        if capacity(&config(name, DEFAULT_DEVICE, "channel".parse().unwrap())).is_err() {
            continue;
        }
        let spec = ComparisonSpec::new(vec![SchemeSpec::parse(name).unwrap()]).unwrap();
        let comparison = Comparison::new(spec, &()).unwrap_or_else(|error| panic!("{name}: {error}"));
        spans.push(comparison.span_bytes());
    }
    assert!(spans.len() > 40, "{}", spans.len());
    assert!(spans.iter().all(|span| *span == spans[0]), "{spans:?}");
}

/// With a default span of half of what members hold, these schemes were refused.
#[test]
fn schemes_that_keep_much_to_themselves_fit_the_default_span_of_four_ssds() {
    let names = ["raid6-esap", "raid6-was", "durable-was", "durable-raid6", "durable-raid6-was"];
    for (device, names) in [("paper001", &names[..]), ("paper004", &["paper004-mc-rais"])] {
        for name in names {
            let spec = ComparisonSpec {
                device: Document::find(What::Device, device).unwrap(),
                members: "ssd:4".parse().unwrap(),
                ..ComparisonSpec::new(vec![SchemeSpec::parse(name).unwrap()]).unwrap()
            };
            Comparison::new(spec, &()).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}
