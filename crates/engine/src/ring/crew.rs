//! Threads that execute the operations of one file with a file system that may block.
//!
//! The kernel has workers for that too, but one pool of them for all files of a thread: a file that does not answer
//! occupies them all, and its writes stop writes to other files with the same inode hash (`IO_WQ_HASH_ORDER` of
//! io_uring/io-wq.c). A stalled member must not stop another, so each file has threads of its own.

#![allow(unsafe_code, reason = "the kernel reads and writes memory that it is given by address")]

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::event::{EventfdFlags, eventfd};

use super::kernel::{Action, Piece};

/// Threads of a file, and so the operations that it executes at once.
const THREADS: usize = 16;
/// `_IO(0x12, 119)` of the kernel's `linux/fs.h`.
const BLKDISCARD: libc::Ioctl = 0x1277;

/// Answers of crews that were not taken yet, and a descriptor that becomes readable when there is one.
#[derive(Debug)]
pub(super) struct Answers {
    list: Mutex<Vec<(u64, i32)>>,
    bell: OwnedFd,
}

impl Answers {
    /// # Errors
    /// When the system provides no descriptor.
    pub(super) fn new() -> io::Result<Self> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { list: Mutex::default(), bell })
    }

    /// Adds an answer. The bell rings once for all answers until they are taken, so the caller takes all of them after
    /// it has rung.
    fn put(&self, tag: u64, answer: i32) {
        let mut list = locked(&self.list);
        list.push((tag, answer));
        if list.len() == 1 {
            // The counter cannot overflow: it is emptied before the list is.
            let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
        }
    }

    /// Appends all answers to `into`: tags, and bytes or negative error numbers.
    pub(super) fn take(&self, into: &mut VecDeque<(u64, i32)>) {
        let _ = rustix::io::read(&self.bell, &mut [0; 8]);
        into.extend(locked(&self.list).drain(..));
    }
}

impl AsFd for Answers {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

/// An operation.
#[derive(Debug)]
struct Task {
    tag: u64,
    /// Held, as another file gets the number of one that is closed.
    file: Arc<OwnedFd>,
    action: Action,
    offset: u64,
    pieces: Vec<Piece>,
}

#[derive(Debug, Default)]
struct Queue {
    tasks: VecDeque<Task>,
    /// Threads that wait for a task.
    idle: usize,
    is_over: bool,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

/// The threads of one file. They end when it is dropped, each after its current task.
#[derive(Debug)]
pub(super) struct Crew {
    shared: Arc<Shared>,
    answers: Arc<Answers>,
    file: Arc<OwnedFd>,
    threads: usize,
}

impl Crew {
    /// Threads for a file, by a descriptor of their own.
    pub(super) fn new(answers: Arc<Answers>, file: OwnedFd) -> Self {
        Self { shared: Arc::default(), answers, file: Arc::new(file), threads: 0 }
    }

    /// Queues a task on the memory of `pieces`, in order, at `offset` of the file. Its answer will have `tag`.
    ///
    /// # Errors
    /// When no thread exists and the system starts none.
    ///
    /// # Safety
    /// The memory of `pieces` stays in place until the answer has come; until then no other code writes to it, nor reads
    /// memory that the task fills.
    pub(super) unsafe fn push(
        &mut self,
        tag: u64,
        action: Action,
        offset: u64,
        pieces: &[Piece],
    ) -> io::Result<()> {
        let mut queue = locked(&self.shared.queue);
        if queue.tasks.len() >= queue.idle && self.threads < THREADS {
            let (shared, answers) = (self.shared.clone(), self.answers.clone());
            let spawned = thread::Builder::new().name("member".into()).spawn(move || work(&shared, &answers));
            match spawned {
                Ok(_) => self.threads += 1,
                Err(error) if self.threads == 0 => return Err(error),
                Err(_) => {}
            }
        }
        let file = self.file.clone();
        queue.tasks.push_back(Task { tag, file, action, offset, pieces: pieces.to_vec() });
        drop(queue);
        self.shared.changed.notify_one();
        Ok(())
    }
}

impl Crew {
    /// Prevents new threads, so that no task begins.
    #[cfg(test)]
    pub(super) fn hold(&mut self) {
        self.threads = THREADS;
    }

    /// Allows threads again.
    #[cfg(test)]
    pub(super) fn unhold(&mut self) {
        self.threads = 0;
    }

    /// Cancels the tasks that no thread has begun: their answers report that.
    pub(super) fn cancel(&mut self) {
        let tasks = std::mem::take(&mut locked(&self.shared.queue).tasks);
        tasks.iter().for_each(|task| self.answers.put(task.tag, -libc::ECANCELED));
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        let mut queue = locked(&self.shared.queue);
        // The member may be used by another program next.
        queue.tasks.clear();
        queue.is_over = true;
        drop(queue);
        self.shared.changed.notify_all();
    }
}

fn work(shared: &Shared, answers: &Answers) {
    loop {
        let task = {
            let mut queue = locked(&shared.queue);
            loop {
                if let Some(task) = queue.tasks.pop_front() {
                    break task;
                }
                if queue.is_over {
                    return;
                }
                queue.idle += 1;
                queue = shared.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
                queue.idle -= 1;
            }
        };
        let (tag, answer) = (task.tag, carry_out(&task));
        // Before the answer is known: a new open of the file may follow then, which its lock must not prevent.
        drop(task);
        answers.put(tag, answer);
    }
}

/// Executes a task. Returns bytes, or a negative error number.
fn carry_out(task: &Task) -> i32 {
    let Task { action, offset, ref pieces, .. } = *task;
    let file = task.file.as_raw_fd();
    let vector = pieces.as_ptr().cast::<libc::iovec>();
    let (count, at) = (pieces.len() as i32, offset as i64);
    loop {
        // SAFETY: the task holds the file. The code that pushed it guarantees that the memory of the pieces exists and is
        // not used otherwise until the answer has come. A piece has the layout of the system's `iovec`,
        // and the list lives here.
        let done = unsafe {
            match action {
                Action::Read => libc::preadv64(file, vector, count, at),
                Action::Write => libc::pwritev64(file, vector, count, at),
                Action::Trim(bytes) => {
                    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
                    libc::fallocate64(file, mode, at, bytes as i64) as isize
                }
                Action::Discard(bytes) => libc::ioctl(file, BLKDISCARD, [offset, bytes].as_ptr()) as isize,
                Action::Flush => libc::fdatasync(file) as isize,
            }
        };
        let error = io::Error::last_os_error();
        match usize::try_from(done) {
            Ok(bytes) => return bytes as i32,
            Err(_) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return -error.raw_os_error().unwrap_or(libc::EIO),
        }
    }
}

/// No thread panics while it has one of these locks, except for lack of memory.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
