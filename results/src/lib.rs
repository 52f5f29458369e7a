//! Stripewise: results.
