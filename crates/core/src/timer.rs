//! The timer of the controller's driver.

use stripewise_base::Nanos;

/// The part of a driver that wakes the controller.
pub trait Timer {
    /// Requests a call of `Controller::timer` at `at`.
    fn set_timer(&mut self, at: Nanos);
}
