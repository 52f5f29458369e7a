//! Access to members during creation and recovery of an array: pages are read, written and flushed in rounds.
//!
//! While an array serves requests, the controller issues single operations to its `Driver`. Creation and recovery
//! need no scheduling: they know a whole round of operations at a time. An implementation may do the operations of one
//! round in any order and in parallel.

use crate::operation::Outcome;

/// A page of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct At {
    /// The member, by its position among the offered members, from 0.
    pub member: u16,
    /// The page.
    pub page: u32,
}

/// Callback for each page that was read: the page's index in the requested list, and its content or why there is none.
pub type Found<'a> = dyn FnMut(usize, Result<&[u8], Outcome>) + 'a;

/// The members of an array, without a running array.
pub trait Media {
    /// The number of offered members.
    fn count(&self) -> u16;

    /// The number of pages of an offered member, and the bytes of each page.
    fn size(&self, member: u16) -> (u32, u32);

    /// Reads pages. Calls `found` once for each page, in any order.
    fn read(&mut self, at: &[At], found: &mut Found<'_>);

    /// Writes `pages[i]` to `at[i]`, in any order, and returns the outcome of each write.
    fn write(&mut self, at: &[At], pages: &[&[u8]]) -> Vec<Outcome>;

    /// Makes all writes to each of these members durable, and returns the outcome for each.
    fn flush(&mut self, members: &[u16]) -> Vec<Outcome>;
}
