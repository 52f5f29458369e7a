//! Elements that refused an operation and may admit one now, in the order in which they became free.

/// A ring that holds each element at most once.
#[derive(Clone, Debug)]
pub(crate) struct Ready {
    ring: Box<[u32]>,
    from: u32,
    count: u32,
    waits: Box<[bool]>,
    listed: Box<[bool]>,
}

impl Ready {
    pub(crate) fn new(elements: u32) -> Self {
        let length = elements.next_power_of_two() as usize;
        Self {
            ring: vec![0; length].into(),
            from: 0,
            count: 0,
            waits: vec![false; elements as usize].into(),
            listed: vec![false; elements as usize].into(),
        }
    }

    /// The element refused: it is to be reported when it may admit again.
    pub(crate) fn refuse(&mut self, element: u32) {
        self.waits[element as usize] = true;
    }

    /// Whether the element refused and was not reported since.
    #[inline(always)]
    pub(crate) fn is_refused(&self, element: u32) -> bool {
        self.waits[element as usize]
    }

    /// Reports the element, if it refused.
    #[inline(always)]
    pub(crate) fn report(&mut self, element: u32) {
        let waited = std::mem::take(&mut self.waits[element as usize]);
        if waited && !std::mem::replace(&mut self.listed[element as usize], true) {
            let mask = self.ring.len() as u32 - 1;
            self.ring[((self.from + self.count) & mask) as usize] = element;
            self.count += 1;
        }
    }

    #[inline(always)]
    pub(crate) fn take(&mut self) -> Option<u32> {
        if self.count == 0 {
            return None;
        }
        let element = self.ring[self.from as usize];
        self.from = (self.from + 1) & (self.ring.len() as u32 - 1);
        self.count -= 1;
        self.listed[element as usize] = false;
        Some(element)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_reported_once_in_the_order_in_which_they_became_free() {
        let mut ready = Ready::new(3);
        ready.report(1);
        assert_eq!(ready.take(), None, "it never refused");
        [0, 1, 2].into_iter().for_each(|element| ready.refuse(element));
        [2, 0, 2].into_iter().for_each(|element| ready.report(element));
        // Refused again before it was asked: it is asked anyway.
        ready.refuse(2);
        ready.report(2);
        assert_eq!([ready.take(), ready.take(), ready.take()], [Some(2), Some(0), None]);
        assert!(ready.is_refused(1) && !ready.is_refused(0));
    }

    #[test]
    fn the_ring_goes_round() {
        let mut ready = Ready::new(3);
        for turn in 0..20 {
            for element in [turn % 3, (turn + 1) % 3] {
                ready.refuse(element);
                ready.report(element);
            }
            assert_eq!([ready.take(), ready.take()], [Some(turn % 3), Some((turn + 1) % 3)]);
        }
    }
}
