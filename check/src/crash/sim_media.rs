//! Elements as creation and opening see them, with power that may go in the middle.

use stripewise_array::{At, Found, Media, Outcome};
use stripewise_base::prng::Prng;

use super::elements::{Content, Elements, InFlight};

/// The elements that are offered, in some order.
pub(crate) struct SimMedia<'a> {
    elements: &'a mut Elements,
    /// Which elements they are.
    order: Vec<u16>,
    /// Writes and flushes until power goes.
    left: Option<u64>,
    /// Writes that were under way when power went.
    in_flight: Vec<InFlight>,
    /// In which order the writes of a round are done.
    random: Prng,
}

impl<'a> SimMedia<'a> {
    /// Offers the elements of `order`; power goes after `cut` writes and flushes, if ever.
    pub(crate) fn new(elements: &'a mut Elements, order: Vec<u16>, cut: Option<u64>, seed: u64) -> Self {
        let random = Prng::stream(seed, 0x6F66_6665);
        Self { elements, order, left: cut, in_flight: Vec::new(), random }
    }

    /// Which elements are offered, in order.
    pub(crate) fn order(&self) -> &[u16] {
        &self.order
    }

    /// Whether power went, and if so what was under way.
    pub(crate) fn cut(self) -> Option<Vec<InFlight>> {
        (self.left == Some(0)).then_some(self.in_flight)
    }

    fn has_power(&self) -> bool {
        self.left != Some(0)
    }

    /// One write or flush more. False if power goes before it.
    fn goes_on(&mut self) -> bool {
        if !self.has_power() {
            return false;
        }
        self.left = self.left.map(|left| left - 1);
        true
    }
}

impl Media for SimMedia<'_> {
    fn count(&self) -> u16 {
        self.order.len() as u16
    }

    fn size(&self, _element: u16) -> (u32, u32) {
        (self.elements.pages(), self.elements.page_bytes() as u32)
    }

    fn read(&mut self, at: &[At], found: &mut Found<'_>) {
        for (nth, at) in at.iter().enumerate() {
            match self.elements.read(self.order[at.element as usize], at.page) {
                Ok(content) if self.has_power() => found(nth, Ok(content)),
                Ok(_) => found(nth, Err(Outcome::Gone)),
                Err(outcome) => found(nth, Err(outcome)),
            }
        }
    }

    fn write(&mut self, at: &[At], pages: &[&[u8]]) -> Vec<Outcome> {
        let mut outcomes = vec![Outcome::Gone; at.len()];
        if !self.has_power() {
            return outcomes;
        }
        let mut turns: Vec<usize> = (0..at.len()).collect();
        for last in (1..turns.len()).rev() {
            turns.swap(last, self.random.below(last as u64 + 1) as usize);
        }
        for nth in turns {
            let (element, page) = (self.order[at[nth].element as usize], at[nth].page);
            let content: Content = pages[nth].into();
            if self.goes_on() {
                outcomes[nth] = self.elements.write(element, page, content);
            } else {
                self.in_flight.push(InFlight { element, page, content });
            }
        }
        outcomes
    }

    fn flush(&mut self, elements: &[u16]) -> Vec<Outcome> {
        let mut outcomes = vec![Outcome::Gone; elements.len()];
        for (outcome, &element) in outcomes.iter_mut().zip(elements) {
            if self.goes_on() {
                let element = self.order[element as usize];
                *outcome = self.elements.flush(element, self.elements.answered(element));
            }
        }
        outcomes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_power_goes_after_any_write_and_what_was_under_way_is_undecided() {
        let at: Vec<At> = (0..4).map(|page| At { element: 1, page }).collect();
        let content = &[1u8; 512][..];
        for cut in 0..6 {
            let mut elements = Elements::new(3, 8, 512);
            let mut media = SimMedia::new(&mut elements, vec![2, 0], Some(cut), 5);
            let outcomes = media.write(&at, &[content; 4]);
            let answered = outcomes.iter().filter(|&&outcome| outcome == Outcome::Done).count() as u64;
            assert_eq!(answered, cut.min(4));
            let flushed = media.flush(&[1])[0] == Outcome::Done;
            assert_eq!(flushed, cut > 4);
            let in_flight = media.cut();
            assert_eq!(in_flight.is_some(), cut <= 5);
            let undecided = elements.undecided(&in_flight.unwrap_or_default());
            assert!(undecided.iter().all(|one| one.element == 0));
            let expected = match cut {
                0 => 0,
                1..=4 => 4,
                _ => 0,
            };
            assert_eq!(undecided.len(), expected, "after {cut}");
        }
    }
}
