use stripewise_array::MemberNo;

use super::*;

const PAGE: u32 = 2 * SECTOR as u32;

fn page(byte: u8) -> Content {
    vec![byte; PAGE as usize].into()
}

fn first_bytes(members: &Members, member: MemberNo, page: u32) -> Vec<u8> {
    let content = members.read(member, page).expect("it can be read");
    content.chunks(SECTOR).map(|sector| sector[0]).collect()
}

/// All possible contents of page 3 of member 1 after a power loss.
fn left(members: &Members, in_flight: &[InFlight]) -> Vec<Vec<u8>> {
    let undecided = members.undecided(in_flight);
    let states: usize = undecided.iter().map(|one| one.versions.len()).product();
    let mut all: Vec<Vec<u8>> = (0..states)
        .map(|state| {
            let (mut after, mut rest) = (members.clone(), state);
            after.lose_power(&undecided, |nth| {
                let of = undecided[nth].versions.len();
                let picked = rest % of;
                rest /= of;
                picked
            });
            first_bytes(&after, MemberNo::new(1), 3)
        })
        .collect();
    all.sort();
    all.dedup();
    all
}

#[test]
fn unflushed_each_sector_keeps_the_old_content_or_that_of_any_write_since() {
    let mut members = Members::new(2, 8, PAGE);
    members.write(MemberNo::new(1), 3, page(1));
    assert_eq!(first_bytes(&members, MemberNo::new(1), 3), [1, 1], "what was answered is read");
    assert_eq!(left(&members, &[]), [[0, 0], [0, 1], [1, 0], [1, 1]]);
    let flight = InFlight { member: MemberNo::new(1), page: 3, content: page(2) };
    assert_eq!(left(&members, &[flight]).len(), 9);
    assert_eq!(members.flush(MemberNo::new(1), members.answered(MemberNo::new(1))), Outcome::Done);
    assert_eq!(left(&members, &[]), [[1, 1]]);
}

#[test]
fn a_killed_server_leaves_its_writes_to_be_read_and_a_later_loss_of_power_may_undo_them() {
    let mut members = Members::new(2, 8, PAGE);
    members.write(MemberNo::new(1), 3, page(1));
    let flight = InFlight { member: MemberNo::new(1), page: 3, content: page(2) };
    let mut found = Vec::new();
    for seed in 0..200 {
        let mut after = members.clone();
        after.kill(std::slice::from_ref(&flight), seed);
        found.push(first_bytes(&after, MemberNo::new(1), 3));
        assert!(left(&after, &[]).contains(&vec![0, 0]), "nothing of it is durable");
        after.write_back();
        assert_eq!(left(&after, &[]), [first_bytes(&after, MemberNo::new(1), 3)]);
    }
    found.sort();
    found.dedup();
    assert_eq!(found, [[1, 1], [1, 2], [2, 1], [2, 2]]);
}

#[test]
fn a_flush_covers_what_was_answered_when_it_began() {
    let mut members = Members::new(2, 8, PAGE);
    members.write(MemberNo::new(1), 3, page(1));
    let until = members.answered(MemberNo::new(1));
    members.write(MemberNo::new(1), 3, page(2));
    members.flush(MemberNo::new(0), until);
    assert_eq!(left(&members, &[]).len(), 9, "a flush of another member is none of its business");
    members.flush(MemberNo::new(1), until);
    assert_eq!(left(&members, &[]), [[1, 1], [1, 2], [2, 1], [2, 2]]);
    assert_eq!(first_bytes(&members, MemberNo::new(1), 3), [2, 2]);
}

#[test]
fn unflushable_writes_are_read_but_no_later_flush_makes_more_of_them_durable() {
    for choice in 0..8 {
        let mut members = Members::new(2, 8, PAGE);
        members.write(MemberNo::new(1), 3, page(1));
        members.go_wrong(MemberNo::new(1), Wrong::Unflushable, choice);
        assert_eq!(members.flush(MemberNo::new(1), members.answered(MemberNo::new(1))), Outcome::MediumError);
        assert!(members.has_forsaken(MemberNo::new(1)), "its pages are read, and power may undo them");
        assert_eq!(first_bytes(&members, MemberNo::new(1), 3), [1, 1]);
        let before = left(&members, &[]);
        assert_eq!(before.len(), 1, "what is durable was decided when the flush failed");
        assert_eq!(members.flush(MemberNo::new(1), members.answered(MemberNo::new(1))), Outcome::Done);
        assert_eq!(left(&members, &[]), before);
        members.write(MemberNo::new(1), 3, page(2));
        members.flush(MemberNo::new(1), members.answered(MemberNo::new(1)));
        assert_eq!(left(&members, &[]), [[2, 2]]);
    }
}

#[test]
fn vanished_misdirected_and_unwritable_writes_leave_their_page_as_it_was() {
    for (wrong, outcome) in [
        (Wrong::Vanished, Outcome::Done),
        (Wrong::Misdirected, Outcome::Done),
        (Wrong::Unwritable, Outcome::MediumError),
    ] {
        let mut members = Members::new(2, 8, PAGE);
        members.go_wrong(MemberNo::new(1), wrong, 5);
        assert_eq!(members.write(MemberNo::new(1), 3, page(1)), outcome);
        assert_eq!(first_bytes(&members, MemberNo::new(1), 3), [0, 0]);
        let others = (0..8).filter(|&other| first_bytes(&members, MemberNo::new(1), other) == [1, 1]).count();
        assert_eq!(others, usize::from(wrong == Wrong::Misdirected));
        assert_eq!(members.write(MemberNo::new(1), 3, page(2)), Outcome::Done);
        assert_eq!(first_bytes(&members, MemberNo::new(1), 3), [2, 2]);
    }
}

#[test]
fn a_member_that_is_put_back_has_what_was_durable_at_that_moment() {
    let mut members = Members::new(2, 8, PAGE);
    assert!(!members.go_wrong(MemberNo::new(1), Wrong::RolledBack, 0), "there is none");
    members.write(MemberNo::new(1), 3, page(1));
    members.flush(MemberNo::new(1), 1);
    members.write(MemberNo::new(1), 3, page(2));
    members.remember(MemberNo::new(1));
    members.flush(MemberNo::new(1), 2);
    members.write(MemberNo::new(1), 3, page(3));
    assert!(members.has_past(MemberNo::new(1)) && members.go_wrong(MemberNo::new(1), Wrong::RolledBack, 5));
    assert_eq!(first_bytes(&members, MemberNo::new(1), 3), [1, 1]);
    assert_eq!(left(&members, &[]), [[1, 1]]);
}

#[test]
fn rot_and_unreadable_strike_a_page_that_holds_something() {
    let mut members = Members::new(2, 8, PAGE);
    assert!(!members.go_wrong(MemberNo::new(1), Wrong::Rot, 9), "there is none");
    members.write(MemberNo::new(1), 3, page(1));
    members.flush(MemberNo::new(1), 1);
    members.go_wrong(MemberNo::new(1), Wrong::Rot, 9);
    assert_ne!(members.read(MemberNo::new(1), 3).expect("rot is silent"), &page(1));
    members.go_wrong(MemberNo::new(1), Wrong::Unreadable, 9);
    assert_eq!(members.read(MemberNo::new(1), 3).err(), Some(Outcome::MediumError));
    members.write(MemberNo::new(1), 3, page(2));
    assert_eq!(first_bytes(&members, MemberNo::new(1), 3), [2, 2]);
    members.go_wrong(MemberNo::new(1), Wrong::Lost, 0);
    assert_eq!(members.read(MemberNo::new(1), 3).err(), Some(Outcome::Timeout));
}
