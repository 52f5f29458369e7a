//! More members are gone than parity tolerates.

use super::stage::Stage;
use crate::crash::system_under_test::SystemUnderTest;

/// More members are out than parity tolerates while hosts write more than the array holds: each request is answered within
/// bounded events. With all members back the array assembles, and nothing durable is lost.
pub(super) fn under_load<S: SystemUnderTest>(mut stage: Stage<'_, S>) -> Result<(), String> {
    stage.ask_fill();
    stage.finish(stage.pages())?;
    stage.flush()?;
    let count = stage.pages() * 3;
    stage.ask_load(count);
    let before = stage.random.below(100);
    stage.run(before)?;
    stage.server.is_beyond = true;
    for member in stage.members(stage.parity() + 1) {
        stage.fail(member, false);
        let between = stage.random.below(30);
        stage.run(between)?;
    }
    stage.finish(count).map_err(|what| format!("more members are gone than parity tolerates: {what}"))?;
    stage.server.ask(&[crate::crash::server::FLUSH]);
    stage
        .finish(1)
        .map_err(|what| format!("a flush after more members are gone than parity tolerates: {what}"))?;
    let stage = stage.restart(true).map_err(|what| format!("all members are back: {what}"))?;
    stage.scenario.judge_redundancy(&stage.server, None)
}
