//! `stripewise create`: an empty array over new files.

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use stripewise_array::format::Uuid;
use stripewise_array::{Identity, OpenError, create};
use stripewise_base::units::Bytes;
use stripewise_engine::{ElementFile, FileMedia, FileTrouble};

use super::scheme_of;

use crate::context::Context;
use crate::examples::{Example, section};
use crate::failure::{Failure, Outcome};

const EXAMPLES: &[Example] = &[
    ("stripewise create --files pool --force", "five files of 64 MiB in a folder"),
    (
        "stripewise create --files wide --count 8 --size 16MiB --scheme durable-raid6-was --name wide",
        "eight, of which any two may be lost",
    ),
];

/// Create an empty array whose elements are files
///
/// The files are called `element-0` and on. They take space only as they are written.
#[derive(Debug, ClapArgs)]
#[command(after_help = section(EXAMPLES))]
pub(crate) struct Args {
    /// The folder of the files; it is made where there is none
    #[arg(long, value_name = "DIR", required = true)]
    files: PathBuf,

    /// How many files, each an element
    #[arg(long, value_name = "N", default_value_t = 5)]
    count: u16,

    /// The size of each file
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    size: Bytes,

    /// The page: the unit of reads and writes
    #[arg(long, value_name = "SIZE", default_value = "4KiB")]
    page: Bytes,

    /// The scheme: a preset's name or a file
    ///
    /// `stripewise scheme list` shows the presets. Settings follow behind commas: durable-was,elastic.reserve=25%.
    #[arg(short, long, value_name = "NAME|FILE.toml", default_value = "durable-was")]
    scheme: String,

    /// What the array is called
    #[arg(long, value_name = "NAME", default_value = "pool")]
    name: String,

    /// Replace files of these names that are there already; what they hold is lost
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: Args, context: &mut Context<'_>) -> Outcome {
    let scheme = scheme_of(&args.scheme)?;
    let page_bytes = u32::try_from(args.page.0).ok().filter(|page| page.is_power_of_two());
    let Some(page_bytes) = page_bytes.filter(|page| (512..=32 << 10).contains(page)) else {
        return Err(Failure::usage(format!(
            "--page {}: expected a power of two from 512B to 32KiB",
            args.page
        )));
    };
    let digits = args.count.saturating_sub(1).to_string().len();
    let path = |nth| args.files.join(format!("element-{nth:0digits$}"));
    let paths: Vec<PathBuf> = (0..args.count).map(path).collect();
    let folder = args.files.display();
    std::fs::create_dir_all(&args.files)
        .map_err(|error| Failure::failed(format!("cannot make folder `{folder}`: {error}")))?;
    for path in &paths {
        clear(path, page_bytes, args.force)?;
    }
    let media = ElementFile::create_all(&paths, args.size.0, page_bytes)?;
    let mut media = FileMedia::new(media, page_bytes);
    let elements = media.elements();
    let identity = Identity {
        array: random_uuid()?,
        elements: paths.iter().map(|_| random_uuid()).collect::<Result<_, _>>()?,
        name: args.name,
    };
    if let Err(error) = create(&scheme, elements, &identity, &mut media) {
        // They were made for this array, and hold nothing.
        for path in &paths {
            let _ = std::fs::remove_file(path);
        }
        return Err(error.into());
    }
    let Identity { array, name, .. } = &identity;
    let (count, size) = (paths.len(), args.size);
    writeln!(context.out, "array {array}, called \"{name}\": {count} elements of {size} in {folder}")?;
    Ok(())
}

/// Makes room for a new file: there is none of its name, or it may be replaced and nobody uses it.
fn clear(path: &Path, page_bytes: u32, force: bool) -> Outcome {
    if !path.exists() {
        return Ok(());
    }
    let name = path.display();
    if !force {
        return Err(Failure::failed(format!(
            "`{name}` exists already; `--force` replaces it, and what it holds is lost"
        )));
    }
    match ElementFile::open_to_read(path, page_bytes) {
        Err(error) if matches!(error.trouble, FileTrouble::Locked) => return Err(error.into()),
        // Whatever else is wrong with it goes with it.
        _ => {}
    }
    std::fs::remove_file(path).map_err(|error| Failure::failed(format!("cannot replace `{name}`: {error}")))
}

/// An identifier of version 4 (RFC 9562, section 5.4), from the random numbers of the system.
fn random_uuid() -> Outcome<Uuid> {
    let mut bytes = [0; 16];
    let drawn = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    if drawn != Ok(bytes.len()) {
        return Err(Failure::failed("the system has no random numbers for identifiers"));
    }
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    Ok(Uuid(bytes))
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Scheme(error) => error.into(),
            other => Self::failed(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_random_ones_and_differ() {
        let (one, other) = (random_uuid().unwrap(), random_uuid().unwrap());
        assert_ne!(one, other);
        assert_eq!(one.to_string().as_bytes()[14], b'4', "{one}");
        assert!(matches!(one.to_string().as_bytes()[19], b'8' | b'9' | b'a' | b'b'), "{one}");
    }
}
