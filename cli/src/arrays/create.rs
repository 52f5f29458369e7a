//! `stripewise create`: an empty array over devices or files.

use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, ValueEnum};
use stripewise_array::{
    Elements, Identity, Memory, OpenError, PageMemory, Scheme, create, leaves_room_for_owner,
};
use stripewise_base::units::Bytes;
use stripewise_engine::{ElementFile, FileMedia, FileTrouble, capabilities, random_uuid};
use stripewise_serve::signature;

use super::places::{Hint, Places, array_name, make_private};
use super::{release, scheme_of};
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
/// Of devices, or files that are there, the smallest decides how much of each is used; one that holds anything is refused unless
/// forced, and one that the system uses is always. With `--files` new files are made, `element-0` and on, which take space only
/// as they are written. Where the elements are is remembered under the array's name.
#[derive(Debug, ClapArgs)]
#[command(after_help = section(EXAMPLES))]
pub(crate) struct Args {
    /// What the array is called [default: pool]
    #[arg(value_name = "NAME", value_parser = array_name)]
    array: Option<String>,

    /// Block devices or files that become elements, in order
    #[arg(value_name = "DEVICE", required_unless_present = "files", conflicts_with = "files")]
    devices: Vec<PathBuf>,

    /// Make files in this folder instead; it is made where there is none
    #[arg(long, value_name = "DIR")]
    files: Option<PathBuf>,

    /// How many files, each an element
    #[arg(long, value_name = "N", default_value_t = 5, conflicts_with = "devices")]
    count: u16,

    /// The size of each file
    #[arg(long, value_name = "SIZE", default_value = "64MiB", conflicts_with = "devices")]
    size: Bytes,

    /// The page: the unit of reads and writes
    #[arg(long, value_name = "SIZE", default_value = "4KiB")]
    page: Bytes,

    /// What may be lost: one element, or any two
    #[arg(long, value_name = "LEVEL", default_value = "raid5", conflicts_with = "scheme")]
    level: Redundancy,

    /// The scheme: a preset's name or a file [default: durable-was, or durable-raid6-was with --level raid6]
    ///
    /// `stripewise scheme list` shows the presets. Settings follow behind commas: durable-was,elastic.reserve=25%.
    #[arg(short, long, value_name = "NAME|FILE.toml")]
    scheme: Option<String>,

    /// What the array is called, as an option
    #[arg(long, value_name = "NAME", hide = true, conflicts_with = "array", value_parser = array_name)]
    name: Option<String>,

    /// Take devices and files that hold something, and the name of another array; what they hold is lost
    #[arg(long)]
    force: bool,

    /// Say what would be made, and make nothing
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
    /// The scheme for whoever names none: two streams in a log, no write hole.
    fn scheme(self) -> &'static str {
        match self {
            Self::Raid5 => "durable-was",
            Self::Raid6 => "durable-raid6-was",
        }
    }
}

pub(crate) fn run(args: Args, context: &mut Context<'_>) -> Outcome {
    let name = args.array.or(args.name).unwrap_or_else(|| "pool".to_owned());
    let scheme = scheme_of(args.scheme.as_deref().unwrap_or(args.level.scheme()))?;
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
        refuse_known(&name, &args.places)?;
    }
    let elements = with_room_for_owner(&scheme, plan.elements(page_bytes)?);
    scheme.resolve(&elements, PageMemory::CARRIES_DATA)?;
    let (count, size) = (plan.paths.len(), Bytes(plan.bytes));
    if args.dry_run {
        writeln!(context.out, "would create array \"{name}\", {}: {count} elements of {size}", scheme.name)?;
        for (path, content) in plan.paths.iter().zip(&plan.contents) {
            let lost =
                content.as_ref().map_or(String::new(), |what| format!(", and destroy what it holds: {what}"));
            writeln!(context.out, "  would take {}{lost}", path.display())?;
        }
        return Ok(());
    }
    let identity = Identity {
        array: random_uuid()?,
        elements: plan.paths.iter().map(|_| random_uuid()).collect::<Result<_, _>>()?,
        name: name.clone(),
    };
    let media = plan.carry_out(&scheme, elements, &identity)?;
    let block = FileMedia::superblock(&plan.paths[0])?;
    if let Some(block) = block.filter(|block| block.owner.pages > 0) {
        // So that the first `serve` of this host need not wait whether another one claims the array.
        release(&args.places, &media, &block, context);
    } else {
        context.remark("no page is free for an owner: nothing keeps a second host from serving the array");
    }
    drop(media);
    let array = identity.array;
    writeln!(context.out, "array {array}, called \"{name}\": {count} elements of {size}{}", plan.place())?;
    let hint = Hint::new(array.to_string(), &scheme, &plan.paths)?;
    if let Err(Failure::Failed(reason)) = args.places.remember(&name, &hint) {
        context.remark(&format!("{reason}; name its files where a command takes the array's name"));
    }
    Ok(())
}

/// Elements that leave a page to the owner: those that are offered, or, where the array would take all of their pages, as if they had
/// one page less. The owner has the page behind that then.
fn with_room_for_owner(scheme: &Scheme, elements: Elements) -> Elements {
    let smaller = Elements { pages: elements.pages.saturating_sub(1), ..elements };
    match leaves_room_for_owner(scheme, elements) {
        Ok(false) if leaves_room_for_owner(scheme, smaller).is_ok() => smaller,
        _ => elements,
    }
}

/// A name belongs to one array: whoever asks for it must get the one that is meant.
fn refuse_known(name: &str, places: &Places) -> Outcome {
    let Some(hint) = places.hint(name)? else { return Ok(()) };
    let there =
        super::search::superblocks(&hint.paths).filter(|(_, block)| block.array.to_string() == hint.array);
    match there.map(|(path, _)| path).next() {
        Some(path) => Err(Failure::failed(format!(
            "an array called \"{name}\" is remembered, with an element in `{}`; choose another name, or `--force` forgets it",
            path.display()
        ))),
        None => Ok(()),
    }
}

/// What is to become elements.
struct Plan {
    paths: Vec<PathBuf>,
    /// What they hold now, in words.
    contents: Vec<Option<String>>,
    /// The size of each, or of the smallest.
    bytes: u64,
    /// The folder, where files are to be made.
    folder: Option<PathBuf>,
}

impl Plan {
    fn new_files(folder: &Path, count: u16, size: Bytes, page_bytes: u32, force: bool) -> Outcome<Self> {
        let digits = count.saturating_sub(1).to_string().len();
        let path = |nth| folder.join(format!("element-{nth:0digits$}"));
        let paths: Vec<PathBuf> = (0..count).map(path).collect();
        let mut contents = Vec::new();
        for path in &paths {
            contents.push(match path.exists() {
                false => None,
                true if force => Some(replaceable(path, page_bytes)?),
                true => {
                    return Err(Failure::failed(format!(
                        "`{}` exists already; `--force` replaces it, and what it holds is lost",
                        path.display()
                    )));
                }
            });
        }
        Ok(Self { paths, contents, bytes: size.0, folder: Some(folder.to_owned()) })
    }

    fn there_already(paths: Vec<PathBuf>, page_bytes: u32, force: bool) -> Outcome<Self> {
        let mut contents = Vec::new();
        for path in &paths {
            contents
                .push(signature::inspect(path, force).map_err(|error| Failure::failed(error.to_string()))?);
        }
        // Opened as elements are, so that one that is in use or has no whole page is refused before anything is changed.
        let media = FileMedia::open(&paths, page_bytes)?;
        let bytes = media.sizes().min().unwrap_or(0);
        Ok(Self { paths, contents, bytes, folder: None })
    }

    fn elements(&self, page_bytes: u32) -> Outcome<Elements> {
        let pages = u32::try_from(self.bytes / u64::from(page_bytes))
            .map_err(|_| Failure::usage(format!("elements of {} have too many pages", Bytes(self.bytes))))?;
        Ok(capabilities(self.paths.len(), pages, page_bytes))
    }

    /// Makes room, and writes the array.
    fn carry_out(&self, scheme: &Scheme, elements: Elements, identity: &Identity) -> Outcome<FileMedia> {
        let page_bytes = elements.page_bytes;
        let made = match &self.folder {
            Some(folder) => self.make_files(folder, page_bytes)?,
            None => {
                for (path, _) in
                    self.paths.iter().zip(&self.contents).filter(|(_, content)| content.is_some())
                {
                    let fail = |error| Failure::failed(format!("cannot clear `{}`: {error}", path.display()));
                    signature::clear(path).map_err(fail)?;
                }
                FileMedia::open(&self.paths, page_bytes)?
            }
        };
        let mut media = made;
        let written = create(scheme, elements, identity, &mut media);
        if written.is_err() && self.folder.is_some() {
            // They were made for this array, and hold nothing.
            for path in &self.paths {
                let _ = std::fs::remove_file(path);
            }
        }
        written?;
        Ok(media)
    }

    fn make_files(&self, folder: &Path, page_bytes: u32) -> Outcome<FileMedia> {
        let failed = |what: &str, path: &Path, error| {
            Failure::failed(format!("cannot {what} `{}`: {error}", path.display()))
        };
        make_private(folder).map_err(|error| failed("make folder", folder, error))?;
        for path in self.paths.iter().filter(|path| path.exists()) {
            std::fs::remove_file(path).map_err(|error| failed("replace", path, error))?;
        }
        Ok(FileMedia::new(ElementFile::create_all(&self.paths, self.bytes, page_bytes)?, page_bytes))
    }

    /// Where it is, for people.
    fn place(&self) -> String {
        self.folder.as_ref().map_or(String::new(), |folder| format!(" in {}", folder.display()))
    }
}

/// What is said of a file that may be replaced: nobody may be using it.
fn replaceable(path: &Path, page_bytes: u32) -> Outcome<String> {
    match ElementFile::open_to_read(path, page_bytes) {
        Err(error) if matches!(error.trouble, FileTrouble::Locked) => Err(error.into()),
        // Whatever else is wrong with it goes with it.
        _ => Ok("a file of this name".to_owned()),
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Scheme(error) => error.into(),
            other => Self::failed(other.to_string()),
        }
    }
}
