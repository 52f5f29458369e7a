//! Whether what `status` says is true. The tests that kill servers damage no member, so no kill and no loss of power is a
//! reason to report an error.

use super::server::Status;
use super::{Broken, Counts};

/// All members serve, none is charged with an error, and the array is clean.
pub(super) fn whole(status: &Status, counts: &mut Counts) -> Result<(), Broken> {
    uncharged(status, counts)?;
    if let Some(member) = status.members.iter().find(|member| member.state != "active") {
        return Err(said(format!("member {} is {}", member.number, member.state)));
    }
    if status.health != "clean" && !status.full {
        return Err(said(format!("the array is {}", status.health)));
    }
    Ok(())
}

/// A scrub has found nothing.
pub(super) fn scrubbed(status: &Status, counts: &mut Counts) -> Result<(), Broken> {
    whole(status, counts)?;
    let Some(scrub) = &status.last_scrub else { return Err(said("there was no scrub".into())) };
    if scrub.damaged + scrub.lost + scrub.metadata_damaged > 0 {
        return Err(said(format!("a scrub found {scrub:?}")));
    }
    Ok(())
}

/// No member is charged with an error.
fn uncharged(status: &Status, counts: &mut Counts) -> Result<(), Broken> {
    counts.judged += 1;
    let is_charged = |errors: &&u64| **errors > 0;
    match status.members.iter().find(|member| member.total_errors.values().any(|errors| is_charged(&errors)))
    {
        None => Ok(()),
        Some(member) => Err(said(format!("member {} has errors: {:?}", member.number, member.total_errors))),
    }
}

fn said(what: String) -> Broken {
    Broken(format!("no member is damaged, and `status` says that {what}"))
}
