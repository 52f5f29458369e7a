//! The status page in a real browser: Chromium without a screen. Where it is not installed, the test reports that and
//! is skipped.

use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::support::Sandbox;
use crate::support::served::Served;

/// The page after `seconds` of the browser's time, in which scripts ran; none without a browser.
fn rendered(address: &str, seconds: u32, sandbox: &Sandbox) -> Option<String> {
    let programs = ["chromium", "chromium-browser", "google-chrome"];
    let output = programs.iter().find_map(|program| {
        Command::new(program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--dump-dom"])
            .arg(format!("--user-data-dir={}", sandbox.path().join("browser").display()))
            .arg(format!("--virtual-time-budget={}", seconds * 1000))
            .arg(address)
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

/// The texts of the page, without tags.
fn texts(page: &str) -> Vec<&str> {
    let body =
        page.split_once("<body>").expect("it has a body").1.split("<script>").next().unwrap_or_default();
    body.split('<')
        .filter_map(|part| Some(part.split_once('>')?.1.trim()))
        .filter(|text| !text.is_empty())
        .collect()
}

#[test]
fn the_page_shows_members_requests_and_a_rebuild() {
    let sandbox = Sandbox::new();
    sandbox.run("create pool --files pool --size 16MiB").success();
    let served = Served::start(&sandbox, "pool", "--metrics 127.0.0.1:0 --rate 64KiB");
    let address =
        served.said.iter().find_map(|line| line.split(' ').find(|word| word.starts_with("http://")));
    let address = address.expect("it says where").trim_end_matches(',').to_owned();
    let mut disk = served.disk();
    for chunk in 0..500 {
        disk.write(chunk * 4096, &[chunk as u8 | 1; 4096]);
    }
    disk.flush();
    // Requests continue while the page is open, so its charts have data.
    let load = thread::spawn(move || {
        for chunk in 0..2000 {
            disk.read(chunk % 500 * 4096, 4096);
            thread::sleep(Duration::from_millis(1));
        }
    });
    let Some(page) = rendered(&address, 4, &sandbox) else { return };
    let shown = texts(&page);
    let has = |text: &str| shown.iter().any(|shown| shown.contains(text));
    for text in [
        "pool",
        "clean",
        "RAID-5",
        "pool/member-4",
        "500",
        "free segments",
        "Streams of the log",
        "hosts",
        "io",
        // The rate of however slow a machine.
        "iB/s",
    ] {
        assert!(has(text), "{text} is not in {shown:?}");
    }
    assert_eq!(shown.iter().filter(|text| **text == "active").count(), 5, "{shown:?}");
    assert!(page.contains("<title>pool: clean</title>"));
    let charts = page.matches("<path class=\"read\" d=\"M").count();
    assert_eq!(charts, 2, "throughput and requests are drawn: {page}");
    load.join().unwrap();
    sandbox.run("fail pool 3").success();
    sandbox.run("replace pool 3 pool/new").success();
    let page = rendered(&address, 1, &sandbox).expect("it was there before");
    let shown = texts(&page);
    let has = |text: &str| shown.iter().any(|shown| shown.contains(text));
    for text in ["rebuilding", "Rebuild of member 3", "pool/new"] {
        assert!(has(text), "{text} is not in {shown:?}");
    }
    served.kill();
    let page = rendered(&address, 1, &sandbox).expect("it was there before");
    assert!(!page.contains("rebuilding"), "the browser keeps nothing of a server that is gone");
}
