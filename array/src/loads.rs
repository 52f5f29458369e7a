//! Operations queued and in flight on each element: the R_i and W_i of the papers.

/// Loads of all elements, as flat arrays.
#[derive(Clone, Debug)]
pub struct Loads {
    /// Reads queued or in flight.
    pub reads: Vec<u32>,
    /// Writes, trims and flushes queued or in flight.
    pub writes: Vec<u32>,
}

impl Loads {
    /// Nothing queued yet.
    pub fn new(elements: u32) -> Self {
        Self { reads: vec![0; elements as usize], writes: vec![0; elements as usize] }
    }

    #[inline]
    pub(crate) fn add(&mut self, element: u16, is_read: bool) {
        let side = if is_read { &mut self.reads } else { &mut self.writes };
        side[element as usize] += 1;
    }

    #[inline]
    pub(crate) fn remove(&mut self, element: u16, is_read: bool) {
        let side = if is_read { &mut self.reads } else { &mut self.writes };
        side[element as usize] -= 1;
    }

    /// Operations queued or in flight on `element`.
    #[inline]
    pub fn total(&self, element: usize) -> u32 {
        self.reads[element] + self.writes[element]
    }
}
