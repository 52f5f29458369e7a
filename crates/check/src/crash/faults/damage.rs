//! Faults of content.

use stripewise_array::MemberNo;

use super::stage::Stage;
use crate::crash::system_under_test::SystemUnderTest;

/// A member with damage is failed for it, and returns with its own content, which the rebuild must not trust: when the array
/// is CLEAN, all damage is repaired.
pub(super) fn returns<S: SystemUnderTest>(mut stage: Stage<'_, S>) -> Result<(), String> {
    stage.ask_fill();
    stage.finish(stage.pages())?;
    stage.checkpoint()?;
    let member = stage.member(|_| true);
    let percent = [3, 30, 100][stage.random.below(3) as usize];
    if stage.damage(member, percent, |_| true) == 0 {
        return Ok(());
    }
    stage.ask_load(8);
    stage.finish(8)?;
    stage.fail(member, true);
    let count = stage.random.below(12);
    stage.ask_load(count);
    stage.finish(count)?;
    stage.flush()?;
    stage.will_return(member, false);
    if stage.rebuild()? && !stage.server.is_incomplete(member) {
        // It was failed for damage, so all of it was written again.
        stage.scenario.suspects.clear(member.bit());
    }
    stage.judge()
}

/// Pages that do not count any more stay rotten after a scrub has repaired all others. No member is charged with them when
/// another member is replaced.
pub(super) fn dead_rot<S: SystemUnderTest>(mut stage: Stage<'_, S>) -> Result<(), String> {
    stage.ask_fill();
    let count = stage.pages();
    stage.ask_load(count);
    stage.finish(2 * count)?;
    stage.checkpoint()?;
    let (rotten, other) = match stage.members(2)[..] {
        [rotten, other] => (rotten, other),
        _ => return Ok(()),
    };
    stage.damage(rotten, 40, |_| true);
    let counts = stage.scrub()?;
    if counts.lost > 0 || counts.bad > counts.repaired + counts.obsolete {
        return Err(format!("one member is rotten, and a scrub counts {counts:?}"));
    }
    stage.checkpoint()?;
    stage.fail(other, false);
    stage.ask_load(4);
    stage.finish(4)?;
    stage.will_return(other, true);
    stage.rebuild()?;
    stage.judge()
}

/// Members are rotten in different stripes, so that no stripe has lost more than parity tolerates: everything is repaired,
/// and no member is failed, also while hosts write.
pub(super) fn rot_apart<S: SystemUnderTest>(mut stage: Stage<'_, S>) -> Result<(), String> {
    let pages = stage.pages();
    let is_loaded = stage.random.chance(1, 2);
    if is_loaded {
        // Stripes of a log keep few valid chunks, and lose the last one while a scrub reads them.
        stage.ask_fill();
        stage.ask_load(2 * pages);
    } else if stage.random.chance(1, 2) {
        stage.ask_fill();
    } else {
        // A segment of a log that the last scrub read is continued.
        let count = 1 + stage.random.below(20);
        stage.ask_load(count);
    }
    stage.finish(3 * pages)?;
    stage.checkpoint()?;
    let shape = &stage.scenario.shape;
    let rows = if shape.kind.is_in_place() { 1 } else { shape.segment_rows };
    let count = stage.parity() + 1;
    let members = stage.members(count);
    for (nth, &member) in (0..).zip(&members) {
        stage.damage(member, 50, |row| row / rows % count == nth);
    }
    if is_loaded {
        stage.ask_load(pages);
    }
    let counts = stage.scrub()?;
    let out: Vec<MemberNo> =
        members.iter().copied().filter(|&member| stage.server.is_incomplete(member)).collect();
    if counts.lost > 0 || counts.bad > counts.repaired + counts.obsolete || !out.is_empty() {
        return Err(format!(
            "no stripe has lost too much; members {out:?} are out, and a scrub counts {counts:?}"
        ));
    }
    stage.checkpoint()?;
    stage.judge()
}

/// A full log is damaged on as many members as parity tolerates. A scrub ends, and everything is repaired.
pub(super) fn full_scrub<S: SystemUnderTest>(mut stage: Stage<'_, S>) -> Result<(), String> {
    stage.ask_fill();
    let count = stage.pages();
    stage.ask_load(count);
    stage.finish(2 * count)?;
    let is_written_out = stage.random.chance(1, 2);
    if is_written_out {
        stage.checkpoint()?;
    }
    let percent = [20, 60, 100][stage.random.below(3) as usize];
    for member in stage.members(stage.parity()) {
        stage.damage(member, percent, |_| true);
    }
    let counts = stage.scrub().map_err(|what| format!("a scrub of a full array: {what}"))?;
    if counts.lost > 0 {
        return Err(format!("as many members are rotten as parity tolerates, and a scrub counts {counts:?}"));
    }
    stage.ask_load(20);
    stage.finish(20).map_err(|what| format!("after a scrub of a full array: {what}"))?;
    stage.checkpoint()?;
    stage.judge()
}

/// Pages anywhere on as many members as parity tolerates cannot be read: data, copies of metadata, and pages that hold nothing
/// any more. A scrub makes all of them readable, also while hosts write.
pub(super) fn unreadable<S: SystemUnderTest>(mut stage: Stage<'_, S>) -> Result<(), String> {
    let count = stage.random.below(stage.pages());
    stage.ask_load(count);
    stage.finish(count)?;
    stage.checkpoint()?;
    for member in stage.members(stage.parity()) {
        let percent = [3, 30, 100][stage.random.below(3) as usize];
        stage.damage_anywhere(member, percent);
    }
    if stage.random.chance(1, 2) {
        let count = 1 + stage.random.below(30);
        stage.ask_load(count);
    }
    let counts = stage.scrub()?;
    if counts.lost > 0 || counts.metadata_damaged > counts.metadata_repaired {
        return Err(format!(
            "as many members have unreadable pages as parity tolerates, and a scrub counts {counts:?}"
        ));
    }
    stage.checkpoint()?;
    stage.judge()
}
