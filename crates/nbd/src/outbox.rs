//! Replies that are being sent.

use std::collections::VecDeque;
use std::io::IoSlice;

/// Most sent bytes that stay at the front of `inline` before the rest moves up.
const SENT_BYTES_MAX: usize = 4096;

/// A reply that is not completely sent.
#[derive(Debug)]
struct Message<B> {
    /// Bytes of `inline` to send first.
    inline: usize,
    /// Then the bytes of this buffer, from `from` to `to`.
    payload: Option<B>,
    from: usize,
    to: usize,
    /// Whether the message completes a request.
    request: bool,
}

/// A message that is completely sent.
#[derive(Debug)]
pub(crate) struct Sent<B> {
    pub(crate) request: bool,
    pub(crate) payload: Option<(B, usize)>,
}

/// Replies in the order in which they are sent. Headers are adjacent in one run of bytes, so that several replies
/// without payload are one slice. Payloads stay where they are.
#[derive(Debug)]
pub(crate) struct Outbox<B> {
    messages: VecDeque<Message<B>>,
    inline: Vec<u8>,
    /// Bytes of `inline` that are sent.
    sent: usize,
}

impl<B: AsRef<[u8]>> Outbox<B> {
    pub(crate) fn new(messages: usize) -> Self {
        Self { messages: VecDeque::with_capacity(messages), inline: Vec::new(), sent: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Adds a message: the bytes that `write` appends, then the first `bytes` of `payload`. An empty message is
    /// dropped.
    pub(crate) fn push(
        &mut self,
        request: bool,
        payload: Option<(B, usize)>,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        if self.sent > SENT_BYTES_MAX {
            self.inline.drain(..self.sent);
            self.sent = 0;
        }
        let before = self.inline.len();
        write(&mut self.inline);
        let to = payload.as_ref().map_or(0, |(_, bytes)| *bytes);
        let payload = payload.map(|(payload, _)| payload);
        if self.inline.len() == before && to == 0 {
            assert!(!request, "a request is answered by something");
            return;
        }
        self.messages.push_back(Message {
            inline: self.inline.len() - before,
            payload,
            from: 0,
            to,
            request,
        });
    }

    /// Puts the bytes to send next into `slices`, as far as they suffice. Returns how many slices it filled.
    pub(crate) fn slices<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let mut count = 0;
        let mut put = |slice: &'a [u8]| {
            if slice.is_empty() {
                return true;
            }
            let Some(place) = slices.get_mut(count) else { return false };
            *place = IoSlice::new(slice);
            count += 1;
            true
        };
        let (mut start, mut end) = (self.sent, self.sent);
        for message in &self.messages {
            end += message.inline;
            if let Some(payload) = &message.payload {
                let payload = &payload.as_ref()[message.from..message.to];
                if !put(&self.inline[start..end]) || !put(payload) {
                    return count;
                }
                start = end;
            }
        }
        put(&self.inline[start..end]);
        count
    }

    /// Notes that `bytes` were sent, and calls `gone` for each message that is complete.
    pub(crate) fn advance(&mut self, mut bytes: usize, mut gone: impl FnMut(Sent<B>)) {
        while let Some(message) = self.messages.front_mut() {
            let inline = bytes.min(message.inline);
            message.inline -= inline;
            self.sent += inline;
            bytes -= inline;
            let payload = bytes.min(message.to - message.from);
            message.from += payload;
            bytes -= payload;
            if message.inline > 0 || message.from < message.to {
                break;
            }
            let message = self.messages.pop_front().expect("there is a first one");
            let payload = message.payload.map(|payload| (payload, message.to));
            gone(Sent { request: message.request, payload });
        }
        assert_eq!(bytes, 0, "more bytes were sent than there were");
        if self.messages.is_empty() {
            self.inline.clear();
            self.sent = 0;
        }
    }
}
