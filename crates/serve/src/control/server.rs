//! The server side of the control socket: a thread that listens, and one for each of few connections.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::rpc::{self, LINE_MAX};
use super::{Answer, Command, ControlError, ControlRequest};
use crate::candidate::{Candidate, CandidateRole, NewFile, Vacancy};
use crate::deadline::Deadline;
use crate::ending::Ending;
use crate::error::ServeError;
use crate::listen::{UnixSocket, next_connection};
use crate::mailbox::{Sender, Unsent};
use crate::members::Refusal;

/// Connections at a time; more are closed at once.
const CONNECTIONS_MAX: usize = 16;
/// How long a connection may be silent.
const SILENCE: Duration = Duration::from_secs(60);
/// How long a client may take to read an answer. The end of the server may have to wait for it.
const ANSWER_TIME: Duration = if cfg!(test) { Duration::from_millis(200) } else { Duration::from_secs(5) };
/// How long the loop may take to answer. It answers between two requests of hosts, so this is long.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time between two requests for the place of a member that has operations in flight.
const RETRY: Duration = Duration::from_millis(50);
/// How long the end of a server waits for an answer in progress.
const FAREWELL: Duration = Duration::from_secs(10);

/// A control socket that listens. Dropping it answers the pending commands, closes it and removes its file.
#[derive(Debug)]
pub(crate) struct Control {
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    socket: UnixSocket,
    ending: Ending,
    connections: Mutex<Vec<(UnixStream, JoinHandle<()>)>>,
    /// The result of the server's end, once it is known.
    outcome: Mutex<Option<Answer>>,
    has_outcome: Condvar,
}

impl Shared {
    fn connections(&self) -> MutexGuard<'_, Vec<(UnixStream, JoinHandle<()>)>> {
        // The list is valid even after a panic: it only grows and shrinks by one entry.
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the result of the server's end, unless it is set.
    fn conclude(&self, how: Answer) {
        self.outcome().get_or_insert(how);
        self.has_outcome.notify_all();
    }

    fn outcome(&self) -> MutexGuard<'_, Option<Answer>> {
        // It is written once, completely.
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the loop to end, and waits until the array is closed. That takes as long as it must, and outlasts the loop.
    fn stop<M: From<ControlRequest>>(&self, mailbox: &Sender<M>) -> Answer {
        match mailbox.send(ControlRequest::Stop.into()) {
            Err(Unsent::Busy) => return Err(busy()),
            // It is ending already.
            Ok(()) | Err(Unsent::Ended) => {}
        }
        let known = self.has_outcome.wait_while(self.outcome(), |outcome| outcome.is_none());
        known.unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_else(|| Err(ended()))
    }
}

impl Control {
    /// Listens at `path` for commands to `mailbox`.
    ///
    /// # Errors
    /// When another server is listening there, and the errors of the operating system.
    pub(crate) fn start<M: From<ControlRequest> + Send + 'static>(
        path: &Path,
        mailbox: Sender<M>,
    ) -> Result<Self, ServeError> {
        let socket = UnixSocket::bind(path)?;
        let shared = Arc::new(Shared {
            socket,
            ending: Ending::new()?,
            connections: Mutex::default(),
            outcome: Mutex::default(),
            has_outcome: Condvar::new(),
        });
        let inner = shared.clone();
        let listen = move || listen(&inner, &mailbox);
        let listener = std::thread::Builder::new().name("control".into()).spawn(listen);
        let listener = listener.map_err(ServeError::Thread)?;
        Ok(Self { shared, listener: Some(listener) })
    }

    /// Reports the result of the server's end to the clients that wait for it.
    pub(crate) fn ended(&self, how: Answer) {
        self.shared.conclude(how);
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // For clients that wait for an end that was never reported.
        self.shared.conclude(Err(ended()));
        self.shared.ending.come();
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
        let connections: Vec<_> = self.shared.connections().drain(..).collect();
        // Answers in progress are finished, and nothing more is read. All connections at once: each may take its time
        // for an answer.
        for (stream, _) in &connections {
            let _ = stream.shutdown(Shutdown::Read);
        }
        // A connection that waits for an unresponsive device must not keep the server from ending.
        let until = Instant::now() + FAREWELL;
        for (_, thread) in connections {
            while !thread.is_finished() && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(2));
            }
            if thread.is_finished() {
                let _ = thread.join();
            }
        }
    }
}

fn listen<M: From<ControlRequest> + Send + 'static>(shared: &Arc<Shared>, mailbox: &Sender<M>) {
    let listener = shared.socket.listener();
    let accept = || listener.accept().map(|(stream, _)| stream);
    while let Some(stream) = next_connection(listener, &shared.ending, accept) {
        let mut connections = shared.connections();
        connections.retain(|(_, thread)| !thread.is_finished());
        if connections.len() >= CONNECTIONS_MAX {
            tracing::warn!(
                connections = CONNECTIONS_MAX,
                "a control connection was refused: there are too many"
            );
            continue;
        }
        let (mailbox, inner) = (mailbox.clone(), shared.clone());
        let own = stream.try_clone().and_then(|own| own.set_read_timeout(Some(SILENCE)).map(|()| own));
        let Ok(own) = own else { continue };
        let serve = move || {
            converse(&own, &inner, &mailbox);
            // The list has the socket too, until it is cleaned up: the client must see the end now.
            let _ = own.shutdown(Shutdown::Both);
        };
        if let Ok(thread) = std::thread::Builder::new().name("control-client".into()).spawn(serve) {
            connections.push((stream, thread));
        }
    }
}

/// Answers line by line until the client leaves, is silent too long, reads no answers, or writes a line without an end.
fn converse<M: From<ControlRequest>>(stream: &UnixStream, shared: &Shared, mailbox: &Sender<M>) {
    let mut lines = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        match lines.by_ref().take(LINE_MAX as u64).read_until(b'\n', &mut line) {
            Ok(read) if read > 0 && line.ends_with(b"\n") => {}
            _ => return,
        }
        let (id, command) = rpc::parse(&line);
        let answer = command.and_then(|command| match command {
            Command::Stop => shared.stop(mailbox),
            command => ask(command, mailbox),
        });
        if Deadline::after(ANSWER_TIME, stream).write_all(&rpc::answer(&id, &answer)).is_err() {
            return;
        }
    }
}

/// Has the loop execute `command`, other than stopping, and waits for its answer. Files are prepared on this thread.
pub(crate) fn ask<M: From<ControlRequest>>(command: Command, mailbox: &Sender<M>) -> Answer {
    match command {
        Command::Replace { member, path, force } => {
            bring(CandidateRole::Member(member), &path, force, mailbox)
        }
        Command::AddSpare { path, force } => bring(CandidateRole::Spare, &path, force, mailbox),
        command => put(mailbox, |answer| ControlRequest::Command { command, answer })?,
    }
}

/// Prepares a file or device for `place`, and passes it to the array.
fn bring<M: From<ControlRequest>>(
    place: CandidateRole,
    path: &Path,
    force: bool,
    mailbox: &Sender<M>,
) -> Answer {
    let mut candidate = Candidate::prepare(place, path, force, || vacancy(place, mailbox))?;
    // If it is not accepted it is removed, which may wait for its file system: on this thread.
    let made = candidate.made.take();
    let answer = put(mailbox, |answer| ControlRequest::Candidate { candidate: Box::new(candidate), answer })?;
    if answer.is_ok() {
        made.into_iter().for_each(NewFile::keep);
    }
    answer
}

/// The requirements of the array for `place`, as soon as the old member has nothing in flight.
fn vacancy<M: From<ControlRequest>>(
    place: CandidateRole,
    mailbox: &Sender<M>,
) -> Result<Vacancy, ControlError> {
    let until = Instant::now() + PATIENCE;
    loop {
        match put(mailbox, |answer| ControlRequest::Vacancy { place, answer })? {
            Err(Refusal::NotYet(_)) if Instant::now() < until => std::thread::sleep(RETRY),
            answer => return Ok(answer?),
        }
    }
}

/// Sends a question to the loop and waits for its answer, or until the loop ends.
fn put<M: From<ControlRequest>, T>(
    mailbox: &Sender<M>,
    question: impl FnOnce(SyncSender<T>) -> ControlRequest,
) -> Result<T, ControlError> {
    let (answer, answered) = sync_channel(1);
    mailbox.send(question(answer).into()).map_err(|unsent| match unsent {
        Unsent::Busy => busy(),
        Unsent::Ended => ended(),
    })?;
    answered.recv_timeout(PATIENCE).map_err(|error| match error {
        RecvTimeoutError::Timeout => {
            let message = format!(
                "no answer within {} s: the array waits for its members; it may still do what was asked",
                PATIENCE.as_secs()
            );
            ControlError::new(ControlError::BUSY, message)
        }
        RecvTimeoutError::Disconnected => ended(),
    })
}

fn busy() -> ControlError {
    ControlError::new(ControlError::BUSY, "too many commands wait; ask again")
}

fn ended() -> ControlError {
    ControlError::new(ControlError::ENDED, "the server ends")
}

#[cfg(test)]
mod tests {
    use stripewise_array::MemberNo;

    use std::time::Instant;

    use serde_json::{Value, json};

    use super::super::Client;
    use super::*;
    use crate::listen::{ends, ends_without_its_path, fill_the_queue};
    use crate::mailbox::mailbox;

    /// A loop that answers each command with the command, until it is stopped.
    fn echo(control: &Control, mailbox: crate::mailbox::Mailbox<ControlRequest>) -> JoinHandle<()> {
        let shared = control.shared.clone();
        std::thread::spawn(move || {
            loop {
                let (command, answer) = match mailbox.take() {
                    Some(ControlRequest::Command { command, answer }) => (command, answer),
                    Some(ControlRequest::Stop) => return shared.conclude(Ok(Value::Null)),
                    _ => {
                        std::thread::sleep(Duration::from_millis(1));
                        continue;
                    }
                };
                let refused = ControlError::refused("there is no member 9");
                let said = match &command {
                    Command::Fail { member, .. } if *member == MemberNo::new(9) => Err(refused),
                    _ => Ok(serde_json::to_value(&command).unwrap()),
                };
                answer.send(said).unwrap();
            }
        })
    }

    #[test]
    fn commands_are_carried_to_the_loop_and_answers_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.ctl");
        let (sender, inbox) = mailbox().unwrap();
        let control = Control::start(&path, sender.clone()).unwrap();
        let thread = echo(&control, inbox);
        let mut client = Client::connect(&path).unwrap();
        assert_eq!(client.ask(&Command::Scrub).unwrap(), json!({ "method": "scrub" }));
        let refused =
            client.ask(&Command::Fail { member: MemberNo::new(9), force: false }).unwrap_err().to_string();
        assert_eq!(refused, "there is no member 9");
        let mut other = Client::connect(&path).unwrap();
        assert!(other.ask(&Command::Stop).is_ok());
        thread.join().unwrap();
        let late = client.ask(&Command::Status).unwrap_err().to_string();
        assert_eq!(late, "the server ends");
        drop(control);
        assert!(!path.exists(), "the socket is removed");
        assert!(Client::connect(&path).is_err());
    }

    #[test]
    fn a_second_stop_of_a_server_gets_the_outcome_of_the_first() {
        for how in [Some(Ok(Value::Null)), Some(Err(ControlError::refused("a member is gone"))), None] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("x.ctl");
            let (sender, inbox) = mailbox::<ControlRequest>().unwrap();
            let control = Control::start(&path, sender).unwrap();
            // The loop has ended, and the array is being closed.
            drop(inbox);
            let (sender, receiver) = sync_channel(1);
            let mut client = Client::connect(&path).unwrap();
            let thread = std::thread::spawn(move || sender.send(client.ask(&Command::Stop)).unwrap());
            let early = receiver.recv_timeout(Duration::from_millis(100));
            assert!(early.is_err(), "it is not closed yet: {early:?}");
            how.clone().into_iter().for_each(|how| control.ended(how));
            drop(control);
            let expected = how.unwrap_or_else(|| Err(ended()));
            assert_eq!(
                receiver.recv().unwrap().map_err(|error| error.to_string()),
                expected.map_err(|e| e.message)
            );
            thread.join().unwrap();
        }
    }

    #[test]
    fn the_end_needs_neither_its_path_nor_room_in_its_queue() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.ctl");
        let (sender, inbox) = mailbox::<ControlRequest>().unwrap();
        let control = Control::start(&path, sender.clone()).unwrap();
        assert!(ends_without_its_path(control, &path), "the end waits for another program");
        std::fs::remove_file(&path).unwrap();
        let control = Control::start(&path, sender).unwrap();
        // The thread disconnects surplus clients, which takes a little time for each.
        let _queue = fill_the_queue(&path);
        assert!(ends(control), "the end waits for those that wait for it");
        drop(inbox);
    }

    #[test]
    fn a_client_that_talks_nonsense_is_answered_and_others_continue() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.ctl");
        let (sender, inbox) = mailbox().unwrap();
        let control = Control::start(&path, sender.clone()).unwrap();
        let thread = echo(&control, inbox);
        let mut rude = UnixStream::connect(&path).unwrap();
        rude.write_all(b"hello\n").unwrap();
        let mut line = String::new();
        BufReader::new(&rude).read_line(&mut line).unwrap();
        assert!(line.contains("-32700"), "{line}");
        let mut endless = UnixStream::connect(&path).unwrap();
        // The server may disconnect before all of it is written.
        let _ = endless.write_all(&vec![b'x'; 2 * LINE_MAX]);
        assert!(endless.read(&mut [0; 8]).map_or(true, |read| read == 0), "a line without end is hung up on");
        assert!(Client::connect(&path).unwrap().ask(&Command::Scrub).is_ok());
        Client::connect(&path).unwrap().ask(&Command::Stop).unwrap();
        thread.join().unwrap();
    }

    #[test]
    fn a_client_that_reads_no_answers_is_hung_up_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.ctl");
        let (sender, inbox) = mailbox().unwrap();
        let control = Control::start(&path, sender).unwrap();
        let thread = echo(&control, inbox);
        let mut deaf = UnixStream::connect(&path).unwrap();
        let long = "x".repeat(LINE_MAX / 2);
        let params = json!({ "path": long, "force": false });
        let line =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "add-spare", "params": params }).to_string() + "\n";
        deaf.set_write_timeout(Some(Duration::from_secs(10))).unwrap();
        let begun = Instant::now();
        while deaf.write_all(line.as_bytes()).is_ok() {}
        assert!(begun.elapsed() < Duration::from_secs(8), "the server hangs up when it cannot answer");
        Client::connect(&path).unwrap().ask(&Command::Stop).unwrap();
        thread.join().unwrap();
        drop(control);
    }
}
