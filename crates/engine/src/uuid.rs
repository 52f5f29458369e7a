//! Random numbers that identify arrays, members and servings.

use rustix::rand::{GetRandomFlags, getrandom};
use stripewise_array::format::Uuid;

use crate::error::EngineError;

/// An identifier of version 4 (RFC 9562, section 5.4), from the random numbers of the system.
///
/// # Errors
/// When the system provides none.
pub fn random_uuid() -> Result<Uuid, EngineError> {
    let mut bytes: [u8; 16] = random()?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    Ok(Uuid(bytes))
}

/// The number of a serving, which is never zero.
///
/// # Errors
/// When the system provides no random numbers.
pub(crate) fn random_serving() -> Result<u64, EngineError> {
    Ok(u64::from_le_bytes(random()?).max(1))
}

/// Random bytes from the system.
fn random<const BYTES: usize>() -> Result<[u8; BYTES], EngineError> {
    let mut bytes = [0; BYTES];
    match getrandom(&mut bytes, GetRandomFlags::empty()) {
        Ok(got) if got == BYTES => Ok(bytes),
        _ => Err(EngineError::NoRandomness),
    }
}
