//! The functions of the controller stay short. Clippy holds the number of their parameters (`too_many_arguments`).

use crate::Complaint;
use crate::layers::shipped_lines;

/// The crates of the controller.
const CRATES: [&str; 6] = [
    "crates/core/src/",
    "crates/format/src/",
    "crates/policy/src/",
    "crates/scheme/src/",
    "crates/exec/src/",
    "crates/array/src/",
];

/// Longest function, in lines from its name to its closing brace.
pub const FUNCTION_LINES_MAX: usize = 80;

/// What may stand before `fn`.
const QUALIFIERS: [&str; 4] = ["const ", "async ", "unsafe ", "extern \"C\" "];

/// Checks that no function of the controller is longer than allowed. Tests may be longer.
pub fn functions_stay_short(path: &str, text: &str) -> Vec<Complaint> {
    let is_test = path.ends_with("/tests.rs") || path.contains("/tests/");
    if is_test || !CRATES.iter().any(|folder| path.starts_with(folder)) {
        return Vec::new();
    }
    let lines: Vec<(usize, &str)> = shipped_lines(text).collect();
    let heads = (0..lines.len()).filter_map(|at| Some((at, name(lines[at].1)?)));
    let long = heads.filter_map(|(at, name)| {
        let count = length(&lines[at..]);
        (count > FUNCTION_LINES_MAX).then(|| {
            let text = format!(
                "`{name}` has {count} lines, at most {FUNCTION_LINES_MAX}: split it into functions that a reader would name"
            );
            Complaint::new(path, lines[at].0, text)
        })
    });
    long.collect()
}

/// The name of the function that `line` begins, if it begins one.
fn name(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    if let Some(public) = rest.strip_prefix("pub") {
        rest = match public.strip_prefix('(') {
            Some(scope) => scope.split_once(')')?.1,
            None => public,
        };
        rest = rest.strip_prefix(' ')?;
    }
    while let Some(next) = QUALIFIERS.iter().find_map(|word| rest.strip_prefix(word)) {
        rest = next;
    }
    rest.strip_prefix("fn ")?.split(['(', '<']).next()
}

/// The number of lines of the function that begins `lines`. rustfmt puts its closing brace below its first letter.
fn length(lines: &[(usize, &str)]) -> usize {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let outer = indent(lines[0].1);
    let ends_head = |line: &str| line.trim_end().ends_with(['{', '}', ';']);
    let Some(head) = lines.iter().position(|(_, line)| ends_head(line)) else { return lines.len() };
    if !lines[head].1.trim_end().ends_with('{') {
        return head + 1;
    }
    let closes = |line: &str| indent(line) == outer && line.trim() == "}";
    lines.iter().position(|(_, line)| closes(line)).map_or(lines.len(), |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "crates/array/src/log/x.rs";

    /// A function of `count` lines, in an `impl`.
    fn function(head: &str, count: usize) -> String {
        let body = "        x();\n".repeat(count - 2);
        format!("impl X {{\n    {head}(&self) {{\n{body}    }}\n\n    fn short() {{}}\n}}\n")
    }

    fn complaints(path: &str, text: &str) -> Vec<usize> {
        functions_stay_short(path, text).into_iter().map(|complaint| complaint.line).collect()
    }

    #[test]
    fn a_function_of_more_lines_than_allowed_is_complained_of() {
        for head in ["fn f", "pub fn f", "pub(crate) fn f<M: Memory>", "pub const unsafe fn f"] {
            assert_eq!(complaints(PATH, &function(head, FUNCTION_LINES_MAX)), [], "{head}");
            assert_eq!(complaints(PATH, &function(head, FUNCTION_LINES_MAX + 1)), [2], "{head}");
        }
        let text = &functions_stay_short(PATH, &function("fn f", 99))[0].text;
        assert!(text.contains("`f` has 99 lines"), "{text}");
    }

    #[test]
    fn a_head_over_several_lines_counts() {
        let head = "fn f(\n    a: u32,\n) -> Option<u32>\nwhere\n    u32: Copy,\n{\n";
        let body = |count: usize| format!("{head}{}}}\nfn g() {{}}\n", "    x();\n".repeat(count));
        assert_eq!(complaints(PATH, &body(FUNCTION_LINES_MAX - 7)), []);
        assert_eq!(complaints(PATH, &body(FUNCTION_LINES_MAX - 6)), [1]);
    }

    #[test]
    fn a_function_without_a_body_ends_with_its_head() {
        let heads = "    fn f(&self);\n    fn g(\n        a: u32,\n    )\n    where\n        Self: Sized;\n    fn h() {}\n";
        let rest = "    const X: u32 = 0;\n".repeat(FUNCTION_LINES_MAX);
        assert_eq!(complaints(PATH, &format!("trait X {{\n{heads}{rest}}}\n")), []);
    }

    #[test]
    fn a_brace_or_semicolon_inside_does_not_end_a_function() {
        let body = "    if x {\n        y();\n    }\nlet text = \"\nx };\n\";\n".repeat(20);
        assert_eq!(complaints(PATH, &format!("fn f() {{\n{body}}}\n")), [1]);
    }

    #[test]
    fn tests_and_other_crates_may_have_longer_functions() {
        let long = function("fn f", FUNCTION_LINES_MAX + 1);
        for path in ["crates/array/src/log/tests.rs", "crates/core/tests/it/x.rs", "crates/sim/src/x.rs"] {
            assert_eq!(complaints(path, &long), [], "{path}");
        }
        assert_eq!(complaints(PATH, &format!("#[cfg(test)]\nmod tests {{\n{long}}}\n")), []);
    }
}
