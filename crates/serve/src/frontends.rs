//! The list of frontends.

use stripewise_engine::Engine;

use crate::error::ServeError;
use crate::frontend::{Frontend, Start};
use crate::nbd;
use crate::service::FrontendNo;
use crate::settings::Settings;
#[cfg(feature = "vhost-user")]
use crate::vhost;

/// All frontends, in the order in which the loop calls them.
const ALL: &[Start] = &[
    nbd::start,
    #[cfg(feature = "vhost-user")]
    vhost::start,
    #[cfg(not(feature = "vhost-user"))]
    without_vhost_user,
];

/// Starts the frontends that `settings` request. The number of each is its position.
///
/// # Errors
/// When one cannot start.
pub(crate) fn start(settings: &Settings, engine: &Engine) -> Result<Vec<Box<dyn Frontend>>, ServeError> {
    let mut frontends = Vec::new();
    for start in ALL {
        frontends.extend(start(FrontendNo(frontends.len() as u8), settings, engine)?);
    }
    Ok(frontends)
}

/// Replaces `vhost` in builds without it.
#[cfg(not(feature = "vhost-user"))]
fn without_vhost_user(
    _: FrontendNo,
    settings: &Settings,
    _: &Engine,
) -> Result<Option<Box<dyn Frontend>>, ServeError> {
    if settings.vhost_user.is_empty() { Ok(None) } else { Err(ServeError::NoVhostUser) }
}
