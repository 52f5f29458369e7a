//! Quoted fields in formats whose fields are separated by commas: `"Read","0"` as R and pandas write them.
//!
//! The readers of these formats know no quotes. A line that holds one is passed to them without its quotes.

use std::borrow::Cow;

use super::{Chosen, Separator};

/// Whether lines of this format may have quoted fields.
pub(crate) fn may_quote(chosen: Chosen) -> bool {
    chosen.format().is_some_and(|format| format.separator == Separator::Comma)
}

/// Appends `line` without the quotes around its fields, and returns whether that was possible: a quote within a field,
/// and a comma within quotes, remain as they are.
pub(crate) fn unquote(line: &[u8], plain: &mut Vec<u8>) -> bool {
    let start = plain.len();
    let mut quoted = false;
    let mut before = b',';
    for (at, &byte) in line.iter().enumerate() {
        if byte != b'"' {
            if quoted && byte == b',' {
                break;
            }
            plain.push(byte);
        } else if !quoted && before == b',' {
            quoted = true;
        } else if quoted && matches!(line.get(at + 1), None | Some(b',' | b'\r' | b'\n')) {
            quoted = false;
        } else {
            quoted = true;
            break;
        }
        before = byte;
    }
    if quoted {
        plain.truncate(start);
        plain.extend_from_slice(line);
    }
    !quoted
}

/// The place in `line` of byte `at` of the same line without its quotes.
pub(crate) fn quoted_at(line: &[u8], at: usize) -> usize {
    let mut plain = line.iter().enumerate().filter(|(_, byte)| **byte != b'"').map(|(place, _)| place);
    plain.nth(at).unwrap_or(line.len())
}

/// A line as the readers of a format see it.
pub(super) fn plain_line(chosen: Chosen, line: &[u8]) -> Cow<'_, [u8]> {
    if !may_quote(chosen) || memchr::memchr(b'"', line).is_none() {
        return Cow::Borrowed(line);
    }
    let mut plain = Vec::with_capacity(line.len());
    unquote(line, &mut plain);
    Cow::Owned(plain)
}

/// The lines of a block as the readers of a format see them.
pub(super) fn plain_lines(chosen: Chosen, block: &[u8]) -> Cow<'_, [u8]> {
    if !may_quote(chosen) || memchr::memchr(b'"', block).is_none() {
        return Cow::Borrowed(block);
    }
    let mut plain = Vec::with_capacity(block.len());
    for line in block.split_inclusive(|&byte| byte == b'\n') {
        unquote(line, &mut plain);
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_around_fields_are_left_out_and_others_stay() {
        for (line, wanted) in [
            ("\"a\",\"b c\",3\r\n", Some("a,b c,3\r\n")),
            ("1,\"\",\"x\"", Some("1,,x")),
            ("1,2\n", Some("1,2\n")),
            ("\"a,b\",1", None),
            ("\"a\"\"b\",1", None),
            ("x\"y,1", None),
            ("\"a,1", None),
            ("\"a\"b,1", None),
        ] {
            let mut plain = b"before ".to_vec();
            let outcome = unquote(line.as_bytes(), &mut plain);
            assert_eq!(outcome, wanted.is_some(), "{line}");
            assert_eq!(plain, format!("before {}", wanted.unwrap_or(line)).into_bytes());
        }
        assert_eq!(quoted_at(b"\"ab\",\"c\"", 3), 6, "the c");
        assert_eq!(quoted_at(b"\"ab\",\"c\"", 4), 8, "the end");
    }
}
