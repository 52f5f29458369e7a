//! The log after a loss of power: every row is read, and the stripes that are whole tell what they hold.

use stripewise_check::Case;
use stripewise_check::guest::{Guest, Members};
use stripewise_code::Code;
use stripewise_core::geometry::Geometry;
use stripewise_core::ids::RowNo;
use stripewise_core::memory::{Memory as _, PageMemory};
use stripewise_exec::{ArrayOf, Executor, Sizes};
use stripewise_format::crc32c;

use super::placement::{Planted, RoundRobinLog};
use super::record::Record;

/// A log as a controller.
pub(crate) type LogArray = ArrayOf<PageMemory, RoundRobinLog>;

/// The controller of `case`: a new one, or one over what `members` hold.
pub(crate) fn array(
    case: &Case,
    planted: Option<Planted>,
    members: Option<Members<'_>>,
) -> Result<LogArray, String> {
    let shape = stripewise_flash::Shape::new(&case.device, case.members.level, case.members.devices)
        .map_err(|error| error.to_string())?;
    let capabilities = case.capabilities(&shape);
    let geometry = case.geometry()?;
    let page_bytes = case.page_bytes();
    let code = case.scheme.code(&geometry, page_bytes).map_err(|error| error.to_string())?;
    let code = code.ok_or("the log needs parity")?;
    let plans = case.scheme.queues.plans;
    let mut log = RoundRobinLog::new(geometry.rows(), geometry.data, plans, planted);
    let gone = members.as_ref().map_or_else(Vec::new, |members| members.gone().to_vec());
    if let Some(mut members) = members {
        recover(&mut log, &geometry, &code, page_bytes, &mut members);
    }
    let sizes = Sizes::plain(&case.scheme, &geometry, &capabilities);
    let pages = RoundRobinLog::capacity(geometry.rows(), geometry.data);
    let memory = PageMemory::new(page_bytes);
    let mut exec = Executor::new(&case.scheme, geometry, Some(code), capabilities, memory, pages, sizes);
    gone.into_iter().for_each(|member| exec.take_out(member));
    Ok(ArrayOf { exec, placement: log })
}

impl Guest for RoundRobinLog {
    fn home(&self, page: u64) -> Option<(u64, u32)> {
        self.map[page as usize].map(|(row, chunk)| (row.into(), chunk + 1))
    }
}

/// Finds the whole stripes, and makes the pages of each current, in the order in which they were written. Wipes the rest of
/// stripes that are not whole: they must not look whole once another member is lost.
fn recover(
    log: &mut RoundRobinLog,
    geometry: &Geometry,
    code: &Code,
    page_bytes: u32,
    members: &mut Members<'_>,
) {
    let mut memory = PageMemory::new(page_bytes);
    let mut stripes = Vec::new();
    for row in geometry.all_rows() {
        let place = geometry.place(row);
        let home = |column| (geometry.member(place, column), place.page);
        let found: Vec<Option<Vec<u8>>> = (0..geometry.columns)
            .map(|column| {
                let (member, page) = home(column);
                members.read(member, page)
            })
            .collect();
        match whole(&found, geometry, row, code, &mut memory) {
            Some(record) => stripes.push((row.number() as u32, record)),
            None => {
                for column in (0..geometry.columns).filter(|&column| found[column as usize].is_some()) {
                    let (member, page) = home(column);
                    members.wipe(member, page);
                }
            }
        }
    }
    stripes.sort_by_key(|(_, record)| record.sequence);
    if log.planted == Some(Planted::TailForgotten) {
        stripes.pop();
    }
    for (row, record) in stripes {
        for (chunk, &(page, _)) in (0..).zip(&record.chunks) {
            log.install(page, row, chunk);
        }
        (log.sequence, log.head) = (record.sequence, (row + 1) % log.rows.len() as u32);
    }
}

/// The record of the stripe whose columns were `found`, if all of its content is there, on the members or decoded, and its
/// parity matches.
fn whole(
    found: &[Option<Vec<u8>>],
    geometry: &Geometry,
    row: RowNo,
    code: &Code,
    memory: &mut PageMemory,
) -> Option<Record> {
    let missing = (0..geometry.columns).filter(|&column| found[column as usize].is_none());
    let missing: Vec<u32> = missing.collect();
    if missing.len() as u32 > geometry.parity() {
        return None;
    }
    let place = geometry.place(row);
    let buffers: Vec<_> = found.iter().map(|_| memory.take()).collect();
    let mut by_index = buffers.clone();
    let mut lost = 0;
    for (column, content) in (0..).zip(found) {
        let index = geometry.code_index(place, column);
        by_index[index as usize] = buffers[column as usize];
        match content {
            Some(bytes) => memory.bytes_mut(buffers[column as usize]).copy_from_slice(bytes),
            None => lost |= 1 << index,
        }
    }
    if lost != 0 {
        memory.decode(code, &by_index, lost, lost);
    }
    let record = Record::of(memory.bytes(buffers[0])).filter(|record| {
        let is_right =
            |(chunk, &(_, sum)): (usize, &(u64, u32))| crc32c(memory.bytes(buffers[chunk + 1])) == sum;
        record.chunks.iter().enumerate().all(is_right)
    });
    memory.encode(code, &by_index);
    let mut parity = (geometry.data..geometry.columns).filter(|column| !missing.contains(column));
    let matches = parity
        .all(|column| found[column as usize].as_deref() == Some(memory.bytes(buffers[column as usize])));
    buffers.into_iter().for_each(|buffer| memory.give(buffer));
    record.filter(|_| matches)
}
