//! The statistics as text for people.

use std::fmt::{self, Display, Formatter};

use super::{Balance, ExtentLengths, PAGE_BYTES, RECENT, Runs, SizeStats, Stats};

/// Volumes listed individually; further ones are only counted.
const LISTED_VOLUMES: usize = 16;

impl Display for Stats {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        row(
            f,
            "requests",
            format!(
                "{} ({} reads, {} writes, {} trims, {} flushes)",
                self.requests, self.reads, self.writes, self.trims, self.flushes
            ),
        )?;
        row(f, "write ratio", percent(self.write_ratio))?;
        row(f, "update ratio", {
            let updates = self.updates;
            format!(
                "{} of writes meet a written page; {} only written pages; {} of written pages",
                percent(updates.ratio),
                percent(updates.whole_ratio),
                percent(updates.page_ratio)
            )
        })?;
        row(
            f,
            "bytes",
            format!(
                "{} read, {} written",
                size(self.size_read.total_bytes as f64),
                size(self.size_write.total_bytes as f64)
            ),
        )?;
        for (name, sizes) in [
            ("size, all", &self.size_all),
            ("size, reads", &self.size_read),
            ("size, writes", &self.size_write),
            ("size, trims", &self.size_trim),
        ] {
            if sizes.requests > 0 {
                row(f, name, describe(sizes))?;
            }
        }
        self.times(f)?;
        let footprint = self.footprint;
        let pages = |pages: u64| size(pages as f64 * PAGE_BYTES as f64);
        row(
            f,
            "footprint",
            format!(
                "{} touched, {} read, {} written (4 KiB pages); in 8 KiB pages {} touched",
                pages(footprint.touched_pages_4k),
                pages(footprint.read_pages_4k),
                pages(footprint.written_pages_4k),
                pages(footprint.touched_pages_8k.saturating_mul(2))
            ),
        )?;
        if footprint.one_in > 1 {
            row(
                f,
                "estimated",
                format!(
                    "footprint, skew and update ratio, from one 64 KiB extent in {}: the trace touches more than are counted",
                    footprint.one_in
                ),
            )?;
        }
        row(
            f,
            "skew",
            format!(
                "hottest 20 % of pages take {} of page accesses; Zipf theta {:.2}",
                percent(self.skew.hot20),
                self.skew.zipf_theta
            ),
        )?;
        let [one, ten, hundred] = self.skew.hottest.map(percent);
        row(
            f,
            "hottest pages",
            format!("1 takes {one} of page accesses, 10 take {ten}, 100 take {hundred}"),
        )?;
        self.writes_again(f)?;
        row(f, "reads of written data", percent(self.skew.reads_of_written))?;
        row(
            f,
            "sequential",
            format!("{} continue one of the {RECENT} requests before", percent(self.sequential)),
        )?;
        if self.runs.runs > 0 {
            let Runs { runs, share, mean_requests, mean_bytes, longest_requests } = self.runs;
            let text = format!(
                "{runs} with {} of requests; mean {} requests, {}; longest {longest_requests}",
                percent(share),
                trim_zeros(mean_requests),
                size(mean_bytes)
            );
            row(f, "sequential runs", text)?;
        }
        row(
            f,
            "aligned",
            format!(
                "512 B {}, 4 KiB {}, 8 KiB {}",
                percent(self.alignment.sector),
                percent(self.alignment.page_4k),
                percent(self.alignment.page_8k)
            ),
        )?;
        row(f, "largest end", size(self.max_end_bytes as f64))?;
        let more = match self.other_volumes_requests {
            0 => String::new(),
            requests => format!(" and more, to which {requests} requests go"),
        };
        row(f, "volumes", format!("{}{more}", self.volumes.len()))?;
        if self.volumes.len() > 1 {
            for volume in self.volumes.iter().take(LISTED_VOLUMES) {
                row(
                    f,
                    &format!("  volume {}", volume.volume),
                    format!(
                        "{} requests, {} writes, {}, end {}",
                        volume.requests,
                        volume.writes,
                        size(volume.bytes as f64),
                        size(volume.max_end_bytes as f64)
                    ),
                )?;
            }
            if self.volumes.len() > LISTED_VOLUMES {
                writeln!(f, "  … and {} more", self.volumes.len() - LISTED_VOLUMES)?;
            }
        }
        Ok(())
    }
}

impl Stats {
    /// The arrival times. Where all requests have one time there is no rate and no interval.
    fn times(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.has_no_clock() {
            return row(f, "span", "none: all requests have the same time".to_owned());
        }
        row(f, "span", time(self.span_ns as f64))?;
        row(
            f,
            "rate",
            format!(
                "{:.1} requests/s, {}/s, mean interval {}",
                self.requests_per_second,
                size(self.bytes_per_second),
                time(self.gaps.mean_ns)
            ),
        )?;
        row(
            f,
            "intervals",
            [0.2, 0.4, 0.6, 0.8, 0.9, 0.99, 0.999, 1.0]
                .map(|share| {
                    format!("{} % {}", trim_zeros(share * 100.0), time(self.gaps.quantile_ns(share) as f64))
                })
                .join("; "),
        )?;
        row(
            f,
            "same time stamp",
            format!(
                "{} of intervals; {} requests step back in time",
                percent(self.gaps.ties),
                self.gaps.backward_steps
            ),
        )?;
        let burstiness = &self.burstiness;
        if !burstiness.dispersion.is_empty() {
            let indexes = burstiness
                .dispersion
                .iter()
                .map(|window| format!("{} in {}", trim_zeros(window.index), time(window.window_ns as f64)));
            row(f, "dispersion of counts", indexes.collect::<Vec<_>>().join("; "))?;
        }
        let correlation =
            burstiness.log_gap_lag1.map(|lag| format!("{lag:.2} from log interval to the next"));
        let hurst = burstiness.hurst.map(|hurst| format!("Hurst exponent {hurst:.2} by aggregated variance"));
        let both: Vec<String> = correlation.into_iter().chain(hurst).collect();
        if both.is_empty() { Ok(()) } else { row(f, "correlation", both.join("; ")) }
    }

    /// Pages that are written again, the members that writes go to, and adjacent pages.
    fn writes_again(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.updates.page_writes > 0 {
            let [six, sixty, thousand] =
                [self.reuse.within_6, self.reuse.within_64, self.reuse.within_1024].map(percent);
            let text =
                format!("{six} of page writes within 6 of them, {sixty} within 64, {thousand} within 1024");
            row(f, "written again", text)?;
        }
        for runs in self.balance.chunk_by(|a, b| a.members == b.members) {
            let Some(Balance { members, .. }) = runs.first() else { continue };
            let parts = runs.iter().map(|run| format!("{:.3} over {} page writes", run.cv, run.page_writes));
            row(f, &format!("cv of {members} members"), parts.collect::<Vec<_>>().join("; "))?;
        }
        let ExtentLengths { extents, mean_pages, median_pages, p90_pages, max_pages, .. } = self.extents;
        if extents > 0 {
            let pages = |pages: u64| size(pages as f64 * PAGE_BYTES as f64);
            let text = format!(
                "{extents} of adjacent pages; mean {}, median {}, 90 % {}, longest {}",
                size(mean_pages * PAGE_BYTES as f64),
                pages(median_pages),
                pages(p90_pages),
                pages(max_pages)
            );
            row(f, "extents", text)?;
        }
        Ok(())
    }
}

fn row(f: &mut Formatter<'_>, name: &str, value: String) -> fmt::Result {
    writeln!(f, "{name:<22} {value}")
}

fn describe(sizes: &SizeStats) -> String {
    let [_, _, median, _, _, p99] = sizes.quantiles_bytes;
    let common: Vec<String> = sizes
        .commonest(3)
        .iter()
        .map(|atom| {
            format!(
                "{} {}",
                size(f64::from(atom.bytes)),
                percent(atom.requests as f64 / sizes.requests as f64)
            )
        })
        .collect();
    format!(
        "mean {}, median {}, 99 % {}, {} to {}; most often {}",
        size(sizes.mean_bytes),
        size(f64::from(median)),
        size(f64::from(p99)),
        size(f64::from(sizes.min_bytes)),
        size(f64::from(sizes.max_bytes)),
        common.join(", ")
    )
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn size(bytes: f64) -> String {
    scaled(bytes, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"])
}

fn time(ns: f64) -> String {
    scaled(ns, 1000.0, &["ns", "us", "ms", "s"])
}

fn scaled(mut value: f64, step: f64, units: &[&str]) -> String {
    let mut unit = 0;
    while value >= step && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    format!("{} {}", trim_zeros(value), units[unit])
}

fn trim_zeros(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
