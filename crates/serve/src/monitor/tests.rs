//! Members that degrade, over real files that are truncated while the array runs.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use stripewise_array::format::Uuid;
use stripewise_array::health::{Health, Reason};
use stripewise_array::{AssemblyOptions, Identity, MemberNo, Reconstructed, Reconstruction, Scheme, create};
use stripewise_engine::{FileMedia, MemberFile, Options};
use tempfile::TempDir;

use super::*;
use crate::events::{Event, EventFile};

const MIB: u64 = 1 << 20;
const SECOND: Nanos = 1_000_000_000;

struct Bench {
    folder: TempDir,
    engine: Engine,
    monitor: Monitor,
    /// Data columns of a row.
    data: u64,
}

impl Bench {
    /// A RAID of this level over members of 64 MiB.
    fn new(level: &str, members: u64, parity: u64, error_limit: Option<u64>) -> Self {
        Self::of("", (level, members, parity), error_limit)
    }

    /// The same with metadata.
    fn kept(level: &str, members: u64, parity: u64) -> Self {
        Self::of("metadata = \"on\"\n", (level, members, parity), Some(20))
    }

    fn of(head: &str, (level, members, parity): (&str, u64, u64), error_limit: Option<u64>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let text = format!("name = \"x\"\n{head}[geometry]\nlevel = \"{level}\"");
        let scheme = Scheme::from_toml("x", &text).unwrap();
        let paths: Vec<PathBuf> = (0..members).map(|number| folder.path().join(number.to_string())).collect();
        // So that on a machine that stalls no read avoids a member.
        let options = Options { slow: Duration::from_secs(600), ..Options::default() };
        let engine = match head {
            "" => Engine::create(&scheme, &paths, 64 * MIB, options).unwrap(),
            _ => {
                let files = MemberFile::create_all(&paths, 64 * MIB, 4096).unwrap();
                let mut media = FileMedia::new(files, 4096);
                let identity = Identity {
                    array: Uuid([7; 16]),
                    members: (1..=members as u8).map(|nth| Uuid([nth; 16])).collect(),
                    name: "x".into(),
                };
                create(&scheme, media.members(), &identity, &mut media).unwrap();
                drop(media);
                let media = FileMedia::open(&paths, 4096).unwrap();
                Engine::resume(&scheme, media, options, AssemblyOptions::default()).unwrap().0
            }
        };
        let events = Some(EventFile::of(folder.path(), "x"));
        let settings = Settings { name: "x".into(), events, error_limit, ..Settings::default() };
        let monitor = Monitor::start(&engine, &settings, |_| true).unwrap();
        Self { folder, engine, monitor, data: members - parity }
    }

    /// A hot spare waits.
    fn spare(&mut self) {
        let path = self.folder.path().join("spare");
        let file = MemberFile::create_all(&[path], 64 * MIB, 4096).unwrap().remove(0);
        self.engine.add_spare(file).unwrap();
    }

    /// Truncates the file of a member to nothing.
    fn cut(&self, member: MemberNo) {
        let path = self.folder.path().join(member.to_string());
        OpenOptions::new().write(true).open(path).unwrap().set_len(0).unwrap();
    }

    /// Reads a row in each of the first MiBs of all members. Repairs extend a truncated file again.
    fn read_rows(&mut self, mibs: u64) {
        let row = 4096 * self.data;
        for mib in 0..mibs {
            let _ = self.engine.read(mib * MIB / 4096 * row, &mut vec![0; row as usize]);
        }
        while self.engine.step() {}
    }

    /// Writes a row in each of the first MiBs of all members.
    fn write_rows(&mut self, mibs: u64, value: u8) {
        let row = 4096 * self.data;
        for mib in 0..mibs {
            self.engine.write(mib * MIB / 4096 * row, &vec![value; row as usize]).unwrap();
        }
        self.engine.flush().unwrap();
    }

    /// Changes a page of a member in each of these MiBs.
    fn rot(&self, member: MemberNo, mibs: std::ops::Range<u64>) {
        let path = self.folder.path().join(member.to_string());
        let file = OpenOptions::new().write(true).open(path).unwrap();
        mibs.for_each(|mib| file.write_all_at(&[0xdb; 4096], mib * MIB).unwrap());
    }

    fn finish(&mut self, second: Nanos) {
        while self.engine.step() {}
        self.monitor.look(second * SECOND, &mut self.engine, 0);
    }

    fn health(&self) -> Health {
        self.monitor.verdict(&self.engine, 0).health
    }

    fn fails(&self, member: MemberNo) -> Option<String> {
        self.engine.failure(member).unwrap().map(ToString::to_string)
    }

    /// Whether a member may be lost soon, as the health of the array tells.
    fn is_at_risk(&self) -> bool {
        let reasons = self.monitor.verdict(&self.engine, 0).reasons;
        reasons.iter().any(|reason| reason.health() == Health::Degrading)
    }

    /// The reported events, after the server has ended.
    fn reported(self) -> Vec<What> {
        let Self { folder, monitor, .. } = self;
        monitor.finish().wait();
        let lines = EventFile::of(folder.path(), "x").lines().unwrap();
        lines.iter().map(|line| serde_json::from_str::<Event>(line).unwrap().what).collect()
    }
}

/// For each member beyond the limit, why it was kept, or nothing if it was not.
fn decisions(reported: &[What]) -> Vec<(u16, Option<String>)> {
    let decision = |what: &What| match what {
        What::ErrorLimitReached { member, kept_because, .. } => {
            Some((member.member.number(), kept_because.clone()))
        }
        _ => None,
    };
    reported.iter().filter_map(decision).collect()
}

#[test]
fn a_member_beyond_the_limit_is_failed_and_an_hour_ago_counts_half() {
    let mut bench = Bench::kept("raid5", 3, 1);
    bench.write_rows(60, 1);
    bench.spare();
    bench.cut(MemberNo::new(0));
    bench.read_rows(15);
    bench.monitor.look(0, &mut bench.engine, 0);
    let spots = bench.monitor.checkup(0, MemberNo::new(0)).recent.spots;
    assert!((8..=15).contains(&spots), "{spots}");
    let checkup = bench.monitor.checkup(3600 * SECOND, MemberNo::new(0));
    assert_eq!(checkup.recent.spots, spots.div_ceil(2));
    assert_eq!(bench.fails(MemberNo::new(0)), None);
    bench.read_rows(60);
    bench.monitor.look(2 * SECOND, &mut bench.engine, 0);
    let reported = bench.reported();
    assert_eq!(decisions(&reported), [(0, None)]);
    let is_why = |what: &What| matches!(what, What::MemberFailed { reason, .. } if reason.contains("more than the limit of 20"));
    assert!(reported.iter().any(is_why), "{reported:?}");
}

/// What it still has may be all there is of some content, and repairs reach it.
#[test]
fn a_member_beyond_the_limit_stays_until_a_spare_can_take_its_place() {
    let mut bench = Bench::new("raid5", 3, 1, Some(20));
    bench.cut(MemberNo::new(0));
    bench.read_rows(60);
    bench.monitor.look(0, &mut bench.engine, 0);
    assert!(bench.fails(MemberNo::new(0)).is_none() && bench.is_at_risk());
    bench.spare();
    bench.monitor.look(61 * SECOND, &mut bench.engine, 0);
    let why = "no spare waits to take its place";
    assert_eq!(decisions(&bench.reported()), [(0, Some(why.to_owned())), (0, None)]);
}

/// The audit's case: this many errors in one place left their member clean.
#[test]
fn many_errors_in_one_place_degrade_a_member_and_do_not_fail_it() {
    let mut bench = Bench::new("raid5", 3, 1, Some(20));
    bench.cut(MemberNo::new(0));
    let mut content = vec![0; 8192];
    let mut row = 0;
    while bench.engine.troubles(MemberNo::new(0)).read_errors < 593 {
        bench.engine.read(row * 8192, &mut content).unwrap();
        row += 1;
    }
    bench.monitor.look(0, &mut bench.engine, 0);
    assert!(bench.is_at_risk());
    assert_eq!(
        (bench.monitor.checkup(0, MemberNo::new(0)).recent.read, bench.fails(MemberNo::new(0))),
        (593, None)
    );
    let reported = bench.reported();
    assert!(
        reported.iter().any(|what| matches!(what, What::MemberDegrading { read_errors: 593, .. })),
        "{reported:?}"
    );
    assert!(
        reported.iter().any(|what| matches!(what, What::DamageFound { read_errors: 593, .. })),
        "{reported:?}"
    );
}

#[test]
fn no_member_is_failed_that_parity_needs() {
    let mut bench = Bench::new("raid5", 3, 1, Some(20));
    bench.engine.fail(MemberNo::new(1)).unwrap();
    bench.cut(MemberNo::new(0));
    bench.read_rows(60);
    bench.monitor.look(0, &mut bench.engine, 0);
    bench.monitor.look(2 * SECOND, &mut bench.engine, 0);
    assert_eq!(bench.fails(MemberNo::new(0)), None);
    let why = "parity does not tolerate the loss of another member";
    assert_eq!(decisions(&bench.reported()), [(0, Some(why.to_owned()))], "it is told once");
}

#[test]
fn of_two_members_that_degrade_none_is_failed_where_each_needs_the_other() {
    for (level, members, parity, is_failed) in [("raid5", 3, 1, false), ("raid6", 5, 2, true)] {
        let mut bench = Bench::new(level, members, parity, Some(20));
        bench.spare();
        // One after the other, so that the rows of both can be decoded.
        for member in [0, 1] {
            bench.cut(MemberNo::new(member));
            bench.read_rows(60);
        }
        bench.monitor.look(0, &mut bench.engine, 0);
        let decisions = decisions(&bench.reported());
        let why = (!is_failed).then(|| "member 1 is degrading too".to_owned());
        assert_eq!(decisions[0], (0, why), "{level}");
    }
}

#[test]
fn without_a_limit_no_member_is_failed() {
    let mut bench = Bench::new("raid5", 3, 1, Some(0));
    bench.cut(MemberNo::new(0));
    bench.read_rows(60);
    bench.monitor.look(0, &mut bench.engine, 0);
    assert!(bench.fails(MemberNo::new(0)).is_none() && bench.is_at_risk());
}

/// In the audit's case both were failed within three seconds, and the array was without redundancy.
#[test]
fn members_that_return_in_place_are_not_failed_for_the_rows_that_they_lack() {
    let mut bench = Bench::kept("raid6", 6, 2);
    bench.write_rows(50, 1);
    [1, 3].into_iter().for_each(|member| bench.engine.fail(MemberNo::new(member)).unwrap());
    bench.write_rows(50, 2);
    bench.finish(1);
    assert_eq!(bench.health(), Health::Degraded);
    for member in [1, 3] {
        let file = MemberFile::open(&bench.folder.path().join(member.to_string()), 4096).unwrap();
        bench.engine.rejoin(MemberNo::new(member), file).unwrap();
        // Hosts read and write meanwhile.
        bench.read_rows(50);
        bench.write_rows(50, 3 + member as u8);
        bench.finish(2 + Nanos::from(member));
    }
    assert_eq!((bench.fails(MemberNo::new(1)), bench.fails(MemberNo::new(3))), (None, None));
    let errors = [0, 1, 2, 3, 4, 5].map(|member| bench.engine.troubles(MemberNo::new(member)).errors());
    assert_eq!((errors, bench.health()), ([0; 6], Health::Clean));
    bench.engine.scrub();
    bench.finish(10);
    assert_eq!((bench.engine.status().scrub.bad, bench.health()), (0, Health::Clean), "they are whole");
}

/// In the audit's case member 0 was failed, and pages of member 1 were lost.
#[test]
fn rot_in_different_stripes_of_two_members_is_repaired_and_fails_neither() {
    let mut bench = Bench::kept("raid5", 5, 1);
    bench.write_rows(50, 1);
    bench.rot(MemberNo::new(0), 16..46);
    bench.rot(MemberNo::new(1), 50..55);
    bench.engine.scrub();
    // It looks after every step, as a server may.
    let mut second = 0;
    while bench.engine.step() {
        second += 1;
        bench.monitor.look(second * SECOND, &mut bench.engine, 0);
    }
    bench.finish(second + 2);
    let scrub = bench.engine.status().scrub;
    assert_eq!((scrub.bad, scrub.repaired, scrub.lost), (35, 35, 0));
    assert_eq!((bench.fails(MemberNo::new(0)), bench.fails(MemberNo::new(1))), (None, None));
    let mismatches = [0, 1, 2, 3, 4].map(|member| bench.engine.troubles(MemberNo::new(member)).mismatches);
    assert_eq!(mismatches, [30, 5, 0, 0, 0]);
    let reasons = bench.monitor.verdict(&bench.engine, 0).reasons;
    assert_eq!(reasons, [Reason::MemberErrors(MemberNo::new(0))], "the array is not clean");
    assert!(decisions(&bench.reported()).is_empty());
}

#[test]
fn a_member_beyond_the_limit_stays_while_another_one_may_have_bad_pages() {
    let mut bench = Bench::kept("raid5", 3, 1);
    bench.write_rows(50, 1);
    // Fewer errors than make a member degrading.
    bench.rot(MemberNo::new(1), 20..24);
    bench.engine.scrub();
    bench.finish(0);
    assert_eq!(bench.health(), Health::Clean);
    bench.cut(MemberNo::new(0));
    bench.read_rows(50);
    bench.finish(2);
    assert_eq!(bench.fails(MemberNo::new(0)), None);
    let why = "member 1 had bad reads of late too";
    assert_eq!(decisions(&bench.reported()), [(0, Some(why.to_owned()))]);
}

/// Kinds and, where events have one, members.
fn kinds(reported: &[What]) -> Vec<(String, Option<u16>)> {
    reported.iter().map(|what| (what.kind(), what.member().map(|member| member.member.number()))).collect()
}

#[test]
fn each_incident_is_an_event_of_its_kind_and_member() {
    let mut bench = Bench::new("raid5", 3, 1, None);
    let reason = || "why".to_owned();
    let incidents = [
        Incident::Slow { member: MemberNo::new(1), took_ns: 4_000_000_000 },
        Incident::Failed { member: MemberNo::new(1), reason: reason(), is_timeout: true },
        Incident::Returned { member: MemberNo::new(1) },
        Incident::RebuildHalted { member: MemberNo::new(2), reason: reason() },
        Incident::Fenced,
        Incident::Unfenced,
        Incident::ReadOnly,
    ];
    for incident in incidents {
        bench.monitor.take(0, incident, &bench.engine);
    }
    let expected = [
        ("serving-began", None),
        ("member-slow", Some(1)),
        ("member-timed-out", Some(1)),
        ("member-failed", Some(1)),
        ("member-returned", Some(1)),
        ("rebuild-halted", Some(2)),
        ("writes-fenced", None),
        ("writes-resumed", None),
        ("array-read-only", None),
        ("serving-ended", None),
    ];
    assert_eq!(kinds(&bench.reported()), expected.map(|(kind, member)| (kind.to_owned(), member)));
}

#[test]
fn want_of_space_is_reported_when_it_begins_and_when_it_has_been_over_for_a_while() {
    let mut bench = Bench::new("raid5", 3, 1, None);
    bench.monitor.take(0, Incident::OutOfSpace { is_beyond_parity: true }, &bench.engine);
    bench.monitor.look(2 * SECOND, &mut bench.engine, 0);
    bench.monitor.take(3 * SECOND, Incident::SpaceBack, &bench.engine);
    for second in 4..10 {
        bench.monitor.look(second * SECOND, &mut bench.engine, 0);
    }
    let reported = bench.reported();
    assert!(
        reported.contains(&What::OutOfSpace { cause: SpaceCause::Members, writes_refused: true }),
        "{reported:?}"
    );
    assert_eq!(reported.iter().filter(|what| **what == What::SpaceReturned {}).count(), 1, "{reported:?}");
}

#[test]
fn connections_that_are_refused_by_the_hundred_are_reported_every_ten_seconds_with_the_last_reason() {
    let mut bench = Bench::new("raid5", 3, 1, None);
    for tenth in 0..210 {
        bench.monitor.refused(format!("reason {tenth}"));
        bench.monitor.look(tenth * SECOND / 10, &mut bench.engine, tenth + 1);
    }
    let reported = bench.reported();
    let refused: Vec<(u64, &str)> = reported
        .iter()
        .filter_map(|what| match what {
            What::ConnectionRefused { connections, reason } => Some((*connections, reason.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(refused, [(1, "reason 0"), (100, "reason 100"), (100, "reason 200")]);
}

#[test]
fn findings_of_a_member_are_reported_and_void_when_another_has_its_place() {
    let mut bench = Bench::new("raid5", 3, 1, None);
    let generation = bench.monitor.members[1].generation;
    let notices = [
        Noticed::Smart(Some(false)),
        Noticed::Unlinked(Some("it was deleted".to_owned())),
        Noticed::Unlinked(None),
        Noticed::Superblocks(2),
        Noticed::Superblocks(0),
    ];
    for what in notices {
        let is_damaged = what == Noticed::Superblocks(2);
        bench.monitor.notice(Notice { number: MemberNo::new(1), generation, what }, &bench.engine);
        let reasons = bench.monitor.verdict(&bench.engine, 0).reasons;
        assert_eq!(reasons.contains(&Reason::MemberSuperblocks(MemberNo::new(1))), is_damaged);
    }
    bench.monitor.welcome(MemberNo::new(1), &bench.engine);
    let late = Notice { number: MemberNo::new(1), generation, what: Noticed::Smart(Some(false)) };
    bench.monitor.notice(late, &bench.engine);
    let reported = kinds(&bench.reported());
    let expected = ["smart-failed", "member-unlinked", "member-relinked", "damage-found"];
    assert_eq!(reported[1..5], expected.map(|kind| (kind.to_owned(), Some(1))));
    assert_eq!(reported.len(), 6, "{reported:?}");
}

#[test]
fn a_member_whose_errors_are_long_ago_has_recovered() {
    let mut bench = Bench::new("raid5", 3, 1, Some(0));
    bench.cut(MemberNo::new(0));
    bench.read_rows(60);
    bench.monitor.look(0, &mut bench.engine, 0);
    assert!(bench.is_at_risk());
    bench.monitor.look(100 * 3600 * SECOND, &mut bench.engine, 0);
    assert!(!bench.is_at_risk());
    let reported = kinds(&bench.reported());
    assert!(reported.contains(&("member-recovered".to_owned(), Some(0))), "{reported:?}");
}

#[test]
fn an_assembly_that_lost_something_or_reconstructed_superblocks_is_reported() {
    let bench = Bench::new("raid5", 3, 1, None);
    let one = |offered, how| Reconstructed { offered, member: Some(MemberNo::new(offered)), how };
    let opened = RecoveryReport {
        losses: vec!["batch 7".to_owned()],
        reconstructed: vec![one(1, Reconstruction::Proven(9)), one(2, Reconstruction::NotNeeded)],
        ..RecoveryReport::default()
    };
    let reported: Vec<What> = assembled(&bench.engine, &opened).collect();
    assert_eq!(reported[0], What::AssemblyForced { losses: vec!["batch 7".to_owned()] });
    assert_eq!(kinds(&reported[1..]), [("superblock-reconstructed".to_owned(), Some(1))]);
    assert!(
        reported[1].message().contains("member 1 had no superblock: it is member 1: 9 pages"),
        "{reported:?}"
    );
    assert_eq!(assembled(&bench.engine, &RecoveryReport::default()).count(), 0);
}
