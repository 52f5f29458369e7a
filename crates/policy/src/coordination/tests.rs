//! Which members get permission, and when. The members report what a test makes them report.

use stripewise_base::Nanos;
use stripewise_base::share::Share;
use stripewise_core::geometry::{Geometry, Level, Membership, Rotation, Shape};
use stripewise_core::ids::MemberNo;
use stripewise_core::timer::Timer;

use super::global::Global;
use super::groups::Groups;
use super::rotating::Rotating;
use super::{
    Activity, Ahead, CoordinationPolicy, CoordinationSection, GcControl, GcPermit, GcTurn, Start, Trigger,
    Turn,
};

const MS: Nanos = 1_000_000;

/// Eight members, their needs, and the requests that they received.
#[derive(Default)]
struct FakeDriver {
    turns: [GcTurn; 8],
    permitted: Vec<(u16, u32)>,
    forbidden: Vec<u16>,
    timers: Vec<Nanos>,
    /// A member with permission begins at once.
    is_rotating: bool,
    /// Members below the soft limit.
    near: Vec<u16>,
    /// Members below half of the margin.
    wanting: Vec<u16>,
}

impl FakeDriver {
    fn needs(&mut self, member: MemberNo, free_pages: u32) {
        self.turns[member.index()].need = Some(free_pages);
    }

    fn finishes(&mut self, member: MemberNo, need: Option<u32>) {
        self.turns[member.index()] = GcTurn { collects: false, need };
    }

    fn requested(&mut self) -> (Vec<(u16, u32)>, Vec<u16>) {
        (std::mem::take(&mut self.permitted), std::mem::take(&mut self.forbidden))
    }
}

impl Timer for FakeDriver {
    fn set_timer(&mut self, at: Nanos) {
        self.timers.push(at);
    }
}

impl GcControl for FakeDriver {
    fn permit_gc(&mut self, member: MemberNo, permit: GcPermit) {
        self.permitted.push((member.number(), permit.blocks));
        let turn = &mut self.turns[member.index()];
        let collects =
            turn.collects || turn.need.is_some() || self.is_rotating || self.near.contains(&member.number());
        *turn = GcTurn { collects, need: None };
    }

    fn is_near_gc(&self, member: MemberNo, ahead: Ahead) -> bool {
        ahead == Ahead::Share(Share(5_000)) && self.wanting.contains(&member.number())
    }

    fn forbid_gc(&mut self, member: MemberNo) {
        self.forbidden.push(member.number());
    }

    fn gc_turn(&self, member: MemberNo) -> GcTurn {
        self.turns[member.index()]
    }
}

/// Eight members in this many groups.
fn resolved(level: Level, groups: u32) -> Geometry {
    let shape = Shape {
        level,
        members: 8,
        groups,
        chunk_bytes: 4096,
        page_bytes: 4096,
        member_pages: 64,
        rotation: Rotation::default(),
        rotate_every: 1,
        membership: Membership::default(),
    };
    Geometry::new(&shape).unwrap()
}

fn rotating(turn: Turn, groups: u32) -> (Rotating, FakeDriver) {
    let section =
        CoordinationSection { policy: CoordinationPolicy::Rotating, turn, ..CoordinationSection::default() };
    let groups = Groups::of_parity(&resolved(Level::Raid5, groups), 8);
    (Rotating::new(section, groups), FakeDriver { is_rotating: true, ..FakeDriver::default() })
}

fn global(start: Start, trigger: Trigger, level: Level, groups: u32) -> (Global, FakeDriver) {
    let policy = CoordinationPolicy::Global;
    let section = CoordinationSection { policy, start, trigger, ..CoordinationSection::default() };
    (Global::new(&section, Groups::of_requests(level, &resolved(level, groups), 8)), FakeDriver::default())
}

fn global_gc_event(
    global: &mut Global,
    now: Nanos,
    member: MemberNo,
    activity: Activity,
    driver: &mut FakeDriver,
) {
    global.gc_event(now, member, activity, driver);
}

fn gc_event(rotating: &mut Rotating, now: Nanos, member: MemberNo, driver: &mut FakeDriver) {
    rotating.gc_event(now, member, driver);
}

#[test]
fn the_token_goes_to_the_member_with_the_fewest_free_pages_after_each_block() {
    let (mut rotating, mut driver) = rotating(Turn::Token, 1);
    driver.needs(MemberNo::new(1), 7);
    gc_event(&mut rotating, 0, MemberNo::new(1), &mut driver);
    assert_eq!(driver.requested(), (vec![(1, 1)], vec![]));
    driver.needs(MemberNo::new(2), 5);
    gc_event(&mut rotating, 0, MemberNo::new(2), &mut driver);
    assert_eq!(driver.requested(), (vec![], vec![]), "one at a time");
    driver.finishes(MemberNo::new(1), Some(6));
    gc_event(&mut rotating, 0, MemberNo::new(1), &mut driver);
    assert_eq!(driver.requested(), (vec![(2, 1)], vec![1]));
    // Of equals the next in order, so that no member waits forever.
    driver.needs(MemberNo::new(5), 6);
    driver.finishes(MemberNo::new(2), Some(6));
    gc_event(&mut rotating, 0, MemberNo::new(2), &mut driver);
    assert_eq!(driver.requested(), (vec![(5, 1)], vec![2]));
    for (before, after) in [(5, 1), (1, 2), (2, 1)] {
        driver.finishes(MemberNo::new(before), (before == 1).then_some(6));
        gc_event(&mut rotating, 0, MemberNo::new(before), &mut driver);
        assert_eq!(driver.requested(), (vec![(after, 1)], vec![before]));
    }
    driver.finishes(MemberNo::new(1), None);
    gc_event(&mut rotating, 0, MemberNo::new(1), &mut driver);
    assert_eq!(driver.requested(), (vec![], vec![1]), "no member needs it");
}

#[test]
fn each_group_has_a_permission_of_its_own() {
    let (mut rotating, mut driver) = rotating(Turn::Token, 2);
    for member in [0, 3, 4] {
        driver.needs(MemberNo::new(member), 7);
        gc_event(&mut rotating, 0, MemberNo::new(member), &mut driver);
    }
    assert_eq!(driver.requested(), (vec![(0, 1), (4, 1)], vec![]));
}

#[test]
fn windows_pass_from_member_to_member_and_wait_for_the_block_in_hand() {
    let (mut rotating, mut driver) = rotating(Turn::Window, 1);
    driver.needs(MemberNo::new(2), 7);
    gc_event(&mut rotating, 10 * MS, MemberNo::new(2), &mut driver);
    assert_eq!(
        (driver.requested(), &driver.timers[..]),
        ((vec![], vec![]), &[100 * MS][..]),
        "it is 0's window"
    );
    rotating.timer(100 * MS, &mut driver);
    assert_eq!(driver.requested(), (vec![], vec![]));
    rotating.timer(200 * MS, &mut driver);
    assert_eq!(driver.requested(), (vec![(2, u32::MAX)], vec![]));
    driver.needs(MemberNo::new(3), 7);
    gc_event(&mut rotating, 250 * MS, MemberNo::new(3), &mut driver);
    rotating.timer(300 * MS, &mut driver);
    assert_eq!(driver.requested(), (vec![], vec![2]), "its block is not done");
    driver.finishes(MemberNo::new(2), None);
    gc_event(&mut rotating, 301 * MS, MemberNo::new(2), &mut driver);
    assert_eq!(driver.requested(), (vec![(3, u32::MAX)], vec![2]));
    driver.finishes(MemberNo::new(3), None);
    gc_event(&mut rotating, 302 * MS, MemberNo::new(3), &mut driver);
    rotating.timer(400 * MS, &mut driver);
    assert_eq!(driver.requested(), (vec![], vec![3]));
    assert_eq!(
        driver.timers,
        [100 * MS, 200 * MS, 300 * MS, 400 * MS],
        "time stands still while no member needs to collect"
    );
}

const BUSY: Activity = Activity::Serving;

/// All members get permission for one block; members with nothing to collect lose it at once.
fn window(members: &[u16], rest: &[u16]) -> (Vec<(u16, u32)>, Vec<u16>) {
    (members.iter().map(|&member| (member, 1)).collect(), rest.to_vec())
}

#[test]
fn when_one_has_to_collect_all_of_its_group_that_are_below_the_soft_limit_do() {
    let (mut global, mut driver) = global(Start::Reactive, Trigger::Idle, Level::Raid5, 2);
    driver.near = vec![0, 3, 5];
    driver.needs(MemberNo::new(1), 7);
    global_gc_event(&mut global, 0, MemberNo::new(1), BUSY, &mut driver);
    // Member 5 is in another group. Member 2 has enough space and asks when it runs short. The earlier permission of 1 is
    // void.
    assert_eq!(driver.requested(), window(&[0, 1, 2, 3], &[1, 2]));
    // A member that is done loses its permission, so that its next need opens a window for all.
    driver.near.clear();
    driver.finishes(MemberNo::new(1), None);
    global_gc_event(&mut global, 1, MemberNo::new(1), BUSY, &mut driver);
    assert_eq!(driver.requested(), window(&[], &[1]));
    // A member that has to continue, or to begin meanwhile, does not wait for the end of a window.
    driver.finishes(MemberNo::new(0), Some(6));
    global_gc_event(&mut global, 2, MemberNo::new(0), BUSY, &mut driver);
    assert_eq!(driver.requested(), window(&[0, 1, 2, 3], &[0, 1, 2]));
    driver.needs(MemberNo::new(4), 5);
    global_gc_event(&mut global, 3, MemberNo::new(4), BUSY, &mut driver);
    assert_eq!(driver.requested(), window(&[4, 5, 6, 7], &[4, 5, 6, 7]));
    assert_eq!(driver.timers, [], "it is reactive");
}

#[test]
fn without_parity_all_members_collect_together() {
    let (mut global, mut driver) = global(Start::Reactive, Trigger::Idle, Level::Raid0, 1);
    driver.near = (0..8).collect();
    driver.needs(MemberNo::new(6), 7);
    global_gc_event(&mut global, 0, MemberNo::new(6), BUSY, &mut driver);
    assert_eq!(driver.requested(), window(&[0, 1, 2, 3, 4, 5, 6, 7], &[6]));
}

#[test]
fn an_array_that_has_rested_collects_while_somebody_is_below_half_of_the_margin_until_a_request_comes() {
    let (mut global, mut driver) = global(Start::Proactive, Trigger::Idle, Level::Raid5, 1);
    let all = [0, 1, 2, 3, 4, 5, 6, 7];
    (driver.near, driver.wanting) = (vec![2, 4], vec![4]);
    let rests = Activity::Resting { since: MS };
    global.rests(MS, &mut driver);
    global.rests(MS, &mut driver);
    assert_eq!(driver.timers, [2 * MS], "one timer");
    // Requests were served until 1.5 ms: the idle time begins there.
    global.timer(2 * MS, Activity::Resting { since: 3 * MS / 2 }, &mut driver);
    assert_eq!((driver.requested(), driver.timers.pop()), (window(&[], &[]), Some(5 * MS / 2)));
    global.timer(5 * MS / 2, Activity::Draining, &mut driver);
    assert_eq!((driver.requested(), driver.timers.pop()), (window(&[], &[]), Some(7 * MS / 2)));
    global.timer(7 * MS / 2, rests, &mut driver);
    assert_eq!(driver.requested(), window(&all, &[0, 1, 3, 5, 6, 7]));
    // One window follows another while a member needs one.
    driver.finishes(MemberNo::new(4), None);
    global_gc_event(&mut global, 9 * MS, MemberNo::new(4), rests, &mut driver);
    assert_eq!(driver.requested(), window(&all, &[4, 0, 1, 3, 5, 6, 7]));
    driver.wanting.clear();
    for member in [2, 4] {
        driver.finishes(MemberNo::new(member), None);
        global_gc_event(&mut global, 10 * MS, MemberNo::new(member), rests, &mut driver);
        assert_eq!(driver.requested(), window(&[], &[member]), "no member must collect soon");
    }
    driver.wanting = vec![4];
    global_gc_event(&mut global, 11 * MS, MemberNo::new(4), BUSY, &mut driver);
    assert_eq!(driver.requested(), window(&[], &[4]), "a request is under way");
    global.timer(12 * MS, BUSY, &mut driver);
    assert_eq!(
        (driver.requested(), driver.timers.len()),
        (window(&[], &[]), 1),
        "the end of serving asks for the next time"
    );
}

#[test]
fn the_soft_limit_asks_and_twice_the_margin_joins() {
    let section = |start, trigger| CoordinationSection {
        policy: CoordinationPolicy::Global,
        start,
        trigger,
        ..CoordinationSection::default()
    };
    // 1 % of 512 blocks is 5, 2 % is 10; of 32 blocks, either is one.
    let asks = |section: CoordinationSection| [512, 32].map(|blocks| section.asks_ahead().blocks(blocks));
    assert_eq!(asks(section(Start::Reactive, Trigger::Idle)), [0, 0]);
    assert_eq!(asks(section(Start::Proactive, Trigger::Idle)), [0, 0]);
    assert_eq!(asks(section(Start::Proactive, Trigger::SoftLimit)), [5, 1]);
    assert_eq!([512, 32].map(|blocks| Ahead::Share(Share(20_000)).blocks(blocks)), [10, 1]);
    let joins = |start, trigger| {
        let groups = Groups::of_parity(&resolved(Level::Raid5, 1), 8);
        Global::new(&section(start, trigger), groups).permit.ahead
    };
    assert_eq!(joins(Start::Reactive, Trigger::Idle), Ahead::Share(Share(10_000)));
    assert_eq!(joins(Start::Proactive, Trigger::SoftLimit), Ahead::Share(Share(20_000)));
}
