//! A member whose file system stops answering: a FUSE mount whose server is stopped and continued. Needs root, FUSE,
//! nbdfuse and qemu-nbd; a skipped test prints what is missing.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::Sandbox;
use crate::support::disk::Disk;
use crate::support::served::{Served, status, wait_until};

/// How long an operation may take, in these tests.
const TIMEOUT: &str = "2s";
/// Reads are redirected around a member within this time: a member is slow when it has not answered for a twentieth
/// of a second, and then one read is decoded.
const SOON: Duration = Duration::from_millis(100);
/// The limit for that first read, which waited. It is longer, as the machine may be busy: time in which the server
/// does not run is not counted against a member. A read that waited until the member failed would take five times as
/// long.
const LONGEST: Duration = Duration::from_millis(400);
const PAGE: u64 = 4096;
const PAGES: u64 = 512;

/// The missing requirement that keeps these tests from running.
fn missing() -> Option<String> {
    if let Err(error) = File::options().read(true).write(true).open("/dev/fuse") {
        return Some(format!("/dev/fuse: {error}"));
    }
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |program: &&str| std::env::split_paths(&paths).any(|folder| folder.join(program).exists());
    let programs = ["nbdfuse", "qemu-nbd", "umount", "kill"];
    programs.iter().find(|program| !is_there(program)).map(|program| format!("{program} is not installed"))
}

/// A file in a FUSE file system, unmounted with its handle.
struct Fuse {
    server: Child,
    mount: PathBuf,
}

impl Fuse {
    /// A file of 16 MiB in folder `name` of the sandbox, called `member`; none where FUSE cannot mount.
    fn mount(sandbox: &Sandbox, name: &str) -> Option<Self> {
        let mount = sandbox.path().join(name);
        let image = format!("{name}.image");
        std::fs::create_dir(&mount).expect("the sandbox can be written");
        File::create(sandbox.path().join(&image))
            .and_then(|file| file.set_len(16 << 20))
            .expect("it has room");
        let mut command = Command::new("nbdfuse");
        command.arg(mount.join("member")).args([
            "[",
            "qemu-nbd",
            "-f",
            "raw",
            "--discard=unmap",
            &image,
            "]",
        ]);
        let server =
            command.current_dir(sandbox.path()).stdin(Stdio::null()).spawn().expect("nbdfuse starts");
        let mut fuse = Self { server, mount };
        let until = Instant::now() + Duration::from_secs(10);
        while std::fs::metadata(fuse.member()).is_err() {
            if Instant::now() > until || fuse.server.try_wait().is_ok_and(|ended| ended.is_some()) {
                return None;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Some(fuse)
    }

    fn member(&self) -> PathBuf {
        self.mount.join("member")
    }

    #[track_caller]
    fn signal(&self, signal: &str) {
        let status = Command::new("kill").args([signal, &self.server.id().to_string()]).status();
        assert!(status.expect("kill starts").success());
    }
}

impl Drop for Fuse {
    fn drop(&mut self) {
        // Every process that waits for the file system ends with its server: a killed server ends its connection.
        let _ = self.server.kill();
        let _ = self.server.wait();
        let _ = Command::new("umount").arg("-l").arg(&self.mount).stderr(Stdio::null()).status();
    }
}

/// Kills these processes if the test has not ended in a minute; a process that hangs then fails.
struct Watchdog(#[expect(dead_code, reason = "its end is what the watchdog waits for")] Sender<()>);

impl Watchdog {
    fn over(processes: Vec<u32>) -> Self {
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            if receiver.recv_timeout(Duration::from_secs(60)) == Err(RecvTimeoutError::Timeout) {
                eprintln!("the test takes too long, and is ended");
                let processes = processes.iter().map(u32::to_string);
                let _ = Command::new("kill").arg("-KILL").args(processes).status();
            }
        });
        Self(sender)
    }
}

/// Dropped at the end of a test in this order: a server with an open file of a stopped file system cannot end.
struct Setup {
    _watchdog: Watchdog,
    fuse: Fuse,
    served: Served,
    sandbox: Sandbox,
}

fn content(page: u64) -> Vec<u8> {
    page.to_le_bytes().repeat(PAGE as usize / 8)
}

#[track_caller]
fn timed_status(sandbox: &Sandbox) -> (Value, Duration) {
    let begun = Instant::now();
    let output = status(sandbox);
    (output, begun.elapsed())
}

/// Reads and checks every page once, in order, and returns how long each took, the longest last.
#[track_caller]
fn read_all(disk: &mut Disk) -> Vec<Duration> {
    let mut took: Vec<Duration> = (0..PAGES)
        .map(|page| {
            let begun = Instant::now();
            assert_eq!(disk.read(page * PAGE, PAGE as u32), content(page), "page {page}");
            begun.elapsed()
        })
        .collect();
    took.sort_unstable();
    took
}

/// A served array of this scheme with some data, whose third member can be stopped; none where the requirements are
/// missing.
fn setup(scheme: &str) -> Option<Setup> {
    setup_with(scheme, &format!("--timeout {TIMEOUT}"))
}

/// The same with these options of the server.
fn setup_with(scheme: &str, options: &str) -> Option<Setup> {
    if let Some(missing) = missing() {
        eprintln!("skipped: {missing}");
        return None;
    }
    let sandbox = Sandbox::new();
    let Some(fuse) = Fuse::mount(&sandbox, "fuse") else {
        eprintln!("skipped: nbdfuse mounts nothing here");
        return None;
    };
    for name in ["a", "b", "d", "e"] {
        File::create(sandbox.path().join(name)).and_then(|file| file.set_len(16 << 20)).expect("it has room");
    }
    sandbox.run(&format!("create pool a b fuse/member d e --scheme {scheme}")).success();
    let served = Served::start(&sandbox, "pool", options);
    let _watchdog = Watchdog::over(vec![fuse.server.id(), served.pid()]);
    let mut disk = served.disk();
    for page in 0..PAGES {
        disk.write(page * PAGE, &content(page));
    }
    disk.flush();
    read_all(&mut disk);
    Some(Setup { _watchdog, fuse, served, sandbox })
}

/// Checks an array of this scheme whose third member is stopped while it serves.
fn check(scheme: &str) {
    let Some(setup) = setup(scheme) else { return };
    let Setup { fuse, served, sandbox, .. } = &setup;
    let mut disk = served.disk();

    fuse.signal("-STOP");
    let stopped = Instant::now();
    let took = read_all(&mut disk);
    let (output, answered) = timed_status(sandbox);
    let read = stopped.elapsed();
    println!("{scheme}: longest read {:?}, all {read:?}; status {answered:?}", took[took.len() - 1]);
    // Any later, and reads may have waited for the member until it failed.
    assert!(read < Duration::from_millis(1800), "the test came to this too late: {read:?}");
    assert!(took[took.len() - 1] < LONGEST && took[took.len() - 2] < SOON, "{took:?}");
    assert_eq!(
        (&output["health"], &output["members"][2]["state"]),
        (&"clean".into(), &"active".into()),
        "{output}"
    );
    assert_eq!(output["members"][2]["slow"], true, "{output}");
    assert!(answered < Duration::from_secs(1), "{answered:?}");

    wait_until(sandbox, |status| status["health"] == "degraded");
    let output = status(sandbox);
    assert_eq!(output["members"][2]["state"], "failed", "{output}");
    assert!(stopped.elapsed() < Duration::from_secs(10), "{:?}", stopped.elapsed());
    disk.write(0, &content(0));
    disk.flush();
    assert!(read_all(&mut disk)[PAGES as usize - 1] < LONGEST);

    // The named file does not answer either: the server waits for it in another thread.
    let mut replaced = sandbox.command();
    let replaced = replaced.args("replace pool 2 fuse/member --wait".split(' ')).spawn().expect("it starts");
    std::thread::sleep(2 * SOON);
    let (output, answered) = timed_status(sandbox);
    assert!(
        output["members"][2]["state"] == "failed" && answered < Duration::from_secs(1),
        "{answered:?}: {output}"
    );
    assert!(read_all(&mut disk)[PAGES as usize - 1] < LONGEST);

    fuse.signal("-CONT");
    let ended = replaced.wait_with_output().expect("it ends").status;
    assert!(ended.success(), "{ended}");
    let output = status(sandbox);
    assert_eq!(output["health"], "clean", "{output}");
    read_all(&mut disk);
    drop(disk);
    sandbox.run("stop pool").success();
    sandbox.run("check pool").success();
}

#[test]
fn reads_of_a_log_go_around_a_member_that_is_stopped_and_it_returns_when_it_is_continued() {
    check("durable-was");
}

#[test]
fn reads_in_place_go_around_a_member_that_is_stopped_and_it_returns_when_it_is_continued() {
    check("durable-raid5");
}

#[test]
fn reads_of_two_parities_go_around_a_member_that_is_stopped_and_it_returns_when_it_is_continued() {
    check("durable-raid6-was");
}

#[test]
fn an_array_stops_without_a_member_that_does_not_answer_and_has_all_that_was_written() {
    let Some(Setup { _watchdog, fuse, served, sandbox }) = setup("durable-was") else { return };
    fuse.signal("-STOP");
    let mut disk = served.disk();
    disk.write(0, &content(7));
    drop(disk);
    let begun = Instant::now();
    let stopped = sandbox.run("stop pool");
    let took = begun.elapsed();
    println!("stopped after {took:?}");
    // The kernel lets the server's process end when the file system answers.
    fuse.signal("-CONT");
    served.wait();
    stopped.success();
    assert!(took < Duration::from_secs(10), "{took:?}");
    let served = Served::start(&sandbox, "pool", "");
    let mut disk = served.disk();
    assert_eq!(disk.read(0, PAGE as u32), content(7));
    for page in 1..PAGES {
        assert_eq!(disk.read(page * PAGE, PAGE as u32), content(page), "page {page}");
    }
}

/// Writes and flushes every page, and returns the longest time of a request.
fn write_all(disk: &mut Disk) -> Duration {
    let timed = |disk: &mut Disk, page: u64| {
        let begun = Instant::now();
        disk.write(page * PAGE, &content(page));
        if page.is_multiple_of(64) {
            disk.flush();
        }
        begun.elapsed()
    };
    let longest = (0..PAGES).map(|page| timed(disk, page)).max().unwrap_or_default();
    disk.flush();
    longest
}

#[test]
fn writes_of_a_log_wait_a_moment_for_a_member_that_is_stopped_and_it_returns_by_itself() {
    for scheme in ["durable-was", "durable-raid6-was"] {
        let Some(setup) = setup_with(scheme, "--timeout 30s --stall 500ms") else { return };
        let Setup { fuse, served, sandbox, .. } = &setup;
        sandbox.run("spare pool spare").success();
        let mut disk = served.disk();
        for round in 1..=2 {
            fuse.signal("-STOP");
            let longest = write_all(&mut disk);
            let output = status(sandbox);
            println!("{scheme}, round {round}: longest write {longest:?}");
            assert!(longest < Duration::from_secs(5), "the timeout is 30 s: {longest:?}");
            let member = &output["members"][2];
            assert_eq!(member["state"], "failed", "{output}");
            assert!(member["reason"].to_string().contains("until it answers"), "{output}");
            assert_eq!(output["spares"].as_array().map(Vec::len), Some(1), "it may answer soon: {output}");
            fuse.signal("-CONT");
            wait_until(sandbox, |status| status["health"] == "clean");
            let output = status(sandbox);
            let timeouts = output["members"][2]["total_errors"]["timeouts"].as_u64();
            assert_eq!(
                (output["members"][2]["state"].as_str(), timeouts),
                (Some("active"), Some(round)),
                "{output}"
            );
        }
        read_all(&mut disk);
        drop(disk);
        sandbox.run("scrub pool --wait").success();
        sandbox.run("stop pool").success();
        sandbox.run("check pool").success();
        // What the others cannot decode any more, the member has.
        std::fs::remove_file(sandbox.path().join("a")).expect("it is there");
        let served = Served::start(sandbox, "pool", "");
        read_all(&mut served.disk());
        sandbox.run("stop pool").success();
    }
}

#[test]
fn a_spare_replaces_a_member_of_a_log_that_does_not_answer_within_the_timeout() {
    let Some(setup) = setup_with("durable-was", "--timeout 2s --stall 300ms") else { return };
    let Setup { fuse, served, sandbox, .. } = &setup;
    sandbox.run("spare pool spare").success();
    let mut disk = served.disk();
    fuse.signal("-STOP");
    let stopped = Instant::now();
    write_all(&mut disk);
    wait_until(sandbox, |status| status["health"] == "clean");
    assert!(stopped.elapsed() > Duration::from_secs(2), "{:?}", stopped.elapsed());
    let output = status(sandbox);
    assert!(output["members"][2]["path"].to_string().contains("spare"), "{output}");
    fuse.signal("-CONT");
    read_all(&mut disk);
    drop(disk);
    sandbox.run("stop pool").success();
    sandbox.run("check pool").success();
}

/// Dropped at the end of a test in this order.
struct Several {
    _watchdog: Watchdog,
    fuses: Vec<Fuse>,
    served: Served,
    sandbox: Sandbox,
}

/// RAID-6 over four members. `hanging` of them are stopped while it serves, with heartbeats much shorter than the
/// timeout.
fn with_hanging(hanging: usize) -> Option<Several> {
    if let Some(missing) = missing() {
        eprintln!("skipped: {missing}");
        return None;
    }
    let sandbox = Sandbox::new();
    let fuses: Option<Vec<Fuse>> =
        (0..hanging).map(|nth| Fuse::mount(&sandbox, &format!("fuse{nth}"))).collect();
    let Some(fuses) = fuses else {
        eprintln!("skipped: nbdfuse mounts nothing here");
        return None;
    };
    let plain = (hanging..4).map(|nth| format!("plain{nth}"));
    let members: Vec<String> =
        (0..hanging).map(|nth| format!("fuse{nth}/member")).chain(plain.clone()).collect();
    for name in plain {
        File::create(sandbox.path().join(name)).and_then(|file| file.set_len(16 << 20)).expect("it has room");
    }
    sandbox.run(&format!("create pool {} --scheme durable-raid6", members.join(" "))).success();
    let served = Served::start(&sandbox, "pool", &format!("--timeout {TIMEOUT} --heartbeat 50ms"));
    let processes = fuses.iter().map(|fuse| fuse.server.id()).chain([served.pid()]).collect();
    let several = Several { _watchdog: Watchdog::over(processes), fuses, served, sandbox };
    let mut disk = several.served.disk();
    for page in 0..PAGES {
        disk.write(page * PAGE, &content(page));
    }
    disk.flush();
    read_all(&mut disk);
    several.fuses.iter().for_each(|fuse| fuse.signal("-STOP"));
    // Longer than the fence waits for heartbeats.
    std::thread::sleep(Duration::from_millis(600));
    Some(several)
}

/// Two of the three necessary confirmations arrive: the fence closes, and opens when the hanging members have failed.
#[test]
fn with_as_many_hanging_members_as_parity_tolerates_reads_continue_and_writes_after_the_timeout() {
    let Some(several) = with_hanging(2) else { return };
    let mut disk = several.served.disk();
    let began = Instant::now();
    read_all(&mut disk);
    disk.write(0, &content(0));
    disk.flush();
    assert!(began.elapsed() < Duration::from_secs(12), "{:?}", began.elapsed());
    let output = status(&several.sandbox);
    assert_eq!(
        (&output["members"][0]["state"], &output["members"][1]["state"]),
        (&"failed".into(), &"failed".into()),
        "{output}"
    );
    read_all(&mut disk);
    drop(disk);
    several.sandbox.run("stop pool").success();
    assert!(began.elapsed() < Duration::from_secs(25), "{:?}", began.elapsed());
}

#[test]
fn with_more_hanging_members_than_parity_tolerates_requests_fail_and_the_server_ends() {
    let Some(several) = with_hanging(3) else { return };
    let mut disk = several.served.disk();
    let began = Instant::now();
    let fails = |disk: &mut Disk| disk.answer().expect("the server answers").outcome.is_err();
    let is_lost = |page| {
        disk.client.read(page * PAGE, PAGE as u32);
        fails(&mut disk)
    };
    assert!((0..16).any(is_lost), "three of four members hang");
    disk.client.write(0, &content(0), false);
    assert!(fails(&mut disk), "too much is lost");
    drop(disk);
    // The answer comes when everything has ended but the process itself: the kernel keeps it until the file systems
    // answer.
    several.sandbox.run("stop pool").failure(1);
    assert!(began.elapsed() < Duration::from_secs(25), "{:?}", began.elapsed());
}
