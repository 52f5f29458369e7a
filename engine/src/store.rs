//! What the plain driver needs of a member, and what the errors of an operating system mean to the controller.

use std::io;
use std::path::Path;

use rustix::io::Errno;
use stripewise_array::Outcome;

/// A member: pages of one size that are read, written, declared unused and made durable.
///
/// Buffers are exactly one page long, page numbers are below [`Store::pages`].
pub trait Store {
    /// Pages that the member offers.
    fn pages(&self) -> u32;

    /// Fills `into` with the content of `page`; zeros if it was never written, or trimmed since.
    ///
    /// # Errors
    /// What kept the page from being read, see [`outcome_of`].
    fn read(&mut self, page: u32, into: &mut [u8]) -> io::Result<()>;

    /// Makes `from` the content of `page`.
    ///
    /// # Errors
    /// What kept the page from being written.
    fn write(&mut self, page: u32, from: &[u8]) -> io::Result<()>;

    /// Declares `page` unused: it reads as zeros from now on.
    ///
    /// # Errors
    /// What kept the page from being cleared.
    fn trim(&mut self, page: u32) -> io::Result<()>;

    /// Makes everything that was written or trimmed before durable.
    ///
    /// # Errors
    /// When durability is in doubt; a later success does not make up for it.
    fn flush(&mut self) -> io::Result<()>;

    /// Where it is, if it is somewhere.
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
    fn path(&self) -> Option<&Path> {
        (**self).path()
    }
}

/// What an error of the operating system means to the controller.
///
/// Linux names the troubles of block devices by error numbers (its `block/blk-core.c`): ENODATA is a medium error,
/// EILSEQ a failed protection check, ENODEV an offline device, ENOLINK a lost path. A file that ends too early once
/// held the page, so what is left of it is not its content.
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
