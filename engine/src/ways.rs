//! The ways in which operations reach files.

use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::Duration;

use stripewise_array::{Operation, OperationId, PageId};

use crate::backend::{Backend, Ended, Pages};
use crate::engine::{Options, Way};
use crate::files::ElementFile;
use crate::plain::Plain;
use crate::ring::Ring;

/// Files and block devices, reached in the best way that there is.
#[derive(Debug)]
pub enum Files {
    /// One blocking call after the other.
    Plain(Plain<ElementFile>),
    /// Many at once.
    Ring(Box<Ring>),
}

/// The same of either way.
macro_rules! either {
    ($files:expr, $way:ident => $what:expr) => {
        match $files {
            Files::Plain($way) => $what,
            Files::Ring($way) => $what,
        }
    };
}

impl Files {
    /// Over these files, some of which may be absent, with pages of so many bytes.
    pub fn new(files: Vec<Option<ElementFile>>, page_bytes: u32, options: &Options) -> Self {
        if options.way == Way::Plain {
            return Self::Plain(Plain::new(files, options.order));
        }
        match Ring::new(files, page_bytes, options.timeout) {
            Ok(ring) => Self::Ring(Box::new(ring)),
            Err((_, files)) => Self::Plain(Plain::new(files, options.order)),
        }
    }
}

impl Backend for Files {
    type Element = ElementFile;

    const BATCH: usize = Ring::BATCH;

    #[inline]
    fn start(&mut self, id: OperationId, operation: &Operation, page: PageId, memory: &mut Pages) {
        either!(self, way => way.start(id, operation, page, memory));
    }

    fn submit(&mut self, memory: &mut Pages) {
        either!(self, way => way.submit(memory));
    }

    #[inline]
    fn take(&mut self, memory: &mut Pages) -> Option<Ended> {
        either!(self, way => way.take(memory))
    }

    fn in_flight(&self) -> usize {
        either!(self, way => way.in_flight())
    }

    fn wait(&mut self, at_most: Option<Duration>) {
        either!(self, way => way.wait(at_most));
    }

    fn patience(&self) -> Option<Duration> {
        either!(self, way => way.patience())
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        either!(self, way => way.fd())
    }

    fn count(&self) -> u16 {
        either!(self, way => way.count())
    }

    fn path(&self, element: u16) -> Option<&Path> {
        either!(self, way => way.path(element))
    }

    fn close(&mut self, element: u16) {
        either!(self, way => way.close(element));
    }

    fn put(&mut self, element: u16, file: ElementFile) {
        either!(self, way => way.put(element, file));
    }

    fn into_elements(self) -> Vec<Option<ElementFile>> {
        either!(self, way => way.into_elements())
    }

    fn name(&self) -> &'static str {
        either!(self, way => way.name())
    }
}
