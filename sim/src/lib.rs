//! Stripewise: sim.
