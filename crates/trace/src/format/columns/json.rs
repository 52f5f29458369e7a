//! Finds the values of an object of JSON in one line.

use super::split::Span;
use crate::format::Expected;

/// The most arrays and objects within one another.
const DEEPEST: usize = 64;

const STRING: Expected = "`\"` and the end of a string";

/// A place in a line, and what should be there.
pub(super) type Fault = (usize, Expected);

struct Scanner<'a> {
    line: &'a [u8],
    at: usize,
}

/// Calls `member` with the key and the value of each member of the object that `line` is. A value is the text of a
/// number or a word, what stands between the quotes of a string, or an array or object as it is.
pub(super) fn object<'a>(line: &'a [u8], mut member: impl FnMut(&'a [u8], Span)) -> Result<(), Fault> {
    let mut scanner = Scanner { line, at: 0 };
    scanner.skip_blanks();
    scanner.takes(b'{', "`{` and an object of JSON")?;
    scanner.skip_blanks();
    if scanner.peek() == Some(b'}') {
        scanner.at += 1;
    } else {
        loop {
            scanner.skip_blanks();
            let key = scanner.string("`\"` and a key")?;
            scanner.skip_blanks();
            scanner.takes(b':', "`:` and a value")?;
            scanner.skip_blanks();
            let value = scanner.value()?;
            member(&line[key.start..key.end], value);
            scanner.skip_blanks();
            if scanner.peek() == Some(b',') {
                scanner.at += 1;
                continue;
            }
            scanner.takes(b'}', "`,` and another member, or `}`")?;
            break;
        }
    }
    // The objects of an array may have lines of their own.
    scanner.skip_blanks();
    if scanner.peek() == Some(b',') {
        scanner.at += 1;
        scanner.skip_blanks();
    }
    if scanner.peek() == Some(b']') {
        scanner.at += 1;
        scanner.skip_blanks();
    }
    if scanner.at < line.len() { Err((scanner.at, "the end of the line")) } else { Ok(()) }
}

/// Whether a value is `null`, which is no value.
pub(super) fn is_null(line: &[u8], value: Span) -> bool {
    value.of(line) == Some(b"null") && line.get(value.start.wrapping_sub(1)) != Some(&b'"')
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    fn takes(&mut self, byte: u8, expected: Expected) -> Result<(), Fault> {
        if self.peek() != Some(byte) {
            return Err((self.at, expected));
        }
        self.at += 1;
        Ok(())
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r')) {
            self.at += 1;
        }
    }

    /// What stands between the quotes, with its escapes.
    fn string(&mut self, expected: Expected) -> Result<Span, Fault> {
        self.takes(b'"', expected)?;
        let start = self.at;
        loop {
            let rest = self.line.get(self.at..).unwrap_or_default();
            let length = memchr::memchr2(b'"', b'\\', rest).ok_or((start - 1, STRING))?;
            self.at += length;
            if self.line[self.at] == b'"' {
                let end = self.at;
                self.at += 1;
                return Ok(Span { start, end });
            }
            self.at += 2;
        }
    }

    fn value(&mut self) -> Result<Span, Fault> {
        let start = self.at;
        match self.peek() {
            Some(b'"') => return self.string(STRING),
            Some(b'{' | b'[') => self.skip_nested()?,
            _ => {
                let ends =
                    |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'{' | b'[' | b'"' | b':');
                let rest = self.line.get(start..).unwrap_or_default();
                self.at += rest.iter().position(ends).unwrap_or(rest.len());
            }
        }
        if self.at == start { Err((start, "a value")) } else { Ok(Span { start, end: self.at }) }
    }

    /// Passes an array or an object. Its brackets need not match: nothing in it is used.
    fn skip_nested(&mut self) -> Result<(), Fault> {
        const NESTED: Expected = "the end of an array or object, at most 64 within one another";
        let (start, mut depth) = (self.at, 0);
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.string(STRING)?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Ok(());
            }
            if depth > DEEPEST {
                break;
            }
        }
        Err((start, NESTED))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn members(line: &str) -> Result<Vec<(String, String)>, Fault> {
        let mut found = Vec::new();
        object(line.as_bytes(), |key, value| {
            found.push((String::from_utf8_lossy(key).into_owned(), line[value.start..value.end].to_owned()));
        })?;
        Ok(found)
    }

    #[test]
    fn members_are_found_and_nested_ones_are_passed() {
        let line = r#" { "a" : 1.5 ,"b":"x, \"y\"}","c":{"a":[1,{"z":"]"}]},"d":null,"e":true }, "#;
        let found = members(line).expect("an object");
        let names: Vec<(&str, &str)> =
            found.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(
            names,
            [
                ("a", "1.5"),
                ("b", r#"x, \"y\"}"#),
                ("c", r#"{"a":[1,{"z":"]"}]}"#),
                ("d", "null"),
                ("e", "true")
            ]
        );
        assert_eq!(members("{}"), Ok(Vec::new()));
    }

    #[test]
    fn what_is_no_object_is_an_error_with_its_place() {
        for (line, at) in [
            ("", 0),
            ("[1]", 0),
            ("{", 1),
            ("{\"a\"1}", 4),
            ("{\"a\":}", 5),
            ("{\"a\":1", 6),
            ("{\"a\":\"x}", 5),
            ("{\"a\":1} x", 8),
            ("{\"a\":[1}", 6),
            ("{\"a\":1 \"b\":2}", 7),
        ] {
            let found = members(line);
            if line == "{\"a\":[1}" {
                assert!(found.is_err(), "{line}");
            } else {
                assert_eq!(found.map_err(|(at, _)| at), Err(at), "{line}");
            }
        }
        assert!(members(&format!("{{\"a\":{}{}}}", "[".repeat(65), "]".repeat(65))).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_object_or_an_error_within_the_line(
            line in proptest::collection::vec(prop_oneof![
                prop::sample::select(b"{}[]\",:\\ a1".to_vec()), any::<u8>()
            ], 0..60),
        ) {
            let whole = [b"{\"a\":".as_slice(), &line].concat();
            for line in [&line, &whole] {
                if let Err((at, _)) = object(line, |_, _| {}) {
                    prop_assert!(at <= line.len());
                }
            }
        }
    }
}
