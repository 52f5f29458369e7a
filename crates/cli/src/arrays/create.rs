//! `stripewise create`: writes an empty array to devices or files.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, ValueEnum};
use stripewise_array::{
    AssembleError, Identity, Members, Memory, PageMemory, Scheme, create, leaves_room_for_owner,
};
use stripewise_base::units::Bytes;
use stripewise_engine::{FileMedia, FileTrouble, MemberFile, capabilities, random_uuid};
use stripewise_serve::events::{Source, note_created};
use stripewise_serve::signature::{self, Taken};

use super::places::{Hint, Places, array_name};
use super::private::make_private;
use super::{release, scheme_named};
use crate::context::Context;
use crate::examples::{Example, section};
use crate::failure::{Failure, Outcome};

const EXAMPLES: &[Example] = &[
    ("stripewise create pool --files pool --force", "five files of 64 MiB in a folder"),
    (
        "stripewise create wide --files wide --count 8 --size 16MiB --level raid6",
        "eight, of which any two may be lost",
    ),
    (
        "stripewise create data --files data --count 4 --size 16MiB --scheme durable-was,elastic.reserve=25% --dry-run",
        "what would be made, with a setting",
    ),
];

/// Create an empty array over block devices or files
///
/// The smallest device or file decides how much of each is used, in whole pages. A device that holds data is refused without
/// `--force`; a device that the system uses is always refused. `--files` creates the files `member-0`, `member-1` and so on;
/// they take space only as they are written. The paths of the members are remembered under the array's name.
#[derive(Debug, ClapArgs)]
#[command(after_help = section(EXAMPLES))]
pub(crate) struct Args {
    /// The name of the array [default: pool]
    #[arg(value_name = "NAME", value_parser = array_name)]
    array: Option<String>,

    /// Block devices or files that become members, in order
    #[arg(value_name = "DEVICE", required_unless_present = "files", conflicts_with = "files")]
    devices: Vec<PathBuf>,

    /// Create files in this folder and use them as members; the folder is created if necessary
    #[arg(long, value_name = "DIR")]
    files: Option<PathBuf>,

    /// The number of files, each a member
    #[arg(long, value_name = "N", default_value_t = 5, conflicts_with = "devices")]
    count: u16,

    /// The size of each file
    #[arg(long, value_name = "SIZE", default_value = "64MiB", conflicts_with = "devices")]
    size: Bytes,

    /// The page: the unit of reads and writes
    #[arg(long, value_name = "SIZE", default_value = "4KiB")]
    page: Bytes,

    /// The redundancy: tolerate the loss of one member, or of any two
    #[arg(long, value_name = "LEVEL", default_value = "raid5", conflicts_with = "scheme")]
    level: Redundancy,

    /// The scheme: a preset's name or a file [default: durable-was, or durable-raid6-was with --level raid6]
    ///
    /// `stripewise scheme list` shows the presets. Settings follow after commas: durable-was,elastic.reserve=25%.
    #[arg(short, long, value_name = "NAME|FILE.toml")]
    scheme: Option<String>,

    /// The name of the array, as an option
    #[arg(long, value_name = "NAME", hide = true, conflicts_with = "array", value_parser = array_name)]
    name: Option<String>,

    /// Use devices and files that contain data, and replace an array of the same name; their content is lost
    #[arg(long)]
    force: bool,

    /// Print what would be created, without creating it
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    places: Places,
}

/// How much redundancy.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Redundancy {
    Raid5,
    Raid6,
}

impl Redundancy {
    /// The scheme when the user names none: two streams in a log, no write hole.
    fn scheme(self) -> &'static str {
        match self {
            Self::Raid5 => "durable-was",
            Self::Raid6 => "durable-raid6-was",
        }
    }
}

pub(crate) fn run(args: Args, context: &mut Context<'_>) -> Outcome {
    let name = args.array.or(args.name).unwrap_or_else(|| "pool".to_owned());
    let scheme = scheme_named(args.scheme.as_deref().unwrap_or(args.level.scheme()), context)?;
    let page_bytes = u32::try_from(args.page.0).ok().filter(|page| page.is_power_of_two());
    let Some(page_bytes) = page_bytes.filter(|page| (512..=32 << 10).contains(page)) else {
        return Err(Failure::usage(format!(
            "--page {}: expected a power of two from 512B to 32KiB",
            args.page
        )));
    };
    let plan = match &args.files {
        Some(folder) => Plan::new_files(folder, args.count, args.size, page_bytes, args.force)?,
        None => Plan::there_already(args.devices, page_bytes, args.force)?,
    };
    if !args.force && !args.dry_run {
        refuse_known(&name, &args.places, context)?;
    }
    let members = with_room_for_owner(&scheme, plan.members(page_bytes)?);
    scheme.resolve(&members, PageMemory::CARRIES_DATA)?;
    let (count, size) = (plan.paths.len(), Bytes(plan.bytes));
    if args.dry_run {
        writeln!(context.out, "would create array \"{name}\", {}: {count} members of {size}", scheme.name)?;
        for (path, content) in plan.paths.iter().zip(&plan.contents) {
            let lost =
                content.as_ref().map_or(String::new(), |what| format!(", and destroy what it holds: {what}"));
            writeln!(context.out, "  would take {}{lost}", path.display())?;
        }
        return Ok(());
    }
    let identity = Identity {
        array: random_uuid()?,
        members: plan.paths.iter().map(|_| random_uuid()).collect::<Result<_, _>>()?,
        name: name.clone(),
    };
    let (place, paths) = (plan.place(), plan.paths.clone());
    let media = plan.carry_out(&scheme, members, &identity)?;
    if let Some(block) = media.newest_superblock().filter(|block| block.owner.pages > 0) {
        // The release lets the first `serve` of this host start without waiting for a claim of another host.
        release(&args.places, &media, &block, context);
    } else {
        context.remark("no page is free for an owner: nothing keeps a second host from serving the array");
    }
    drop(media);
    let array = identity.array;
    writeln!(context.out, "array {array}, called \"{name}\": {count} members of {size}{place}")?;
    let hint = Hint::new(array.to_string(), &scheme, &paths)?;
    if let Err(Failure::Failed(reason)) = args.places.remember(&name, &hint) {
        context.remark(&format!("{reason}; name its files where a command takes the array's name"));
    }
    let source = Source { name: name.clone(), uuid: Some(array.to_string()) };
    if let Err(error) = note_created(args.places.events(&name)?, &source) {
        context
            .remark(&format!("its events may follow those of an earlier array called \"{name}\": {error}"));
    }
    Ok(())
}

/// The members, with room for the page of the owner. Where the array would use all pages of the members, each counts
/// one page less: the owner's page lies in the last one.
fn with_room_for_owner(scheme: &Scheme, members: Members) -> Members {
    let smaller = Members { pages: members.pages.saturating_sub(1), ..members };
    match leaves_room_for_owner(scheme, members) {
        Ok(false) if leaves_room_for_owner(scheme, smaller).is_ok() => smaller,
        _ => members,
    }
}

/// Refuses a name that belongs to another array: a name must lead to one array only.
fn refuse_known(name: &str, places: &Places, context: &Context<'_>) -> Outcome {
    let Some(hint) = places.hint_or_remark(name, context)? else { return Ok(()) };
    let there =
        super::search::superblocks(&hint.paths).filter(|(_, block)| block.array.to_string() == hint.array);
    match there.map(|(path, _)| path).next() {
        Some(path) => Err(Failure::failed(format!(
            "an array called \"{name}\" is remembered, with a member in `{}`; choose another name, or `--force` forgets it",
            path.display()
        ))),
        None => Ok(()),
    }
}

/// The devices or files that become members.
struct Plan {
    paths: Vec<PathBuf>,
    /// Their present contents, in words.
    contents: Vec<Option<String>>,
    /// The existing files among them. Each is open and locked from its inspection until the array is written.
    files: Vec<MemberFile>,
    /// The files that new files replace.
    replaced: Vec<Replaced>,
    /// The size of each, or of the smallest.
    bytes: u64,
    /// The folder for new files, if files are created.
    folder: Option<PathBuf>,
}

impl Plan {
    fn new_files(folder: &Path, count: u16, size: Bytes, page_bytes: u32, force: bool) -> Outcome<Self> {
        let digits = count.saturating_sub(1).to_string().len();
        let path = |nth| folder.join(format!("member-{nth:0digits$}"));
        let paths: Vec<PathBuf> = (0..count).map(path).collect();
        let (mut contents, mut replaced) = (Vec::new(), Vec::new());
        // Earlier programs called the files so.
        let former: Vec<PathBuf> =
            (0..count).map(|nth| folder.join(format!("element-{nth:0digits$}"))).collect();
        for (path, is_former) in
            paths.iter().map(|path| (path, false)).chain(former.iter().map(|path| (path, true)))
        {
            let found = Replaced::find(path, page_bytes)?;
            if found.is_some() && !force {
                return Err(Failure::failed(format!(
                    "`{}` exists already; `--force` replaces it, and what it holds is lost",
                    path.display()
                )));
            }
            if !is_former {
                contents.push(found.as_ref().map(|_| "a file of this name".to_owned()));
            }
            replaced.extend(found);
        }
        let folder = Some(folder.to_owned());
        let bytes = size.0 / u64::from(page_bytes) * u64::from(page_bytes);
        Ok(Self { paths, contents, files: Vec::new(), replaced, bytes, folder })
    }

    fn there_already(paths: Vec<PathBuf>, page_bytes: u32, force: bool) -> Outcome<Self> {
        // They are opened as members are, so one that is in use or has no whole page is refused before anything
        // changes. They stay open to the end, so the inspected files are the ones that are cleared and written.
        let files: Vec<MemberFile> =
            paths.iter().map(|path| MemberFile::open(path, page_bytes)).collect::<Result<_, _>>()?;
        let inspect =
            |file| signature::inspect(file, force).map_err(|error| Failure::failed(error.to_string()));
        let contents = files.iter().map(inspect).collect::<Outcome<_>>()?;
        let bytes = files.iter().map(MemberFile::bytes).min().unwrap_or(0);
        Ok(Self { paths, contents, files, replaced: Vec::new(), bytes, folder: None })
    }

    fn members(&self, page_bytes: u32) -> Outcome<Members> {
        let pages = u32::try_from(self.bytes / u64::from(page_bytes))
            .map_err(|_| Failure::usage(format!("members of {} have too many pages", Bytes(self.bytes))))?;
        Ok(capabilities(self.paths.len(), pages, page_bytes))
    }

    /// Makes room and writes the array.
    fn carry_out(mut self, scheme: &Scheme, members: Members, identity: &Identity) -> Outcome<FileMedia> {
        let page_bytes = members.page_bytes;
        let folder = self.folder.take();
        let files = match &folder {
            Some(folder) => self.make_files(folder, page_bytes)?,
            None => {
                // All files must still be at their paths before the first one is changed.
                if let Some(file) = self.files.iter().find(|file| !signature::is_at_its_path(file)) {
                    let error = Taken::Replaced(file.path().to_owned());
                    return Err(Failure::failed(error.to_string()));
                }
                for (file, _) in
                    self.files.iter().zip(&self.contents).filter(|(_, content)| content.is_some())
                {
                    signature::clear(file).map_err(|error| Failure::failed(error.to_string()))?;
                }
                std::mem::take(&mut self.files)
            }
        };
        let mut media = FileMedia::new(files, page_bytes);
        let Err(error) = create(scheme, members, identity, &mut media) else { return Ok(media) };
        if folder.is_some() {
            // The files were created for this array and hold nothing.
            for file in media.into_files().iter().filter(|file| signature::is_at_its_path(file)) {
                let _ = std::fs::remove_file(file.path());
            }
        }
        Err(error.into())
    }

    fn make_files(&mut self, folder: &Path, page_bytes: u32) -> Outcome<Vec<MemberFile>> {
        let failed = |what: &str, path: &Path, error| {
            Failure::failed(format!("cannot {what} `{}`: {error}", path.display()))
        };
        make_private(folder).map_err(|error| failed("make folder", folder, error))?;
        for found in self.replaced.drain(..) {
            found.remove()?;
        }
        Ok(MemberFile::create_all(&self.paths, self.bytes, page_bytes)?)
    }

    /// The folder, as text for messages.
    fn place(&self) -> String {
        self.folder.as_ref().map_or(String::new(), |folder| format!(" in {}", folder.display()))
    }
}

/// A file that a new file replaces.
struct Replaced {
    path: PathBuf,
    /// Device and inode of the file at the path. For a symbolic link: those of the link itself.
    identity: (u64, u64),
    /// The lock that keeps engines from taking the file meanwhile. None where no engine could take the file.
    _file: Option<MemberFile>,
}

impl Replaced {
    /// The file at `path`, if there is one. Fails if the file is in use.
    fn find(path: &Path, page_bytes: u32) -> Outcome<Option<Self>> {
        let Ok(found) = std::fs::symlink_metadata(path) else { return Ok(None) };
        let file = match MemberFile::open_to_read(path, page_bytes) {
            Err(error) if matches!(error.trouble, FileTrouble::Locked) => return Err(error.into()),
            // Any other error is ignored: the file is replaced anyway.
            opened => opened.ok(),
        };
        Ok(Some(Self { path: path.to_owned(), identity: (found.dev(), found.ino()), _file: file }))
    }

    /// Removes the file, but not another one that took its name meanwhile.
    fn remove(self) -> Outcome {
        let fail = |error| Failure::failed(format!("cannot replace `{}`: {error}", self.path.display()));
        let found = std::fs::symlink_metadata(&self.path).map_err(fail)?;
        if (found.dev(), found.ino()) != self.identity {
            return Err(Failure::failed(Taken::Replaced(self.path.clone()).to_string()));
        }
        std::fs::remove_file(&self.path).map_err(fail)
    }
}

impl From<AssembleError> for Failure {
    fn from(error: AssembleError) -> Self {
        match error {
            AssembleError::Scheme(error) => error.into(),
            other => Self::failed(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use stripewise_array::format::Uuid;

    use super::*;

    const PAGE: u32 = 4096;
    const BYTES: usize = 8 << 20;

    fn carry_out(plan: Plan) -> Outcome {
        let scheme = super::super::scheme_of("durable-was").unwrap();
        let members = plan.members(PAGE)?;
        let uuids = (0..5).map(|nth| Uuid([nth + 1; 16])).collect();
        let identity = Identity { array: Uuid([9; 16]), members: uuids, name: "x".into() };
        plan.carry_out(&scheme, members, &identity).map(drop)
    }

    /// Five files full of `byte`.
    fn files(folder: &Path, byte: u8) -> Vec<PathBuf> {
        let paths: Vec<PathBuf> = (0..5).map(|nth| folder.join(format!("member-{nth}"))).collect();
        paths.iter().for_each(|path| fs::write(path, vec![byte; BYTES]).unwrap());
        paths
    }

    #[test]
    fn what_takes_the_path_of_a_device_that_was_looked_at_is_neither_cleared_nor_written() {
        let folder = tempfile::tempdir().unwrap();
        let paths = files(folder.path(), 7);
        let plan = Plan::there_already(paths.clone(), PAGE, true).unwrap();
        assert!(plan.contents.iter().all(Option::is_some));
        assert!(MemberFile::open_to_read(&paths[0], PAGE).is_err(), "they are locked from the first look on");
        fs::rename(&paths[3], folder.path().join("away")).unwrap();
        fs::write(&paths[3], vec![9; BYTES]).unwrap();
        let failure = carry_out(plan).expect_err("one is another");
        assert!(failure.message().contains("member-3` became another file"), "{}", failure.message());
        assert!(fs::read(&paths[3]).unwrap() == vec![9; BYTES]);
        assert!(fs::read(&paths[0]).unwrap() == vec![7; BYTES], "and nothing else was changed");
        let plan = Plan::there_already(paths.clone(), PAGE, true).unwrap();
        carry_out(plan).unwrap();
        assert!(FileMedia::superblock(&paths[3]).unwrap().is_some());
    }

    #[test]
    fn what_takes_the_name_of_a_file_that_is_to_be_replaced_stays() {
        let folder = tempfile::tempdir().unwrap();
        let paths = files(folder.path(), 7);
        let new = |force| Plan::new_files(folder.path(), 5, Bytes(BYTES as u64), PAGE, force);
        assert!(new(false).is_err());
        let plan = new(true).unwrap();
        fs::rename(&paths[0], folder.path().join("away")).unwrap();
        fs::write(&paths[0], "theirs").unwrap();
        let failure = carry_out(plan).expect_err("one is another");
        assert!(failure.message().contains("member-0` became another file"), "{}", failure.message());
        assert_eq!(fs::read(&paths[0]).unwrap(), b"theirs");
        carry_out(new(true).unwrap()).unwrap();
        assert!(FileMedia::superblock(&paths[0]).unwrap().is_some());
    }
}
