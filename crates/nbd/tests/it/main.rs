//! The tests of the protocol, in one program, because linking one is faster than linking 6.

mod any_bytes;
mod client;
mod clients;
mod corpus;
mod handshake;
mod support;
mod transmission;
