//! Stripewise: code.
