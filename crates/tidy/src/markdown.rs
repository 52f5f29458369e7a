//! Rules for documents: one title, valid links, a changelog for users.

use crate::Complaint;

/// Lines outside fenced blocks, numbered from 1.
pub(crate) fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fence && !fenced).then_some((index + 1, line))
    })
}

/// Checks that a document begins with its title and has no other.
pub fn one_title(path: &str, text: &str) -> Vec<Complaint> {
    let titles: Vec<usize> =
        prose(text).filter(|(_, line)| line.starts_with("# ")).map(|(number, _)| number).collect();
    let mut complaints = Vec::new();
    if titles.first() != Some(&1) {
        complaints.push(Complaint::new(path, 1, "a document begins with its title: `# Title`"));
    }
    complaints
        .extend(titles.iter().skip(1).map(|&line| Complaint::new(path, line, "a second title; use `##`")));
    complaints
}

/// Checks that links to files of the tree lead to files, and links to headings to headings of this document. `exists`
/// returns whether a path from the root exists.
pub fn links_resolve(path: &str, text: &str, exists: &dyn Fn(&str) -> bool) -> Vec<Complaint> {
    let headings: Vec<String> =
        prose(text).filter(|(_, line)| line.starts_with('#')).map(|(_, line)| anchor(line)).collect();
    let mut complaints = Vec::new();
    for (number, target) in
        prose(text).flat_map(|(number, line)| links(line).map(move |target| (number, target)))
    {
        let (file, heading) = target.split_once('#').unwrap_or((target, ""));
        if target.contains("://") || target.starts_with("mailto:") {
            continue;
        }
        if file.is_empty() {
            if !headings.iter().any(|known| known == heading) {
                complaints.push(Complaint::new(
                    path,
                    number,
                    format!("no heading `#{heading}` in this document"),
                ));
            }
        } else if !resolve(path, file).is_some_and(|file| exists(&file)) {
            complaints.push(Complaint::new(
                path,
                number,
                format!("link to `{file}`, which is not in the tree"),
            ));
        }
    }
    complaints
}

/// Targets of the inline links of a line, outside code spans.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let outside_code = line.split('`').step_by(2);
    let opened =
        outside_code.flat_map(|part| part.match_indices("](").map(|(at, mark)| &part[at + mark.len()..]));
    // A code span in the link's text, as in [`name`](target), puts the target in a part of its own.
    opened
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target.split(' ').next().unwrap_or(target))
}

/// The anchor of a heading: lower case, spaces as hyphens, other signs dropped.
fn anchor(heading: &str) -> String {
    let title = heading.trim_start_matches('#').trim().to_lowercase();
    title
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

/// The path from the root of the tree for `target`, a link in the document at `path`.
fn resolve(path: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in target.trim_start_matches('/').split('/') {
        match part {
            "." | "" => {}
            ".." => _ = parts.pop()?,
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// Headings of a release's changes, in this order.
const KINDS: [&str; 6] = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];

/// The most words of what is unreleased.
const MOST_WORDS: usize = 1200;

/// Checks that the changelog has the form of keepachangelog.com: releases as `## [version] - date`, first `##
/// [Unreleased]`; in each the kinds of change as `###`, in their order, with points below.
pub fn changelog_form(path: &str, text: &str) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let mut complain = |line: usize, text: &str| complaints.push(Complaint::new(path, line, text));
    let mut releases = 0;
    let mut last_kind = None;
    let mut in_kind = false;
    for (number, line) in prose(text) {
        if let Some(release) = line.strip_prefix("## ") {
            releases += 1;
            (last_kind, in_kind) = (None, false);
            if releases == 1 && release != "[Unreleased]" {
                complain(number, "the first section is `## [Unreleased]`");
            } else if releases > 1 && !is_release(release) {
                complain(number, "a release is written `## [1.2.3] - 2026-01-31`");
            }
        } else if let Some(kind) = line.strip_prefix("### ") {
            let place = KINDS.iter().position(|known| *known == kind);
            match place {
                None => complain(
                    number,
                    "a kind of change is Added, Changed, Deprecated, Removed, Fixed or Security",
                ),
                Some(_) if releases == 0 => {
                    complain(number, "changes belong to a release: `## [Unreleased]`")
                }
                Some(_) if place <= last_kind => {
                    complain(number, "kinds of change stand once each, Added first")
                }
                Some(_) => {}
            }
            (last_kind, in_kind) = (place.max(last_kind), true);
        } else if releases > 0 && !in_kind && !line.trim().is_empty() {
            complain(number, "text before `### Added`, `### Changed` …");
        } else if in_kind && !(line.is_empty() || line.starts_with("- ") || line.starts_with("  ")) {
            complain(number, "a change is a point: `- What changed for users.`");
        }
    }
    if releases == 0 {
        complain(1, "no `## [Unreleased]` section");
    }
    let unreleased = text.split("\n## ").nth(1).unwrap_or_default().split_whitespace().count();
    if unreleased > MOST_WORDS {
        complain(
            1,
            &format!(
                "{unreleased} words are unreleased, and people read {MOST_WORDS}: join points of one subject"
            ),
        );
    }
    complaints
}

fn is_release(text: &str) -> bool {
    let Some((version, date)) = text.strip_prefix('[').and_then(|rest| rest.split_once("] - ")) else {
        return false;
    };
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let numbers = |text: &str, mark: char| {
        text.split(mark).filter(|part| digits(part)).count() == 3 && text.split(mark).count() == 3
    };
    numbers(version, '.') && date.len() == 10 && numbers(date, '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_one_title_and_it_comes_first() {
        assert_eq!(one_title("a.md", "# A\n\n## B\n\n```sh\n# comment\n```\n"), []);
        assert_eq!(one_title("a.md", "Text\n").len(), 1);
        assert_eq!(one_title("a.md", "# A\n\n# B\n")[0].line, 3);
    }

    #[test]
    fn links_lead_to_files_and_headings() {
        let exists = |path: &str| matches!(path, "docs/a.md" | "README.md");
        let good = "# T\n## Two words!\n\
            [a](a.md) [r](../README.md#x) [`code`](./a.md) [w](https://x.y) [h](#two-words) `[x](no.md)`";
        assert_eq!(links_resolve("docs/t.md", good, &exists), []);
        for bad in
            ["[b](b.md)", "[up](../../README.md)", "[h](#nothing)", "[`code`](b.md)", "![image](b.png)"]
        {
            assert_eq!(links_resolve("docs/t.md", &format!("# T\n{bad}\n"), &exists).len(), 1, "{bad}");
        }
    }

    #[test]
    fn a_changelog_keeps_its_form() {
        let good = "# Changelog\n\nWords.\n\n## [Unreleased]\n\n### Added\n\n- A thing\n  on two lines.\n\n\
            ### Fixed\n\n- It.\n\n## [0.1.0] - 2026-01-31\n";
        assert_eq!(changelog_form("CHANGELOG.md", good), []);
        for bad in [
            "# C\n",
            "# C\n## [0.1.0] - 2026-01-31\n",
            "# C\n## [Unreleased]\n## 0.1\n",
            "# C\n## [Unreleased]\n## [0.1.0] - yesterday\n",
            "# C\n## [Unreleased]\n### Misc\n",
            "# C\n### Added\n",
            "# C\n## [Unreleased]\n### Fixed\n### Added\n",
            "# C\n## [Unreleased]\n### Added\n### Added\n",
            "# C\n## [Unreleased]\nLoose words.\n",
            "# C\n## [Unreleased]\n### Added\nNo point.\n",
            &format!("# C\n\n## [Unreleased]\n\n### Added\n\n- {}\n", "word ".repeat(MOST_WORDS)),
        ] {
            assert!(!changelog_form("CHANGELOG.md", bad).is_empty(), "{bad}");
        }
    }
}
