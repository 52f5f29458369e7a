//! Guides: pages whose commands readers run, also one page after the other on one machine. The array of each has a name of
//! its own, and each page names the Debian packages of the programs that its commands start.

use std::collections::BTreeMap;

use crate::Complaint;
use crate::file::File;

/// The folders of guides.
const FOLDERS: [&str; 3] = ["docs/start/", "docs/how-to/", "docs/tutorials/"];

/// Languages of blocks whose lines are commands.
const SHELLS: [&str; 3] = ["console", "sh", "text"];

/// Programs that are not on every Debian machine, and the packages that have them.
const PACKAGES: [(&str, &str); 21] = [
    ("curl", "curl"),
    ("fio", "fio"),
    ("fsck.ext4", "e2fsprogs"),
    ("fusermount3", "fuse3"),
    ("gnuplot", "gnuplot"),
    ("jq", "jq"),
    ("losetup", "mount"),
    ("man", "man-db"),
    ("mdadm", "mdadm"),
    ("mkfs.ext4", "e2fsprogs"),
    ("nbd-client", "nbd-client"),
    ("nbdcopy", "libnbd-bin"),
    ("nbdfuse", "nbdfuse"),
    ("nbdinfo", "libnbd-bin"),
    ("pip", "python3-venv"),
    ("promtool", "prometheus"),
    ("python", "python3-venv"),
    ("python3", "python3-venv"),
    ("qemu-img", "qemu-utils"),
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("smartctl", "smartmontools"),
];

/// Checks that no two guides create an array of the same name.
pub fn names_are_their_own(files: &[File]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let mut known: BTreeMap<String, &str> = BTreeMap::new();
    for File { path, text } in files.iter().filter(|file| is_guide(&file.path)) {
        for (line, command) in commands(text) {
            let Some(name) = created(&command) else { continue };
            let first = known.entry(name.to_owned()).or_insert(path);
            if first != path {
                let text = format!("creates an array `{name}`, and so does {first}; choose another name");
                complaints.push(Complaint::new(path, line, text));
            }
        }
    }
    complaints
}

/// Checks that a guide names the packages of the programs that it starts.
pub fn packages_are_named(path: &str, text: &str) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (line, command) in commands(text).into_iter().filter(|_| is_guide(path)) {
        for program in programs(&command) {
            let Some((_, package)) = PACKAGES.iter().find(|(its, _)| *its == program) else { continue };
            if !names_package(text, package) {
                let text =
                    format!("starts `{program}`, and the page does not name its Debian package `{package}`");
                complaints.push(Complaint::new(path, line, text));
            }
        }
    }
    complaints
}

fn is_guide(path: &str) -> bool {
    path.ends_with(".md") && FOLDERS.iter().any(|folder| path.starts_with(folder))
}

/// Whether the page has `package` as a word of its own in code, as in `apt-get install PACKAGE`.
fn names_package(text: &str, package: &str) -> bool {
    let mut code = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    let is_install = |code: &str| code == package || code.starts_with("apt-get install ");
    code.any(|code| is_install(code) && code.split(' ').any(|word| word == package))
}

/// The commands of the page, each with its line.
fn commands(text: &str) -> Vec<(usize, String)> {
    let mut commands = Vec::new();
    let mut block = None;
    for (line, shown) in (1..).zip(text.lines()) {
        match (shown.strip_prefix("```"), block) {
            (Some(language), None) => block = Some(language),
            (Some(_), Some(_)) => block = None,
            (None, Some("console")) => {
                commands.extend(shown.strip_prefix("$ ").map(|command| (line, command.to_owned())));
            }
            (None, Some(language)) if SHELLS.contains(&language) => commands.push((line, shown.to_owned())),
            _ => {}
        }
    }
    commands
}

/// The programs that a line of the shell starts.
fn programs(command: &str) -> impl Iterator<Item = &str> {
    let parts = command.split(['|', ';', '&', '(']);
    parts.filter_map(|part| part.split_whitespace().find(|word| !["sudo", "command", "do"].contains(word)))
}

/// The name of the array that a command creates.
fn created(command: &str) -> Option<&str> {
    let mut words = command.split_whitespace().skip_while(|word| *word != "stripewise").skip(1);
    let name = words.next().filter(|word| *word == "create").and_then(|_| words.next());
    name.filter(|name| !name.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(path: &str, text: &str) -> File {
        File { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn two_guides_with_arrays_of_one_name_are_found() {
        let page_of = |path: &str, name: &str| {
            page(path, &format!("```console\n$ stripewise create {name} --files x\n```\n"))
        };
        let found =
            |files: &[File]| names_are_their_own(files).into_iter().map(|its| its.line).collect::<Vec<_>>();
        let first = page_of("docs/start/a.md", "pool");
        assert_eq!(found(&[first.clone(), page_of("docs/how-to/b.md", "pool")]), [2]);
        assert_eq!(found(&[first.clone(), page_of("docs/how-to/b.md", "other")]), [0; 0]);
        assert_eq!(found(&[first, page_of("docs/reference/b.md", "pool")]), [0; 0], "no guide");
    }

    #[test]
    fn a_program_whose_package_is_not_named_is_found() {
        let found = |text: &str| packages_are_named("docs/how-to/a.md", text).len();
        let block = "```sh\nx=$(nbdcopy a b) && sudo qemu-img info x | nbdinfo\n```\n";
        assert_eq!(found(block), 3);
        assert_eq!(found(&format!("(Debian: `apt-get install libnbd-bin`)\n{block}")), 1);
        assert_eq!(found(&format!("Debian: package `qemu-utils`, `libnbd-bin`.\n{block}")), 0);
        assert_eq!(found(&format!("The libnbd-bin and `my-qemu-utils`.\n{block}")), 3);
        assert_eq!(found("```console\n$ ls\nnbdcopy\n```\nnbdinfo x\n"), 0, "output and prose start nothing");
    }
}
