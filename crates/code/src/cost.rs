//! The cost of codes, in operations on bytes.

use crate::code::{Code, Kind};

/// Operations of a code. Each is one addition (XOR), or one multiplication and addition, of a part of a member to
/// another.
///
/// A member has `parts` parts ([`Code::granularity`]), so an operation touches a `parts`th of its bytes: all of them
/// with XOR and P+Q.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Parts of a member.
    pub parts: u32,
    /// Computing every parity from all data.
    pub encode: u32,
    /// Adding the change of a whole data member to every parity, for the member with the highest cost.
    pub update: u32,
    /// Computing one lost data member.
    pub decode_one: u32,
    /// Computing two lost data members, for the pair with the highest cost. None if the code does not tolerate that
    /// loss.
    pub decode_two: Option<u32>,
}

pub(crate) fn of(code: &Code) -> Cost {
    let (data, parts) = (code.data(), code.granularity());
    let update = |index| (0..parts).map(|part| code.changes(index, part)).sum::<u32>();
    let row = (data - 1) * parts;
    // S sums up one part of each member but the first.
    let s = data.saturating_sub(2);
    let (encode, decode_two) = match code.kind() {
        Kind::Xor => (row, None),
        // Two syndromes of d - 2 members and a parity, then three operations that solve for both members.
        Kind::Pq => (2 * row, Some(2 * (data.max(2) - 2) + 3)),
        // Each stored diagonal goes through all d + 1 columns but one, whichever are lost.
        Kind::Rdp => (row + data * (parts - 1), Some(row + data * (parts - 1))),
        // Each part of Q sums up its diagonal and S; decoding gets S from both parities.
        Kind::Evenodd => {
            (row + s + data * parts - (data - 1), Some(2 * parts - 1 + row + data * parts - (data - 1)))
        }
        // Each parity sums up p - 2 cells. Two lost cells have diagonals of their own.
        Kind::XCode => {
            let prime = code.prime().unwrap_or_default();
            (2 * prime * (prime - 3), Some(2 * (prime - 3)))
        }
    };
    Cost {
        parts,
        encode,
        update: (0..data).map(update).max().unwrap_or(0),
        decode_one: if code.kind() == Kind::XCode { code.prime().unwrap_or_default() - 3 } else { row },
        decode_two: decode_two.filter(|_| data > 1),
    }
}
