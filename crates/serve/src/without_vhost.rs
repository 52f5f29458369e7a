//! Replaces `vhost` in builds without it: there are no guests.

use std::os::fd::BorrowedFd;
use std::path::PathBuf;

use rustix::event::PollFlags;

use crate::buffers::Buffers;
use crate::error::ServeError;
use crate::mailbox::Sender;
use crate::service::{Completion, FrontendNo, Service};

#[derive(Debug)]
pub(crate) enum VhostRequest {}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Kick {}

#[expect(dead_code, reason = "no virtual machine reads them")]
#[derive(Debug)]
pub(crate) struct Disk {
    pub(crate) bytes: u64,
    pub(crate) page_bytes: u32,
    pub(crate) read_only: bool,
    pub(crate) name: String,
}

#[derive(Debug)]
pub(crate) struct Guests;

impl Guests {
    /// # Errors
    /// When devices are requested.
    pub(crate) fn start<M>(
        _: FrontendNo,
        paths: &[PathBuf],
        _: &Disk,
        _: &Sender<M>,
    ) -> Result<Self, ServeError> {
        if paths.is_empty() { Ok(Self) } else { Err(ServeError::NoVhostUser) }
    }

    pub(crate) fn addresses(&self) -> impl Iterator<Item = String> {
        std::iter::empty()
    }

    pub(crate) fn count(&self) -> usize {
        0
    }

    pub(crate) fn obey(&mut self, job: VhostRequest) {
        match job {}
    }

    pub(crate) fn complete(&mut self, _: Completion, _: &mut Buffers) {}

    pub(crate) fn exchange(&mut self, _: &mut Service, _is_ending: bool) {}

    pub(crate) fn arm(&mut self) -> bool {
        false
    }

    pub(crate) fn kicks(&self) -> impl Iterator<Item = Kick> {
        std::iter::empty()
    }

    pub(crate) fn descriptor(&self, kick: Kick) -> Option<BorrowedFd<'_>> {
        match kick {}
    }

    pub(crate) fn hear(&mut self, kick: Kick, _: PollFlags) {
        match kick {}
    }

    pub(crate) fn is_idle(&self) -> bool {
        true
    }
}
