//! Independent clients: libnbd's tools, QEMU's and fio. A test whose client is not installed reports that and is
//! skipped.

use std::fs;
use std::process::Command;

use stripewise_nbd::{BlockSizes, Export};

use crate::support::server::Server;

/// Bytes of the disk.
const BYTES: u64 = 16 << 20;

fn server(read_only: bool) -> Server {
    Server::start(Export {
        name: "disk".into(),
        description: "Sixteen mebibytes".into(),
        bytes: BYTES,
        block: BlockSizes { minimum: 512, preferred: 4096, maximum: 1 << 20 },
        read_only,
        zeroes_fast: true,
    })
}

/// Runs a client, which must succeed. Returns its output. `None` if it is not installed.
fn run(program: &str, arguments: &[&str]) -> Option<String> {
    let output = match Command::new(program).args(arguments).output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("skipped: {program} is not installed");
            return None;
        }
        output => output.expect("the client runs"),
    };
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{program} {arguments:?}: {out}{err}");
    Some(out.into_owned())
}

/// Runs a script of libnbd's Python module, with `h` a handle. The module is a package of the system, for the system's
/// Python.
fn run_python(script: &str) {
    let has_module = |python: &&str| {
        Command::new(python).args(["-c", "import nbd"]).output().is_ok_and(|run| run.status.success())
    };
    let Some(python) = ["/usr/bin/python3", "python3"].into_iter().find(has_module) else {
        eprintln!("skipped: no Python has libnbd's module");
        return;
    };
    run(python, &["-c", &format!("import errno, nbd\nh = nbd.NBD()\n{script}")]);
}

/// Bytes without repetition.
fn pattern() -> Vec<u8> {
    (0..BYTES / 8).flat_map(|word| (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1).to_le_bytes()).collect()
}

#[test]
fn nbdinfo_sees_the_export_as_it_is() {
    let server = server(false);
    let Some(text) = run("nbdinfo", &["--json", &server.uri()]) else { return };
    for expected in [
        "\"protocol\": \"newstyle-fixed\"",
        "\"structured\": true",
        "\"export-size\": 16777216",
        "\"is_read_only\": false",
        "\"can_flush\": true",
        "\"can_fua\": true",
        "\"can_trim\": true",
        "\"can_zero\": true",
        "\"can_fast_zero\": true",
        "\"can_df\": true",
        "\"can_multi_conn\": true",
        "\"base:allocation\"",
        "\"block_size_minimum\": 512",
        "\"block_size_preferred\": 4096",
        "\"block_size_maximum\": 1048576",
    ] {
        assert!(text.contains(expected), "{expected} is not in {text}");
    }
    let list = run("nbdinfo", &["--list", &server.uri()]).expect("it was there a moment ago");
    assert!(list.contains("export=\"disk\"") && list.contains("Sixteen mebibytes"), "{list}");
    let map = run("nbdinfo", &["--map", &server.uri()]).expect("it was there a moment ago");
    assert_eq!(map.split_whitespace().collect::<Vec<_>>(), ["0", "16777216", "3", "hole,zero"]);
}

#[test]
fn nbdcopy_copies_there_and_back() {
    let server = server(false);
    let (from, to) = (server.folder().join("from"), server.folder().join("to"));
    fs::write(&from, pattern()).unwrap();
    if run("nbdcopy", &[from.to_str().unwrap(), &server.uri()]).is_none() {
        return;
    }
    assert!(server.disk() == pattern(), "what arrived is not what was sent");
    run("nbdcopy", &[&server.uri(), to.to_str().unwrap()]);
    assert!(fs::read(&to).unwrap() == pattern(), "what came back is not what was sent");
}

#[test]
fn libnbd_gets_every_request_and_every_error_by_its_number() {
    let script = r#"
h.connect_unix(socket)
def fails(number, call):
    try:
        call()
    except nbd.Error as error:
        assert error.errnum == number, error
    else:
        raise AssertionError("it did not fail")
h.set_strict_mode(0)
assert h.get_size() == 16777216 and h.get_structured_replies_negotiated() == STRUCTURED
h.pwrite(b"a" * 4096, 512, nbd.CMD_FLAG_FUA)
assert h.pread(5120, 0) == bytes(512) + b"a" * 4096 + bytes(512)
h.zero(512, 1024, nbd.CMD_FLAG_FUA | nbd.CMD_FLAG_NO_HOLE)
assert h.pread(1536, 512) == b"a" * 512 + bytes(512) + b"a" * 512
h.trim(512, 4096)
h.flush()
fails(errno.EINVAL, lambda: h.pread(512, 16777216))
fails(errno.EINVAL, lambda: h.pread(100, 0))
fails(errno.EINVAL, lambda: h.pread(2 << 20, 0))
fails(errno.ENOSPC, lambda: h.pwrite(bytes(1024), 16777216 - 512))
fails(errno.EINVAL, lambda: h.pwrite(bytes(2 << 20), 0))
fails(errno.EINVAL, lambda: h.cache(512, 0))
if STRUCTURED:
    assert h.pread_structured(4096, 4096, lambda data, offset, state, error: 0, nbd.CMD_FLAG_DF) is not None
    extents = []
    h.block_status(16777216, 0, lambda context, offset, entries, error: extents.extend(entries))
    assert extents == [4096, 0, 16777216 - 4096, 3], extents[:8]
cookies = [h.aio_pwrite(nbd.Buffer.from_bytearray(bytearray(bytes([n]) * 65536)), n * 65536) for n in range(200)]
while h.aio_in_flight() > 0:
    h.poll(-1)
    cookies = [cookie for cookie in cookies if not h.aio_command_completed(cookie)]
for n in range(200):
    assert h.pread(65536, n * 65536) == bytes([n]) * 65536, n
h.shutdown()
"#;
    for structured in ["True", "False"] {
        let server = server(false);
        let before = format!("socket = {:?}\nSTRUCTURED = {structured}\n", server.socket().to_str().unwrap());
        let wish = "h.set_request_structured_replies(STRUCTURED)\n\
                    if STRUCTURED: h.add_meta_context(\"base:allocation\")\n";
        run_python(&(before + wish + script));
    }
}

#[test]
fn libnbd_cannot_write_to_a_read_only_export() {
    let server = server(true);
    let script = "h.set_strict_mode(0)\nassert h.is_read_only()\n\
                  try: h.pwrite(bytes(512), 0)\n\
                  except nbd.Error as error: assert error.errnum == errno.EPERM, error\n\
                  else: raise AssertionError('it was written')\n\
                  assert h.pread(512, 0) == bytes(512)";
    run_python(&format!("h.connect_unix({:?})\n{script}", server.socket().to_str().unwrap()));
}

#[test]
fn qemu_io_reads_what_it_wrote_at_any_alignment() {
    let server = server(false);
    let commands = "write -P 0x5a 512 12288; write -P 0xa5 -f 1000 3000; write -z -u 8192 4096; discard 65536 65536; flush; \
                    read -P 0x5a 512 488; read -P 0xa5 1000 3000; read -P 0x5a 4000 4192; read -P 0 8192 4096; \
                    read -P 0x5a 12288 512; read -P 0 12800 3584; aio_write -P 7 1M 1M; aio_write -P 8 2M 1M; aio_flush; \
                    read -P 7 1M 1M; read -P 8 2M 1M";
    let mut arguments = vec!["-f", "raw", "-t", "none"];
    for command in commands.split(';') {
        arguments.extend(["-c", command.trim()]);
    }
    let uri = server.uri();
    arguments.push(&uri);
    let Some(text) = run("qemu-io", &arguments) else { return };
    assert!(!text.contains("failed") && !text.contains("error"), "{text}");
    assert_eq!(server.disk()[1 << 20], 7);
}

#[test]
fn qemu_img_converts_compares_and_maps() {
    let server = server(false);
    let image = server.folder().join("image");
    let mut content = pattern();
    content[1 << 20..9 << 20].fill(0);
    fs::write(&image, &content).unwrap();
    let (image, uri) = (image.to_str().unwrap(), &server.uri());
    if run("qemu-img", &["convert", "-n", "-f", "raw", "-O", "raw", image, uri]).is_none() {
        return;
    }
    assert!(server.disk() == content, "what arrived is not what was sent");
    let compared = run("qemu-img", &["compare", "-f", "raw", "-F", "raw", image, uri]).expect("it is there");
    assert!(compared.contains("identical"), "{compared}");
    let map = run("qemu-img", &["map", "--output=json", "-f", "raw", uri]).expect("it is there");
    let hole = map.lines().find(|line| line.contains("\"start\": 1048576, \"length\": 8388608"));
    assert!(hole.is_some_and(|hole| hole.contains("\"zero\": true, \"data\": false")), "{map}");
}

#[test]
fn fio_verifies_what_it_wrote_over_several_connections() {
    let server = server(false);
    let uri = format!("--uri={}", server.uri());
    let arguments = [
        "--name=verified",
        "--ioengine=nbd",
        &uri,
        "--rw=randrw",
        "--bsrange=512-64k",
        "--bs_unaligned=0",
        "--size=4M",
        "--offset_increment=4M",
        "--numjobs=4",
        "--iodepth=16",
        "--verify=crc32c",
        "--do_verify=1",
        "--verify_fatal=1",
        "--fsync=32",
        "--group_reporting",
    ];
    let Some(text) = run("fio", &arguments) else { return };
    assert!(text.contains("err= 0"), "{text}");
    assert!(server.disk().iter().any(|&byte| byte != 0));
}
