//! Third-party clients against a served array: those of libnbd, QEMU's and fio. A client that is not installed is
//! reported and skipped.

use std::process::Command;

use crate::support::Sandbox;
use crate::support::served::Served;

/// Runs a client in the sandbox, which must succeed, and returns its output. `None` if it is not installed.
fn run(sandbox: &Sandbox, program: &str, arguments: &[&str]) -> Option<String> {
    let output = match Command::new(program).args(arguments).current_dir(sandbox.path()).output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("skipped: {program} is not installed");
            return None;
        }
        other => other.expect("it starts"),
    };
    let (out, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{program} {arguments:?}: {out}{errors}");
    Some(out.into_owned())
}

fn served() -> (Sandbox, Served) {
    let sandbox = Sandbox::new();
    sandbox.run("create pool --files pool --size 24MiB").success();
    let served = Served::start(&sandbox, "pool", "");
    (sandbox, served)
}

#[test]
fn libnbd_copies_a_disk_in_and_out() {
    let (sandbox, served) = served();
    let uri = served.uri();
    let Some(output) = run(&sandbox, "nbdinfo", &["--json", &uri]) else { return };
    let output: serde_json::Value = serde_json::from_str(&output).unwrap();
    let bytes = output["exports"][0]["export-size"].as_u64().unwrap() as usize;
    assert_eq!(output["exports"][0]["can_multi_conn"], true);
    let image: Vec<u8> = (0..bytes).map(|at| if at >> 20 & 1 == 0 { (at / 4099) as u8 } else { 0 }).collect();
    std::fs::write(sandbox.path().join("image"), &image).unwrap();
    run(&sandbox, "nbdcopy", &["--flush", "--connections=4", "image", &uri]);
    run(&sandbox, "nbdcopy", &["--connections=4", &uri, "copy"]);
    assert!(std::fs::read(sandbox.path().join("copy")).unwrap() == image, "the copy is the image");
    sandbox.run("stop pool").success();
    assert!(sandbox.run("check pool").success().ends_with("clean\n"));
}

#[test]
fn qemu_writes_zeroes_discards_and_reads() {
    let (sandbox, served) = served();
    let uri = served.uri();
    let commands = [
        "write -P 7 0 1M",
        "write -f -P 9 4096 512",
        "write -z 65536 65536",
        "discard 131072 65536",
        "flush",
        "read -P 9 4096 512",
        "read -P 7 8192 32k",
        "read -P 0 65536 131072",
    ];
    let mut arguments = vec!["-f", "raw", "-d", "unmap"];
    arguments.extend(commands.iter().flat_map(|command| ["-c", command]));
    arguments.push(&uri);
    if let Some(output) = run(&sandbox, "qemu-io", &arguments) {
        assert!(!output.contains("failed"), "{output}");
    }
}

#[test]
fn maps_show_written_data_and_trims() {
    let (sandbox, served) = served();
    let uri = served.uri();
    let mut disk = served.disk();
    disk.write(1 << 20, &[7; 16 << 10]);
    disk.write(5 << 20, &[8; 512]);
    disk.trim((1 << 20) + 4096, 4096);
    disk.flush();
    // The extents that hold data: first byte and length.
    let wanted = [(1 << 20, 4096), ((1 << 20) + 8192, 8192), (5 << 20, 4096)];
    if let Some(output) = run(&sandbox, "nbdinfo", &["--map", "--json", &uri]) {
        let output: Vec<serde_json::Value> = serde_json::from_str(&output).unwrap();
        let data = output.iter().filter(|run| run["type"] == 0);
        let data: Vec<_> =
            data.map(|run| (run["offset"].as_u64().unwrap(), run["length"].as_u64().unwrap())).collect();
        assert_eq!(data, wanted, "{output:?}");
        assert!(
            output.iter().all(|run| run["type"] == 0 || run["type"] == 3),
            "the rest are holes of zeros: {output:?}"
        );
    }
    if let Some(output) = run(&sandbox, "qemu-img", &["map", "--output=json", "-f", "raw", &uri]) {
        let output: Vec<serde_json::Value> = serde_json::from_str(&output).unwrap();
        let data = output.iter().filter(|run| run["data"] == true);
        let data: Vec<_> =
            data.map(|run| (run["start"].as_u64().unwrap(), run["length"].as_u64().unwrap())).collect();
        assert_eq!(data, wanted, "{output:?}");
    }
}

#[test]
fn fio_verifies_what_it_wrote_over_several_connections() {
    let (sandbox, served) = served();
    let uri = format!("--uri={}", served.uri());
    let job = [
        "--name=verify",
        "--ioengine=nbd",
        &uri,
        "--rw=randwrite",
        "--bs=512-64k",
        "--bsrange=512-64k",
        "--size=8M",
        "--numjobs=2",
        "--offset_increment=8M",
        "--iodepth=16",
        "--fsync=64",
        "--verify=crc32c",
        "--verify_fatal=1",
        "--do_verify=1",
    ];
    run(&sandbox, "fio", &job);
    drop(served);
}
