//! The policies of the controller of Stripewise: what to read and to write, in which order, and what to keep.
//!
//! A policy decides on what its caller passes, and on nothing else: it names no plan, no request in flight, and nothing of
//! the on-disk format. Each axis is a module with its section of a scheme, and each published policy is a file in it.

#![forbid(unsafe_code)]

pub mod cache;
pub mod coordination;
pub mod custom;
pub mod dispatch;
pub mod hotness;
pub mod mix;
pub mod read;
pub mod update;
