//! The controller's own request, of which there is at most one at a time.

/// State of the controller's own request, of which there is at most one at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Internal {
    /// There is none.
    #[default]
    Idle,
    /// The request is not yet wholly split into plans.
    Splitting,
    /// The request waits for its plans.
    UnderWay,
    /// The request is over.
    Over {
        /// Whether some of its content was lost.
        failed: bool,
    },
}
