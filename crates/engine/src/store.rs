//! The interface between the plain backend and a member, and the meaning of operating-system errors to the controller.

use std::io;
use std::path::Path;

use rustix::io::Errno;
use stripewise_array::Outcome;

/// A member: pages of one size that can be read, written, declared unused and made durable.
///
/// Buffers are exactly one page long, page numbers are below [`Store::pages`].
pub trait Store {
    /// Pages that the member offers.
    fn pages(&self) -> u32;

    /// Fills `into` with the content of `page`; zeros if it was never written, or trimmed since.
    ///
    /// # Errors
    /// Why the page could not be read, see [`outcome_of`].
    fn read(&mut self, page: u32, into: &mut [u8]) -> io::Result<()>;

    /// Makes `from` the content of `page`.
    ///
    /// # Errors
    /// Why the page could not be written.
    fn write(&mut self, page: u32, from: &[u8]) -> io::Result<()>;

    /// Declares `page` unused: it reads as zeros from now on.
    ///
    /// # Errors
    /// Why the page could not be cleared.
    fn trim(&mut self, page: u32) -> io::Result<()>;

    /// Makes all earlier writes and trims durable.
    ///
    /// # Errors
    /// When durability is in doubt. A later success does not remove the doubt.
    fn flush(&mut self) -> io::Result<()>;

    /// Whether nothing that it acknowledged is volatile, so that a flush changes nothing.
    fn writes_through(&self) -> bool {
        false
    }

    /// The path of the member, if it has one.
    fn path(&self) -> Option<&Path> {
        None
    }
}

impl<S: Store + ?Sized> Store for Box<S> {
    fn pages(&self) -> u32 {
        (**self).pages()
    }
    fn read(&mut self, page: u32, into: &mut [u8]) -> io::Result<()> {
        (**self).read(page, into)
    }
    fn write(&mut self, page: u32, from: &[u8]) -> io::Result<()> {
        (**self).write(page, from)
    }
    fn trim(&mut self, page: u32) -> io::Result<()> {
        (**self).trim(page)
    }
    fn flush(&mut self) -> io::Result<()> {
        (**self).flush()
    }
    fn writes_through(&self) -> bool {
        (**self).writes_through()
    }
    fn path(&self) -> Option<&Path> {
        (**self).path()
    }
}

/// The meaning of an operating-system error to the controller.
///
/// Linux maps errors of block devices to error numbers (its `block/blk-core.c`): ENODATA is a medium error, EILSEQ a
/// failed protection check, ENODEV an offline device, ENOLINK a lost path. A file that ends before a page once held
/// that page, so the remaining bytes are not its content.
pub fn outcome_of(error: &io::Error) -> Outcome {
    match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData => return Outcome::Corrupt,
        io::ErrorKind::TimedOut => return Outcome::Timeout,
        _ => {}
    }
    match Errno::from_io_error(error) {
        Some(Errno::BADMSG | Errno::ILSEQ) => Outcome::Corrupt,
        Some(
            Errno::NODEV
            | Errno::NXIO
            | Errno::NOLINK
            | Errno::NOMEDIUM
            | Errno::NOTCONN
            | Errno::SHUTDOWN
            | Errno::STALE
            | Errno::BADF,
        ) => Outcome::Gone,
        _ => Outcome::MediumError,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_system_keep_their_meaning() {
        let of = |errno: Errno| outcome_of(&io::Error::from(errno));
        assert_eq!(of(Errno::IO), Outcome::MediumError);
        assert_eq!(of(Errno::NODATA), Outcome::MediumError);
        assert_eq!(of(Errno::NOSPC), Outcome::MediumError);
        assert_eq!(of(Errno::ILSEQ), Outcome::Corrupt);
        assert_eq!(of(Errno::TIMEDOUT), Outcome::Timeout);
        assert_eq!(of(Errno::NODEV), Outcome::Gone);
        assert_eq!(of(Errno::NXIO), Outcome::Gone);
        assert_eq!(outcome_of(&io::ErrorKind::UnexpectedEof.into()), Outcome::Corrupt);
        assert_eq!(outcome_of(&io::Error::other("unheard of")), Outcome::MediumError);
    }
}
