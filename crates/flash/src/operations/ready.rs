//! Members that refused an operation and may admit one now, in the order in which they became free.

/// A ring that holds each member at most once.
#[derive(Clone, Debug)]
pub(crate) struct Ready {
    ring: Box<[u32]>,
    from: u32,
    count: u32,
    waits: Box<[bool]>,
    listed: Box<[bool]>,
}

impl Ready {
    pub(crate) fn new(members: u32) -> Self {
        let length = members.next_power_of_two() as usize;
        Self {
            ring: vec![0; length].into(),
            from: 0,
            count: 0,
            waits: vec![false; members as usize].into(),
            listed: vec![false; members as usize].into(),
        }
    }

    /// The member refused an operation: report it when it may admit one again.
    pub(crate) fn refuse(&mut self, member: u32) {
        self.waits[member as usize] = true;
    }

    /// Whether the member refused an operation and has not been reported since.
    #[inline(always)]
    pub(crate) fn is_refused(&self, member: u32) -> bool {
        self.waits[member as usize]
    }

    /// Reports the member, if it refused an operation.
    #[inline(always)]
    pub(crate) fn report(&mut self, member: u32) {
        let waited = std::mem::take(&mut self.waits[member as usize]);
        if waited && !std::mem::replace(&mut self.listed[member as usize], true) {
            let mask = self.ring.len() as u32 - 1;
            self.ring[((self.from + self.count) & mask) as usize] = member;
            self.count += 1;
        }
    }

    /// Whether a member is to be reported.
    #[inline(always)]
    pub(crate) fn has_any(&self) -> bool {
        self.count > 0
    }

    #[inline(always)]
    pub(crate) fn take(&mut self) -> Option<u32> {
        if self.count == 0 {
            return None;
        }
        let member = self.ring[self.from as usize];
        self.from = (self.from + 1) & (self.ring.len() as u32 - 1);
        self.count -= 1;
        self.listed[member as usize] = false;
        Some(member)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_reported_once_in_the_order_in_which_they_became_free() {
        let mut ready = Ready::new(3);
        ready.report(1);
        assert_eq!(ready.take(), None, "it never refused");
        [0, 1, 2].into_iter().for_each(|member| ready.refuse(member));
        [2, 0, 2].into_iter().for_each(|member| ready.report(member));
        // The member refuses again before it was taken: it is reported again.
        ready.refuse(2);
        ready.report(2);
        assert_eq!([ready.take(), ready.take(), ready.take()], [Some(2), Some(0), None]);
        assert!(ready.is_refused(1) && !ready.is_refused(0));
    }

    #[test]
    fn the_ring_goes_round() {
        let mut ready = Ready::new(3);
        for turn in 0..20 {
            for member in [turn % 3, (turn + 1) % 3] {
                ready.refuse(member);
                ready.report(member);
            }
            assert_eq!([ready.take(), ready.take()], [Some(turn % 3), Some((turn + 1) % 3)]);
        }
    }
}
