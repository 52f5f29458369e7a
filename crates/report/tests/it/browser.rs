//! A report in a real browser: Chromium without a screen. Where it is not installed, the tests report that and are
//! skipped.
//!
//! The page's policy allows its own script alone, so a copy with another policy gets the script of the test, which does
//! what a reader does and writes what it finds into the page.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::detailed::two_runs;

/// The reader: presses, drags and points, and writes a line for each finding.
const READER: &str = include_str!("reader.js");

/// The page after its scripts ran; none without a browser.
fn rendered(page: &Path, width: u32) -> Option<String> {
    let programs = ["chromium", "chromium-browser", "google-chrome"];
    let output = programs.iter().find_map(|program| {
        Command::new(program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--dump-dom"])
            .arg(format!("--user-data-dir={}", page.with_extension("browser").display()))
            .arg(format!("--window-size={width},900"))
            .arg("--virtual-time-budget=10000")
            .arg(page)
            .stderr(Stdio::null())
            .output()
            .ok()
    });
    let Some(output) = output else {
        eprintln!("skipped: no Chromium is installed");
        return None;
    };
    assert!(output.status.success(), "the browser ended with {}", output.status);
    Some(String::from_utf8(output.stdout).expect("pages are UTF-8"))
}

#[test]
fn a_reader_points_zooms_toggles_sorts_and_downloads() {
    let directory = tempfile::tempdir().expect("a directory");
    let html = two_runs(directory.path());
    let policy =
        html.split("script-src 'sha256-").nth(1).and_then(|rest| rest.split('\'').next()).expect("a policy");
    let html = html.replace(&format!("'sha256-{policy}'"), "'unsafe-inline'");
    let html = html.replace("</body>", &format!("<pre id=\"found\"></pre><script>{READER}</script></body>"));
    let page = directory.path().join("reader.html");
    std::fs::write(&page, html).expect("a file");
    let Some(dom) = rendered(&page, 1400) else { return };
    let found = dom
        .split("<pre id=\"found\">")
        .nth(1)
        .and_then(|rest| rest.split("</pre>").next())
        .expect("findings");
    let lines: Vec<&str> = found.lines().collect();
    assert!(lines.len() > 20 && lines.last() == Some(&"done"), "the reader stopped early:\n{found}");
    let wrong: Vec<&&str> = lines.iter().filter(|line| line.starts_with("WRONG")).collect();
    assert!(wrong.is_empty(), "{wrong:#?}\nof\n{found}");
}

/// The policy must let the report's own script run, and nothing may be wider than a phone.
#[test]
fn the_script_runs_under_the_policy_of_the_page() {
    let directory = tempfile::tempdir().expect("a directory");
    let page = directory.path().join("report.html");
    std::fs::write(&page, two_runs(directory.path())).expect("a file");
    let Some(dom) = rendered(&page, 500) else { return };
    assert!(dom.contains("<html lang=\"en\" class=\"scripted\">"), "the script did not run to its end");
    assert!(dom.contains("class=\"tools\"") && dom.contains("aria-pressed=\"true\""));
}
