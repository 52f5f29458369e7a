//! The formats, one file each, and the one list where they register.
//!
//! A text format is a [`Format`] (its names and options) and a `LineFormat` (converts a line to a record, and back).
//! To add a format, write its file and put its name in the list below. Reading, writing, detection, errors and the
//! tests over all formats follow from that.

mod binary;
mod columns;
mod cursor;
mod decimal;
mod detect;
mod fields;
mod files;
mod likely;
mod line;
mod name;
mod names;
mod oracle;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
mod plausible;
mod quotes;
mod record;
mod sectors;
mod undetected;

pub use binary::{BINARY_FORMATS, BinaryFormat};
pub(crate) use binary::{BinaryReader, detect as detect_binary, is_tar, order as binary_order};
pub use columns::Columns;
pub(crate) use cursor::{Cursor, Expected, ends_field};
use decimal::{push_decimal, push_number};
pub(crate) use detect::{detect as detect_text, found, is_header};
pub(crate) use files::{is_blktrace_member, members};
use line::Separator;
pub use line::{Format, Variant};
pub(crate) use line::{LineFormat, Loss, Progress};
pub(crate) use name::Chosen;
pub use name::{FormatName, PARQUET, format_names};
pub(crate) use oracle::{is_oracle_general, refusal as oracle_refusal};
pub(crate) use quotes::{may_quote, quoted_at, unquote};
pub(crate) use record::{Entry, Record, Stop};
pub(crate) use undetected::Undetected;

macro_rules! formats {
    ($($file:ident),+ $(,)?) => {
        $(mod $file;)+
        /// Every text format, in the order in which detection prefers them when two fit equally well.
        pub static FORMATS: &[Format] = &[$($file::FORMAT),+];
    };
}

// The list.
formats![
    msr,
    spc,
    ssdsim,
    mqsim,
    disksim,
    msps,
    replayer,
    systor,
    alibaba,
    tencent,
    k5cloud,
    fiu,
    blkparse,
    blkreplay,
    fio,
    vscsi_csv,
    cydonia,
    biotracer,
    etw,
    iosnoop,
    biosnoop,
    perf_script,
    disksim_validate,
];
