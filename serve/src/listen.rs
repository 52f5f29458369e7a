//! Sockets that are listened at: Unix sockets that nobody else may open, and loopback TCP.

use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use rustix::fs::Mode;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::error::ServeError;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 64;

/// Where to listen: `unix:PATH` or `tcp:ADDRESS:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A Unix socket, which this user alone may open.
    Unix(PathBuf),
    /// TCP on a loopback address: NBD here has no encryption and no passwords.
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

/// A Unix socket that listens. Its file has mode 0600 from the first moment on, and is removed with it.
#[derive(Debug)]
pub(crate) struct UnixSocket {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode: a socket that took its place is not removed.
    file: (u64, u64),
}

impl UnixSocket {
    /// Listens at `path`. A socket that is there and that nobody listens at is replaced.
    ///
    /// # Errors
    /// When somebody listens there, when something is there that is no socket, and what the operating system refuses.
    pub(crate) fn bind(path: &Path) -> Result<Self, ServeError> {
        let fail = |error: std::io::Error| ServeError::Listen { at: path.display().to_string(), error };
        if let Ok(found) = std::fs::symlink_metadata(path) {
            use std::os::unix::fs::FileTypeExt;
            if !found.file_type().is_socket() {
                return Err(ServeError::NoSocket(path.to_owned()));
            }
            match UnixStream::connect(path) {
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                    std::fs::remove_file(path).map_err(fail)?;
                }
                Ok(_) => return Err(ServeError::InUse(path.to_owned())),
                Err(error) => return Err(fail(error)),
            }
        }
        let io = |error: rustix::io::Errno| fail(error.into());
        let address = SocketAddrUnix::new(path).map_err(io)?;
        let flags = SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
        let socket = socket.map_err(io)?;
        // On Linux the file takes its mode from the socket, so that nobody gets in before a chmod.
        rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR).map_err(io)?;
        rustix::net::bind(&socket, &address).map_err(io)?;
        rustix::net::listen(&socket, BACKLOG).map_err(io)?;
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

impl Drop for UnixSocket {
    fn drop(&mut self) {
        let is_ours =
            std::fs::symlink_metadata(&self.path).is_ok_and(|found| (found.dev(), found.ino()) == self.file);
        if is_ours {
            // If it stays, the next server finds that nobody listens at it.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// A socket that clients connect to, of either kind.
#[derive(Debug)]
pub(crate) enum Listener {
    Unix(UnixSocket),
    Tcp(TcpListener),
}

impl Listener {
    /// Listens at `address`; connections are accepted without waiting.
    ///
    /// # Errors
    /// Those of [`UnixSocket::bind`].
    pub(crate) fn bind(address: &Address) -> Result<Self, ServeError> {
        let fail = |error| ServeError::Listen { at: address.to_string(), error };
        match address {
            Address::Unix(path) => {
                let socket = UnixSocket::bind(path)?;
                socket.listener().set_nonblocking(true).map_err(fail)?;
                Ok(Self::Unix(socket))
            }
            Address::Tcp(at) => {
                let listener = TcpListener::bind(at).map_err(fail)?;
                listener.set_nonblocking(true).map_err(fail)?;
                Ok(Self::Tcp(listener))
            }
        }
    }

    /// The address, with the port that the system chose where 0 was asked for.
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
    fn a_socket_is_its_users_alone_and_a_stale_one_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("nbd.sock");
        let socket = UnixSocket::bind(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(matches!(UnixSocket::bind(&path), Err(ServeError::InUse(_))), "somebody listens");
        drop(socket);
        assert!(!path.exists());
        // A listener that is dropped without removing its file, as by kill -9.
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        let socket = UnixSocket::bind(&path).unwrap();
        // Another took its place: that one stays.
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
