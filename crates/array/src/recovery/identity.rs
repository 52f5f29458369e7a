//! The identity of an array.

use stripewise_format::Uuid;

/// The identity of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The identifier of the array.
    pub array: Uuid,
    /// The identifiers of its members, in order.
    pub members: Vec<Uuid>,
    /// The name of the array; at most 64 bytes.
    pub name: String,
}

impl Identity {
    /// The identity of an array that will never be assembled again.
    pub(crate) fn unnamed(members: u32) -> Self {
        let named = |member: u32| Uuid((u128::from(member) + 1).to_be_bytes());
        Self { array: Uuid([0xff; 16]), members: (0..members).map(named).collect(), name: String::new() }
    }
}
