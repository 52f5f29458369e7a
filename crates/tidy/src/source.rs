//! Rules of form: sizes, words, justified unsafe code, sources of policies.

use crate::Complaint;

/// Longest file, in lines.
pub const FILE_LINES_MAX: usize = 600;
/// Longest line, in characters.
pub const LINE_CHARACTERS_MAX: usize = 130;

/// Folders of the controller with one file for each published policy.
const POLICY_CRATES: [&str; 3] = ["crates/core/src/", "crates/policy/src/", "crates/scheme/src/"];

/// The folders of policies inside them.
const POLICY_FOLDERS: [&str; 8] =
    ["geometry", "update", "placement", "read", "dispatch", "cache", "gc", "hotness"];

/// Words that may not occur in the tree, split so that this file contains none of them, and the remedies.
const BANNED: [(&str, &str); 8] = [
    (concat!("TO", "DO"), "finish it or open an issue"),
    (concat!("FIX", "ME"), "fix it or open an issue"),
    (concat!("XX", "X"), "say what is wrong, or open an issue"),
    (concat!("todo", "!("), "finish it"),
    (concat!("unimpl", "emented!("), "finish it"),
    (concat!("/wo", "rk/"), "no path of one machine"),
    (concat!("/ro", "ot/"), "no path of one machine"),
    (concat!("/ho", "me/"), "no path of one machine"),
];

/// Checks that files stay short enough to be read in one go.
pub fn size(path: &str, text: &str) -> Option<Complaint> {
    let lines = text.lines().count();
    (lines > FILE_LINES_MAX).then(|| {
        let text = format!("{lines} lines; split it by reasons to change (at most {FILE_LINES_MAX})");
        Complaint::new(path, lines, text)
    })
}

/// Checks that lines fit two to a screen.
pub fn line_length(path: &str, text: &str) -> Vec<Complaint> {
    let long = text.lines().enumerate().filter(|(_, line)| line.chars().count() > LINE_CHARACTERS_MAX);
    let complaint = |(index, line): (usize, &str)| {
        let text = format!("{} characters; at most {LINE_CHARACTERS_MAX}", line.chars().count());
        Complaint::new(path, index + 1, text)
    };
    long.map(complaint).collect()
}

/// Checks that there is no unfinished work and no path of a developer's machine.
pub fn banned_words(path: &str, text: &str) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for (word, remedy) in BANNED {
            if whole_word(line, word) {
                complaints.push(Complaint::new(path, index + 1, format!("`{word}`: {remedy}")));
            }
        }
    }
    complaints
}

/// Whether `word` occurs in `line` and is not part of a longer word or path.
fn whole_word(line: &str, word: &str) -> bool {
    let joins = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].ends_with(|c: char| joins(c) || c == '.');
        let after = word.ends_with(joins) && line[at + word.len()..].starts_with(joins);
        !before && !after
    })
}

/// Checks that every `unsafe` has a comment on its line or directly above that explains why it is sound.
pub fn unsafe_is_argued(path: &str, text: &str) -> Vec<Complaint> {
    let lines: Vec<&str> = text.lines().collect();
    let argued = |index: usize| {
        let above = lines[..index].iter().rev().take_while(|line| {
            let line = line.trim_start();
            line.starts_with("//") || line.starts_with("#[")
        });
        std::iter::once(&lines[index])
            .chain(above)
            .any(|line| line.contains("SAFETY:") || line.contains("# Safety"))
    };
    let unargued =
        (0..lines.len()).filter(|&index| whole_word(code(lines[index]), "unsafe") && !argued(index));
    unargued
        .map(|index| Complaint::new(path, index + 1, "`unsafe` without a `SAFETY:` comment above it"))
        .collect()
}

/// A line without its comment and without the insides of its string literals.
fn code(line: &str) -> &str {
    let comment = line.find("//").unwrap_or(line.len());
    let quote = line.find('"').unwrap_or(line.len());
    &line[..comment.min(quote)]
}

/// Checks that a policy file of the controller names the paper and the section it implements: `Source: paper 000,
/// section 3.2` or author, title or venue, and year.
pub fn policy_cites_its_source(path: &str, text: &str) -> Option<Complaint> {
    let inside = POLICY_CRATES.iter().find_map(|source| path.strip_prefix(source));
    let policy = inside.and_then(|rest| rest.split_once('/')).is_some_and(|(folder, file)| {
        let name = file.rsplit('/').next().unwrap_or(file);
        POLICY_FOLDERS.contains(&folder) && !matches!(name, "mod.rs" | "tests.rs")
    });
    let cited = text.lines().any(|line| line.trim_start().starts_with("//") && is_citation(line));
    (policy && !cited).then(|| {
        let text =
            "a policy without its source; add `//! Source: paper NNN, section N` (or author, venue and year)";
        Complaint::new(path, 1, text)
    })
}

fn is_citation(line: &str) -> bool {
    let Some((_, source)) = line.split_once("Source:") else { return false };
    let words: Vec<&str> =
        source.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let number =
        |word: &str, digits: usize| word.len() == digits && word.bytes().all(|byte| byte.is_ascii_digit());
    let paper = words.windows(2).any(|pair| matches!(pair[0], "paper" | "Paper") && number(pair[1], 3));
    let place = ["section", "§", "table", "figure", "equation", "algorithm"];
    let placed = place.iter().any(|place| source.to_lowercase().contains(place));
    let dated = words.iter().any(|word| number(word, 4) && matches!(&word[..2], "19" | "20"));
    let fork = source.contains("public fork");
    (paper && placed) || dated || fork
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_more_lines_than_allowed_is_complained_of() {
        assert_eq!(size("a.rs", &"x\n".repeat(FILE_LINES_MAX)), None);
        assert_eq!(
            size("a.rs", &"x\n".repeat(FILE_LINES_MAX + 1)).map(|complaint| complaint.line),
            Some(601)
        );
    }

    #[test]
    fn lines_are_counted_in_characters() {
        let fits = "ä".repeat(LINE_CHARACTERS_MAX);
        assert_eq!(line_length("a.rs", &fits), []);
        let complaints = line_length("a.rs", &format!("short\n{fits}x\n"));
        assert_eq!(complaints.len(), 1);
        assert_eq!(complaints[0].line, 2);
    }

    #[test]
    fn unfinished_work_and_machine_paths_are_found_as_whole_words() {
        for bad in [
            concat!("// TO", "DO: later"),
            concat!("FIX", "ME"),
            concat!("a XX", "X b"),
            concat!("cp /wo", "rk/main ."),
            concat!("\"/ro", "ot/x\""),
            concat!("    todo", "!()"),
        ] {
            assert_eq!(banned_words("a.md", &format!("fine\n{bad}\n")).len(), 1, "{bad}");
        }
        for good in [
            concat!("XX", "XX"),
            concat!("../wo", "rk/main"),
            concat!("home", "/wo", "rk/x"),
            concat!("AUTO", "DO", "C"),
            "work in progress",
        ] {
            assert_eq!(banned_words("a.md", good), [], "{good}");
        }
    }

    #[test]
    fn unsafe_needs_an_argument_right_above() {
        assert_eq!(unsafe_is_argued("a.rs", "// SAFETY: valid.\nunsafe { f() }"), []);
        assert_eq!(
            unsafe_is_argued("a.rs", "/// # Safety\n/// `p` is valid.\n#[inline]\npub unsafe fn f() {}"),
            []
        );
        assert_eq!(unsafe_is_argued("a.rs", "#![forbid(unsafe_code)]\n// unsafe\nlet s = \"unsafe\";"), []);
        assert_eq!(unsafe_is_argued("a.rs", "let x = unsafe { f() };").len(), 1);
        assert_eq!(unsafe_is_argued("a.rs", "// SAFETY: other.\nlet y = 1;\nunsafe { f() }").len(), 1);
    }

    #[test]
    fn a_policy_names_paper_and_place_or_venue_and_year() {
        let file = "crates/policy/src/update/mine.rs";
        for good in [
            "//! Source: paper 000, section II-B.",
            "//! Source: paper 003, equation 4.",
            "//! Source: Patterson, Gibson and Katz, SIGMOD 1988",
        ] {
            assert_eq!(policy_cites_its_source(file, good), None, "{good}");
        }
        for bad in [
            "//! Mine.",
            "//! Source:",
            "//! Source: a paper",
            "//! Source: paper 000",
            "let s = \"Source: 1988\";",
        ] {
            assert!(policy_cites_its_source(file, bad).is_some(), "{bad}");
        }
        for elsewhere in [
            "crates/policy/src/update/mod.rs",
            "crates/exec/src/plan.rs",
            "crates/exec/src/run.rs",
            "crates/sim/src/gc/x.rs",
        ] {
            assert_eq!(policy_cites_its_source(elsewhere, "//! None."), None, "{elsewhere}");
        }
    }
}
