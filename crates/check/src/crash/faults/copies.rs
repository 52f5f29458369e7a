//! Members of another time or another size.

use stripewise_array::MemberNo;

use super::stage::Stage;
use crate::crash::members::Members;
use crate::crash::survival::Survival;
use crate::crash::system_under_test::SystemUnderTest;

/// Members become larger, while the array serves or while it is stopped. Nothing is damaged.
pub(super) fn resized<S: SystemUnderTest>(mut stage: Stage<'_, S>) -> Result<(), String> {
    stage.ask_load(20);
    stage.finish(20)?;
    let count = 1 + stage.random.below(u64::from(stage.scenario.shape.members)) as u32;
    let grown: Vec<(MemberNo, u32)> =
        stage.members(count).iter().map(|&member| (member, 1 + stage.random.below(40) as u32)).collect();
    let grow = |members: &mut Members| grown.iter().for_each(|&(member, pages)| members.grow(member, pages));
    let named = |what: String| format!("members {grown:?} have grown: {what}");
    if stage.random.chance(1, 2) {
        let before = stage.random.below(40);
        stage.ask_load(20);
        stage.run(before)?;
        grow(&mut stage.server.driver.members);
        stage.finish(20).map_err(named)?;
        let loses_power = stage.random.chance(1, 2);
        return stage.restart(loses_power).and_then(Stage::judge).map_err(named);
    }
    let Stage { scenario, server, random } = stage;
    scenario.stop(server, crate::crash::scenario::EVENTS, false)?;
    grow(&mut scenario.members);
    let server = scenario.begin::<S>(0, 4).map_err(named)?;
    Stage { scenario, server, random }.judge().map_err(named)
}

/// Two copies of the array are served separately, and some members of one are used with the rest of the other. The array is
/// refused, or assembled from the members of one copy alone; then the others return to it.
pub(super) fn mixed<S: SystemUnderTest>(mut stage: Stage<'_, S>) -> Result<(), String> {
    let count = stage.pages() / 2;
    stage.ask_load(count);
    stage.finish(count)?;
    stage = stage.restart(false)?;
    stage.server.stop(crate::crash::scenario::EVENTS, false)?;
    let Stage { scenario, server, mut random } = stage;
    scenario.end(server, Survival::Nothing);
    let mut copies = Vec::new();
    for _ in 0..2 {
        let mut copy = scenario.clone();
        // Each copy draws servings of its own.
        copy.random = random.clone();
        let mut server = copy.begin::<S>(0, 4)?;
        let mut its = Stage { scenario: &mut copy, server, random: random.clone() };
        its.ask_load(count);
        its.finish(count)?;
        let loses_power = random.chance(1, 3);
        its.checkpoint()?;
        if !loses_power {
            its.server.stop(crate::crash::scenario::EVENTS, false)?;
        }
        random = its.random;
        server = its.server;
        copy.end(server, Survival::Nothing);
        copies.push(copy);
        random.next_u64();
    }
    let other = copies.pop().ok_or("there are two copies")?;
    let mut mixed = copies.pop().ok_or("there are two copies")?;
    let members = mixed.shape.members;
    let taken = 1 + random.below(u64::from(members) - 1) as u32;
    let mut order: Vec<MemberNo> = MemberNo::first(members.into()).collect();
    random.shuffle(&mut order);
    let foreign = order[..taken as usize].iter().fold(0u64, |mask, member| mask | member.bit());
    for &member in &order[..taken as usize] {
        mixed.members.take(member, &other.members);
    }
    let whole = (1u64 << members) - 1;
    let its_model = [(mixed.model.clone(), foreign), (other.model.clone(), whole & !foreign)];
    let mut answers = Vec::new();
    for (model, out) in its_model {
        let mut one = mixed.clone();
        (one.model, one.lost, one.outdated, one.said) = (model, out, out, None);
        match one.begin::<S>(0, 1) {
            Ok(server) => return Stage { scenario: &mut one, server, random }.take_back(out),
            Err(what) if what.starts_with("it is refused") => return Ok(()),
            Err(what) => answers.push(what),
        }
    }
    Err(format!("members {foreign:#b} are of another copy: {}", answers.join("; or ")))
}

impl<S: SystemUnderTest> Stage<'_, S> {
    /// The members in the mask `out`, which are of another copy than the array, return to it. Nothing of their content counts.
    fn take_back(mut self, out: u64) -> Result<(), String> {
        for member in MemberNo::first(self.scenario.shape.members.into()).filter(|member| member.is_in(out)) {
            self.will_return(member, false);
        }
        self.rebuild()?;
        self.judge().map_err(|what| format!("members {out:#b} return from another copy: {what}"))
    }
}
