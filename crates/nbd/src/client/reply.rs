//! Replies of the transmission phase, verified against their requests.

use std::collections::{BTreeMap, VecDeque};

use super::{Answer, Cookie, Found, ServerError};
use crate::fault::Fault;
use crate::request::Extent;
use crate::wire::*;

/// A request that waits, and the parts of its reply so far.
#[derive(Debug)]
pub(super) struct ExpectedReply {
    command: u16,
    offset: u64,
    bytes: u32,
    data: Vec<u8>,
    /// Parts of `data` that arrived, in the order of arrival.
    came: Vec<(u64, u64)>,
    extents: Option<Vec<Extent>>,
    fault: Option<(Fault, String)>,
}

impl ExpectedReply {
    pub(super) fn new(command: u16, offset: u64, bytes: u32) -> Self {
        let (data, came) = (Vec::new(), Vec::new());
        Self { command, offset, bytes, data, came, extents: None, fault: None }
    }

    /// Processes the content of a chunk. Fails with its error.
    fn take(&mut self, kind: u16, content: &[u8]) -> Result<(), &'static str> {
        let mut fields = Fields(content);
        let short = "has a chunk that is too short";
        match kind {
            CHUNK_NONE if content.is_empty() => Ok(()),
            CHUNK_OFFSET_DATA if self.command == CMD_READ => {
                let offset = fields.u64().ok_or(short)?;
                let data = fields.0;
                let at = self.place(offset, data.len() as u64)?;
                self.data[at..at + data.len()].copy_from_slice(data);
                Ok(())
            }
            CHUNK_OFFSET_HOLE if self.command == CMD_READ => {
                let (offset, bytes) = (fields.u64().ok_or(short)?, fields.u32().ok_or(short)?);
                self.place(offset, bytes.into()).map(drop)
            }
            CHUNK_BLOCK_STATUS if self.command == CMD_BLOCK_STATUS && self.extents.is_none() => {
                let _context = fields.u32().ok_or(short)?;
                let mut extents = Vec::new();
                while !fields.is_empty() {
                    let (bytes, state) = (fields.u32().ok_or(short)?, fields.u32().ok_or(short)?);
                    let (hole, zero) = (state & STATE_HOLE != 0, state & STATE_ZERO != 0);
                    extents.push(Extent { bytes: bytes.into(), hole, zero });
                }
                let covered: u64 = extents.iter().map(|extent| extent.bytes).sum();
                if extents.iter().any(|extent| extent.bytes == 0)
                    || covered == 0
                    || covered > self.bytes.into()
                {
                    return Err("reports extents that are none, or beyond the request");
                }
                self.extents = Some(extents);
                Ok(())
            }
            kind if kind & CHUNK_ERROR_BIT != 0 => {
                let (number, bytes) = (fields.u32().ok_or(short)?, fields.u16().ok_or(short)?);
                let text = fields.take(bytes.into()).ok_or(short)?;
                if number == 0 {
                    return Err("is an error of number 0");
                }
                self.fault = Some((Fault::of(number), String::from_utf8_lossy(text).into_owned()));
                Ok(())
            }
            _ => Err("has a chunk that does not belong to it"),
        }
    }

    /// The position of bytes of the export in the data. Each byte may arrive only once.
    fn place(&mut self, offset: u64, bytes: u64) -> Result<usize, &'static str> {
        let start = offset.checked_sub(self.offset).ok_or("has data before the request")?;
        let end = start.checked_add(bytes).filter(|&end| end <= self.bytes.into());
        let end = end.ok_or("has data beyond the request")?;
        if bytes == 0 || self.came.iter().any(|&(from, to)| start < to && from < end) {
            return Err("has data of no bytes or data that came before");
        }
        self.came.push((start, end));
        self.data.resize(self.bytes as usize, 0);
        Ok(start as usize)
    }

    /// The answer, when the reply is complete.
    fn finish(self, cookie: u64) -> Result<Answer, &'static str> {
        let came: u64 = self.came.iter().map(|(from, to)| to - from).sum();
        let outcome = match (self.fault, self.command) {
            (Some(fault), _) => Err(fault),
            (None, CMD_READ) if came < self.bytes.into() => return Err("ends before all data came"),
            (None, CMD_READ) => Ok(Found::Data(self.data)),
            (None, CMD_BLOCK_STATUS) => Ok(Found::Extents(self.extents.ok_or("ends without extents")?)),
            (None, _) => Ok(Found::Nothing),
        };
        Ok(Answer { cookie: Cookie(cookie), outcome })
    }
}

/// Processes one reply or chunk. Returns false if it is incomplete.
pub(super) fn take(
    fields: &mut Fields<'_>,
    structured: bool,
    expected: &mut BTreeMap<u64, ExpectedReply>,
    answers: &mut VecDeque<Answer>,
) -> Result<bool, ServerError> {
    let mut whole = *fields;
    let Some(magic) = whole.u32() else { return Ok(false) };
    let is_done = match magic {
        SIMPLE_REPLY_MAGIC => {
            let (Some(fault), Some(cookie)) = (whole.u32(), whole.u64()) else { return Ok(false) };
            let request = expected.get_mut(&cookie).ok_or(ServerError::Cookie { cookie })?;
            if structured && request.command == CMD_READ {
                let what = "is a simple one, to a read, although chunks were agreed upon";
                return Err(ServerError::Reply { cookie, what });
            }
            if fault != 0 {
                request.fault = Some((Fault::of(fault), String::new()));
            } else if request.command == CMD_READ {
                let Some(data) = whole.take(request.bytes as usize) else { return Ok(false) };
                request.data = data.to_vec();
                request.came = vec![(0, request.bytes.into())];
            }
            Some(cookie)
        }
        CHUNK_MAGIC => {
            let (Some(flags), Some(kind), Some(cookie)) = (whole.u16(), whole.u16(), whole.u64()) else {
                return Ok(false);
            };
            let Some(content) = whole.string() else { return Ok(false) };
            let request = expected.get_mut(&cookie).ok_or(ServerError::Cookie { cookie })?;
            request.take(kind, content).map_err(|what| ServerError::Reply { cookie, what })?;
            (flags & CHUNK_DONE != 0).then_some(cookie)
        }
        found => return Err(ServerError::Magic { what: "a reply", found: found.into() }),
    };
    *fields = whole;
    if let Some(cookie) = is_done {
        let request = expected.remove(&cookie).expect("it was found above");
        answers.push_back(request.finish(cookie).map_err(|what| ServerError::Reply { cookie, what })?);
    }
    Ok(true)
}
