//! An array whose stripes are as deep as they are wide (X-Code), served over NBD: the real program from end to end.

use std::fs;

use crate::support::Sandbox;
use crate::support::served::{Served, status};

/// Pages that all differ, in each of several rounds of writing; zeros before the first.
fn content(chunk: u64, round: u64) -> Vec<u8> {
    if round == 0 {
        return vec![0; 4096];
    }
    [chunk + 1, round].map(u64::to_le_bytes).concat().repeat(256)
}

#[track_caller]
fn verify(served: &Served, expected: &[u64]) {
    let mut disk = served.disk();
    for (chunk, &round) in (0..).zip(expected) {
        assert!(disk.read(chunk * 4096, 4096) == content(chunk, round), "chunk {chunk}");
    }
}

/// Writes `count` single pages all over the array, with a flush after every `every`th.
fn scatter(served: &Served, expected: &mut [u64], round: u64, count: u64, every: u64) {
    let mut disk = served.disk();
    let chunks = expected.len() as u64;
    for nth in 0..count {
        let chunk = (nth * 7919 + round) % chunks;
        disk.write(chunk * 4096, &content(chunk, round));
        expected[chunk as usize] = round;
        if nth % every == 0 {
            disk.flush();
        }
    }
    disk.flush();
}

fn stop(sandbox: &Sandbox, served: Served) {
    sandbox.run("stop pool").success();
    assert_eq!(served.wait(), 0);
    assert!(sandbox.run("check pool").success().ends_with("clean\n"));
}

/// The smallest member that has room for a log of `raid6-was-xcode`, whose segments have 70 rows.
fn serves(members: u16, size: &str) {
    let sandbox = Sandbox::new();
    let line = format!("create pool --files pool --count {members} --size {size} --scheme raid6-was-xcode");
    sandbox.run(&line).success();
    let served = Served::start(&sandbox, "pool", "");
    let mut disk = served.disk();
    disk.read(0, 4096);
    let chunks = disk.client.export().expect("it has an export").bytes / 4096;
    let mut expected = vec![1; chunks as usize];
    // The whole array, without a flush: pages wait for a whole segment.
    (0..chunks).for_each(|chunk| disk.write(chunk * 4096, &content(chunk, 1)));
    drop(disk);
    // The shortest stripes on the full array.
    scatter(&served, &mut expected, 2, 1000, 1);
    scatter(&served, &mut expected, 3, chunks, u64::MAX);
    verify(&served, &expected);
    // Power goes. What a flush covered is there without any two members.
    served.kill();
    let (one, other) = (1, members - 1);
    let file = |member: u16| sandbox.path().join(format!("pool/member-{member}"));
    let away = |member: u16| sandbox.path().join(format!("away-{member}"));
    [one, other].into_iter().for_each(|member| fs::rename(file(member), away(member)).unwrap());
    let served = Served::start(&sandbox, "pool", "");
    assert_eq!(status(&sandbox)["health"], "degraded");
    verify(&served, &expected);
    // Stripes over the remaining members take more space, for which the preset keeps no room.
    served.disk().trim(0, (chunks / 2 * 4096) as u32);
    expected[..chunks as usize / 2].fill(0);
    scatter(&served, &mut expected[..chunks as usize / 8], 4, 200, 3);
    verify(&served, &expected);
    // A new file, and the file that went away.
    sandbox.run(&format!("replace pool {one} pool/new --wait")).success();
    fs::rename(away(other), file(other)).unwrap();
    sandbox.run(&format!("replace pool {other} pool/member-{other} --wait")).success();
    assert_eq!(status(&sandbox)["health"], "clean");
    let scrubbed = sandbox.run("scrub pool --wait").success();
    assert!(scrubbed.ends_with(" 0 damaged, 0 repaired, 0 lost\n"), "{scrubbed}");
    stop(&sandbox, served);
    // The other members may go now.
    [0, 2].into_iter().for_each(|member| fs::rename(file(member), away(member)).unwrap());
    let served = Served::start(&sandbox, "pool", "");
    verify(&served, &expected);
}

#[test]
fn an_array_of_five_members_is_filled_loses_two_and_power_and_is_rebuilt() {
    serves(5, "8MiB");
}

#[test]
fn so_is_one_of_seven() {
    serves(7, "6MiB");
}

#[test]
fn more_members_than_a_plan_has_chunks_for_are_refused_with_the_remedy() {
    let sandbox = Sandbox::new();
    for members in [6, 11] {
        let line = format!("create pool --files pool --count {members} --size 8MiB --scheme raid6-was-xcode");
        let said = sandbox.run(&line).failure(2);
        assert!(said.contains("11 members would take 121") && said.contains("geometry.groups = 2"), "{said}");
        assert!(!sandbox.path().join("pool").join("member-0").exists());
    }
    let line = "create pool --files pool --count 14 --size 8MiB --scheme raid6-was-xcode,geometry.groups=2";
    sandbox.run(line).success();
}
