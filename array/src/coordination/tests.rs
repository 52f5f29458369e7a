//! Who gets permission, and when: elements that tell what a test has them tell.

use stripewise_base::Nanos;

use super::{CoordinationPolicy, CoordinationSection, GcTurn, Rotating, Turn};
use crate::driver::{Acknowledgement, Admission, Driver};
use crate::element_state::ElementState;
use crate::memory::NoMemory;
use crate::operation::{Operation, OperationId};
use crate::{Elements, Scheme};

const MS: Nanos = 1_000_000;

/// Eight elements, what they need, and what was asked of them.
#[derive(Default)]
struct Told {
    turns: [GcTurn; 8],
    permitted: Vec<(u16, u32)>,
    forbidden: Vec<u16>,
    timers: Vec<Nanos>,
}

impl Told {
    fn needs(&mut self, element: u16, free_pages: u32) {
        self.turns[element as usize].need = Some(free_pages);
    }

    fn finishes(&mut self, element: u16, need: Option<u32>) {
        self.turns[element as usize] = GcTurn { collects: false, need };
    }

    fn asked(&mut self) -> (Vec<(u16, u32)>, Vec<u16>) {
        (std::mem::take(&mut self.permitted), std::mem::take(&mut self.forbidden))
    }
}

impl ElementState for Told {}

impl Driver<NoMemory> for Told {
    fn admits(&mut self, _: &Operation) -> Admission {
        Admission::Closed
    }
    fn start(&mut self, _: OperationId, _: &Operation, _: u32, _: &mut NoMemory) {}
    fn compute(&mut self, _: u32, _: u32) -> bool {
        true
    }
    fn set_timer(&mut self, at: Nanos) {
        self.timers.push(at);
    }
    fn acknowledge(&mut self, _: &Acknowledgement, (): ()) {}
    fn permit_gc(&mut self, element: u16, blocks: u32, _: u32) {
        self.permitted.push((element, blocks));
        self.turns[element as usize] = GcTurn { collects: true, need: None };
    }
    fn forbid_gc(&mut self, element: u16) {
        self.forbidden.push(element);
    }
    fn gc_turn(&self, element: u16) -> GcTurn {
        self.turns[element as usize]
    }
}

fn rotating(turn: Turn, groups: u32) -> Rotating {
    let text = format!("name = 'test'\n[geometry]\ngroups = {groups}");
    let scheme = Scheme::from_toml("test", &text).unwrap();
    let elements = Elements {
        count: 8,
        page_bytes: 4096,
        pages: 64,
        volatile_cache: false,
        discard: true,
        old_versions: 0,
        gc_control: true,
        gc_state: true,
        streams: 1,
    };
    let section =
        CoordinationSection { policy: CoordinationPolicy::Rotating, turn, ..CoordinationSection::default() };
    Rotating::new(section, &scheme.resolve(&elements, false).unwrap(), 8)
}

fn heard(rotating: &mut Rotating, now: Nanos, element: u16, told: &mut Told) {
    rotating.heard::<NoMemory, _>(now, element, told);
}

#[test]
fn the_token_goes_to_whoever_has_the_fewest_free_pages_after_each_block() {
    let (mut rotating, mut told) = (rotating(Turn::Token, 1), Told::default());
    told.needs(1, 7);
    heard(&mut rotating, 0, 1, &mut told);
    assert_eq!(told.asked(), (vec![(1, 1)], vec![]));
    told.needs(2, 5);
    heard(&mut rotating, 0, 2, &mut told);
    assert_eq!(told.asked(), (vec![], vec![]), "one at a time");
    told.finishes(1, Some(6));
    heard(&mut rotating, 0, 1, &mut told);
    assert_eq!(told.asked(), (vec![(2, 1)], vec![1]));
    // Of equals the next in order, so that none waits for ever.
    told.needs(5, 6);
    told.finishes(2, Some(6));
    heard(&mut rotating, 0, 2, &mut told);
    assert_eq!(told.asked(), (vec![(5, 1)], vec![2]));
    for (before, after) in [(5, 1), (1, 2), (2, 1)] {
        told.finishes(before, (before == 1).then_some(6));
        heard(&mut rotating, 0, before, &mut told);
        assert_eq!(told.asked(), (vec![(after, 1)], vec![before]));
    }
    told.finishes(1, None);
    heard(&mut rotating, 0, 1, &mut told);
    assert_eq!(told.asked(), (vec![], vec![1]), "nobody needs it");
}

#[test]
fn each_group_has_a_permission_of_its_own() {
    let (mut rotating, mut told) = (rotating(Turn::Token, 2), Told::default());
    for element in [0, 3, 4] {
        told.needs(element, 7);
        heard(&mut rotating, 0, element, &mut told);
    }
    assert_eq!(told.asked(), (vec![(0, 1), (4, 1)], vec![]));
}

#[test]
fn windows_pass_from_member_to_member_and_wait_for_the_block_in_hand() {
    let (mut rotating, mut told) = (rotating(Turn::Window, 1), Told::default());
    told.needs(2, 7);
    heard(&mut rotating, 10 * MS, 2, &mut told);
    assert_eq!((told.asked(), &told.timers[..]), ((vec![], vec![]), &[100 * MS][..]), "it is 0's window");
    rotating.timer::<NoMemory, _>(100 * MS, &mut told);
    assert_eq!(told.asked(), (vec![], vec![]));
    rotating.timer::<NoMemory, _>(200 * MS, &mut told);
    assert_eq!(told.asked(), (vec![(2, u32::MAX)], vec![]));
    told.needs(3, 7);
    heard(&mut rotating, 250 * MS, 3, &mut told);
    rotating.timer::<NoMemory, _>(300 * MS, &mut told);
    assert_eq!(told.asked(), (vec![], vec![2]), "its block is not done");
    told.finishes(2, None);
    heard(&mut rotating, 301 * MS, 2, &mut told);
    assert_eq!(told.asked(), (vec![(3, u32::MAX)], vec![2]));
    told.finishes(3, None);
    heard(&mut rotating, 302 * MS, 3, &mut told);
    rotating.timer::<NoMemory, _>(400 * MS, &mut told);
    assert_eq!(told.asked(), (vec![], vec![3]));
    assert_eq!(
        told.timers,
        [100 * MS, 200 * MS, 300 * MS, 400 * MS],
        "with nobody in need time stands still"
    );
}
