//! The worked examples: the files that the page lists exist, and a placement that is built as an example is named only where
//! the page says so.

use crate::Complaint;
use crate::file::File;
use crate::markdown::prose;

/// The page.
pub const PAGE: &str = "docs/develop/worked-examples.md";

/// The section with the placement, whose first row is its folder.
const SECTION: &str = "## A placement in a test: ";

/// The most files that this placement may touch outside its folder.
const FILES_MAX: usize = 5;

/// Checks that the files in the first columns of the tables exist. `exists` returns whether a path from the root exists.
pub fn listed_files_exist(path: &str, text: &str, exists: &dyn Fn(&str) -> bool) -> Vec<Complaint> {
    if path != PAGE {
        return Vec::new();
    }
    let listed = prose(text).flat_map(|(line, row)| paths(row).into_iter().map(move |path| (line, path)));
    let missing = listed.filter(|(_, listed)| !exists(listed));
    missing
        .map(|(line, listed)| Complaint::new(path, line, format!("`{listed}` is not in the tree")))
        .collect()
}

/// Checks that no file names the placement of the page's section but those in its folder and those that the section lists,
/// which are few.
pub fn placement_is_contained(files: &[File]) -> Vec<Complaint> {
    let Some(page) = files.iter().find(|file| file.path == PAGE) else { return Vec::new() };
    let mut section = prose(&page.text).skip_while(|(_, line)| !line.starts_with(SECTION));
    let Some((heading, _)) = section.next() else {
        return vec![Complaint::new(PAGE, 1, format!("the page has no section `{SECTION}…`"))];
    };
    let rows = section.take_while(|(_, line)| !line.starts_with("## "));
    let listed: Vec<String> = rows.flat_map(|(_, row)| paths(row)).collect();
    let Some((folder, others)) = listed.split_first().filter(|(folder, _)| folder.ends_with('/')) else {
        return vec![Complaint::new(PAGE, heading, "the first row of the table is the placement's folder")];
    };
    let mut complaints = Vec::new();
    if others.len() > FILES_MAX {
        let text = format!("{} files outside `{folder}`; at most {FILES_MAX}", others.len());
        complaints.push(Complaint::new(PAGE, heading, text));
    }
    let name = folder.trim_end_matches('/').rsplit('/').next().unwrap_or(folder);
    for file in files.iter().filter(|file| !file.path.starts_with(folder) && !others.contains(&file.path)) {
        if let Some(line) = file.text.lines().position(|line| line.contains(name)) {
            let text = format!("names `{name}`, but {PAGE} does not list this file");
            complaints.push(Complaint::new(&file.path, line + 1, text));
        }
    }
    complaints
}

/// The paths in the first column of a row, with `{a,b}` written out.
fn paths(row: &str) -> Vec<String> {
    let Some(first) = row.strip_prefix("| ").and_then(|row| row.split(" |").next()) else {
        return Vec::new();
    };
    let quoted = first.split('`').skip(1).step_by(2).filter(|path| path.contains('/'));
    quoted.flat_map(spread).collect()
}

fn spread(path: &str) -> Vec<String> {
    let parts = path.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    match parts {
        Some((before, (names, after))) => {
            names.split(',').map(|name| format!("{before}{name}{after}")).collect()
        }
        None => vec![path.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# T\n\n| file | what |\n| --- | --- |\n| `a/{b,c}.rs`, `d/` | `e/f.rs` |\n";

    #[test]
    fn files_of_first_columns_must_exist() {
        let missing = |known: &'static [&str]| -> Vec<String> {
            let complaints = listed_files_exist(PAGE, TEXT, &|path| known.contains(&path));
            complaints.into_iter().map(|complaint| complaint.text).collect()
        };
        assert_eq!(missing(&["a/b.rs", "a/c.rs", "d/"]), [""; 0]);
        assert_eq!(missing(&["a/b.rs", "d/"]), ["`a/c.rs` is not in the tree"]);
        assert_eq!(listed_files_exist("docs/other.md", TEXT, &|_| false), []);
    }

    #[test]
    fn a_placement_is_named_only_in_its_folder_and_in_the_listed_files() {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let page = |rows: &str| {
            file(PAGE, &format!("# T\n\n{SECTION}mine\n\n| file | what |\n| --- | --- |\n{rows}"))
        };
        let rows = format!("| `x/tests/mine/` | all |\n| `x/main.rs` | a line |\n| `{PAGE}` | this |\n");
        let good = [page(&rows), file("x/main.rs", "mod mine;"), file("x/tests/mine/mod.rs", "// mine")];
        assert_eq!(placement_is_contained(&good), []);
        let bad = [page(&rows), file("y/lib.rs", "// nothing\n// mine\n")];
        let complaints = placement_is_contained(&bad);
        assert_eq!((complaints.len(), complaints[0].path.as_str(), complaints[0].line), (1, "y/lib.rs", 2));
        let many: String = (0..6).map(|nth| format!("| `x/{nth}.rs` | a line |\n")).collect();
        assert_eq!(placement_is_contained(&[page(&format!("{rows}{many}"))]).len(), 1);
        assert_eq!(placement_is_contained(&[page("| `x/main.rs` | a line |\n")]).len(), 1);
        assert_eq!(placement_is_contained(&[file(PAGE, "# T\n")]).len(), 1);
        assert_eq!(placement_is_contained(&[]), []);
    }
}
