//! Zones and parity in persistent memory, by hand: which pages are read and written for small writes, one after the other.

use stripewise_array::format::FailReason;
use stripewise_array::{Class, Controller, OperationKind, RequestKind};
use stripewise_core::ids::RowNo;

use crate::support::Rig;

/// Five members of 24 pages: each zone has 8 of every member, four data columns and a parity column. A block of one page is
/// write-intensive at its first write, so that each page goes to the third zone, whose chunks have one page.
fn zoned(more: &str) -> Rig {
    let text = format!(
        "name = 'test'\n[placement]\npolicy = 'mc-rais'\n[mix]\nhistory = 1\n[zones]\nblock = '4KiB'\n\
         reads.chunk = '16KiB'\nmixed.chunk = '8KiB'\nwrites.chunk = '4KiB'\nevict_below = '0%'\n{more}"
    );
    Rig::new(&text, 5, 24)
}

fn fixed(more: &str) -> Rig {
    Rig::new(&format!("name = 'test'\n{more}"), 5, 24)
}

/// Writes each of `pages` by itself, to its end. Returns the number of pre-reads, and of data and parity pages written.
fn write(rig: &mut Rig, pages: &[u64]) -> [usize; 3] {
    let before = rig.started().count();
    for &page in pages {
        rig.submit(RequestKind::Write, page, 1).unwrap();
        rig.run();
    }
    [Class::PreRead, Class::HostWrite, Class::Parity]
        .map(|class| rig.started().skip(before).filter(|operation| operation.class == class).count())
}

/// The array's page on which the host's `page` is.
fn place(rig: &Rig, page: u64) -> (RowNo, u32) {
    rig.array.locate(page).unwrap()
}

#[test]
fn free_pages_are_not_read_and_an_open_row_writes_its_parity_once() {
    // Each write reads its free page and the old parity.
    assert_eq!(write(&mut zoned("free_pages = 'data'"), &[0, 1, 2, 3]), [8, 4, 4]);
    // The first finds all pages free; the others read the old parity.
    assert_eq!(write(&mut zoned(""), &[0, 1, 2, 3]), [3, 4, 4]);
    // The parity of the row is in memory, and written with its last page.
    let mut rig = zoned("open_rows = 8");
    assert_eq!(write(&mut rig, &[0, 1, 2]), [0, 3, 0]);
    assert_eq!(rig.array.kept_parity_rows(), 1);
    assert_eq!(write(&mut rig, &[3]), [0, 1, 1]);
    assert_eq!((rig.array.kept_parity_rows(), rig.array.blank_columns(RowNo::new(16))), (0, 0));
}

#[test]
fn a_page_of_a_zone_is_written_where_it_is_or_to_the_next_free_page() {
    let mut literal = zoned("writes_as = 'in-place'");
    write(&mut literal, &[0]);
    let first = place(&literal, 0);
    assert_eq!(
        write(&mut literal, &[0]),
        [0, 1, 1],
        "the row has no other page: its old content is not needed"
    );
    assert_eq!(place(&literal, 0), first);
    let mut log = zoned("writes_as = 'log'\nopen_rows = 8");
    write(&mut log, &[0]);
    assert_eq!(place(&log, 0), first);
    assert_eq!(write(&mut log, &[0, 0]), [0, 2, 0]);
    assert_eq!(place(&log, 0), (first.0, first.1 + 2));
    assert_eq!((log.array.zone_counts().moved, log.array.zone_counts().appended), (1, 2));
}

#[test]
fn rows_leave_memory_when_it_is_short_each_with_one_write_of_its_parity() {
    // Rows of the third zone are free as a whole; those of the first zone are not opened.
    let mut rig = zoned("open_rows = 1");
    assert_eq!(write(&mut rig, &[0, 1]), [0, 2, 0]);
    assert_eq!(
        write(&mut rig, &[2, 3, 4]),
        [0, 3, 1],
        "the first row is whole, and leaves room for the next"
    );
    // Without zones: RMW reads data and parity, then data alone. The row leaves when another needs its room.
    let mut rig = fixed("[parity]\nmemory_rows = 1");
    assert_eq!(write(&mut rig, &[0]), [2, 1, 0]);
    assert_eq!(write(&mut rig, &[0, 0]), [2, 2, 0]);
    assert_eq!(write(&mut rig, &[4]), [2, 1, 2], "its own parity is written, and then that of the first row");
    assert_eq!(write(&mut rig, &[4]), [2, 1, 0], "and it takes the room");
}

#[test]
fn a_lost_page_is_decoded_from_parity_in_memory_and_from_pages_that_are_not_free() {
    let mut rig = zoned("open_rows = 8");
    write(&mut rig, &[0, 1]);
    let (row, column) = place(&rig, 0);
    let geometry = rig.array.geometry();
    let member = geometry.member(geometry.place(row), column);
    let now = rig.now();
    rig.array.member_failed(now, member, FailReason::Requested, &mut rig.world);
    let before = rig.started().count();
    rig.submit(RequestKind::Read, 0, 1).unwrap();
    rig.run();
    let read: Vec<_> =
        rig.started().skip(before).map(|operation| (operation.kind, operation.column)).collect();
    assert_eq!(
        read,
        [(OperationKind::Read, 1)],
        "of five columns: one is lost, two are free, parity is in memory"
    );
}

#[test]
fn parity_in_memory_survives_a_loss_of_power() {
    let mut rig = zoned("open_rows = 8");
    write(&mut rig, &[0, 1]);
    rig.submit(RequestKind::Flush, 0, 0).unwrap();
    rig.run();
    let mut rig = rig.lose_power();
    rig.run();
    assert_eq!((rig.array.kept_parity_rows(), rig.array.blank_columns(RowNo::new(16))), (1, 0b1100));
    assert_eq!(write(&mut rig, &[2, 3]), [0, 2, 1]);
}
