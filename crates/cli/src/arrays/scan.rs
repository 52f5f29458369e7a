//! `stripewise scan`: lists the arrays of this machine.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args as ClapArgs;
use serde_json::{Value, json};
use stripewise_array::format::{MemberState, Owner, Superblock};
use stripewise_base::text::{Visible, visible};
use stripewise_engine::owner::owner_of;

use super::places::Places;
use super::search;
use crate::context::Context;
use crate::examples::{Example, section};
use crate::failure::Outcome;

const EXAMPLES: &[Example] = &[
    ("stripewise scan", "all block devices, and the last paths of known arrays"),
    ("stripewise scan pool", "the files of a folder"),
    ("stripewise scan --json", "as JSON"),
];

/// Find arrays by the superblocks on files and block devices
///
/// The command writes nothing. It skips devices that it may not open; as root it can open all of them. If it finds copies of
/// an array, it lists which members were served together last.
#[derive(Debug, ClapArgs)]
#[command(after_help = section(EXAMPLES))]
pub(crate) struct Args {
    /// Files, devices, or folders of files [default: all block devices, and the last paths of known arrays]
    #[arg(value_name = "DIR|FILE|DEVICE")]
    paths: Vec<PathBuf>,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    places: Places,
}

pub(crate) fn run(args: Args, context: &mut Context<'_>) -> Outcome {
    let paths = match args.paths.is_empty() {
        false => search::expand(&args.paths)?,
        true => search::everywhere(&args.places, context)?,
    };
    let mut arrays: BTreeMap<String, Vec<(PathBuf, Superblock)>> = BTreeMap::new();
    for (path, block) in search::superblocks(&paths) {
        arrays.entry(block.array.to_string()).or_default().push((path, block));
    }
    if args.json {
        let listed: Vec<Value> = arrays.values_mut().map(|found| array_json(found)).collect();
        return context.json(&listed);
    }
    for found in arrays.values_mut() {
        print(found, context)?;
    }
    if arrays.is_empty() {
        search::refuse_newer(&paths, None)?;
        context.remark(&format!("no array in {} files and devices", paths.len()));
    }
    Ok(())
}

/// The newest superblock. Sorts the members first.
fn newest(found: &mut [(PathBuf, Superblock)]) -> Superblock {
    found.sort_by(|(path, block), (other_path, other)| (block.number, path).cmp(&(other.number, other_path)));
    let newest = found.iter().map(|(_, block)| block).max_by_key(|block| block.update);
    newest.expect("an array was found by a member").clone()
}

/// The state of a member according to the newest superblock, and whether this file is the member that superblock
/// means.
fn state(block: &Superblock, newest: &Superblock) -> &'static str {
    match newest.members.get(usize::from(block.number)) {
        Some(member) if member.uuid != block.uuid => "replaced",
        Some(member) => match member.state {
            MemberState::Active => "active",
            MemberState::Failed => "failed",
            MemberState::Rebuilding => "rebuilding",
        },
        None => "unknown",
    }
}

fn print(found: &mut [(PathBuf, Superblock)], context: &mut Context<'_>) -> Outcome {
    let newest = newest(found);
    let members = newest.members.len();
    let Superblock { array, name, level, scheme, .. } = &newest;
    let (name, scheme) = (visible(name), visible(scheme));
    writeln!(context.out, "array {array}, called \"{name}\", {level}, {scheme}, {members} members")?;
    for (path, block) in &*found {
        let state = state(block, &newest);
        writeln!(context.out, "  member {:<3} {state:<10}  {}", block.number, Visible(path.display()))?;
    }
    for number in absent(found, &newest) {
        writeln!(context.out, "  member {number:<3} ABSENT")?;
    }
    for (nth, copy) in (1..).zip(copies(found)) {
        writeln!(context.out, "  COPY {nth}, update {}: these members belong together", copy.update())?;
        for (path, block) in &copy.members {
            writeln!(context.out, "    member {:<3} {}", block.number, Visible(path.display()))?;
        }
    }
    if let Some(owner) = owner(found) {
        let does = if owner.is_released { "released by" } else { "owned by" };
        writeln!(context.out, "  {does} {owner}")?;
    }
    Ok(())
}

/// Members that were served together last, of an array of which there are copies.
struct ServedTogether<'a> {
    members: Vec<&'a (PathBuf, Superblock)>,
}

impl ServedTogether<'_> {
    /// The newest update of its superblocks.
    fn update(&self) -> u64 {
        self.members.iter().map(|(_, block)| block.update).max().unwrap_or(0)
    }
}

/// The copies of an array, the newest first; none if there is only one. There are copies if a member is there twice, or if
/// members were served separately since the same serving.
fn copies(found: &[(PathBuf, Superblock)]) -> Vec<ServedTogether<'_>> {
    let pairs =
        || found.iter().enumerate().flat_map(|(nth, one)| found[..nth].iter().map(move |other| (one, other)));
    let is_copied = pairs().any(|((_, one), (_, other))| one.uuid == other.uuid || one.is_fork_of(other));
    let mut copies: Vec<ServedTogether<'_>> = Vec::new();
    for member in found.iter().filter(|_| is_copied) {
        // Without servings, members that have the same update belong together, as far as that shows.
        let key = |(_, block): &(PathBuf, Superblock)| {
            (block.serving, if block.serving == 0 { block.update } else { 0 })
        };
        let fits = |copy: &&mut ServedTogether<'_>| {
            let is_new = copy.members.iter().all(|(_, block)| block.uuid != member.1.uuid);
            is_new && key(copy.members[0]) == key(member)
        };
        match copies.iter_mut().find(fits) {
            Some(copy) => copy.members.push(member),
            None => copies.push(ServedTogether { members: vec![member] }),
        }
    }
    copies.sort_by_key(|copy| std::cmp::Reverse(copy.update()));
    copies
}

/// The host that serves the array, or served it last.
fn owner(found: &[(PathBuf, Superblock)]) -> Option<Owner> {
    found.iter().filter_map(|(path, block)| owner_of(path, block)).max_by_key(|owner| owner.sequence)
}

/// Numbers of the members that were not found.
fn absent(found: &[(PathBuf, Superblock)], newest: &Superblock) -> Vec<usize> {
    let is_there = |member| found.iter().any(|(_, block)| block.uuid == member);
    let records = newest.members.iter().enumerate();
    records.filter(|(_, record)| !is_there(record.uuid)).map(|(number, _)| number).collect()
}

fn array_json(found: &mut [(PathBuf, Superblock)]) -> Value {
    let newest = newest(found);
    let members: Vec<Value> = found
        .iter()
        .map(|(path, block)| {
            json!({
                "number": block.number, "uuid": block.uuid.to_string(), "state": state(block, &newest),
                "path": path.display().to_string(),
            })
        })
        .collect();
    json!({
        "array": newest.array.to_string(), "name": newest.name, "level": newest.level.to_string(),
        "scheme": newest.scheme, "member_count": newest.members.len(), "members": members,
        "absent": absent(found, &newest), "version": newest.version, "copies": copies_json(found),
        "owner": owner(found).map(|owner| json!({
            "host": owner.name, "id": owner.host.to_string(), "released": owner.is_released, "since": owner.since,
            "written": owner.written, "interval_ms": owner.interval_ms,
        })),
    })
}

/// The copies of an array: for each the newest update, and its members.
fn copies_json(found: &[(PathBuf, Superblock)]) -> Vec<Value> {
    let member = |(path, block): &&(PathBuf, Superblock)| json!({ "number": block.number, "path": path.display().to_string() });
    let copy = |copy: ServedTogether<'_>| {
        let members: Vec<Value> = copy.members.iter().map(member).collect();
        json!({ "update": copy.update(), "members": members })
    };
    copies(found).into_iter().map(copy).collect()
}
