//! Identifiers of new arrays and members.

use rustix::rand::{GetRandomFlags, getrandom};
use stripewise_array::format::Uuid;

use crate::error::EngineError;

/// An identifier of version 4 (RFC 9562, section 5.4), from the random numbers of the system.
///
/// # Errors
/// When the system provides none.
pub fn random_uuid() -> Result<Uuid, EngineError> {
    let mut bytes = [0; 16];
    if getrandom(&mut bytes, GetRandomFlags::empty()) != Ok(bytes.len()) {
        return Err(EngineError::NoRandomness);
    }
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    Ok(Uuid(bytes))
}
