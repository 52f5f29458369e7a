//! Foreign text that people will see. Text from media, files and messages of other programs may contain anything, and a
//! terminal acts on some of it: escape sequences, line feeds, marks that change the reading order. All printed text
//! goes through this module, which shows such characters in escaped form.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::io;

/// Whether a terminal or a reader of lines acts on `c`: control characters, line separators, marks of writing
/// direction, and invisible characters.
fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Whether `text` may be printed as it is.
pub fn is_plain(text: &str) -> bool {
    // Below space, DEL, or not ASCII: most texts have none, and need no check of each character.
    text.bytes().all(|byte| (b' '..0x7f).contains(&byte)) || !text.chars().any(is_obeyed)
}

/// `text` on one line, with characters that a terminal acts on escaped like `\u{1b}`.
pub fn visible(text: &str) -> Cow<'_, str> {
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(Visible(text).to_string())
}

/// Lines of text: as [`visible`], except that line feeds and tabs stay.
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    let is_layout = |c: char| matches!(c, '\n' | '\t');
    if text.split(is_layout).all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut lines = String::with_capacity(text.len() + 16);
    for piece in text.split_inclusive(is_layout) {
        let (piece, layout) = piece.split_at(piece.len() - usize::from(piece.ends_with(is_layout)));
        lines.push_str(&visible(piece));
        lines.push_str(layout);
    }
    Cow::Owned(lines)
}

/// JSON text: characters that a terminal acts on occur only in its strings, and are escaped as JSON escapes them.
pub fn visible_json(json: &str) -> Cow<'_, str> {
    let is_escaped = |c: char| is_obeyed(c) && !c.is_ascii_whitespace();
    if !json.contains(is_escaped) {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match is_escaped(c) {
            true => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    // Writing to a string cannot fail.
                    let _ = write!(text, "\\u{unit:04x}");
                }
            }
            false => text.push(c),
        }
    }
    Cow::Owned(text)
}

/// The text of `T`, as with [`visible`]. Padding and precision apply to the escaped text.
#[derive(Clone, Copy, Debug)]
pub struct Visible<T>(pub T);

impl<T: fmt::Display> fmt::Display for Visible<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = Shown(String::new());
        write!(shown, "{}", self.0)?;
        f.pad(&shown.0)
    }
}

struct Shown(String);

impl fmt::Write for Shown {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            match is_obeyed(c) {
                true => self.0.extend(c.escape_default()),
                false => self.0.push(c),
            }
        }
        Ok(())
    }
}

/// A writer of lines for people, in which only line feeds and tabs take effect. Bytes that are not text are shown as
/// such.
#[derive(Debug)]
pub struct VisibleLines<W> {
    to: W,
    /// The beginning of a character with bytes that have not arrived yet.
    begun: Vec<u8>,
}

impl<W: io::Write> VisibleLines<W> {
    /// A writer in front of `to`.
    pub fn new(to: W) -> Self {
        Self { to, begun: Vec::new() }
    }
}

impl<W: io::Write> io::Write for VisibleLines<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let joined = match self.begun.is_empty() {
            true => Cow::Borrowed(bytes),
            false => Cow::Owned([&self.begun[..], bytes].concat()),
        };
        self.begun.clear();
        let mut chunks = joined.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.to.write_all(visible_lines(chunk.valid()).as_bytes())?;
            let rest = chunk.invalid();
            let may_continue = chunks.peek().is_none()
                && std::str::from_utf8(rest).is_err_and(|error| error.error_len().is_none());
            match may_continue {
                true => self.begun.extend_from_slice(rest),
                false if rest.is_empty() => {}
                false => self.to.write_all("\u{fffd}".as_bytes())?,
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// Characters that terminals act on: a title, a colour, a single C1 code, a carriage return, a right-to-left
    /// override.
    const OBEYED: &str = "a\u{1b}]0;x\u{7}b\u{1b}[31mc\u{9b}2Jd\re\u{202e}f\u{7f}";
    const SHOWN: &str = "a\\u{1b}]0;x\\u{7}b\\u{1b}[31mc\\u{9b}2Jd\\re\\u{202e}f\\u{7f}";

    #[test]
    fn what_would_be_obeyed_is_shown_and_all_else_stays() {
        assert_eq!(visible(OBEYED), SHOWN);
        assert_eq!(visible("two\nlines\tand \u{2028}"), "two\\nlines\\tand \\u{2028}");
        for plain in ["", "pool-1", "\"quoted\" \\ 'it'", "größer 日本 🦀"] {
            assert!(matches!(visible(plain), Cow::Borrowed(same) if same == plain));
            assert!(is_plain(plain));
        }
        assert!(!is_plain(OBEYED) && !is_plain("a\nb"));
        assert_eq!(format!("[{:<8}]", Visible("a\nb")), "[a\\nb    ]");
    }

    #[test]
    fn lines_keep_their_layout() {
        assert_eq!(visible_lines("a\tb\nc\n"), "a\tb\nc\n");
        assert_eq!(visible_lines(&format!("{OBEYED}\n\tx\n")), format!("{SHOWN}\n\tx\n"));
    }

    #[test]
    fn json_says_the_same() {
        let json = format!("{{\n  \"name\": \"{}\"\n}}", "a\u{9b}2J\u{202e}\u{7f}ü");
        assert_eq!(visible_json(&json), "{\n  \"name\": \"a\\u009b2J\\u202e\\u007fü\"\n}");
        assert!(matches!(visible_json("{\n\"a\": 1}\r\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_writer_shows_the_same_in_whatever_pieces_it_comes() {
        let text = format!("{OBEYED}größer 日本\n\tx").into_bytes();
        let bytes = [&text[..], b"\xff\xc3(\n"].concat();
        let expected = format!("{SHOWN}größer 日本\n\tx\u{fffd}\u{fffd}(\n");
        for piece in 1..=bytes.len() {
            let mut to = Vec::new();
            let mut writer = VisibleLines::new(&mut to);
            bytes.chunks(piece).for_each(|some| writer.write_all(some).unwrap());
            writer.flush().unwrap();
            assert_eq!(String::from_utf8(to).unwrap(), expected, "pieces of {piece}");
        }
    }
}
