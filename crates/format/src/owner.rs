//! The page that names the host serving an array: `docs/design/format.md`, "Owner".

use std::fmt::{Display, Formatter};

use serde::Serialize;

use super::fields::{Frame, put, u32_at, u64_at, uuid_at};
use super::write_seq::NUMBERS_MAX;
use super::{FormatError, Structure, Uuid};

/// The largest length of a host name, in bytes.
pub const HOST_NAME_BYTES_MAX: usize = 64;

const NAME_AT: usize = 96;

/// The host that serves an array, or the last one that did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Owner {
    /// The array.
    pub array: Uuid,
    /// Increases with each write.
    pub sequence: u64,
    /// The host.
    pub host: Uuid,
    /// The claim: a host draws a new one for each claim.
    pub session: Uuid,
    /// Milliseconds between two heartbeats.
    pub interval_ms: u32,
    /// Whether the host released the array: no host serves it.
    pub is_released: bool,
    /// When the host claimed the array, by its own clock, in seconds since 1970.
    pub since: u64,
    /// When the host wrote this page, by its own clock, in seconds since 1970.
    pub written: u64,
    /// The name of the host; at most [`HOST_NAME_BYTES_MAX`] bytes.
    pub name: String,
}

const FRAME: Frame = Frame {
    structure: Structure::Owner,
    magic: *b"SWOWNER\0",
    bytes_min: NAME_AT + HOST_NAME_BYTES_MAX,
    checksum_at: 28,
};

impl Owner {
    /// Writes the owner over the page `into`. A name that is too long is truncated.
    ///
    /// # Panics
    /// The page is shorter than the structure.
    pub fn encode(&self, into: &mut [u8]) {
        FRAME.begin(into);
        put(into, 8, &self.array.0);
        put(into, 32, &self.sequence.to_le_bytes());
        put(into, 40, &self.host.0);
        put(into, 56, &self.session.0);
        put(into, 72, &self.interval_ms.to_le_bytes());
        into[76] = if self.is_released { 2 } else { 1 };
        put(into, 80, &self.since.to_le_bytes());
        put(into, 88, &self.written.to_le_bytes());
        let name = &self.name[..self.name.floor_char_boundary(HOST_NAME_BYTES_MAX)];
        put(into, NAME_AT, name.as_bytes());
        FRAME.seal(into);
    }

    /// Parses the owner in a whole page.
    ///
    /// # Errors
    /// The page names no owner.
    pub fn parse(page: &[u8]) -> Result<Self, FormatError> {
        FRAME.check(page)?;
        FRAME.expect((1..=2).contains(&page[76]), "state", page[76], "1 or 2")?;
        let sequence = u64_at(page, 32);
        FRAME.expect(sequence < NUMBERS_MAX, "sequence", sequence, "62 bits")?;
        let name = &page[NAME_AT..NAME_AT + HOST_NAME_BYTES_MAX];
        let end = name.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        Ok(Self {
            array: uuid_at(page, 8),
            sequence,
            host: uuid_at(page, 40),
            session: uuid_at(page, 56),
            interval_ms: u32_at(page, 72),
            is_released: page[76] == 2,
            since: u64_at(page, 80),
            written: u64_at(page, 88),
            name: String::from_utf8_lossy(&name[..end]).into_owned(),
        })
    }
}

/// The host, by name and identifier. The name comes from the members, so terminal control characters are escaped.
impl Display for Owner {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "host \"{}\" ({})", self.name.escape_debug(), self.host)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{by_hand, flip, page_bytes, structure_tests, uuid};
    use super::*;
    use proptest::prelude::*;

    prop_compose! {
        fn owner()(
            (array, host, session) in (uuid(), uuid(), uuid()),
            (sequence, interval_ms, is_released) in (0..NUMBERS_MAX, any::<u32>(), any::<bool>()),
            (since, written) in (any::<u64>(), any::<u64>()),
            name in "[a-z.-]{0,64}",
        ) -> Owner {
            Owner { array, sequence, host, session, interval_ms, is_released, since, written, name }
        }
    }

    structure_tests!(Owner, owner(), page_bytes());

    #[test]
    fn an_owner_that_was_made_from_the_table_is_read() {
        let page = by_hand(
            512,
            28,
            &[
                (0, b"SWOWNER"),
                (8, &[7; 16]),
                (32, &[0x11, 0x22, 0, 0, 0, 0, 0, 0]),
                (40, &[8; 16]),
                (56, &[9; 16]),
                (72, &[0xe8, 3, 0, 0]),
                (76, &[2]),
                (80, &[5, 0, 0, 0, 0, 0, 0, 0]),
                (88, &[6, 0, 0, 0, 0, 0, 0, 0]),
                (96, b"tor"),
            ],
        );
        let owner = Owner {
            array: Uuid([7; 16]),
            sequence: 0x2211,
            host: Uuid([8; 16]),
            session: Uuid([9; 16]),
            interval_ms: 1000,
            is_released: true,
            since: 5,
            written: 6,
            name: "tor".into(),
        };
        assert_encoding(&page, &owner);
    }

    #[test]
    fn a_long_name_is_cut_and_a_hostile_one_does_not_reach_the_terminal() {
        let owner = Owner {
            array: Uuid([7; 16]),
            sequence: 1,
            host: Uuid([8; 16]),
            session: Uuid([9; 16]),
            interval_ms: 1,
            is_released: false,
            since: 1,
            written: 1,
            name: "ä".repeat(40),
        };
        let mut page = vec![0; 512];
        owner.encode(&mut page);
        assert_eq!(Owner::parse(&page).unwrap().name, "ä".repeat(32));
        let hostile = Owner { name: "\u{1b}[2J".into(), ..owner };
        assert!(!hostile.to_string().contains('\u{1b}'));
    }
}
