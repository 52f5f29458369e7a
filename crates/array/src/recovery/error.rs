//! Why an array is not created or not assembled.

use stripewise_scheme::SchemeError;

/// Why an array is not created or not assembled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssembleError {
    /// The scheme has no meaning over these members.
    #[error(transparent)]
    Scheme(#[from] SchemeError),
    /// The devices are no array, or too little of one, or assembly would lose durable content: the reason, and the remedy.
    #[error("{0}")]
    Refused(String),
    /// A member failed, so that creation or assembly cannot continue.
    #[error("{0}")]
    Failed(String),
}

/// Refuses to write after `number`, the last of its kind, unless it is below `most`: otherwise there would eventually be
/// no next number.
pub(super) fn check_next(what: &str, number: u64, most: u64) -> Result<(), AssembleError> {
    if number < most {
        return Ok(());
    }
    Err(AssembleError::Refused(format!(
        "the last {what} has the number {number}, and from {most} on the last of all is too near; open the array \
         read-only and copy it to another"
    )))
}

/// Refuses to assemble an array that lost durable content, unless the caller forces it.
pub(super) fn check_losses(losses: &[String], is_forced: bool) -> Result<(), AssembleError> {
    if losses.is_empty() || is_forced {
        return Ok(());
    }
    Err(AssembleError::Refused(format!(
        "{}; offer more members, or open it by force and lose that",
        losses.join("; ")
    )))
}
