//! The checking simulation.
