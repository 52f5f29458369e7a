//! The handshake: flags, then options until one of them starts the transmission.

use crate::export::Export;
use crate::fault::Violation;
use crate::wire::*;

/// The longest option data that is processed: a name and a few queries.
pub(crate) const OPTION_BYTES_MAX: usize = 16 << 10;

/// The number of the only metadata context.
pub(crate) const ALLOCATION_ID: u32 = 1;

/// The negotiated features.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Agreed {
    /// Options have replies.
    fixed: bool,
    no_zeroes: bool,
    /// Replies are structured.
    pub(crate) structured: bool,
    /// `base:allocation` was selected.
    pub(crate) allocation: bool,
}

/// The step after an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Option,
    Transmission,
    End,
}

/// The server's greeting.
pub(crate) fn greet(out: &mut Vec<u8>) {
    out.extend(NBD_MAGIC.to_be_bytes());
    out.extend(OPTION_MAGIC.to_be_bytes());
    out.extend((FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES).to_be_bytes());
}

/// A reply to an option.
pub(crate) fn reply(out: &mut Vec<u8>, option: u32, kind: u32, parts: &[&[u8]]) {
    let bytes: usize = parts.iter().map(|part| part.len()).sum();
    out.extend(OPTION_REPLY_MAGIC.to_be_bytes());
    out.extend(option.to_be_bytes());
    out.extend(kind.to_be_bytes());
    out.extend((bytes as u32).to_be_bytes());
    for part in parts {
        out.extend(*part);
    }
}

impl Agreed {
    /// The client's reply to the greeting.
    pub(crate) fn flags(&mut self, flags: u32) -> Result<(), Violation> {
        let known = u32::from(FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES);
        if flags & !known != 0 {
            return Err(Violation::ClientFlags { flags });
        }
        self.fixed = flags & u32::from(FLAG_FIXED_NEWSTYLE) != 0;
        self.no_zeroes = flags & u32::from(FLAG_NO_ZEROES) != 0;
        Ok(())
    }

    /// Checks whether an option is allowed at all. The length of its data is not checked yet.
    pub(crate) fn admit(&self, option: u32, bytes: u32) -> Result<(), Violation> {
        if option == OPT_EXPORT_NAME {
            let fits = bytes as usize <= STRING_BYTES_MAX;
            return if fits { Ok(()) } else { Err(Violation::UnknownExport) };
        }
        if self.fixed { Ok(()) } else { Err(Violation::NotFixed { option }) }
    }

    /// Processes an option and replies to it.
    pub(crate) fn option(
        &mut self,
        export: &Export,
        option: u32,
        data: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Next, Violation> {
        let mut invalid = |reason: &str| {
            reply(out, option, REP_ERR_INVALID, &[reason.as_bytes()]);
            Ok(Next::Option)
        };
        let bare = matches!(option, OPT_LIST | OPT_STRUCTURED_REPLY | OPT_STARTTLS);
        if bare && !data.is_empty() {
            return invalid("this option has no data");
        }
        match option {
            OPT_EXPORT_NAME => {
                if !export.is_called(data) {
                    return Err(Violation::UnknownExport);
                }
                out.extend(export.bytes.to_be_bytes());
                out.extend(export.flags(self.structured).to_be_bytes());
                if !self.no_zeroes {
                    out.extend([0; EXPORT_NAME_ZEROES]);
                }
                return Ok(Next::Transmission);
            }
            OPT_ABORT => {
                reply(out, option, REP_ACK, &[]);
                return Ok(Next::End);
            }
            OPT_LIST => {
                let name = export.name.as_bytes();
                let bytes = (name.len() as u32).to_be_bytes();
                reply(out, option, REP_SERVER, &[&bytes, name, export.description.as_bytes()]);
                reply(out, option, REP_ACK, &[]);
            }
            OPT_STRUCTURED_REPLY => {
                self.structured = true;
                reply(out, option, REP_ACK, &[]);
            }
            OPT_INFO | OPT_GO => {
                let Some((name, wanted)) = info_request(data) else {
                    return invalid("expected a name, a count, and as many kinds of information");
                };
                if !export.is_called(name) {
                    return Ok(unknown_export(option, out));
                }
                self.inform(export, option, wanted, out);
                reply(out, option, REP_ACK, &[]);
                if option == OPT_GO {
                    return Ok(Next::Transmission);
                }
            }
            OPT_LIST_META_CONTEXT | OPT_SET_META_CONTEXT => {
                let is_list = option == OPT_LIST_META_CONTEXT;
                // A selection replaces the previous one even if it fails.
                self.allocation &= is_list;
                if !self.structured {
                    return invalid("metadata contexts need structured replies; negotiate these first");
                }
                let Some((name, queries)) = context_request(data) else {
                    return invalid("expected a name, a count, and as many queries");
                };
                if !export.is_called(name) {
                    return Ok(unknown_export(option, out));
                }
                let is_met =
                    |query: &[u8]| query == BASE_ALLOCATION.as_bytes() || is_list && query == b"base:";
                let is_chosen = queries.clone().any(is_met) || is_list && queries.count() == 0;
                if is_chosen {
                    let id = if is_list { 0 } else { ALLOCATION_ID };
                    let parts: [&[u8]; 2] = [&id.to_be_bytes(), BASE_ALLOCATION.as_bytes()];
                    reply(out, option, REP_META_CONTEXT, &parts);
                }
                if !is_list {
                    self.allocation = is_chosen;
                }
                reply(out, option, REP_ACK, &[]);
            }
            _ => reply(out, option, REP_ERR_UNSUP, &[b"this server does not know the option"]),
        }
        Ok(Next::Option)
    }

    /// Sends size, flags and block sizes, which every client needs, and the other information that the client
    /// requested.
    fn inform(&self, export: &Export, option: u32, wanted: &[u8], out: &mut Vec<u8>) {
        let mut info = |kind: u16, content: &[&[u8]; 3]| {
            let [a, b, c] = content;
            reply(out, option, REP_INFO, &[&kind.to_be_bytes(), a, b, c]);
        };
        let flags = export.flags(self.structured).to_be_bytes();
        info(INFO_EXPORT, &[&export.bytes.to_be_bytes(), &flags, &[]]);
        let block =
            [export.block.minimum, export.block.preferred, export.block.maximum].map(u32::to_be_bytes);
        info(INFO_BLOCK_SIZE, &[&block[0], &block[1], &block[2]]);
        let is_wanted = |kind: u16| wanted.chunks_exact(2).any(|wanted| wanted == kind.to_be_bytes());
        if is_wanted(INFO_NAME) {
            info(INFO_NAME, &[export.name.as_bytes(), &[], &[]]);
        }
        if is_wanted(INFO_DESCRIPTION) {
            info(INFO_DESCRIPTION, &[export.description.as_bytes(), &[], &[]]);
        }
    }
}

fn unknown_export(option: u32, out: &mut Vec<u8>) -> Next {
    let text = b"there is no such export; the default export has an empty name";
    reply(out, option, REP_ERR_UNKNOWN, &[text]);
    Next::Option
}

/// The data of `OPT_INFO` and `OPT_GO`: the name, and the kinds of information, two bytes each.
fn info_request(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut fields = Fields(data);
    let name = fields.string()?;
    let count = fields.u16()?;
    let kinds = fields.take(usize::from(count) * 2)?;
    fields.is_empty().then_some((name, kinds))
}

/// The data of the options of metadata contexts: the name, and the queries.
fn context_request(data: &[u8]) -> Option<(&[u8], impl Iterator<Item = &[u8]> + Clone)> {
    let mut fields = Fields(data);
    let name = fields.string()?;
    let count = fields.u32()?;
    let mut queries = fields;
    for _ in 0..count {
        fields.string()?;
    }
    fields.is_empty().then_some((name, (0..count).map_while(move |_| queries.string())))
}
