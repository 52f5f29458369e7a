//! Where arrays are remembered and found: the folders of state and of sockets, and a hint for each name.
//!
//! A hint records where the members of an array were last, and no more: the superblock of a file decides to which
//! array it belongs. So a device with a new name is found by the array's UUID, and naming the files replaces a lost
//! hint.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use serde::{Deserialize, Serialize};
use stripewise_array::Scheme;
use stripewise_array::format::{NAME_BYTES_MAX, Uuid};
use stripewise_engine::owner::Host;
use stripewise_serve::events::EventFile;
use stripewise_trace::PartialFile;

use super::private::{Links, make_own};
use crate::context::Context;
use crate::failure::{Failure, Outcome};

/// Folders, as options.
#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct Places {
    /// The folder that records which files and devices arrays consist of [default: /var/lib/stripewise for root, for others
    /// $XDG_STATE_HOME/stripewise]
    #[arg(
        long,
        value_name = "DIR",
        env = "STRIPEWISE_STATE_DIR",
        hide_env_values = true,
        help_heading = "Folders"
    )]
    state_dir: Option<PathBuf>,

    /// The folder of the sockets [default: /run/stripewise for root, for others $XDG_RUNTIME_DIR/stripewise, or `run` in the
    /// folder of --state-dir where that variable is not set]
    #[arg(
        long,
        value_name = "DIR",
        env = "STRIPEWISE_RUNTIME_DIR",
        hide_env_values = true,
        help_heading = "Folders"
    )]
    runtime_dir: Option<PathBuf>,

    /// The identifier of this host for arrays, instead of the machine's: for tests of two hosts on one machine
    #[arg(long, value_name = "UUID", env = "STRIPEWISE_HOST_ID", hide_env_values = true, hide = true, value_parser = uuid)]
    host_id: Option<Uuid>,
}

/// The remembered facts of an array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hint {
    /// The array's UUID.
    pub(crate) array: String,
    /// The whole scheme that the array is served with, as TOML: superblocks have no room for a very long one.
    pub(crate) scheme: String,
    /// Where its members were last.
    pub(crate) paths: Vec<PathBuf>,
    /// The hot spares that the array was given: they carry no mark of their own.
    #[serde(default)]
    pub(crate) spares: Vec<PathBuf>,
}

impl Hint {
    /// The hint for an array of `scheme`. Paths are made absolute, since the next command may run elsewhere.
    pub(crate) fn new(array: String, scheme: &Scheme, paths: &[PathBuf]) -> Outcome<Self> {
        let paths = paths.iter().map(|path| absolute(path)).collect::<Outcome<_>>()?;
        Ok(Self { array, scheme: scheme.to_toml(), paths, spares: Vec::new() })
    }

    /// The paths where members may be. They include the spares, since a spare may have become a member.
    pub(crate) fn places(&self) -> impl Iterator<Item = &PathBuf> {
        self.paths.iter().chain(&self.spares)
    }
}

impl Places {
    fn state(&self) -> Outcome<PathBuf> {
        match &self.state_dir {
            Some(folder) => Ok(folder.clone()),
            None if is_root() => Ok("/var/lib/stripewise".into()),
            None => state_home().map(|home| home.join(OWN)).ok_or_else(|| {
                Failure::usage("no folder for state: set HOME or XDG_STATE_HOME, or give --state-dir")
            }),
        }
    }

    fn runtime(&self) -> Outcome<PathBuf> {
        let of_user = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        self.runtime_of(is_root(), of_user)
    }

    /// The folder of the sockets of root or another user, whose folder for such things is `of_user`. Sessions that are no login,
    /// as those of `su` and containers, have none.
    fn runtime_of(&self, is_root: bool, of_user: Option<PathBuf>) -> Outcome<PathBuf> {
        match (&self.runtime_dir, of_user.filter(|folder| folder.is_absolute())) {
            (Some(folder), _) => Ok(folder.clone()),
            (None, _) if is_root => Ok("/run/stripewise".into()),
            (None, Some(of_user)) => Ok(of_user.join(OWN)),
            (None, None) => Ok(self.state()?.join("run")),
        }
    }

    /// This host, under the identifier that `array` sees.
    pub(crate) fn host(&self, array: Uuid) -> Outcome<Host> {
        let kept = self.state()?.join("host-id");
        let host = Host::here(array, &kept).map_err(|error| {
            Failure::failed(format!("no identifier of this host in `{}`: {error}", kept.display()))
        })?;
        Ok(self.host_id.map_or(host.clone(), |id| Host { id, ..host }))
    }

    /// The control socket of the array called `name`.
    pub(crate) fn control(&self, name: &str) -> Outcome<PathBuf> {
        Ok(self.runtime()?.join(format!("{name}.ctl")))
    }

    /// The default NBD socket of the array called `name`.
    pub(crate) fn nbd(&self, name: &str) -> Outcome<PathBuf> {
        Ok(self.runtime()?.join(format!("{name}.sock")))
    }

    /// The file of the events of the array called `name`.
    pub(crate) fn events(&self, name: &str) -> Outcome<EventFile> {
        Ok(EventFile::of(&self.state()?, name))
    }

    /// The log file of a server in the background.
    pub(crate) fn log(&self, name: &str) -> Outcome<EventFile> {
        Ok(EventFile::log_of(&self.state()?, name))
    }

    /// Creates the folder of sockets. Only its user may enter it.
    pub(crate) fn make_runtime(&self) -> Outcome {
        make_own(&self.runtime()?, Links::Refused)
    }

    /// Creates the folder of state. Only its user may enter it.
    pub(crate) fn make_state(&self) -> Outcome {
        make_own(&self.state()?, Links::Followed)
    }

    /// The names of all arrays that are remembered or served, sorted.
    pub(crate) fn names(&self) -> Outcome<Vec<String>> {
        let mut names = stems(&self.state()?, "json");
        names.extend(stems(&self.runtime()?, "ctl"));
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// The hint for `name`, if there is one.
    ///
    /// # Errors
    /// When the hint exists and cannot be read.
    pub(crate) fn hint(&self, name: &str) -> Outcome<Option<Hint>> {
        let path = self.state()?.join(format!("{name}.json"));
        let fail = |error: String| {
            Failure::failed(format!(
                "cannot read `{}`, which remembers the members of \"{name}\": {error}\n  it is a hint alone: name the files or \
                 devices, and it is written again",
                path.display()
            ))
        };
        match fs::metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            // Reading a pipe would wait.
            Ok(found) if !found.is_file() => return Err(fail("it is no file".to_owned())),
            _ => {}
        }
        let text = fs::read(&path).map_err(|error| fail(error.to_string()))?;
        serde_json::from_slice(&text).map(Some).map_err(|error| fail(error.to_string()))
    }

    /// [`Self::hint`], for commands that do without a hint: one that cannot be read is reported, and counts as none.
    pub(crate) fn hint_or_remark(&self, name: &str, context: &Context<'_>) -> Outcome<Option<Hint>> {
        match self.hint(name) {
            Err(Failure::Failed(reason)) => {
                context.remark(&reason);
                Ok(None)
            }
            other => other,
        }
    }

    /// Stores `hint` under `name` and replaces an earlier hint.
    pub(crate) fn remember(&self, name: &str, hint: &Hint) -> Outcome {
        let folder = self.state()?;
        let path = folder.join(format!("{name}.json"));
        let text = serde_json::to_vec_pretty(hint).map_err(std::io::Error::other);
        make_own(&folder, Links::Followed)?;
        let write = |text: Vec<u8>| -> std::io::Result<()> {
            let partial = PartialFile::create(&path)?;
            partial.file().write_all(&text)?;
            partial.keep()
        };
        text.and_then(write).map_err(|error| {
            Failure::failed(format!("cannot remember the array in `{}`: {error}", path.display()))
        })
    }
}

/// `path` as an absolute path.
pub(super) fn absolute(path: &Path) -> Outcome<PathBuf> {
    std::path::absolute(path)
        .map_err(|error| Failure::failed(format!("no absolute path of `{}`: {error}", path.display())))
}

/// Stripewise's folder in those of a user.
const OWN: &str = "stripewise";

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Where a user's programs keep their state.
fn state_home() -> Option<PathBuf> {
    let named = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    named.or_else(|| std::env::home_dir().map(|home| home.join(".local/state")))
}

/// The names, without `ending`, of the files in `folder` that end in it.
fn stems(folder: &Path, ending: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let stem = |entry: fs::DirEntry| {
        let path = entry.path();
        let is_right = path.extension().is_some_and(|found| found == ending);
        let stem = path.file_stem()?.to_str()?.to_owned();
        (is_right && array_name(&stem).is_ok()).then_some(stem)
    };
    entries.filter_map(stem).collect()
}

/// Parses an identifier.
fn uuid(text: &str) -> Result<Uuid, String> {
    let digits: String = text.chars().filter(|&c| c != '-').collect();
    let number = u128::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 32);
    number.map(|number| Uuid(number.to_be_bytes())).ok_or_else(|| "expected 32 hexadecimal digits".into())
}

/// Checks the name of an array: files and sockets are named after it.
pub(crate) fn array_name(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if text.is_empty() || text.starts_with(['.', '-']) || !text.chars().all(fits) {
        return Err(
            "a name is made of letters, digits, `.`, `_` and `-`, and begins with none of `.` and `-`".into(),
        );
    }
    if text.len() > NAME_BYTES_MAX {
        return Err(format!("a name has at most {NAME_BYTES_MAX} bytes"));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_out_of_no_folder() {
        for good in ["pool", "a", "vm-1.data_2"] {
            assert_eq!(array_name(good), Ok(good.to_owned()));
        }
        let long = "x".repeat(NAME_BYTES_MAX + 1);
        for bad in ["", ".", "..", "../x", "a/b", "-x", ".x", "a b", "ä", &long] {
            assert!(array_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_link_in_the_place_of_the_partial_hint_leads_nothing_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places { state_dir: Some(folder.path().into()), ..Places::default() };
        let scheme = Scheme::from_toml("x", "name = \"x\"").unwrap();
        let hint = Hint::new("u".into(), &scheme, &[]).unwrap();
        fs::write(folder.path().join("theirs"), "theirs").unwrap();
        for name in [".pool.json.partial", "pool.json.partial"] {
            std::os::unix::fs::symlink("theirs", folder.path().join(name)).unwrap();
        }
        places.remember("pool", &hint).unwrap();
        assert_eq!(fs::read(folder.path().join("theirs")).unwrap(), b"theirs");
        assert_eq!(places.hint("pool").unwrap(), Some(hint));
    }

    #[test]
    fn a_user_without_a_runtime_folder_has_the_sockets_beside_the_state() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places { state_dir: Some(folder.path().join("state")), ..Places::default() };
        let of =
            |is_root, of_user: Option<&str>| places.runtime_of(is_root, of_user.map(PathBuf::from)).unwrap();
        assert_eq!(of(false, Some("/run/user/7")), Path::new("/run/user/7/stripewise"));
        let beside = folder.path().join("state/run");
        for of_user in [None, Some(""), Some("here")] {
            assert_eq!(of(false, of_user), beside);
        }
        assert_eq!(of(true, None), Path::new("/run/stripewise"));
    }

    #[test]
    fn what_is_remembered_is_there_until_it_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| Some(folder.path().join(name));
        let places = Places { state_dir: at("state"), runtime_dir: at("run"), host_id: None };
        assert_eq!((places.hint("pool").unwrap(), places.names().unwrap()), (None, vec![]));
        let scheme = Scheme::from_toml("x", "name = \"x\"").unwrap();
        let mut hint = Hint::new("u".into(), &scheme, &["a".into(), "/dev/b".into()]).unwrap();
        assert!(hint.paths[0].is_absolute());
        places.remember("pool", &hint).unwrap();
        hint.spares.extend(hint.paths.pop());
        places.remember("pool", &hint).unwrap();
        assert_eq!(places.hint("pool").unwrap(), Some(hint.clone()));
        assert_eq!(hint.places().count(), 2);
        assert_eq!(Scheme::from_toml("x", &hint.scheme).unwrap(), scheme);
        places.make_runtime().unwrap();
        fs::write(places.control("other").unwrap(), "").unwrap();
        fs::write(folder.path().join("run/other.sock"), "").unwrap();
        assert_eq!(places.names().unwrap(), ["other", "pool"]);
    }

    #[test]
    fn a_hint_that_cannot_be_read_is_reported_and_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places { state_dir: Some(folder.path().into()), ..Places::default() };
        let scheme = Scheme::from_toml("x", "name = \"x\"").unwrap();
        let hint = Hint::new("u".into(), &scheme, &["/dev/a".into()]).unwrap();
        let path = folder.path().join("pool.json");
        places.remember("pool", &hint).unwrap();
        let whole = fs::read(&path).unwrap();
        let is_none = || {
            assert!(matches!(places.hint("pool"), Err(Failure::Failed(why)) if why.contains("hint alone")));
            places.hint_or_remark("pool", &Context::new(&mut Vec::new(), true)).unwrap().is_none()
        };
        for content in [&b""[..], b"\x00\xff\xfe", b"{", &whole[..whole.len() / 2], b"[]", b"{\"array\": 7}"]
        {
            fs::write(&path, content).unwrap();
            assert!(is_none(), "{content:?}");
            places.remember("pool", &hint).unwrap();
            assert_eq!(places.hint("pool").unwrap(), Some(hint.clone()));
        }
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(is_none(), "a folder");
        assert!(places.remember("pool", &hint).is_err());
        fs::remove_dir(&path).unwrap();
        let (fifo, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR);
        rustix::fs::mknodat(rustix::fs::CWD, &path, fifo, mode, 0).unwrap();
        assert!(is_none(), "a pipe, which is not waited for");
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&path, &path).unwrap();
        assert!(is_none(), "a link to itself, which no user can read");
    }
}
