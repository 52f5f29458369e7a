//! The content of event lines, and that the document describes the same.

use serde_json::Value;
use stripewise_array::MemberNo;

use super::*;

fn member() -> Member {
    Member { member: MemberNo::new(2), path: Some("/dev/sdx".into()) }
}

/// One event of each kind.
pub(crate) fn all() -> Vec<What> {
    let (member, reason) = (member(), "why".to_owned());
    vec![
        What::ArrayCreated {},
        What::ServingBegan { read_only: false, missing_members: 1 },
        What::ServingEnded {},
        What::MemberSlow { member: member.clone(), latency_ns: 5_000_000_000 },
        What::MemberTimedOut { member: member.clone() },
        What::MemberFailed { member: member.clone(), reason: reason.clone() },
        What::MemberReturned { member: member.clone() },
        What::MemberReplaced { member: member.clone() },
        What::SpareTookOver { member: member.clone(), spares_left: 0 },
        What::MemberDegrading {
            member: member.clone(),
            read_errors: 12,
            write_errors: 0,
            checksum_errors: 3,
            timeouts: 0,
            limit: 20,
        },
        What::MemberRecovered { member: member.clone() },
        What::ErrorLimitReached {
            member: member.clone(),
            errors: 21,
            limit: 20,
            kept_because: Some(reason.clone()),
        },
        What::MemberUnlinked { member: member.clone(), reason: reason.clone() },
        What::MemberRelinked { member: member.clone() },
        What::SmartFailed { member: member.clone() },
        What::RebuildBegan { member: member.clone(), total_units: 7 },
        What::RebuildEnded { member: member.clone(), complete: true, lost_stripes: 0 },
        What::RebuildHalted { member: member.clone(), reason: reason.clone() },
        What::ScrubEnded {
            read_bytes: 1,
            damaged_pages: 1,
            repaired: 1,
            obsolete: 0,
            lost: 0,
            damaged_metadata: 2,
            repaired_metadata: 2,
            complete: true,
        },
        What::SuperblockReconstructed { member: member.clone(), reason: reason.clone() },
        What::AssemblyForced { losses: vec![reason.clone()] },
        What::WritesFenced {},
        What::WritesResumed {},
        What::ArrayTakenOver { host: "host-b".to_owned() },
        What::DamageFound {
            member,
            read_errors: 1,
            checksum_errors: 2,
            damaged_superblocks: 0,
            last_offset_bytes: 4096,
        },
        What::DamageRepaired { repaired_pages: 3 },
        What::OutOfSpace { cause: SpaceCause::Members, writes_refused: false },
        What::SpaceReturned {},
        What::ArrayReadOnly { reason: reason.clone() },
        What::ConnectionRefused { connections: 4, reason },
        What::EventsDropped { events: 9 },
    ]
}

#[test]
fn every_event_is_read_as_it_was_written() {
    for what in all() {
        let event = Event::now(&"pool".into(), what);
        let line = event.line();
        assert_eq!(line.iter().filter(|&&byte| byte == b'\n').count(), 1, "one line");
        assert_eq!(serde_json::from_slice::<Event>(&line).unwrap(), event);
        let value: Value = serde_json::from_slice(&line).unwrap();
        assert!(chrono::DateTime::parse_from_rfc3339(value["time"].as_str().unwrap()).is_ok(), "{value}");
        assert_eq!(value["kind"], event.what.kind());
        assert_eq!(value.get("uuid"), None, "its array has none");
        assert_eq!(value.get("member").is_some(), event.what.member().is_some(), "{value}");
    }
}

#[test]
fn the_document_has_every_kind_with_its_fields_and_severity() {
    let document = include_str!("../../../../docs/reference/events.md");
    let common = ["time", "severity", "array", "uuid", "message", "kind", "member", "path"];
    for what in all() {
        let kind = what.kind();
        let row = document.lines().find(|line| line.starts_with(&format!("| `{kind}` |")));
        let row = row.unwrap_or_else(|| panic!("docs/reference/events.md lacks {kind}"));
        assert!(row.contains(what.severity().name()), "{row}");
        let value = serde_json::to_value(&what).unwrap();
        let fields = value.as_object().unwrap().keys();
        for field in fields.filter(|field| !common.contains(&field.as_str())) {
            assert!(row.contains(&format!("`{field}`")), "docs/reference/events.md: {kind} lacks {field}");
        }
    }
}

#[test]
fn an_event_carries_the_uuid_of_its_array() {
    let array = Source { name: "pool".into(), uuid: Some("1234".into()) };
    let event = Event::now(&array, What::SpaceReturned {});
    let value: Value = serde_json::from_slice(&event.line()).unwrap();
    assert_eq!((&value["array"], &value["uuid"]), (&"pool".into(), &"1234".into()));
    assert_eq!(serde_json::from_slice::<Event>(&event.line()).unwrap(), event);
}
