//! Reads the fields of a line, directly from the bytes.
//!
//! A cursor is in a block of whole lines and passes a line feed only in [`Cursor::end`]. So it detects missing fields
//! in the line that lacks them, and not a line later. It takes digits eight at a time within a machine word.
//!
//! Functions for rare cases take the cursor by value and return it, since a cursor whose address is never taken lives
//! in registers. That, and `inline(always)`, is worth half of the speed.

/// The content that a format expects at the cursor. The text completes "expected ...".
pub(crate) type Expected = &'static str;

/// The error for a request of a valid size whose offset is too large for it.
const BEYOND: Expected = "a request that ends before 2^64 bytes (its offset is too large)";

/// Reads fields from the start of a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    /// The rest of the line, and the later lines of the block.
    rest: &'a [u8],
    /// Bytes from the start of the line to the end of the block.
    length: usize,
    /// `rest` at the start of the last field, and the expected content of that field: if the separator is missing
    /// directly after a field, the field is wrong.
    field: &'a [u8],
    wanted: Expected,
}

impl<'a> Cursor<'a> {
    /// A cursor before the first field of the line that `bytes` starts with.
    #[inline(always)]
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, length: bytes.len(), field: bytes, wanted: "" }
    }

    /// Bytes consumed so far; after a failure, the position of the field that was not understood.
    #[inline(always)]
    pub(crate) fn at(&self) -> usize {
        self.length - self.rest.len()
    }

    /// The byte at the cursor. The end of the block reads as the end of a line.
    #[inline(always)]
    fn peek(&self) -> u8 {
        self.rest.first().copied().unwrap_or(b'\n')
    }

    /// Moves forward by `count` bytes.
    #[inline(always)]
    pub(crate) fn skip(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or_default();
    }

    #[inline(always)]
    fn begin(&mut self, wanted: Expected) {
        self.field = self.rest;
        self.wanted = wanted;
    }

    /// Skips blanks before a field that was not found here, and returns whether there were any.
    #[cold]
    fn begin_behind_blanks(mut self) -> (Self, bool) {
        let before = self.rest.len();
        self.skip_blanks();
        self.field = self.rest;
        (self, self.rest.len() < before)
    }

    /// A whole number in `0..2^64`, blanks before it allowed.
    #[inline(always)]
    pub(crate) fn number(&mut self, wanted: Expected) -> Result<u64, Expected> {
        self.begin(wanted);
        // Two words hold 16 digits, which cannot overflow. The processor nearly always predicts that a word is full,
        // so only the last word of a number delays the work after it.
        let (value, count) = self.eight();
        if count < 8 {
            return if count == 0 { self.late_number() } else { Ok(value) };
        }
        let (part, count) = self.eight();
        let value = value * POWERS[count] + part;
        if count < 8 {
            return Ok(value);
        }
        let (part, count) = self.eight();
        match value.checked_mul(POWERS[count]).and_then(|scaled| scaled.checked_add(part)) {
            Some(value) if count < 8 => Ok(value),
            _ => self.late_number(),
        }
    }

    /// Any number of digits, blanks before them allowed.
    #[inline(always)]
    fn late_number(&mut self) -> Result<u64, Expected> {
        let value;
        (*self, value) = self.slow_number();
        value.ok_or_else(|| self.reject())
    }

    /// [`Cursor::number`] where blanks precede, there is no digit, or there are 24 or more.
    #[cold]
    fn slow_number(mut self) -> (Self, Option<u64>) {
        self.rest = self.field;
        self.skip_blanks();
        self.begin(self.wanted);
        let mut value = Some(0u64);
        while let Some(digit) = self.peek().checked_sub(b'0').filter(|&digit| digit < 10) {
            value = value.and_then(|value| value.checked_mul(10)?.checked_add(u64::from(digit)));
            self.skip(1);
        }
        let none = self.rest.len() == self.field.len();
        (self, value.filter(|_| !none))
    }

    /// Skips a whole number whose value is not needed.
    #[inline(always)]
    pub(crate) fn some_number(&mut self, wanted: Expected) -> Result<(), Expected> {
        self.begin(wanted);
        let (_, count) = self.eight();
        if count == 0 || count == 8 { self.late_number().map(|_| ()) } else { Ok(()) }
    }

    /// A whole number in `0..2^32`.
    #[inline(always)]
    pub(crate) fn number_u32(&mut self, wanted: Expected) -> Result<u32, Expected> {
        let value = self.number(wanted)?;
        u32::try_from(value).map_err(|_| self.reject())
    }

    /// An address: a whole number of `unit` bytes, in bytes.
    #[inline(always)]
    pub(crate) fn address(&mut self, unit: u64, wanted: Expected) -> Result<u64, Expected> {
        let value = self.number(wanted)?;
        value.checked_mul(unit).ok_or_else(|| self.reject())
    }

    /// The size of a request at `offset`: a whole number of `unit` bytes, in bytes. Neither zero nor beyond the end
    /// of 64-bit addresses.
    #[inline(always)]
    pub(crate) fn size(&mut self, unit: u64, offset: u64, wanted: Expected) -> Result<u32, Expected> {
        let value = self.number(wanted)?;
        match value.checked_mul(unit).map(u32::try_from) {
            Some(Ok(bytes)) if bytes > 0 => match offset.checked_add(u64::from(bytes)) {
                Some(_) => Ok(bytes),
                None => {
                    self.reject();
                    Err(BEYOND)
                }
            },
            _ => Err(self.reject()),
        }
    }

    /// A decimal number such as `12`, `12.` or `12.0345`, times `10^places` (at most 9), exactly. Further digits are
    /// below the grain and are dropped.
    #[inline(always)]
    pub(crate) fn decimal(&mut self, places: u32, wanted: Expected) -> Result<u64, Expected> {
        let whole = self.number(wanted)?;
        let scale = POWERS[places as usize];
        let mut value = whole.checked_mul(scale);
        if self.peek() == b'.' {
            self.skip(1);
            let mut unit = scale;
            while let Some(digit) = self.peek().checked_sub(b'0').filter(|&digit| digit < 10) {
                unit /= 10;
                value = value.and_then(|value| value.checked_add(u64::from(digit) * unit));
                self.skip(1);
            }
        }
        value.ok_or_else(|| self.reject())
    }

    /// Up to eight digits at the cursor: their value and their number.
    #[inline(always)]
    fn eight(&mut self) -> (u64, usize) {
        let Some(chunk) = self.rest.first_chunk::<8>() else {
            let (value, count) = up_to_eight_bytewise(self.rest);
            self.skip(count);
            return (value, count);
        };
        let word = u64::from_le_bytes(*chunk);
        let digits = word ^ DIGITS;
        // A byte that is no digit has its high bit set here. Its carry can only spoil later bytes, and the code looks
        // at nothing after the first such byte.
        let others = (digits.wrapping_add(ABOVE_NINE) | digits) & HIGH_BITS;
        if others == 0 {
            self.rest = &self.rest[8..];
            return (value_of(digits), 8);
        }
        let first = others.trailing_zeros();
        let count = (first / 8) as usize;
        self.rest = &self.rest[count..];
        // Shift the digits to the high end: the bits that are shifted in read as leading zeros. In two steps, since
        // there may be no digit.
        (value_of((digits << 8) << (63 - first)), count)
    }

    /// Text up to the next comma, white space or end of line; blanks before it allowed.
    #[inline(always)]
    pub(crate) fn word(&mut self, wanted: Expected) -> Result<&'a [u8], Expected> {
        self.begin(wanted);
        let mut length = self.word_length();
        if length == 0 {
            (*self, _) = self.begin_behind_blanks();
            length = self.word_length();
        }
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        if length == 0 { Err(wanted) } else { Ok(word) }
    }

    #[inline(always)]
    fn word_length(&self) -> usize {
        self.rest.iter().position(|&byte| ends_field(byte)).unwrap_or(self.rest.len())
    }

    /// The next sixteen bytes as a little-endian number, which distinguishes short words without a branch each. Bytes
    /// after the end of the block read as zeros.
    #[inline(always)]
    pub(crate) fn ahead(&self) -> u128 {
        match self.rest.first_chunk::<16>() {
            Some(chunk) => u128::from_le_bytes(*chunk),
            None => self.rest.iter().rev().fold(0, |word, &byte| word << 8 | u128::from(byte)),
        }
    }

    /// One comma, blanks before it allowed.
    #[inline(always)]
    pub(crate) fn comma(&mut self) -> Result<(), Expected> {
        if self.peek() == b',' {
            self.skip(1);
            return Ok(());
        }
        let outcome;
        (*self, outcome) = self.late_comma();
        outcome
    }

    #[cold]
    fn late_comma(mut self) -> (Self, Result<(), Expected>) {
        let before = self;
        self.skip_blanks();
        if self.peek() == b',' {
            self.skip(1);
            return (self, Ok(()));
        }
        self = before;
        let expected = self.missing("`,` and another field");
        (self, Err(expected))
    }

    /// One `byte`, blanks before and after it allowed.
    pub(crate) fn mark(&mut self, byte: u8, expected: Expected) -> Result<(), Expected> {
        let before = *self;
        self.skip_blanks();
        if self.peek() != byte {
            *self = before;
            return Err(expected);
        }
        self.skip(1);
        self.skip_blanks();
        Ok(())
    }

    /// The first byte of the next field, after any blanks; a line feed if the line ends.
    #[inline]
    pub(crate) fn next_byte(&mut self) -> u8 {
        self.skip_blanks();
        self.peek()
    }

    /// A whole number in hexadecimal, `0x` before it allowed.
    pub(crate) fn hexadecimal(&mut self, wanted: Expected) -> Result<u64, Expected> {
        self.skip_blanks();
        self.begin(wanted);
        if matches!(self.rest, [b'0', b'x' | b'X', ..]) {
            self.skip(2);
        }
        let (mut value, mut digits) = (Some(0u64), 0);
        while let Some(digit) = char::from(self.peek()).to_digit(16) {
            value = value.and_then(|value| Some(value.checked_mul(16)? + u64::from(digit)));
            digits += 1;
            self.skip(1);
        }
        value.filter(|_| digits > 0).ok_or_else(|| self.reject())
    }

    /// The text up to the next `end` or the end of the line, without the blanks around it; it may be empty.
    pub(crate) fn field(&mut self, end: u8, wanted: Expected) -> &'a [u8] {
        self.skip_blanks();
        self.begin(wanted);
        let length = memchr::memchr2(end, b'\n', self.rest).unwrap_or(self.rest.len());
        let (field, rest) = self.rest.split_at(length);
        self.rest = rest;
        field.trim_ascii_end()
    }

    /// One `byte`, at the cursor.
    #[allow(dead_code, reason = "for formats that allow no blanks around a separator")]
    pub(crate) fn exactly(&mut self, byte: u8, expected: Expected) -> Result<(), Expected> {
        if self.peek() != byte {
            return Err(self.missing(expected));
        }
        self.skip(1);
        Ok(())
    }

    /// The rest of the line, without its end.
    pub(crate) fn rest_of_line(&self) -> &'a [u8] {
        let rest = &self.rest[..memchr::memchr(b'\n', self.rest).unwrap_or(self.rest.len())];
        rest.strip_suffix(b"\r").unwrap_or(rest)
    }

    /// Skips the rest of the line, except its end.
    pub(crate) fn skip_rest(&mut self) {
        self.skip(self.rest_of_line().len());
    }

    /// One blank or more, and a field after them.
    #[inline(always)]
    pub(crate) fn blank(&mut self) -> Result<(), Expected> {
        if !is_blank(self.peek()) {
            return Err(self.missing("a blank and another field"));
        }
        self.skip_blanks();
        if at_end(self.peek()) { Err("another field") } else { Ok(()) }
    }

    /// Any blanks.
    #[inline(always)]
    fn skip_blanks(&mut self) {
        while is_blank(self.peek()) {
            self.skip(1);
        }
    }

    /// Skips the rest of the line, if it begins with a comma: fields that a format allows and the reader does not
    /// use.
    #[inline(always)]
    pub(crate) fn skip_extra_fields(&mut self) {
        if self.peek() == b',' {
            self.skip(memchr::memchr(b'\n', self.rest).unwrap_or(self.rest.len()));
        }
    }

    /// The end of the line, in either convention, after any blanks; consumes it.
    #[inline(always)]
    pub(crate) fn end(&mut self) -> Result<(), Expected> {
        if self.peek() == b'\n' {
            self.skip(1);
            return Ok(());
        }
        let outcome;
        (*self, outcome) = self.padded_end();
        outcome
    }

    fn padded_end(mut self) -> (Self, Result<(), Expected>) {
        const END: Expected = "the end of the line";
        let before = self.rest.len();
        while matches!(self.peek(), b' ' | b'\t' | b'\r') {
            self.skip(1);
        }
        let outcome = match self.peek() {
            b'\n' => {
                self.skip(1);
                Ok(())
            }
            b',' => Err(END),
            _ if self.rest.len() < before => Err(END),
            _ => Err(self.reject()),
        };
        (self, outcome)
    }

    /// Returns to the field that was read last, whose value is invalid, and returns what it should be.
    #[inline(always)]
    pub(crate) fn reject(&mut self) -> Expected {
        self.rest = self.field;
        self.wanted
    }

    /// The error when a separator is missing here: the field before it is wrong unless the line just ends.
    #[inline(always)]
    fn missing(&mut self, separator: Expected) -> Expected {
        if ends_field(self.peek()) { separator } else { self.reject() }
    }
}

const DIGITS: u64 = 0x3030_3030_3030_3030;
const ABOVE_NINE: u64 = 0x7676_7676_7676_7676;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// `10^n` for the number of digits that one step takes, and for the scale of a decimal.
const POWERS: [u64; 10] =
    [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// The number of eight digits, the first in the lowest byte.
#[inline(always)]
fn value_of(digits: u64) -> u64 {
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00FF_00FF_00FF_00FF;
    let quads = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_FFFF_0000_FFFF;
    quads.wrapping_mul(10_000).wrapping_add(quads >> 32) & 0xFFFF_FFFF
}

/// Up to eight digits within the last seven bytes of a block: their value and their number.
#[cold]
fn up_to_eight_bytewise(rest: &[u8]) -> (u64, usize) {
    let count = rest.iter().take(8).take_while(|byte| byte.is_ascii_digit()).count();
    (rest[..count].iter().fold(0, |value, byte| value * 10 + u64::from(byte - b'0')), count)
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

fn at_end(byte: u8) -> bool {
    byte == b'\n' || byte == b'\r'
}

/// Whether a field ends before `byte`, in every supported text format.
pub(crate) fn ends_field(byte: u8) -> bool {
    is_blank(byte) || at_end(byte) || byte == b','
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_number_reads_as_the_standard_library_reads_it_wherever_the_block_ends(
            digits in "[0-9]{1,26}",
            behind in "[ -/:-~\n]{0,20}",
        ) {
            let text = format!("{digits}{behind}");
            let mut cursor = Cursor::new(text.as_bytes());
            match digits.parse::<u64>() {
                Ok(value) => {
                    prop_assert_eq!(cursor.number("a number"), Ok(value));
                    prop_assert_eq!(cursor.at(), digits.len());
                }
                Err(_) => {
                    prop_assert_eq!(cursor.number("a number"), Err("a number"));
                    prop_assert_eq!(cursor.at(), 0, "an error points at the field");
                }
            }
        }

        #[test]
        fn bytes_that_are_no_digits_end_a_number_whatever_their_bits(
            digits in "[0-9]{0,9}",
            other in any::<u8>().prop_filter("no digit", |byte| !byte.is_ascii_digit()),
            behind in proptest::collection::vec(any::<u8>(), 0..20),
        ) {
            prop_assume!(!digits.is_empty() || !is_blank(other));
            let text = [digits.as_bytes(), &[other], &behind].concat();
            let mut cursor = Cursor::new(&text);
            prop_assert_eq!(cursor.number("a number").ok(), digits.parse().ok());
            prop_assert_eq!(cursor.at(), digits.len());
        }

        #[test]
        fn a_decimal_is_exact_where_a_float_would_round(
            whole in 0u64..9_000_000_000,
            nanos in 0u64..1_000_000_000,
            beyond in "[0-9]{0,9}",
        ) {
            let text = format!("{whole}.{nanos:09}{beyond}\n");
            let mut cursor = Cursor::new(text.as_bytes());
            prop_assert_eq!(cursor.decimal(9, "seconds"), Ok(whole * 1_000_000_000 + nanos));
            prop_assert_eq!(cursor.end(), Ok(()));
        }
    }

    #[test]
    fn decimals_may_lack_their_fraction_and_must_not_lack_their_whole() {
        for (text, value) in
            [("7", Some(7_000_000)), ("7.", Some(7_000_000)), ("7.5", Some(7_500_000)), (".5", None)]
        {
            assert_eq!(Cursor::new(text.as_bytes()).decimal(6, "ms").ok(), value, "{text}");
        }
        let mut cursor = Cursor::new(b"18446744073710,");
        assert_eq!(cursor.decimal(6, "ms"), Err("ms"), "2^64 ns and more");
        assert_eq!(cursor.at(), 0);
    }

    #[test]
    fn a_size_is_neither_nothing_nor_4_gib_nor_beyond_the_last_address() {
        let size = |text: &str, unit, offset| Cursor::new(text.as_bytes()).size(unit, offset, "a size").ok();
        assert_eq!(size("0", 512, 0), None);
        assert_eq!(size("8388607", 512, 0), Some(u32::MAX - 511));
        assert_eq!(size("8388608", 512, 0), None);
        assert_eq!(size("4096", 1, u64::MAX - 4096), Some(4096));
        assert_eq!(size("4096", 1, u64::MAX - 4095), None);
    }

    #[test]
    fn a_line_never_reaches_into_the_next() {
        let mut cursor = Cursor::new(b"1\n2,3\n");
        assert_eq!(cursor.number("a"), Ok(1));
        assert!(cursor.comma().is_err());
        assert!(cursor.number("b").is_err() && cursor.word("c").is_err() && cursor.blank().is_err());
        assert_eq!(cursor.at(), 1);
    }

    #[test]
    fn either_end_of_line_and_blanks_before_it_are_taken_and_further_fields_are_not() {
        for (text, whole) in [("1\n", 2), ("1\r\n", 3), ("1 \t\r\n", 5), ("1", 1), ("1 ", 2)] {
            let mut cursor = Cursor::new(text.as_bytes());
            assert!(cursor.number("a").is_ok() && cursor.end().is_ok(), "{text:?}");
            assert_eq!(cursor.at(), whole, "{text:?}");
        }
        for (text, at, expected) in [("1 2\n", 2, "the end of the line"), ("1x\n", 0, "a")] {
            let mut cursor = Cursor::new(text.as_bytes());
            assert!(cursor.number("a").is_ok());
            assert_eq!((cursor.end(), cursor.at()), (Err(expected), at), "{text:?}");
        }
    }
}
