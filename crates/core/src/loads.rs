//! Operations queued and in flight on each member: the R_i and W_i of the papers.

use crate::ids::MemberNo;

/// Loads of all members, as flat arrays.
#[derive(Clone, Debug)]
pub struct Loads {
    /// Reads queued or in flight.
    pub reads: Vec<u32>,
    /// Writes, trims and flushes queued or in flight.
    pub writes: Vec<u32>,
    /// Members with an operation queued or in flight.
    pub busy: u32,
}

impl Loads {
    /// Nothing queued yet.
    pub fn new(members: u32) -> Self {
        Self { reads: vec![0; members as usize], writes: vec![0; members as usize], busy: 0 }
    }

    /// An operation entered the queue of `member`.
    #[inline]
    pub fn add(&mut self, member: MemberNo, is_read: bool) {
        self.busy += u32::from(self.total(member) == 0);
        let side = if is_read { &mut self.reads } else { &mut self.writes };
        side[member.index()] += 1;
    }

    /// An operation of `member` ended.
    #[inline]
    pub fn remove(&mut self, member: MemberNo, is_read: bool) {
        let side = if is_read { &mut self.reads } else { &mut self.writes };
        side[member.index()] -= 1;
        self.busy -= u32::from(self.total(member) == 0);
    }

    /// Members that have an operation queued or in flight.
    #[inline]
    pub fn busy(&self) -> u32 {
        self.busy
    }

    /// Operations queued or in flight on `member`.
    #[inline]
    pub fn total(&self, member: MemberNo) -> u32 {
        self.reads[member.index()] + self.writes[member.index()]
    }
}

#[cfg(test)]
mod tests {
    use stripewise_base::prng::Prng;

    use super::*;

    #[test]
    fn busy_members_are_those_with_an_operation_of_either_kind() {
        let mut loads = Loads::new(5);
        let mut prng = Prng::new(7);
        let mut queued = Vec::new();
        for _ in 0..2_000 {
            if queued.is_empty() || prng.below(100) < 48 {
                let one = (prng.below(5) as u16, prng.below(2) == 0);
                loads.add(MemberNo::new(one.0), one.1);
                queued.push(one);
            } else {
                let (member, is_read) = queued.swap_remove(prng.below(queued.len() as u64) as usize);
                loads.remove(MemberNo::new(member), is_read);
            }
            let busy = (0..5).filter(|&member| queued.iter().any(|one| one.0 == member)).count();
            assert_eq!(loads.busy() as usize, busy);
        }
    }
}
