//! Members as creation and recovery of an array see them: pages that are read, written and flushed in rounds.
//!
//! While an array serves, the controller asks its [`crate::Driver`] for one operation after the other. Before it serves there is
//! nothing to be scheduled: creation and recovery know whole rounds of operations at a time, and whoever implements this may
//! do those of one round in any order and all at once.

use crate::operation::Outcome;

/// A page of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct At {
    /// The member, as it was offered: from 0 on.
    pub member: u16,
    /// The page.
    pub page: u32,
}

/// Who is told what was read: the page's place in the list that was asked for, and its content or why there is none.
pub type Found<'a> = dyn FnMut(usize, Result<&[u8], Outcome>) + 'a;

/// The members of an array, without an array.
pub trait Media {
    /// How many members are offered.
    fn count(&self) -> u16;

    /// Pages of an offered member, and the bytes of each.
    fn size(&self, member: u16) -> (u32, u32);

    /// Reads pages. `found` is told of each once, in any order.
    fn read(&mut self, at: &[At], found: &mut Found<'_>);

    /// Writes `pages[i]` to `at[i]`, in any order, and answers how each ended.
    fn write(&mut self, at: &[At], pages: &[&[u8]]) -> Vec<Outcome>;

    /// Makes durable what was written to each of these members, and answers how each ended.
    fn flush(&mut self, members: &[u16]) -> Vec<Outcome>;
}
