//! Listening sockets: Unix sockets that only this user may connect to, and loopback TCP.

use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::ending::{Ending, Woken};
use crate::error::ServeError;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 64;
/// How long no connection is accepted after one could not be.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Where to listen: `unix:PATH` or `tcp:ADDRESS:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A Unix socket. Only this user may connect to it.
    Unix(PathBuf),
    /// TCP on a loopback address, because NBD here has no encryption and no passwords.
    Tcp(SocketAddr),
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "expected `unix:PATH` or `tcp:127.0.0.1:PORT`";
        match text.split_once(':') {
            Some(("unix", path)) if !path.is_empty() => Ok(Self::Unix(path.into())),
            Some(("tcp", address)) => {
                let address: SocketAddr = address.parse().map_err(|error| format!("{error}; {expected}"))?;
                if !address.ip().is_loopback() {
                    return Err(format!(
                        "{} is no loopback address; NBD has no encryption here, so reach it through a tunnel",
                        address.ip()
                    ));
                }
                Ok(Self::Tcp(address))
            }
            _ => Err(expected.to_owned()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(address) => write!(f, "tcp:{address}"),
        }
    }
}

/// A listening Unix socket. Its file has mode 0600 from its creation on, and is removed when this value is dropped.
#[derive(Debug)]
pub(crate) struct UnixSocket {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode: a socket that replaced it is not removed.
    file: (u64, u64),
}

impl UnixSocket {
    /// Listens at `path`; accepting does not block. A socket file without a listener is replaced.
    ///
    /// # Errors
    /// When another program is listening there, when the file is not a socket, and the errors of the operating system.
    pub(crate) fn bind(path: &Path) -> Result<Self, ServeError> {
        let fail = |error: std::io::Error| ServeError::Listen { at: path.display().to_string(), error };
        if let Ok(found) = std::fs::symlink_metadata(path) {
            use std::os::unix::fs::FileTypeExt;
            if !found.file_type().is_socket() {
                return Err(ServeError::NoSocket(path.to_owned()));
            }
            if is_listened_at(path).map_err(fail)? {
                return Err(ServeError::InUse(path.to_owned()));
            }
            std::fs::remove_file(path).map_err(fail)?;
        }
        let io = |error: Errno| fail(error.into());
        let address = SocketAddrUnix::new(path).map_err(io)?;
        let flags = SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
        let socket = socket.map_err(io)?;
        // On Linux the file takes its mode from the socket, so that no other user connects before a chmod.
        rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR).map_err(io)?;
        rustix::net::bind(&socket, &address).map_err(io)?;
        rustix::net::listen(&socket, BACKLOG).map_err(io)?;
        // The caller polls before it accepts: a connection that is gone by then must not block the thread.
        rustix::io::ioctl_fionbio(&socket, true).map_err(io)?;
        let found = std::fs::symlink_metadata(path).map_err(fail)?;
        let file = (found.dev(), found.ino());
        Ok(Self { listener: socket.into(), path: path.to_owned(), file })
    }

    pub(crate) fn listener(&self) -> &UnixListener {
        &self.listener
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Whether a program is listening on the socket, without waiting. A program with a full queue counts as listening.
fn is_listened_at(path: &Path) -> std::io::Result<bool> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    match rustix::net::connect(&socket, &SocketAddrUnix::new(path)?) {
        Ok(()) | Err(Errno::AGAIN) => Ok(true),
        Err(Errno::CONNREFUSED) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Waits for the next connection that `accept` takes from the non-blocking `listener`. None once the end has come.
pub(crate) fn next_connection<S>(
    listener: &impl AsFd,
    ending: &Ending,
    mut accept: impl FnMut() -> std::io::Result<S>,
) -> Option<S> {
    loop {
        match ending.wait(Some(listener.as_fd()), None) {
            Woken::Ended => return None,
            Woken::Late => continue,
            Woken::Ready => {}
        }
        match accept() {
            Ok(stream) => return Some(stream),
            // The connection is gone again: wait for the next one.
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            // Out of descriptors, most likely: they become available again.
            Err(_) if ending.wait(None, Some(ACCEPT_PAUSE)) == Woken::Ended => return None,
            Err(_) => {}
        }
    }
}

impl Drop for UnixSocket {
    fn drop(&mut self) {
        let is_ours =
            std::fs::symlink_metadata(&self.path).is_ok_and(|found| (found.dev(), found.ino()) == self.file);
        if is_ours {
            // If the file stays, the next server finds no listener on it.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// A listening socket of either kind.
#[derive(Debug)]
pub(crate) enum Listener {
    Unix(UnixSocket),
    Tcp(TcpListener),
}

impl Listener {
    /// Listens at `address`; accepting does not block.
    ///
    /// # Errors
    /// Those of [`UnixSocket::bind`].
    pub(crate) fn bind(address: &Address) -> Result<Self, ServeError> {
        let fail = |error| ServeError::Listen { at: address.to_string(), error };
        match address {
            Address::Unix(path) => UnixSocket::bind(path).map(Self::Unix),
            Address::Tcp(at) => {
                let listener = TcpListener::bind(at).map_err(fail)?;
                listener.set_nonblocking(true).map_err(fail)?;
                Ok(Self::Tcp(listener))
            }
        }
    }

    /// The address. If port 0 was requested, with the port that the system chose.
    pub(crate) fn address(&self) -> std::io::Result<Address> {
        Ok(match self {
            Self::Unix(socket) => Address::Unix(socket.path().to_owned()),
            Self::Tcp(listener) => Address::Tcp(listener.local_addr()?),
        })
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(socket) => socket.listener().as_fd(),
            Self::Tcp(listener) => listener.as_fd(),
        }
    }
}

/// Connects to `path` until its queue is full.
#[cfg(test)]
pub(crate) fn fill_the_queue(path: &Path) -> Vec<std::os::fd::OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let connect = || {
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
        let connected = rustix::net::connect(&socket, &SocketAddrUnix::new(path).unwrap());
        connected.is_ok().then_some(socket)
    };
    std::iter::from_fn(connect).collect()
}

/// Whether the `owner` of a socket at `path` is dropped in time, even if `path` now leads to a program that accepts
/// nothing.
#[cfg(test)]
pub(crate) fn ends_without_its_path<T: Send + 'static>(owner: T, path: &Path) -> bool {
    std::fs::remove_file(path).unwrap();
    let _other = UnixListener::bind(path).unwrap();
    let _queue = fill_the_queue(path);
    ends(owner) && path.exists()
}

/// Whether `owner` is dropped in time.
#[cfg(test)]
pub(crate) fn ends<T: Send + 'static>(owner: T) -> bool {
    let (done, is_done) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        drop(owner);
        let _ = done.send(());
    });
    is_done.recv_timeout(Duration::from_secs(3)).is_ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn an_address_is_a_unix_socket_or_loopback() {
        let parsed = |text: &str| text.parse::<Address>();
        assert_eq!(parsed("unix:/run/x.sock"), Ok(Address::Unix("/run/x.sock".into())));
        assert!(matches!(parsed("tcp:127.0.0.1:10809"), Ok(Address::Tcp(_))));
        assert!(matches!(parsed("tcp:[::1]:10809"), Ok(Address::Tcp(_))));
        assert!(parsed("tcp:0.0.0.0:10809").unwrap_err().contains("tunnel"));
        for wrong in ["", "unix:", "tcp:localhost", "/run/x.sock", "udp:127.0.0.1:1"] {
            assert!(parsed(wrong).unwrap_err().contains("expected"), "{wrong}");
        }
        for text in ["unix:/a/b", "tcp:127.0.0.1:1"] {
            assert_eq!(parsed(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_listener_that_accepts_nothing_still_listens() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.sock");
        let _deaf = UnixListener::bind(&path).unwrap();
        let _queue = fill_the_queue(&path);
        assert!(matches!(UnixSocket::bind(&path), Err(ServeError::InUse(_))), "it is not waited for");
    }

    #[test]
    fn a_socket_is_its_users_alone_and_a_stale_one_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("nbd.sock");
        let socket = UnixSocket::bind(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(matches!(UnixSocket::bind(&path), Err(ServeError::InUse(_))), "somebody listens");
        drop(socket);
        assert!(!path.exists());
        // A listener that is dropped without removing its file, as with kill -9.
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        let socket = UnixSocket::bind(&path).unwrap();
        // Another socket took its place, and stays.
        std::fs::remove_file(&path).unwrap();
        let other = UnixSocket::bind(&path).unwrap();
        drop(socket);
        assert!(path.exists());
        drop(other);
        std::fs::write(&path, "a file").unwrap();
        assert!(matches!(UnixSocket::bind(&path), Err(ServeError::NoSocket(_))));
        assert_eq!(std::fs::read(&path).unwrap(), b"a file", "and it stays");
    }
}
