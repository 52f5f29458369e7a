//! Stripewise: array.
