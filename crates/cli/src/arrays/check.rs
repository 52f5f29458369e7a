//! `stripewise check`: verifies that everything an array of files holds can still be read.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use stripewise_array::{Array, AssemblyOptions, Members, PageMemory, RecoveryReport};
use stripewise_base::human::count;
use stripewise_base::text::visible;

use super::places::Places;
use super::{Files, scheme_for};
use crate::context::Context;
use crate::examples::{Example, section_and};
use crate::failure::{Failure, Outcome};

const EXAMPLES: &[Example] = &[
    ("stripewise check pool", "the array of that name"),
    ("stripewise check ./pool", "an array whose members are the files of a folder"),
    (
        "stripewise check pool --scheme durable-was,elastic.reserve=20%",
        "an array that was created with settings",
    ),
];

const EXIT_CODES: &str = "\
Exit codes:
    0  all data, parity and metadata are present and correct
    1  data is lost, or redundancy is reduced: by damage, or by a member that is absent; standard output says what
    2  the array cannot be assembled; standard error says why";

/// Verify an array that no server serves: data, parity and metadata
///
/// Assembly is read-only: the command writes nothing and repairs nothing. It reads every page and compares it with its checksum,
/// and every stripe with its parity. The summary distinguishes three cases. A chunk is LOST if reads of it fail. Redundancy is
/// reduced if a page, its parity or a copy of metadata is damaged and no chunk is lost; a scrub repairs that. Damaged pages of
/// versions that were overwritten or trimmed since are counted and do no harm.
#[derive(Debug, ClapArgs)]
#[command(after_help = section_and(EXAMPLES, EXIT_CODES))]
pub(crate) struct Args {
    /// A remembered array, or the files of its members, or folders of such files; a name that both have means the array
    #[arg(value_name = "NAME|DIR|FILE", required = true)]
    paths: Vec<PathBuf>,

    /// The scheme that the array was created with, and its settings [default: the remembered scheme, or the preset that the
    /// superblocks name]
    #[arg(short, long, value_name = "NAME|FILE.toml")]
    scheme: Option<String>,

    /// Assemble the array despite data loss, and list the lost data
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    places: Places,
}

pub(crate) fn run(args: Args, context: &mut Context<'_>) -> Outcome {
    let mut files = Files::open(&args.paths, &args.places).map_err(Failure::refused)?;
    files.remark.iter().for_each(|remark| context.remark(remark));
    for line in files.listed() {
        writeln!(context.out, "{line}")?;
    }
    let block = &files.superblock;
    let scheme = scheme_for(args.scheme.as_deref(), files.hint.as_ref(), block, context)?;
    let members = Members { count: block.members.len() as u32, pages: block.pages, ..files.media.members() };
    let opening = AssemblyOptions { read_only: true, force: args.force, ..AssemblyOptions::default() };
    let memory = PageMemory::new(block.page_bytes);
    let opened = Array::open(&scheme, members, memory, &mut files.media, opening);
    let (array, opened) = opened.map_err(|error| Failure::Refused(error.to_string()))?;
    let mut written = describe(&opened, &files, context);
    let checked = array.check_all(&mut files.media, &opened, &mut |trouble| {
        if written.is_ok() {
            written = writeln!(context.out, "{trouble}");
        }
    });
    written?;
    let out = &mut *context.out;
    writeln!(out, "{} stripes, {} pages read", count(checked.stripes), count(checked.pages))?;
    if checked.absent > 0 {
        writeln!(out, "{} pages are on members that are not there", count(checked.absent))?;
    }
    writeln!(out, "{} chunks can be read, {} are lost", count(checked.chunks), count(checked.lost))?;
    let absent = opened.positions.iter().filter(|position| position.is_none()).count() as u64;
    let losses = opened.losses.len() as u64;
    if checked.reduced > 0 {
        let reduced = count(checked.reduced);
        writeln!(
            out,
            "{reduced} damages reduce redundancy: no chunk is lost by them, and `stripewise scrub` repairs them"
        )?;
    }
    if checked.dead > 0 {
        writeln!(out, "{} damaged pages hold versions that no longer count", count(checked.dead))?;
    }
    match checked.troubles + absent + losses {
        0 => Ok(writeln!(out, "clean")?),
        _ => Err(Failure::failed(format!(
            "not clean: {} chunks lost, {} damages that a scrub repairs, {absent} members absent or stale, {losses} losses found \
             at assembly",
            checked.lost, checked.reduced
        ))),
    }
}

/// Reports the findings of the assembly.
fn describe(opened: &RecoveryReport, files: &Files, context: &mut Context<'_>) -> std::io::Result<()> {
    let block = &files.superblock;
    writeln!(context.out, "array {}, called \"{}\", {}", block.array, visible(&block.name), block.level)?;
    for (number, position) in opened.positions.iter().enumerate() {
        match position {
            Some(position) => writeln!(context.out, "member {number} is #{position}")?,
            None => writeln!(context.out, "member {number} is ABSENT, failed or stale")?,
        }
    }
    let RecoveryReport { replayed, dropped, losses, .. } = opened;
    writeln!(
        context.out,
        "behind its last checkpoint: {replayed} that count, {dropped} begun and not finished"
    )?;
    losses.iter().try_for_each(|loss| writeln!(context.out, "LOST: {loss}"))
}
