//! Limits on how much of a Parquet file the library may unpack at a time. A header of a few bytes can declare
//! gigabytes, and the library allocates them. So these functions check the footer and the headers of pages before the
//! library reads them.

use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek, SeekFrom};
use std::ops::Range;

use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};

use super::thrift::{STRUCT, Walker};

/// Most bytes of an unpacked page. Writers make pages of 1 MiB.
pub(super) const MOST_PAGE_BYTES: u64 = 16 << 20;
/// Most values of a page, which can take less than a bit each.
const MOST_PAGE_VALUES: u64 = 16 << 20;
/// Most bytes of a footer, and of the header of a page.
const MOST_FOOTER_BYTES: u64 = 64 << 20;
const MOST_HEADER_BYTES: u64 = 1 << 20;
/// Values read at a time from a column whose values are built from the values before them: each may be as long as a
/// page.
pub(super) const FEW: usize = 4;

/// Numbers of encodings in Parquet's definition.
const DELTA_BYTE_ARRAY: i32 = 7;
const PLAIN_DICTIONARY: i32 = 2;
const RLE_DICTIONARY: i32 = 8;

fn wrong(what: impl Into<String>) -> ParquetError {
    ParquetError::General(what.into())
}

/// Checks that the footer of `file` declares no more items than it has room for.
///
/// # Errors
/// When it declares more, or the operating system refuses.
pub fn check_footer(file: &File) -> Result<()> {
    footer(file.try_clone()?, file.metadata()?.len())
}

/// [`check_footer`] of a file in memory.
///
/// # Errors
/// When it declares more.
pub fn check_footer_of(bytes: &[u8]) -> Result<()> {
    footer(Cursor::new(bytes), bytes.len() as u64)
}

fn footer(mut from: impl Read + Seek, file_bytes: u64) -> Result<()> {
    let Some(tail) = file_bytes.checked_sub(8) else { return Ok(()) };
    from.seek(SeekFrom::Start(tail))?;
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u64::from(u32::from_le_bytes(length));
    let begin = tail.checked_sub(length).ok_or_else(|| wrong("the footer is longer than the file"))?;
    if length > MOST_FOOTER_BYTES {
        return Err(wrong(format!(
            "the footer takes {length} bytes; {} MiB are read",
            MOST_FOOTER_BYTES >> 20
        )));
    }
    from.seek(SeekFrom::Start(begin))?;
    Walker::new(BufReader::new(from), length).skip(STRUCT)
}

/// The content of a page's header.
#[derive(Default)]
struct Header {
    packed: i32,
    unpacked: i32,
    values: i32,
    encoding: i32,
    is_dictionary: bool,
}

impl Header {
    fn read<R: Read>(walker: &mut Walker<R>) -> Result<Self> {
        let (mut header, mut last) = (Self::default(), 0);
        while let Some((field, kind)) = walker.field(&mut last)? {
            match field {
                2 => header.unpacked = walker.number(kind)?,
                3 => header.packed = walker.number(kind)?,
                5 | 7 | 8 if kind == STRUCT => {
                    header.is_dictionary |= field == 7;
                    let encoding_at = if field == 8 { 4 } else { 2 };
                    let mut last = 0;
                    while let Some((field, kind)) = walker.field(&mut last)? {
                        match field {
                            1 => header.values = walker.number(kind)?,
                            at if at == encoding_at => header.encoding = walker.number(kind)?,
                            _ => walker.skip(kind)?,
                        }
                    }
                }
                _ => walker.skip(kind)?,
            }
        }
        Ok(header)
    }
}

/// The byte range of a column chunk, if it is valid.
pub(super) fn place(column: &ColumnChunkMetaData) -> Option<Range<u64>> {
    let begin = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
    let begin = u64::try_from(begin).ok()?;
    Some(begin..begin.checked_add(u64::try_from(column.compressed_size()).ok()?)?)
}

/// Checks that every column chunk of `file` lies within it, and that every page can be unpacked in bounded memory.
///
/// # Errors
/// When one does not, or the operating system refuses.
pub fn check_columns(file: &File, metadata: &ParquetMetaData) -> Result<()> {
    let file_bytes = file.metadata()?.len();
    for column in metadata.row_groups().iter().flat_map(|group| group.columns()) {
        let place = place(column).filter(|place| place.end <= file_bytes);
        let place = place.ok_or_else(|| wrong("a column lies outside the file"))?;
        check_pages(file, place.start, place.end)?;
    }
    Ok(())
}

/// What the pages of a column chunk take when they are unpacked, by their headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unpacked {
    /// All pages.
    pub bytes: u64,
    /// The largest dictionary.
    pub dictionary_bytes: u64,
    /// Whether some pages have values and others have numbers of values in the dictionary. Values of the dictionary are then
    /// repeated for each row.
    pub is_mixed: bool,
}

/// Checks that every column chunk of a file in memory lies within it, and that every page can be unpacked in bounded memory.
/// What each chunk of each row group takes, in their order.
///
/// # Errors
/// When one does not.
pub fn unpacked(bytes: &[u8], metadata: &ParquetMetaData) -> Result<Vec<Vec<Unpacked>>> {
    let chunk = |column: &ColumnChunkMetaData| {
        let place = place(column).filter(|place| place.end <= bytes.len() as u64);
        let place = place.ok_or_else(|| wrong("a column lies outside the file"))?;
        let mut all = Unpacked::default();
        let (mut values, mut numbers) = (false, false);
        walk_pages(Cursor::new(bytes), place.start, place.end, |header, unpacked| {
            all.bytes += unpacked;
            if header.is_dictionary {
                all.dictionary_bytes = all.dictionary_bytes.max(unpacked);
            } else if [PLAIN_DICTIONARY, RLE_DICTIONARY].contains(&header.encoding) {
                numbers = true;
            } else {
                values = true;
            }
        })?;
        all.is_mixed = values && numbers;
        Ok(all)
    };
    metadata.row_groups().iter().map(|group| group.columns().iter().map(chunk).collect()).collect()
}

/// Checks that every page of the column chunk at these bytes of `file` can be unpacked in bounded memory. Returns
/// true when there are pages whose values are built from the values before them (`DELTA_BYTE_ARRAY`).
pub(super) fn check_pages(file: &File, begin: u64, end: u64) -> Result<bool> {
    let mut builds = false;
    walk_pages(file.try_clone()?, begin, end, |header, _| {
        builds |= !header.is_dictionary && header.encoding == DELTA_BYTE_ARRAY;
    })?;
    Ok(builds)
}

/// Checks the pages, and passes each header to `each`, with the bytes that the page has unpacked.
fn walk_pages(
    from: impl Read + Seek,
    begin: u64,
    end: u64,
    mut each: impl FnMut(&Header, u64),
) -> Result<()> {
    let mut at = begin;
    let mut from = BufReader::new(from);
    from.seek(SeekFrom::Start(at))?;
    while at < end {
        let mut walker = Walker::new(&mut from, MOST_HEADER_BYTES);
        let header = Header::read(&mut walker)?;
        let number = |number: i32| u64::try_from(number).map_err(|_| wrong("a page has a negative size"));
        let (packed, unpacked, values) =
            (number(header.packed)?, number(header.unpacked)?, number(header.values)?);
        if packed.max(unpacked) > MOST_PAGE_BYTES || values > MOST_PAGE_VALUES {
            return Err(wrong(format!(
                "a page at byte {at} has {values} values in {} bytes; pages of up to {} MiB and {MOST_PAGE_VALUES} values are \
                 read: write the file again with smaller pages",
                packed.max(unpacked),
                MOST_PAGE_BYTES >> 20
            )));
        }
        if header.is_dictionary && values > unpacked / 4 {
            return Err(wrong(format!(
                "a dictionary at byte {at} promises more values than it has bytes for"
            )));
        }
        each(&header, packed.max(unpacked));
        at += walker.walked() + packed;
        from.seek_relative(i64::from(header.packed))?;
    }
    Ok(())
}

/// Pages of texts. Pages that declare more lengths than values are refused.
pub(super) struct Texts {
    pages: Box<dyn PageReader>,
    is_optional: bool,
}

impl Texts {
    pub(super) fn new(pages: Box<dyn PageReader>, is_optional: bool) -> Self {
        Self { pages, is_optional }
    }
}

impl Iterator for Texts {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Texts {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        if let Some(page) = &page {
            check_lengths(page, self.is_optional)?;
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }
}

/// Checks that the lists of lengths at the start of such a page are no longer than its number of values.
fn check_lengths(page: &Page, is_optional: bool) -> Result<()> {
    let lists = match page.encoding() {
        Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
        Encoding::DELTA_BYTE_ARRAY => 2,
        _ => return Ok(()),
    };
    let short = || wrong("a page is shorter than its lengths");
    let (bytes, levels) = match page {
        Page::DataPage { buf, .. } if is_optional => {
            let length = buf.first_chunk::<4>().ok_or_else(short)?;
            (buf, 4 + u32::from_le_bytes(*length) as usize)
        }
        Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, .. } => {
            (buf, (*def_levels_byte_len as usize) + (*rep_levels_byte_len as usize))
        }
        Page::DataPage { buf, .. } | Page::DictionaryPage { buf, .. } => (buf, 0),
    };
    let mut rest: Bytes = if levels <= bytes.len() { bytes.slice(levels..) } else { return Err(short()) };
    for _ in 0..lists {
        let length = check_list(&rest, u64::from(page.num_values()))?;
        rest = if length <= rest.len() { rest.slice(length..) } else { return Err(short()) };
    }
    Ok(())
}

/// The size in bytes of a list of at most `most` numbers in `DELTA_BINARY_PACKED`.
///
/// Source: Apache Parquet format, "Encodings", encoding 5: block size, miniblocks a block, count, first value; then
/// for each block its smallest difference, the width of each miniblock, and the miniblocks that are needed.
fn check_list(bytes: &[u8], most: u64) -> Result<usize> {
    let length = bytes.len() as u64;
    let mut walker = Walker::new(bytes, length);
    let (block, miniblocks, count) = (walker.varint()?, walker.varint()?, walker.varint()?);
    walker.varint()?;
    if count > most {
        return Err(wrong(format!("a page of {most} values promises {count} lengths")));
    }
    if miniblocks == 0 || miniblocks > length || !block.is_multiple_of(miniblocks) || block / miniblocks == 0
    {
        return Err(wrong("a page has lengths in blocks that cannot be"));
    }
    let each = block / miniblocks;
    let mut left = count.saturating_sub(1);
    while left > 0 {
        walker.varint()?;
        let widths = (0..miniblocks).map(|_| walker.byte()).collect::<Result<Vec<u8>>>()?;
        for width in widths {
            if left == 0 {
                break;
            }
            walker.pass(each.saturating_mul(u64::from(width)).div_ceil(8))?;
            left = left.saturating_sub(each);
        }
    }
    Ok(walker.walked() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An unlinked file with these bytes.
    fn file(name: &str, bytes: &[u8]) -> File {
        let path = std::env::temp_dir().join(format!("stripewise-limits-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).expect("a file");
        let file = File::open(&path).expect("the file");
        std::fs::remove_file(&path).expect("its name goes");
        file
    }

    /// The header of a page: type, unpacked and packed size, then in field `of` its number of values and its encoding.
    fn header(unpacked: u64, packed: u64, of: u8, values: u64, encoding: u8) -> Vec<u8> {
        let number = |value: u64| {
            let (mut bytes, mut value) = (vec![0x15], value << 1);
            while value >= 0x80 {
                bytes.push(value as u8 | 0x80);
                value >>= 7;
            }
            bytes.push(value as u8);
            bytes
        };
        let parts = [number(0), number(unpacked), number(packed), vec![(of - 3) << 4 | 12], number(values)];
        [parts.concat(), number(u64::from(encoding)), vec![0, 0]].concat()
    }

    fn pages(name: &str, bytes: &[u8]) -> std::result::Result<bool, String> {
        check_pages(&file(name, bytes), 0, bytes.len() as u64).map_err(|error| error.to_string())
    }

    #[test]
    fn pages_are_refused_by_what_their_headers_promise() {
        const DATA: u8 = 5;
        const DICTIONARY: u8 = 7;
        let page = |header: Vec<u8>, packed: usize| [header, vec![0xFF; packed]].concat();
        let two = [page(header(40, 5, DICTIONARY, 10, 0), 5), page(header(100, 9, DATA, 50, 8), 9)].concat();
        assert_eq!(pages("sound", &two), Ok(false));
        assert_eq!(pages("built", &page(header(100, 9, DATA, 50, 7), 9)), Ok(true));
        for (name, bytes, reason) in [
            ("large", header(MOST_PAGE_BYTES + 1, 9, DATA, 50, 0), "16 MiB"),
            ("many", header(100, 9, DATA, MOST_PAGE_VALUES + 1, 0), "smaller pages"),
            ("dictionary", header(40, 5, DICTIONARY, 11, 0), "more values than it has bytes for"),
        ] {
            let error = pages(name, &page(bytes, 9)).expect_err(name);
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn a_footer_that_promises_more_items_than_it_has_bytes_is_refused() {
        // Field 4, a list of structures: two of them, or 2^31 - 1.
        let footer = |list: &[u8]| {
            let body = [&[0x49][..], list, &[0]].concat();
            let length = (body.len() as u32).to_le_bytes();
            [b"PAR1".as_slice(), &body, &length, b"PAR1"].concat()
        };
        assert!(check_footer(&file("two", &footer(&[0x2C, 0, 0]))).is_ok());
        let error = check_footer(&file("lists", &footer(&[0xFC, 0xFF, 0xFF, 0xFF, 0xFF, 0x07, 0, 0])))
            .expect_err("it lies");
        assert!(error.to_string().contains("longer than the header"), "{error}");
        let nested =
            check_footer(&file("nested", &footer(&[[0x1C].as_slice(), &[0x1C; 90], &[0; 91]].concat())));
        assert!(nested.expect_err("it is too deep").to_string().contains("nested"));
    }

    #[test]
    fn lists_of_lengths_are_walked_over_and_no_longer_than_their_values() {
        // Blocks of 128 in 4 miniblocks, first value 0: 33 values take two miniblocks, of widths 1 and 2.
        let list = [0x80, 0x01, 4, 33, 0, 0, 1, 2, 0, 0].into_iter().chain([0xAA; 12]).collect::<Vec<u8>>();
        assert_eq!(check_list(&list, 33).expect("it is sound"), 10 + 4);
        assert_eq!(
            check_list(&[0x80, 0x01, 4, 34, 0, 0, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], 34)
                .expect("it is sound"),
            22
        );
        assert!(check_list(&list, 32).expect_err("too many").to_string().contains("33 lengths"));
        let endless = [0x80, 0x01, 4, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x1F, 0];
        assert!(check_list(&endless, 1 << 20).is_err());
        assert!(check_list(&[0x80, 0x01, 0, 5, 0], 5).is_err(), "no miniblocks");
    }
}
