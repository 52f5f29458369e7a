//! Faults of sound members: they are out for a time, and return.

use stripewise_base::prng::Prng;

use super::stage::Stage;
use crate::crash::system_under_test::SystemUnderTest;

/// As many members as parity tolerates are out while hosts write, and return under load. What they lack is no error.
pub(super) fn returns_stale<S: SystemUnderTest>(mut stage: Stage<'_, S>) -> Result<(), String> {
    stage.ask_fill();
    stage.finish(stage.pages())?;
    stage.checkpoint()?;
    let members = stage.members(stage.parity());
    for &member in &members {
        stage.fail(member, false);
    }
    let count = stage.pages() / 2;
    stage.ask_load(count);
    stage.finish(count)?;
    stage.flush()?;
    for &member in &members {
        stage.will_return(member, false);
    }
    stage.ask_load(count);
    stage.rebuild()?;
    stage.finish(count)?;
    stage.judge()
}

/// While a member is rebuilt, further sound members are out for a moment. Nothing that they hold is lost: when all members
/// are back, all of it can be read, and the array is CLEAN only when it is redundant.
pub(super) fn out_during_rebuild<S: SystemUnderTest>(mut stage: Stage<'_, S>) -> Result<(), String> {
    stage.ask_fill();
    stage.finish(stage.pages())?;
    stage.checkpoint()?;
    let members = stage.members(stage.parity() + 1);
    let (first, others) = (members[0], &members[1..]);
    let is_another = stage.random.chance(1, 2);
    stage.fail(first, false);
    stage.ask_load(stage.pages() / 2);
    stage.finish(stage.pages() / 2)?;
    stage.flush()?;
    stage.will_return(first, is_another);
    stage.scenario.comes_back(&mut stage.server, 0);
    let before = stage.random.below(200);
    stage.run(before)?;
    if stage.server.joining.members() == stage.server.joining.written() {
        return stage.judge();
    }
    stage.server.is_beyond = true;
    // Updates are in flight when the others leave. With the bitmap, lost content in their rows may be anything after that.
    // There hosts write while these are out, and each write is answered before they are back.
    let is_busy = Prng::stream(stage.random.clone().next_u64(), 0x6275_7379).chance(1, 3);
    let has_checksums = stage.scenario.shape.kind.has_checksums();
    if is_busy && has_checksums {
        stage.ask_load(stage.pages() / 4);
        let in_flight = stage.random.below(100);
        stage.run(in_flight)?;
    }
    for &other in others {
        stage.fail(other, false);
    }
    if is_busy && !has_checksums {
        let count = stage.pages() / 4;
        stage.ask_load(count);
        stage.finish(count)?;
    }
    let between = stage.random.below(300);
    stage.run(between)?;
    for &other in others {
        stage.will_return(other, false);
    }
    let stays = stage.random.chance(1, 2);
    let is_cut_short = stays && stage.random.chance(1, 2);
    if is_cut_short {
        stage.scenario.comes_back(&mut stage.server, 0);
        let within = stage.random.below(200);
        stage.run(within)?;
    } else if stays {
        stage.rebuild().map_err(|what| format!("members were out during a rebuild: {what}"))?;
    }
    stage.server.comebacks.clear();
    let is_back = !is_cut_short && !members.iter().any(|&member| stage.server.is_incomplete(member));
    if !is_back {
        let loses_power = stage.random.chance(1, 2);
        stage = stage.restart(loses_power).map_err(|what| format!("all members are back: {what}"))?;
        stage.scenario.judge_redundancy(&stage.server, None)?;
        if !stage.scenario.shape.kind.has_checksums() {
            // Nothing shows which rows of the members are current: rows that the rebuild had left stay unrecovered.
            return Ok(());
        }
        for member in members {
            stage.will_return(member, false);
        }
        stage.rebuild()?;
    }
    let claims = stage.server.claims();
    stage.judge().map_err(|what| format!("sound members were out during a rebuild, {claims:?}: {what}"))
}
