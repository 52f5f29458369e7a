//! Members as seen by creation and assembly, with a power loss that may occur in the middle.

use stripewise_array::{At, Found, Media, MemberNo, Outcome};
use stripewise_base::prng::Prng;

use super::members::{Content, InFlight, Members};

/// The offered members, in some order.
pub(crate) struct SimMedia<'a> {
    members: &'a mut Members,
    /// The numbers of the members.
    order: Vec<MemberNo>,
    /// Writes and flushes until the power loss.
    left: Option<u64>,
    /// Writes in flight at the power loss.
    in_flight: Vec<InFlight>,
    /// Determines the order of writes in a round.
    random: Prng,
}

impl<'a> SimMedia<'a> {
    /// Offers the members of `order`; power is lost after `cut` writes and flushes, if given.
    pub(crate) fn new(members: &'a mut Members, order: Vec<MemberNo>, cut: Option<u64>, seed: u64) -> Self {
        let random = Prng::stream(seed, 0x6F66_6665);
        Self { members, order, left: cut, in_flight: Vec::new(), random }
    }

    /// The number of the serving that an assembly of them begins.
    pub(crate) fn serving(&self) -> u64 {
        self.random.clone().next_u64().max(1)
    }

    /// The offered members, in order.
    pub(crate) fn order(&self) -> &[MemberNo] {
        &self.order
    }

    /// If power was lost: the writes in flight.
    pub(crate) fn cut(self) -> Option<Vec<InFlight>> {
        (self.left == Some(0)).then_some(self.in_flight)
    }

    fn has_power(&self) -> bool {
        self.left != Some(0)
    }

    /// Counts one more write or flush. False if power is lost before it.
    fn continues(&mut self) -> bool {
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

    fn size(&self, member: u16) -> (u32, u32) {
        (self.members.pages(self.order[usize::from(member)]), self.members.page_bytes() as u32)
    }

    fn read(&mut self, at: &[At], found: &mut Found<'_>) {
        for (nth, at) in at.iter().enumerate() {
            match self.members.read(self.order[at.member as usize], at.page) {
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
        self.random.shuffle(&mut turns);
        for nth in turns {
            let (member, page) = (self.order[at[nth].member as usize], at[nth].page);
            let content: Content = pages[nth].into();
            if self.continues() {
                outcomes[nth] = self.members.write(member, page, content);
            } else {
                self.in_flight.push(InFlight { member, page, content });
            }
        }
        outcomes
    }

    fn flush(&mut self, members: &[u16]) -> Vec<Outcome> {
        let mut outcomes = vec![Outcome::Gone; members.len()];
        for (outcome, &member) in outcomes.iter_mut().zip(members) {
            if self.continues() {
                let member = self.order[member as usize];
                *outcome = self.members.flush(member, self.members.answered(member));
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
        let at: Vec<At> = (0..4).map(|page| At { member: 1, page }).collect();
        let content = &[1u8; 512][..];
        for cut in 0..6 {
            let mut members = Members::new(3, 8, 512);
            let mut media =
                SimMedia::new(&mut members, vec![MemberNo::new(2), MemberNo::new(0)], Some(cut), 5);
            let outcomes = media.write(&at, &[content; 4]);
            let answered = outcomes.iter().filter(|&&outcome| outcome == Outcome::Done).count() as u64;
            assert_eq!(answered, cut.min(4));
            let flushed = media.flush(&[1])[0] == Outcome::Done;
            assert_eq!(flushed, cut > 4);
            let in_flight = media.cut();
            assert_eq!(in_flight.is_some(), cut <= 5);
            let undecided = members.undecided(&in_flight.unwrap_or_default());
            assert!(undecided.iter().all(|one| one.member == MemberNo::new(0)));
            let expected = match cut {
                0 => 0,
                1..=4 => 4,
                _ => 0,
            };
            assert_eq!(undecided.len(), expected, "after {cut}");
        }
    }
}
