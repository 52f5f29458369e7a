//! Random rows for the tests of results.
#![allow(dead_code, reason = "each test file uses a part")]

use stripewise_base::prng::Prng;
use stripewise_results::RunInputs;
use stripewise_sim::tables::{GcRow, GcSliceRow, LatencyRow, MemberRow, RequestRow, SampleRow, UpdateRow};

pub(crate) fn inputs(seed: u64) -> RunInputs {
    RunInputs::new("[array]\nlevel = \"raid-5\"\n", "mode = \"open\"\n", "trace", seed, "0.1.0").unwrap()
}

/// A value of random width, so that small values, zeros and the largest all occur.
pub(crate) fn value(prng: &mut Prng) -> u64 {
    let width = prng.below(65) as u32;
    prng.next_u64().checked_shr(64 - width).unwrap_or(0)
}

pub(crate) fn request(prng: &mut Prng) -> RequestRow {
    RequestRow {
        request: value(prng),
        arrival_ns: value(prng),
        kind: value(prng) as u8,
        volume: value(prng) as u32,
        offset_bytes: value(prng),
        size_bytes: value(prng) as u32,
        latency_ns: value(prng),
        pending_ns: value(prng),
        pre_read_ns: value(prng),
        parity_ns: value(prng),
        member_queue_ns: value(prng),
        gc_wait_ns: value(prng),
        bus_ns: value(prng),
        cell_ns: value(prng),
        buffer_ns: value(prng),
        failed: value(prng) as u8,
    }
}

pub(crate) fn sample(prng: &mut Prng) -> SampleRow {
    SampleRow {
        time_ns: value(prng),
        member: value(prng) as u32,
        reads: value(prng) as u32,
        writes: value(prng) as u32,
        collecting: value(prng) as u8,
        free_pages: value(prng) as u32,
    }
}

pub(crate) fn gc(prng: &mut Prng) -> GcRow {
    GcRow {
        member: value(prng) as u32,
        plane: value(prng) as u32,
        block: value(prng) as u32,
        start_ns: value(prng),
        end_ns: value(prng),
        moved_pages: value(prng) as u32,
    }
}

pub(crate) fn latency(prng: &mut Prng) -> LatencyRow {
    LatencyRow {
        kind: value(prng) as u8,
        member: value(prng) as u32,
        latency_ns: value(prng),
        count: value(prng),
    }
}

pub(crate) fn gc_slice(prng: &mut Prng) -> GcSliceRow {
    GcSliceRow { collecting: value(prng) as u32, slices: value(prng), slices_at_work: value(prng) }
}

pub(crate) fn update(prng: &mut Prng) -> UpdateRow {
    UpdateRow {
        time_ns: value(prng),
        row: value(prng),
        dirty_chunks: value(prng) as u32,
        routine: value(prng) as u8,
        adjusted: value(prng) as u8,
        rcw_reads: value(prng) as u32,
        rcw_delay_ns: value(prng),
        ..Default::default()
    }
}

pub(crate) fn member(prng: &mut Prng) -> MemberRow {
    MemberRow {
        member: value(prng) as u32,
        host_read_pages: value(prng),
        queue_max: value(prng),
        ..Default::default()
    }
}

pub(crate) fn rows<R>(count: usize, prng: &mut Prng, row: impl Fn(&mut Prng) -> R) -> Vec<R> {
    (0..count).map(|_| row(prng)).collect()
}
