//! What physical pages hold. Timed simulation needs nothing; a checking simulation keeps real bytes here, at
//! *physical* addresses, so that a wrong map or a block erased too early shows as wrong content.

/// Content of physical pages. Pages count within their element. `token` is the operation's.
pub trait Media {
    /// The content of the operation is written to a page.
    fn program(&mut self, _element: u32, _page: u32, _token: u32) {}

    /// The content of a page goes to the operation; `None` is a page that was never written, or was trimmed.
    fn read(&mut self, _element: u32, _page: Option<u32>, _token: u32) {}

    /// Garbage collection copies a page.
    fn copy(&mut self, _element: u32, _from: u32, _to: u32) {}

    /// `count` pages from `first` on lose their content.
    fn erase(&mut self, _element: u32, _first: u32, _count: u32) {}
}

/// Holds nothing and costs nothing.
impl Media for () {}
