//! Operations queued and in flight on each element: the R_i and W_i of the papers.

/// Loads of all elements, as flat arrays.
#[derive(Clone, Debug)]
pub struct Loads {
    /// Reads queued or in flight.
    pub reads: Vec<u32>,
    /// Writes, trims and flushes queued or in flight.
    pub writes: Vec<u32>,
    /// Elements with any of them.
    pub(crate) busy: u32,
}

impl Loads {
    /// Nothing queued yet.
    pub fn new(elements: u32) -> Self {
        Self { reads: vec![0; elements as usize], writes: vec![0; elements as usize], busy: 0 }
    }

    #[inline]
    pub(crate) fn add(&mut self, element: u16, is_read: bool) {
        self.busy += u32::from(self.total(element.into()) == 0);
        let side = if is_read { &mut self.reads } else { &mut self.writes };
        side[element as usize] += 1;
    }

    #[inline]
    pub(crate) fn remove(&mut self, element: u16, is_read: bool) {
        let side = if is_read { &mut self.reads } else { &mut self.writes };
        side[element as usize] -= 1;
        self.busy -= u32::from(self.total(element.into()) == 0);
    }

    /// Elements that have an operation queued or in flight.
    #[inline]
    pub fn busy(&self) -> u32 {
        self.busy
    }

    /// Operations queued or in flight on `element`.
    #[inline]
    pub fn total(&self, element: usize) -> u32 {
        self.reads[element] + self.writes[element]
    }
}

#[cfg(test)]
mod tests {
    use stripewise_base::prng::Prng;

    use super::*;

    #[test]
    fn busy_elements_are_those_with_an_operation_of_either_kind() {
        let mut loads = Loads::new(5);
        let mut prng = Prng::new(7);
        let mut queued = Vec::new();
        for _ in 0..2_000 {
            if queued.is_empty() || prng.below(100) < 48 {
                let one = (prng.below(5) as u16, prng.below(2) == 0);
                loads.add(one.0, one.1);
                queued.push(one);
            } else {
                let (element, is_read) = queued.swap_remove(prng.below(queued.len() as u64) as usize);
                loads.remove(element, is_read);
            }
            let busy = (0..5).filter(|&element| queued.iter().any(|one| one.0 == element)).count();
            assert_eq!(loads.busy() as usize, busy);
        }
    }
}
