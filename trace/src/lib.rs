//! Stripewise: trace.
