//! Stripewise: engine.
