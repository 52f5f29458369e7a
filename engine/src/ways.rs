//! The ways in which operations reach files.

use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::Duration;

use stripewise_array::{Operation, OperationId, PageId};

use crate::backend::{Backend, Ended, Pages};
use crate::engine::Options;
use crate::files::ElementFile;
use crate::plain::Plain;

/// Files and block devices, reached in the best way that there is.
#[derive(Debug)]
pub struct Files {
    plain: Plain<ElementFile>,
}

impl Files {
    /// Over these files, some of which may be absent.
    pub(crate) fn new(files: Vec<Option<ElementFile>>, options: &Options) -> Self {
        Self { plain: Plain::new(files, options.order) }
    }
}

impl Backend for Files {
    type Element = ElementFile;
    const BATCH: usize = 1;

    fn start(&mut self, id: OperationId, operation: &Operation, page: PageId, memory: &mut Pages) {
        self.plain.start(id, operation, page, memory);
    }

    fn submit(&mut self, memory: &mut Pages) {
        self.plain.submit(memory);
    }

    fn take(&mut self, memory: &mut Pages) -> Option<Ended> {
        self.plain.take(memory)
    }

    fn in_flight(&self) -> usize {
        self.plain.in_flight()
    }

    fn wait(&mut self, at_most: Option<Duration>) {
        self.plain.wait(at_most);
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.plain.fd()
    }

    fn count(&self) -> u16 {
        self.plain.count()
    }

    fn path(&self, element: u16) -> Option<&Path> {
        self.plain.path(element)
    }

    fn close(&mut self, element: u16) {
        self.plain.close(element);
    }

    fn put(&mut self, element: u16, store: ElementFile) {
        self.plain.put(element, store);
    }

    fn into_elements(self) -> Vec<Option<ElementFile>> {
        self.plain.into_elements()
    }

    fn name(&self) -> &'static str {
        self.plain.name()
    }
}
