//! Replies on their way out.

use std::collections::VecDeque;
use std::io::IoSlice;

/// Sent bytes that are kept at the front of `inline` at most, before the rest moves up.
const SENT_BYTES_MAX: usize = 4096;

/// A reply that is not wholly sent.
#[derive(Debug)]
struct Message<B> {
    /// Bytes of `inline` that go first.
    inline: usize,
    /// Then those of this buffer, from `from` to `to`.
    payload: Option<B>,
    from: usize,
    to: usize,
    /// Whether a request is done with it.
    request: bool,
}

/// What was sent with a message that is now gone.
#[derive(Debug)]
pub(crate) struct Sent<B> {
    pub(crate) request: bool,
    pub(crate) payload: Option<(B, usize)>,
}

/// Replies in the order in which they go out. What is short lies in one run of bytes, so that a run of replies without payload
/// is one slice; payloads stay where they are.
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

    /// Adds a message: what `write` appends, then the first `bytes` of `payload`. One of no bytes is none.
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

    /// Puts what is to be sent next into `slices`, as far as there are any; returns how many.
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

    /// So many bytes were sent; `gone` is told of each message that they complete.
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
