//! The client's side of the handshake.

use super::{ExportInfo, ServerError, Wishes};
use crate::export::BlockSizes;
use crate::wire::*;

/// The message that the client waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    Greeting,
    /// The reply to an option.
    Reply(u32),
    Done,
}

/// The handshake: structured replies and a context if they are requested, then the export.
#[derive(Debug)]
pub(super) struct Negotiation {
    name: String,
    wishes: Wishes,
    wait: Wait,
    is_structured: bool,
    info: ExportInfo,
}

impl Negotiation {
    pub(super) fn new(name: &str, wishes: Wishes) -> Self {
        let info = ExportInfo { bytes: 0, flags: 0, block: None };
        Self { name: name.into(), wishes, wait: Wait::Greeting, is_structured: false, info }
    }

    pub(super) fn is_done(&self) -> bool {
        self.wait == Wait::Done
    }

    /// Whether replies are structured.
    pub(super) fn is_structured(&self) -> bool {
        self.is_structured
    }

    pub(super) fn export(&self) -> Option<&ExportInfo> {
        self.is_done().then_some(&self.info)
    }

    /// Processes one message of the server and replies to it. Returns false if the message is incomplete.
    pub(super) fn take(&mut self, fields: &mut Fields<'_>, out: &mut Vec<u8>) -> Result<bool, ServerError> {
        match self.wait {
            Wait::Greeting => self.take_greeting(fields, out),
            Wait::Reply(option) => self.take_reply(option, fields, out),
            Wait::Done => Ok(false),
        }
    }

    fn take_greeting(&mut self, fields: &mut Fields<'_>, out: &mut Vec<u8>) -> Result<bool, ServerError> {
        let Some(greeting) = fields.take(GREETING_BYTES) else { return Ok(false) };
        let mut greeting = Fields(greeting);
        for (what, magic) in [("the greeting", NBD_MAGIC), ("its second word", OPTION_MAGIC)] {
            let found = greeting.u64().unwrap_or(0);
            if found != magic {
                return Err(ServerError::Magic { what, found });
            }
        }
        let both = FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES;
        let offered = greeting.u16().unwrap_or(0);
        if offered & FLAG_FIXED_NEWSTYLE == 0 {
            return Err(ServerError::NotFixed { flags: offered });
        }
        out.extend(u32::from(offered & both).to_be_bytes());
        self.next_option(0, out);
        Ok(true)
    }

    fn take_reply(
        &mut self,
        option_sent: u32,
        fields: &mut Fields<'_>,
        out: &mut Vec<u8>,
    ) -> Result<bool, ServerError> {
        let mut whole = *fields;
        let Some(found) = whole.u64() else { return Ok(false) };
        if found != OPTION_REPLY_MAGIC {
            return Err(ServerError::Magic { what: "the reply to an option", found });
        }
        let (Some(option), Some(kind), Some(data)) = (whole.u32(), whole.u32(), whole.string()) else {
            return Ok(false);
        };
        *fields = whole;
        let strange = ServerError::OptionReply { option, kind };
        match kind {
            _ if option != option_sent => return Err(strange),
            REP_ACK => {
                self.is_structured |= option_sent == OPT_STRUCTURED_REPLY;
                self.next_option(option_sent, out);
            }
            REP_INFO if option_sent == OPT_GO => self.learn(data).ok_or(strange)?,
            REP_META_CONTEXT if option_sent == OPT_SET_META_CONTEXT => {}
            kind if kind & REP_ERROR == 0 => return Err(strange),
            // Structured replies and contexts are optional.
            _ if option_sent != OPT_GO => self.next_option(option_sent, out),
            _ => {
                let text = String::from_utf8_lossy(data).into_owned();
                return Err(ServerError::Refused { option, kind, text });
            }
        }
        Ok(true)
    }

    /// Sends the next option, after `after`.
    fn next_option(&mut self, after: u32, out: &mut Vec<u8>) {
        let name = self.name.as_bytes();
        let length = (name.len() as u32).to_be_bytes();
        let query = BASE_ALLOCATION.as_bytes();
        let mut ask = |option: u32, parts: &[&[u8]]| {
            let bytes: usize = parts.iter().map(|part| part.len()).sum();
            out.extend(OPTION_MAGIC.to_be_bytes());
            out.extend(option.to_be_bytes());
            out.extend((bytes as u32).to_be_bytes());
            out.extend(parts.concat());
            self.wait = Wait::Reply(option);
        };
        match after {
            0 if self.wishes.structured => ask(OPT_STRUCTURED_REPLY, &[]),
            OPT_STRUCTURED_REPLY if self.wishes.allocation => {
                let (one, bytes) = (1_u32.to_be_bytes(), (query.len() as u32).to_be_bytes());
                ask(OPT_SET_META_CONTEXT, &[&length, name, &one, &bytes, query]);
            }
            OPT_GO => self.wait = Wait::Done,
            _ => ask(OPT_GO, &[&length, name, &1_u16.to_be_bytes(), &INFO_BLOCK_SIZE.to_be_bytes()]),
        }
    }

    /// Processes information about the export. None if it is malformed.
    fn learn(&mut self, data: &[u8]) -> Option<()> {
        let mut fields = Fields(data);
        match fields.u16()? {
            INFO_EXPORT => (self.info.bytes, self.info.flags) = (fields.u64()?, fields.u16()?),
            INFO_BLOCK_SIZE => {
                let (minimum, preferred, maximum) = (fields.u32()?, fields.u32()?, fields.u32()?);
                self.info.block = Some(BlockSizes { minimum, preferred, maximum });
            }
            _ => return Some(()),
        }
        fields.is_empty().then_some(())
    }
}
