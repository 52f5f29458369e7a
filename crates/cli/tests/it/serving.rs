//! `serve` and the commands that manage a served array, with clients over NBD: the real program from end to end.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use serde_json::Value;
use stripewise_nbd::client::Found;

use crate::support::Sandbox;
use crate::support::disk::Disk;
use crate::support::served::{Served, status, wait_until};

/// A sandbox with an array called `pool` over files of 16 MiB.
fn created() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run("create pool --files pool --size 16MiB").success();
    sandbox
}

/// The content of chunk `nth`.
fn content(nth: u64) -> Vec<u8> {
    (0..4096).map(|at| (nth as usize * 31 + at / 7) as u8).collect()
}

fn fill(disk: &mut Disk, chunks: std::ops::Range<u64>) {
    for nth in chunks {
        disk.write(nth * 4096, &content(nth));
    }
    disk.flush();
}

#[track_caller]
fn verify(disk: &mut Disk, chunks: std::ops::Range<u64>) {
    for nth in chunks {
        assert!(disk.read(nth * 4096, 4096) == content(nth), "chunk {nth}");
    }
}

#[test]
fn written_data_is_there_when_it_is_served_again() {
    let sandbox = created();
    let served = Served::start(&sandbox, "pool", "");
    let mut disk = served.disk();
    fill(&mut disk, 0..100);
    disk.write(7 * 4096 + 512, &[9; 512]);
    disk.zero(20 * 4096, 3 * 4096);
    disk.trim(30 * 4096, 4096);
    drop(disk);
    assert_eq!(sandbox.run("stop pool").success(), "");
    assert_eq!(served.wait(), 0);
    assert!(sandbox.run("check pool").success().ends_with("clean\n"));
    let served = Served::start(&sandbox, "pool", "--read-only");
    let mut disk = served.disk();
    verify(&mut disk, 0..7);
    assert_eq!(disk.read(7 * 4096 + 512, 512), [9; 512]);
    assert_eq!(disk.read(20 * 4096, 3 * 4096), [0; 3 * 4096]);
    assert_eq!(disk.read(30 * 4096, 4096), [0; 4096]);
    disk.client.write(0, &[1; 4096], false);
    disk.send();
    assert!(disk.answer().unwrap().outcome.is_err(), "it is read-only");
    verify(&mut disk, 0..7);
}

#[test]
fn what_a_server_did_is_replayed_without_it() {
    let sandbox = created();
    let served = Served::start(&sandbox, "pool", "--transcript run.transcript");
    std::thread::scope(|scope| {
        for first in [0, 300, 600] {
            let mut disk = served.disk();
            scope.spawn(move || {
                fill(&mut disk, first..first + 200);
                verify(&mut disk, first..first + 200);
            });
        }
        sandbox.run("fail pool 3").success();
    });
    sandbox.run("stop pool").success();
    assert_eq!(served.wait(), 0);
    std::fs::remove_dir_all(sandbox.path().join("pool")).unwrap();
    let said = sandbox.run("replay run.transcript").success();
    assert!(
        said.contains("member 3 left after") && said.ends_with("the same operations in the same order\n"),
        "{said}"
    );
    assert!(!said.contains("killed"), "{said}");
    let said = sandbox.run("replay run.transcript --scheme durable-was,elastic.segment_rows=8").failure(1);
    assert!(said.contains("went another way at event"), "{said}");
    let said = sandbox.run("replay Cargo.toml").failure(1);
    assert!(said.contains("Cargo.toml"), "{said}");
}

#[test]
fn what_was_flushed_outlives_a_kill_and_a_signal_ends_it_in_order() {
    let sandbox = created();
    let served = Served::start(&sandbox, "pool", "");
    let mut disk = served.disk();
    fill(&mut disk, 0..200);
    // Unflushed, and in flight when the server dies: the data may be there or not, and must do no harm.
    for nth in 200..260 {
        disk.client.write(nth * 4096, &content(nth), false);
    }
    disk.send();
    served.kill();
    assert!(disk.answer().is_none_or(|answer| answer.outcome.is_ok()));
    // The server's sockets still exist, and no server listens.
    let output = sandbox.run("status");
    assert!(output.code == 2 && output.stdout.contains("pool: not served"), "{output:?}");
    let served = Served::start(&sandbox, "pool", "");
    verify(&mut served.disk(), 0..200);
    let mut disk = served.disk();
    disk.write(300 * 4096, &content(300));
    let end = Command::new("kill").args(["-TERM", &served.pid().to_string()]).status().unwrap();
    assert!(end.success() && served.wait() == 0);
    let served = Served::start(&sandbox, "pool", "");
    verify(&mut served.disk(), 300..301);
    sandbox.run("stop pool").success();
    assert!(sandbox.run("check pool").success().ends_with("clean\n"));
}

#[test]
fn arrays_in_place_outlive_a_kill_too_and_are_clean() {
    for scheme in ["durable-raid5", "durable-raid6", "raid6-rdp,metadata=on"] {
        let sandbox = Sandbox::new();
        sandbox.run(&format!("create pool --files pool --size 16MiB --scheme {scheme}")).success();
        let served = Served::start(&sandbox, "pool", "");
        let mut disk = served.disk();
        fill(&mut disk, 0..60);
        for nth in 60..90 {
            disk.client.write(nth * 4096, &content(nth), false);
        }
        disk.send();
        served.kill();
        // The superblocks hold the scheme with all its settings.
        std::fs::remove_dir_all(sandbox.path().join("state")).unwrap();
        let served = Served::start(&sandbox, "pool", "--files pool");
        verify(&mut served.disk(), 0..60);
        sandbox.run("stop pool").success();
        assert_eq!(served.wait(), 0, "{scheme}");
        assert!(sandbox.run("check pool").success().ends_with("clean\n"), "{scheme}");
        assert!(sandbox.run("dump pool").stdout.contains("journal"), "{scheme}");
    }
}

#[test]
fn a_member_is_lost_and_replaced_under_load_and_returns() {
    let sandbox = created();
    let served = Served::start(&sandbox, "pool", "");
    let mut disk = served.disk();
    fill(&mut disk, 0..500);
    assert_eq!((sandbox.run("status").code, &status(&sandbox)["health"]), (0, &Value::from("clean")));
    let refused = sandbox.run("replace pool 2 pool/new").failure(1);
    assert!(refused.contains("member 2 is in service"), "{refused}");
    assert!(sandbox.run("fail pool 9").failure(1).contains("there is no member 9"));
    sandbox.run("fail pool 2").success();
    let output = sandbox.run("status");
    assert!(output.code == 1 && output.stdout.starts_with("pool: DEGRADED"), "{output:?}");
    verify(&mut disk, 0..500);
    fill(&mut disk, 500..700);
    // An existing file with content is not taken unless forced.
    std::fs::write(sandbox.path().join("pool/holds"), vec![1; 16 << 20]).unwrap();
    let refused = sandbox.run("replace pool 2 pool/holds").failure(1);
    assert!(refused.contains("holds something that is not zero"), "{refused}");
    sandbox.run("replace pool 2 pool/holds --force --wait").success();
    assert_eq!(status(&sandbox)["members"][2]["state"], "active");
    // A second member, whose own file returns.
    sandbox.run("fail pool 0").success();
    fill(&mut disk, 700..800);
    sandbox.run("replace pool 0 pool/member-0 --wait").success();
    verify(&mut disk, 0..800);
    let scrubbed = sandbox.run("scrub pool --wait").success();
    assert!(scrubbed.ends_with(" 0 damaged, 0 repaired, 0 lost\n"), "{scrubbed}");
    assert_eq!(sandbox.run("status").code, 0);
    sandbox.run("stop pool").success();
    assert!(sandbox.run("check pool").success().ends_with("clean\n"));
    // The replaced member is known as such, and the array is found without it.
    let found = sandbox.run("scan pool").success();
    assert!(found.contains("member 2   replaced    pool/member-2"), "{found}");
    let served = Served::start(&sandbox, "pool", "");
    verify(&mut served.disk(), 0..800);
}

#[test]
fn a_spare_steps_in_and_a_missing_member_is_borne() {
    let sandbox = created();
    let served = Served::start(&sandbox, "pool", "");
    fill(&mut served.disk(), 0..300);
    sandbox.run("spare pool pool/spare").success();
    assert_eq!(status(&sandbox)["spares"].as_array().map(Vec::len), Some(1));
    sandbox.run("fail pool 4").success();
    let deadline = Instant::now() + Duration::from_secs(20);
    while status(&sandbox)["health"] != "clean" {
        assert!(Instant::now() < deadline, "{}", status(&sandbox));
    }
    assert_eq!(status(&sandbox)["spares"].as_array().map(Vec::len), Some(0));
    sandbox.run("stop pool").success();
    std::fs::remove_file(sandbox.path().join("pool/member-1")).unwrap();
    let served = Served::start(&sandbox, "pool", "--files pool");
    verify(&mut served.disk(), 0..300);
    assert_eq!(status(&sandbox)["health"], "degraded");
    sandbox.run("replace pool 1 pool/member-1 --wait").success();
    assert_eq!(status(&sandbox)["health"], "clean");
    verify(&mut served.disk(), 0..300);
}

#[test]
fn a_member_that_comes_late_is_waited_for_and_one_that_has_failed_is_not() {
    let sandbox = created();
    let (place, away) = (sandbox.path().join("pool/member-2"), sandbox.path().join("away"));
    std::fs::rename(&place, &away).unwrap();
    let begun = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_secs(1));
            std::fs::rename(&away, &place).unwrap();
        });
        let served = Served::start(&sandbox, "pool", "--wait 60s");
        assert!(begun.elapsed() >= Duration::from_secs(1));
        assert_eq!(status(&sandbox)["health"], "clean");
        sandbox.run("stop pool").success();
        assert_eq!(served.wait(), 0);
    });
    std::fs::rename(&place, &away).unwrap();
    let begun = Instant::now();
    let served = Served::start(&sandbox, "pool", "--wait 1s");
    assert!(begun.elapsed() >= Duration::from_secs(1));
    assert_eq!(status(&sandbox)["health"], "degraded");
    sandbox.run("stop pool").success();
    assert_eq!(served.wait(), 0);
    let begun = Instant::now();
    let _served = Served::start(&sandbox, "pool", "--wait 60s");
    assert!(begun.elapsed() < Duration::from_secs(30), "it is known to have failed");
    assert_eq!(status(&sandbox)["health"], "degraded");
}

#[test]
fn what_an_array_is_made_of_is_its_users_alone() {
    let sandbox = created();
    let mode = |name| std::fs::metadata(sandbox.path().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("pool"), mode("pool/member-0")), (0o700, 0o600));
}

#[test]
fn clients_that_misbehave_are_dropped_and_harm_no_other_client() {
    let sandbox = created();
    let served = Served::start(&sandbox, "pool", "");
    let mut disk = served.disk();
    fill(&mut disk, 0..50);
    let mut rude = UnixStream::connect(served.socket()).unwrap();
    rude.write_all(&[0xff; 4096]).unwrap();
    let mut rest = Vec::new();
    // The server hung up, whether or not it had unread bytes.
    let _ = rude.read_to_end(&mut rest);
    // Silent clients, more than the server admits.
    let silent: Vec<UnixStream> = (0..40).map(|_| UnixStream::connect(served.socket()).unwrap()).collect();
    verify(&mut disk, 0..50);
    assert!(status(&sandbox)["dropped_connections"].as_u64().unwrap() > 24, "{}", status(&sandbox));
    drop(silent);
    // Until the server has seen them leave, it may have no room for another client.
    wait_until(&sandbox, |status| status["connections"].as_u64().unwrap() < 4);
    // A client that requests much, reads no answer, and leaves.
    let mut greedy = served.disk();
    greedy.write(0, &content(0));
    for _ in 0..200 {
        greedy.client.read(0, 1 << 20);
    }
    greedy.send();
    drop(greedy);
    verify(&mut disk, 0..50);
    verify(&mut served.disk(), 0..50);
}

/// More in flight than a connection may have, in requests and in bytes, with a client that takes no answer for a
/// while.
#[test]
fn what_has_to_wait_is_answered_all_the_same() {
    let sandbox = created();
    let served = Served::start(&sandbox, "pool", "");
    let mut disk = served.disk();
    fill(&mut disk, 0..256);
    let wanted: Vec<u8> = (0..256).flat_map(content).collect();
    let chunks: Vec<u64> = (0..600).map(|nth: u64| nth % 192).collect();
    for &chunk in &chunks {
        disk.client.read(chunk * 4096, 256 << 10);
    }
    disk.send();
    std::thread::sleep(Duration::from_millis(300));
    let first = disk.client.read(0, 4096).0 - chunks.len() as u64;
    for _ in 0..=chunks.len() {
        let answer = disk.answer().expect("the server answers");
        let Ok(Found::Data(data)) = answer.outcome else { panic!("it is read: {answer:?}") };
        let chunk = chunks.get((answer.cookie.0 - first) as usize).copied().unwrap_or(0) as usize;
        assert!(data[..] == wanted[chunk * 4096..][..data.len()], "chunk {chunk}");
    }
    assert_eq!(disk.client.in_flight(), 0);
}

#[test]
fn a_server_out_of_descriptors_waits_for_some() {
    let sandbox = created();
    let served = Served::start(&sandbox, "pool", "");
    let server = Pid::from_raw(served.pid() as i32);
    let had = prlimit(server, Resource::Nofile, Rlimit { current: Some(3), ..getrlimit(Resource::Nofile) });
    let had = had.unwrap();
    let mut client = UnixStream::connect(served.socket()).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let before = processor_time(&served);
    std::thread::sleep(Duration::from_secs(1));
    let taken = processor_time(&served) - before;
    assert!(taken < Duration::from_millis(300), "{taken:?} in a second");
    prlimit(server, Resource::Nofile, had).unwrap();
    let mut greeting = [0; 8];
    client.read_exact(&mut greeting).unwrap();
    assert_eq!(&greeting, b"NBDMAGIC");
    served.disk();
}

/// The processor time of a server so far.
fn processor_time(served: &Served) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", served.pid())).unwrap();
    // The fields follow the name, which may contain spaces; in hundredths of a second.
    let fields = stat.rsplit_once(") ").unwrap().1.split(' ').skip(11).take(2);
    Duration::from_millis(10 * fields.map(|ticks| ticks.parse::<u64>().unwrap()).sum::<u64>())
}

/// Writes of a dead connection enter the engine in the order of their arrival: later acknowledged writes of another
/// connection to the same place stay.
#[test]
fn nothing_of_a_dead_connection_lands_behind_what_came_later() {
    let sandbox = created();
    let served = Served::start(&sandbox, "pool", "");
    for round in 0..20u8 {
        let mut dying = served.disk();
        dying.write(0, &[round; 4096]);
        for chunk in 0..64 {
            dying.client.write(chunk * 4096, &[round; 4096], false);
        }
        dying.send();
        // The client leaves without having read an answer; another one writes the same place as soon as it can.
        drop(dying);
        let mut next = served.disk();
        let deadline = Instant::now() + Duration::from_secs(20);
        while status(&sandbox)["connections"] != 1 {
            assert!(Instant::now() < deadline);
            next.read(0, 512);
        }
        for chunk in 0..64 {
            next.write(chunk * 4096, &[round ^ 0xff; 4096]);
        }
        for chunk in 0..64 {
            assert_eq!(next.read(chunk * 4096, 4096), [round ^ 0xff; 4096], "round {round}, chunk {chunk}");
        }
    }
}

#[test]
fn one_array_has_one_server_and_one_name() {
    let sandbox = created();
    let served = Served::start(&sandbox, "pool", "");
    let refused = sandbox.run("serve pool").failure(1);
    assert!(refused.contains("in use by another engine"), "{refused}");
    sandbox.run("create other --files other --size 16MiB").success();
    let refused = sandbox.run(&format!("serve other --nbd unix:{}", served.socket().display())).failure(1);
    assert!(refused.contains("address in use: another server is listening on"), "{refused}");
    let refused = sandbox.run("create pool --files elsewhere --size 16MiB").failure(1);
    assert!(refused.contains("an array called \"pool\" is remembered"), "{refused}");
    let refused = sandbox.run("create third --files pool --size 16MiB --force").failure(1);
    assert!(refused.contains("in use by another engine"), "{refused}");
    verify_names(&sandbox);
    drop(served);
}

fn verify_names(sandbox: &Sandbox) {
    let output = sandbox.run("status --json");
    let output: Value = serde_json::from_str(&output.stdout).unwrap();
    let names: Vec<&str> =
        output.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["other", "pool"]);
    assert_eq!(output[0]["health"], "not-served");
}

#[test]
fn an_array_knows_its_settings_when_all_that_was_remembered_is_lost() {
    let sandbox = Sandbox::new();
    sandbox.run("create pool --files pool --size 16MiB --scheme durable-was,elastic.reserve=45%").success();
    std::fs::remove_dir_all(sandbox.path().join("state")).unwrap();
    let served = Served::start(&sandbox, "pool", "--files pool");
    fill(&mut served.disk(), 0..10);
    sandbox.run("stop pool").success();
    assert_eq!(served.wait(), 0);
    std::fs::remove_dir_all(sandbox.path().join("state")).unwrap();
    let refused = sandbox.run("serve pool --files pool --scheme durable-was").failure(1);
    assert!(
        refused.contains("pages for hosts") && refused.contains("settings that it was created with"),
        "{refused}"
    );
    assert!(sandbox.run("check pool").success().ends_with("clean\n"));
    assert!(sandbox.run("dump pool").stdout.contains("reserve = \"45%\""));
}

#[test]
fn devices_that_hold_something_are_refused_by_what_they_hold() {
    let sandbox = Sandbox::new();
    for nth in 0..5 {
        let file = std::fs::File::create(sandbox.path().join(format!("disk{nth}"))).unwrap();
        file.set_len(16 << 20).unwrap();
    }
    let mut ext4 = vec![0; 16 << 20];
    ext4[0x438..0x43a].copy_from_slice(b"\x53\xef");
    std::fs::write(sandbox.path().join("disk2"), ext4).unwrap();
    let create = "create bay disk0 disk1 disk2 disk3 disk4";
    let refused = sandbox.run(create).failure(1);
    assert!(
        refused.contains("`disk2` holds an ext2, ext3 or ext4 file system; `--force` takes it"),
        "{refused}"
    );
    let would = sandbox.run(&format!("{create} --force --dry-run")).success();
    assert!(would.contains("would take disk2, and destroy what it holds: an ext2"), "{would}");
    assert!(sandbox.run("scan disk0 disk1 disk2").success().is_empty(), "nothing was done yet");
    let created = sandbox.run(&format!("{create} --force --level raid6")).success();
    assert!(created.ends_with("called \"bay\": 5 members of 16MiB\n"), "{created}");
    let refused = sandbox.run("create again disk0 disk1 disk3").failure(1);
    assert!(refused.contains("`disk0` holds member 0 of the array \"bay\""), "{refused}");
    let found = sandbox.run("scan disk0 disk1 disk3").success();
    assert!(found.contains(", called \"bay\", RAID-6,") && found.contains("member 2   ABSENT"), "{found}");
    // Two of five members may be missing.
    std::fs::remove_file(sandbox.path().join("disk1")).unwrap();
    std::fs::remove_file(sandbox.path().join("disk3")).unwrap();
    let served = Served::start(&sandbox, "bay", "");
    let mut disk = served.disk();
    fill(&mut disk, 0..50);
    verify(&mut disk, 0..50);
    assert_eq!(sandbox.run("status bay").code, 1);
}

#[test]
fn metrics_status_and_page_are_served_over_http() {
    let sandbox = created();
    let served = Served::start(&sandbox, "pool", "--metrics 127.0.0.1:0");
    let address = served.said.iter().find_map(|line| line.split_once("http://")?.1.split_once('/'));
    let address = address.expect("it says where").0.to_owned();
    let mut disk = served.disk();
    fill(&mut disk, 0..10);
    let get = |path: &str| {
        let mut stream = TcpStream::connect(&address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text.split_once("\r\n\r\n").unwrap().1.to_owned()
    };
    let metrics = get("/metrics");
    for line in [
        "stripewise_health{array=\"pool\",state=\"clean\"} 1.0",
        "stripewise_health{array=\"pool\",state=\"impaired\"} 0.0",
        "stripewise_rebuild_lost_stripes{array=\"pool\"} 0.0",
        "stripewise_requests_total{kind=\"write\",array=\"pool\"} 10",
        "stripewise_request_bytes_total{kind=\"write\",array=\"pool\"} 40960",
        "stripewise_out_of_space{array=\"pool\"} 0.0",
        "stripewise_out_of_space_beyond_parity{array=\"pool\"} 0.0",
        "stripewise_member_queue{member=\"2\",array=\"pool\"} 0.0",
        "stripewise_member_failed_operations_total{member=\"2\",array=\"pool\"} 0",
        // Former names.
        "stripewise_starved{array=\"pool\"} 0.0",
        "stripewise_starved_beyond_parity{array=\"pool\"} 0.0",
        "stripewise_element_queue{element=\"2\",array=\"pool\"} 0.0",
        "stripewise_element_errors_total{element=\"2\",array=\"pool\"} 0",
        "stripewise_request_latency_seconds_count{kind=\"flush\",array=\"pool\"} 1",
        "stripewise_request_latency_seconds_bucket{le=\"+Inf\",kind=\"write\",array=\"pool\"} 10",
    ] {
        let has = |line: &str| {
            let mut wanted: Vec<&str> = line.split(['{', ',', '}', ' ']).collect();
            wanted.sort_unstable();
            metrics.lines().any(|found| {
                let mut found: Vec<&str> = found.split(['{', ',', '}', ' ']).collect();
                found.sort_unstable();
                found == wanted
            })
        };
        assert!(has(line), "{line} is not in\n{metrics}");
    }
    assert!(metrics.ends_with("# EOF\n"));
    let output: Value = serde_json::from_str(&get("/status.json")).unwrap();
    let streams = output["log"]["streams"].as_array().unwrap();
    let of_hosts = streams.iter().filter(|stream| stream["filled_by"] == "hosts");
    assert_eq!(of_hosts.map(|stream| stream["chunks"].as_u64().unwrap()).sum::<u64>(), 10, "{streams:?}");
    assert!(metrics.contains("stripewise_stream_chunks_total{"), "{metrics}");
    assert_eq!(output["requests"][1]["requests"], 10);
    assert!(get("/").starts_with("<!doctype html>"));
}

#[test]
fn what_cannot_be_done_without_is_taken_out_by_force_alone() {
    let sandbox = created();
    let served = Served::start(&sandbox, "pool", "");
    sandbox.run("fail pool 1").success();
    let refused = sandbox.run("fail pool 3");
    assert!(
        refused.code != 0 && refused.stderr.contains("more than its parity tolerates"),
        "{}",
        refused.stderr
    );
    sandbox.run("fail pool 1").success();
    sandbox.run("fail pool 3 --force").success();
    sandbox.run("stop pool");
    served.wait();
}

#[test]
fn served_data_is_recorded_and_replayed_with_other_schemes() {
    let sandbox = created();
    let served = Served::start(&sandbox, "pool", "--record served");
    let mut disk = served.disk();
    fill(&mut disk, 0..150);
    // Recorded requests are in the trace some seconds later, whatever happens to the server.
    let recorded = "151 (0 reads, 150 writes, 0 trims, 1 flushes)";
    let deadline = Instant::now() + Duration::from_secs(60);
    while !sandbox.run("trace info served").stdout.contains(recorded) {
        assert!(Instant::now() < deadline, "{}", sandbox.run("trace info served").stdout);
        std::thread::sleep(Duration::from_millis(200));
    }
    served.kill();
    let served = Served::start(&sandbox, "pool", "--record served");
    let mut disk = served.disk();
    fill(&mut disk, 150..200);
    verify(&mut disk, 0..199);
    drop(disk);
    sandbox.run("stop pool").success();
    assert_eq!(served.wait(), 0);
    let output = sandbox.run("trace info served").success();
    assert!(output.contains("401 (199 reads, 200 writes, 0 trims, 2 flushes)"), "{output}");
    let compared = sandbox
        .run("compare --seeds 1 --trace served --scheme baseline --scheme was --device ssdsim-5+1 --json")
        .success();
    let compared: Value = serde_json::from_str(&compared).unwrap();
    let runs = compared["runs"].as_array().unwrap();
    let requests = |run: &Value| run["totals"]["requests"].as_u64();
    assert_eq!(runs.iter().map(requests).collect::<Vec<_>>(), [Some(401); 2], "{compared}");
}
