//! The tests of the protocol, in one program: linking one is quicker than linking 6.

mod any_bytes;
mod client;
mod clients;
mod corpus;
mod handshake;
mod support;
mod transmission;
