//! `stripewise upgrade`: upgrades an array to this version of the format.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use stripewise_array::format::{Superblock, VERSION};
use stripewise_array::{AssemblyOptions, Members, Scheme, Upgrade};
use stripewise_engine::{Engine, FileMedia, FileTrouble, Options};

use super::places::Places;
use super::{Files, release, scheme_for, search};
use crate::context::Context;
use crate::examples::{Example, section_and};
use crate::failure::{Failure, Outcome};

const EXAMPLES: &[Example] = &[
    ("stripewise upgrade pool --dry-run", "what would be written"),
    ("stripewise upgrade pool", "an array that is remembered, or the files of a folder"),
];

const NOTES: &str = "\
An upgrade of version 1 cannot be undone: earlier versions of the program refuse the upgraded array and name the version that
they need. An array that is not upgraded can be served as it is. Arrays of version 2 from before superblocks recorded servings
get that feature, which earlier programs ignore.

Exit codes:
    0  the array has the format of this version
    1  it was not upgraded; standard error says why";

/// Upgrade an array to this version of the format
///
/// No server may serve the array, all its members must be present, and none may be failed or in a rebuild. The upgrade writes the
/// superblocks once; data, log and journal stay as they are. A crash at any step leaves an array of the old version or of the new
/// version; in that case, run the command again.
#[derive(Debug, ClapArgs)]
#[command(after_help = section_and(EXAMPLES, NOTES))]
pub(crate) struct Args {
    /// A remembered array, or the files of its members, or folders of such files
    #[arg(value_name = "NAME|DIR|FILE", required = true)]
    paths: Vec<PathBuf>,

    /// The scheme that the array was created with, and its settings [default: the remembered scheme, or the preset that the
    /// superblocks name]
    #[arg(short, long, value_name = "NAME|FILE.toml")]
    scheme: Option<String>,

    /// Print what would be written, without writing it
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    places: Places,
}

pub(crate) fn run(args: Args, context: &mut Context<'_>) -> Outcome {
    let Files { paths, superblock: block, hint, media, remark } =
        Files::open(&args.paths, &args.places).map_err(served)?;
    remark.iter().for_each(|remark| context.remark(remark));
    let scheme = scheme_for(args.scheme.as_deref(), hint.as_ref(), &block, context)?;
    // The shared locks of the readers are released before the exclusive lock of the writer is taken.
    drop(media);
    let paths = search::of_array(paths, &block);
    let open = if args.dry_run { FileMedia::open_to_read } else { FileMedia::open };
    let mut media = open(&paths, block.page_bytes).map_err(|error| match error.trouble {
        FileTrouble::Locked => served(error.into()),
        _ => error.into(),
    })?;
    if block.version < VERSION && block.journal.pages > 0 && !args.dry_run {
        media = settled(&scheme, media, &block)?;
    }
    let members = Members { count: block.members.len() as u32, pages: block.pages, ..media.members() };
    let Upgrade { from, is_done, superblock: after } =
        Upgrade::run(&scheme, members, &mut media, args.dry_run)?;
    let Superblock { array, name, .. } = &after;
    let name = name.escape_debug();
    if is_done {
        writeln!(
            context.out,
            "array {array}, called \"{name}\", has version {VERSION} of the format already"
        )?;
        return Ok(());
    }
    let does = if args.dry_run { "would upgrade" } else { "upgraded" };
    let update = after.update;
    let to = match from {
        VERSION => "to superblocks that record servings and why members failed".to_owned(),
        _ => format!("from version {from} of the format to {VERSION}"),
    };
    writeln!(context.out, "{does} array {array}, called \"{name}\", {to}")?;
    writeln!(context.out, "  superblocks of {} members: update {update}", after.members.len())?;
    writeln!(
        context.out,
        "  all members are in doubt until a scrub has read them: serve the array, and scrub it"
    )?;
    if from == VERSION {
        return Ok(());
    }
    if after.horizon > 0 {
        writeln!(context.out, "  durable up to batch {}", after.horizon)?;
    }
    match after.owner.pages {
        0 => writeln!(
            context.out,
            "  no page is free for an owner: nothing keeps a second host from serving the array"
        )?,
        _ => writeln!(context.out, "  owner: page {}", after.owner.first)?,
    }
    if !args.dry_run && after.owner.pages > 0 {
        release(&args.places, &media, &after, context);
    }
    Ok(())
}

/// The members after the updates of the journal were replayed, so nothing in the journal counts any more. The array
/// still has the old version. An array with missing members stays as it is: the upgrade refuses it.
fn settled(scheme: &Scheme, mut media: FileMedia, block: &Superblock) -> Outcome<FileMedia> {
    let members = Members { count: block.members.len() as u32, pages: block.pages, ..media.members() };
    Upgrade::run(scheme, members, &mut media, true)?;
    let options = Options { page_bytes: block.page_bytes, ..Options::default() };
    let (engine, _) = Engine::resume(scheme, media, options, AssemblyOptions::default())?;
    Ok(FileMedia::new(engine.close()?, block.page_bytes))
}

/// A locked array is usually served: the failure says so.
fn served(failure: Failure) -> Failure {
    match failure {
        Failure::Failed(reason) if reason.contains("is in use by another engine") => {
            Failure::failed(format!(
                "{reason}\n  an array that is served cannot be upgraded: `stripewise stop NAME` ends its server"
            ))
        }
        other => other,
    }
}
