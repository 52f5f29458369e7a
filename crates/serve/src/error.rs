//! Errors that keep a server from serving, with the remedy.

use std::io;
use std::path::PathBuf;

use stripewise_engine::EngineError;
use stripewise_trace::TraceError;

/// Why an array is not served, or no longer.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Another server is listening on the socket.
    #[error("address in use: another server is listening on `{}`; stop that server, or name another socket", .0.display())]
    InUse(PathBuf),
    /// Something is in the place of the socket that is none.
    #[error("`{}` exists and is no socket; remove it if it is not needed, or name another", .0.display())]
    NoSocket(PathBuf),
    /// The operating system refused an address.
    #[error("cannot listen at `{at}`: {error}")]
    Listen {
        /// The address.
        at: String,
        /// The reason.
        error: io::Error,
    },
    /// A device for a virtual machine is requested, and the program was built without support.
    #[error("this program was built without vhost-user; build it with `--features vhost-user`, or serve NBD")]
    NoVhostUser,
    /// The system started no thread.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    /// Waiting for sockets failed.
    #[error("cannot wait for sockets: {0}")]
    Poll(io::Error),
    /// The array failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Copies of superblocks are damaged, and could not be written again.
    #[error(
        "{left} copies of superblocks are damaged and could not be repaired; the next start may not find their members: serve \
         the array again and replace members that cannot be written"
    )]
    Superblocks {
        /// Number of copies.
        left: u64,
    },
    /// Another server records to the folder.
    #[error("another server records to `{}`; name another folder", .0.display())]
    RecordInUse(PathBuf),
    /// The folder has a recording of another array.
    #[error("`{}` has a recording of another array, {array}; name another folder", .folder.display())]
    RecordOfAnother {
        /// The folder.
        folder: PathBuf,
        /// The array that its last file names.
        array: String,
    },
    /// The recording cannot be written.
    #[error("cannot record: {0}")]
    Record(#[from] TraceError),
}
