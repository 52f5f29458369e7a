use stripewise_base::prng::Prng;
use stripewise_core::ids::MemberNo;

use super::*;

fn set(members: &[u16]) -> MemberSet {
    let mut set = MemberSet::default();
    members.iter().for_each(|&member| set.insert(MemberNo::new(member)));
    set
}

/// Requests of the example of paper 002, Fig. 5, over nine chips. The text says that R1 is on chips 1 and 2 and contends with
/// R0 on chip 1, that R2 does not contend with R0, and (section III-E) that chips 4 to 7 are idle; the rest is ours.
pub(super) const FIGURE_5: [&[u16]; 7] = [&[1], &[1, 2], &[2, 3], &[0, 1], &[8, 0, 1], &[0, 1], &[2, 3]];

/// The request with this number.
fn request(number: usize) -> RequestId {
    RequestId::new(number as u32)
}

/// Batches of the current round of `piq`, as request numbers.
fn batches(piq: &Piq) -> Vec<Vec<u32>> {
    let list = |batch: &Batch| {
        let some = |id: RequestId| (!id.is_none()).then_some(id);
        let all = std::iter::successors(some(batch.first), |&id| some(piq.requests[id.index()].next));
        all.map(RequestId::number).collect()
    };
    piq.round.iter().map(list).collect()
}

#[test]
fn the_seven_requests_of_figure_5_form_five_batches() {
    let mut piq = Piq::new(16, false, 7);
    for (id, targets) in FIGURE_5.iter().enumerate() {
        piq.push(request(id), BatchKind::Read, (0, 0), set(targets));
    }
    piq.begin_round();
    assert_eq!(batches(&piq), [vec![0, 2], vec![1], vec![3, 6], vec![4], vec![5]]);
}

#[test]
fn reads_of_a_round_go_before_its_writes_and_a_flush_ends_it() {
    use BatchKind::{Flush, Read, Write};
    let mut piq = Piq::new(16, false, 8);
    for (id, kind) in [Write, Read, Read, Flush, Read, Write].into_iter().enumerate() {
        piq.push(request(id), kind, (id as u64, id as u64), set(&[0, 1]));
    }
    piq.begin_round();
    assert_eq!(batches(&piq), [vec![1], vec![2], vec![0], vec![3]]);
    assert_eq!(piq.arrived, [4, 5].map(request));
}

#[test]
fn a_request_goes_ahead_of_no_more_younger_batches_than_allowed() {
    for overtake in [0, 1, 3] {
        let mut piq = Piq::new(overtake, false, 8);
        // Five requests of one member, then one of another that shares nothing with any of them.
        (0..5).for_each(|id| piq.push(request(id), BatchKind::Read, (0, 0), set(&[0])));
        piq.push(request(5), BatchKind::Read, (0, 0), set(&[1]));
        piq.begin_round();
        let joined = batches(&piq).iter().position(|batch| batch.contains(&5)).unwrap();
        assert_eq!(joined as u32, 4 - overtake, "of batches 0 to 4");
    }
}

type Waiting = (u32, BatchKind, MemberSet);

/// Algorithm 1 and its walk with plain lists: every waiting request is examined in every walk.
#[derive(Default)]
struct Plain {
    overtake: usize,
    is_sync: bool,
    arrived: Vec<Waiting>,
    round: Vec<Vec<Waiting>>,
    is_open: bool,
}

impl Plain {
    fn begin_round(&mut self) {
        let flush = self.arrived.iter().position(|one| one.1 == BatchKind::Flush);
        let taken: Vec<_> = self.arrived.drain(..flush.map_or(self.arrived.len(), |at| at + 1)).collect();
        for kind in [BatchKind::Read, BatchKind::Write, BatchKind::Flush] {
            let mut list: Vec<Vec<Waiting>> = Vec::new();
            for one in taken.iter().filter(|one| one.1 == kind) {
                let shares = |other: &Waiting| other.2.iter().any(|member| one.2.iter().any(|e| e == member));
                let may_join =
                    |at: &usize| list.len() - at <= self.overtake + 1 && !list[*at].iter().any(shares);
                match (0..list.len()).find(may_join) {
                    Some(at) => list[at].push(*one),
                    None => list.push(vec![*one]),
                }
            }
            self.round.extend(list);
        }
    }

    /// The requests that are issued now, with `loads` on the members, each of which may have `limit`.
    fn walk(&mut self, loads: &mut [u32], limit: u32, is_idle: bool) -> Vec<u32> {
        while self.round.first().is_some_and(Vec::is_empty) {
            self.round.remove(0);
            self.is_open = false;
        }
        if self.round.is_empty() {
            self.begin_round();
        }
        self.is_open |= is_idle || !self.is_sync;
        let open = if self.is_sync { usize::from(self.is_open) } else { usize::MAX };
        let mut left: usize = self.round.iter().map(Vec::len).sum();
        let mut issued = Vec::new();
        for batch in self.round.iter_mut().take(open) {
            batch.retain(|&(id, kind, targets)| {
                let has_room = targets.iter().all(|member| loads[member.index()] < limit);
                let goes = has_room && (kind != BatchKind::Flush || left == 1);
                if goes {
                    targets.iter().for_each(|member| loads[member.index()] += 1);
                    left -= 1;
                    issued.push(id);
                }
                !goes
            });
        }
        issued
    }
}

/// Walks in the way of the controller.
fn walk(piq: &mut Piq, freed: &mut MemberSet, loads: &mut [u32], limit: u32, is_idle: bool) -> Vec<u32> {
    let mut issued = Vec::new();
    if !piq.begin_walk(freed, is_idle) {
        return issued;
    }
    let mut freed = std::mem::take(freed);
    while let Some(id) = piq.next(&freed) {
        if piq.requests[id.index()].targets.iter().any(|member| loads[member.index()] >= limit) {
            piq.wants_room();
            continue;
        }
        for member in piq.issued().iter() {
            loads[member.index()] += 1;
            if loads[member.index()] >= limit {
                freed.remove(member);
            }
        }
        issued.push(id.number());
    }
    issued
}

#[test]
fn a_walk_by_what_was_freed_issues_what_a_walk_over_everything_issues() {
    const MEMBERS: u64 = 7;
    let mut longest = 0;
    for seed in 0..400 {
        let mut prng = Prng::new(seed);
        let (overtake, limit) = (prng.below(5) as u32, 1 + prng.below(3) as u32);
        let is_sync = prng.chance(1, 3);
        let mut piq = Piq::new(overtake, is_sync, 300);
        let mut plain = Plain { overtake: overtake as usize, is_sync, ..Plain::default() };
        let (mut loads, mut plain_loads) = ([0u32; MEMBERS as usize], [0u32; MEMBERS as usize]);
        let mut freed = MemberSet::default();
        let mut targets_of = Vec::new();
        let mut under_way: Vec<u32> = Vec::new();
        let mut issued = 0;
        while targets_of.len() < 300 || issued < 300 {
            if targets_of.len() < 300 && prng.chance(2, 3) {
                let id = targets_of.len() as u32;
                let mut targets = MemberSet::default();
                (0..1 + prng.below(3))
                    .for_each(|_| targets.insert(MemberNo::new(prng.below(MEMBERS) as u16)));
                let kind = match prng.below(20) {
                    0 => BatchKind::Flush,
                    1..10 => BatchKind::Write,
                    _ => BatchKind::Read,
                };
                let targets = if kind == BatchKind::Flush { MemberSet::default() } else { targets };
                piq.push(RequestId::new(id), kind, (id.into(), id.into()), targets);
                plain.arrived.push((id, kind, targets));
                targets_of.push(targets);
                longest = longest.max(piq.waiting());
            } else if !under_way.is_empty() {
                let ended = under_way.swap_remove(prng.below(under_way.len() as u64) as usize);
                for member in targets_of[ended as usize].iter() {
                    let at = member.index();
                    if loads[at] == limit {
                        freed.insert(member);
                    }
                    loads[at] -= 1;
                    plain_loads[at] -= 1;
                }
            }
            // The plain walk cannot tell that no request of a new round was issued before: it takes one walk for each.
            let is_idle = under_way.is_empty();
            let expected = plain.walk(&mut plain_loads, limit, is_idle);
            let got = walk(&mut piq, &mut freed, &mut loads, limit, is_idle);
            assert_eq!(got, expected, "seed {seed}");
            issued += got.len();
            if is_sync {
                let all: Vec<u16> = under_way
                    .iter()
                    .chain(&got)
                    .flat_map(|&id| targets_of[id as usize].iter().map(MemberNo::number))
                    .collect();
                assert!((0..MEMBERS as u16).all(|e| all.iter().filter(|&&one| one == e).count() <= 1));
            }
            under_way.extend(got);
        }
        assert_eq!(issued, 300, "seed {seed}: each once");
        assert_eq!(piq.waiting(), 0);
    }
    assert!(longest > 50, "rounds were long: {longest}");
}

#[test]
fn a_write_of_what_a_write_before_it_covers_waits_for_the_next_round_and_a_flush_with_it() {
    let mut piq = Piq::new(16, false, 8);
    let write = BatchKind::Write;
    let asks =
        [(write, (0, 9)), (write, (9, 9)), (BatchKind::Read, (9, 9)), (write, (10, 10)), (write, (8, 9))];
    for (id, (kind, pages)) in asks.into_iter().enumerate() {
        piq.push(request(id), kind, pages, set(&[id as u16]));
    }
    piq.push(request(5), BatchKind::Flush, (0, 0), set(&[]));
    piq.push(request(6), write, (20, 20), set(&[6]));
    let mut round = || {
        let freed = MemberSet::default();
        piq.begin_walk(&freed, true);
        let mut issued = Vec::new();
        while let Some(id) = piq.next(&freed) {
            issued.push(id);
            piq.issued();
        }
        issued
    };
    assert_eq!(round(), [2, 0, 3].map(request), "the read first, then writes of different pages");
    assert_eq!(round(), [request(1)], "what comes after the flush does not go before what it covers");
    assert_eq!(round(), [4, 5].map(request), "the flush behind all before it");
    assert_eq!(round(), [request(6)]);
}
