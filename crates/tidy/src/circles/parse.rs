//! Reads what a Rust file defines, imports and names, as far as paths need it.

use std::collections::BTreeSet;

/// A module: a file, or a `mod` with a body inside of one.
#[derive(Clone, Debug, Default)]
pub(super) struct Module {
    /// Its path from the root of the crate.
    pub(super) path: Vec<String>,
    /// Names of the items it defines, modules excepted.
    pub(super) items: BTreeSet<String>,
    /// Its imports.
    pub(super) uses: Vec<Use>,
    /// The paths in its code.
    pub(super) paths: Vec<Vec<String>>,
    /// The words of its code, imports excepted.
    pub(super) words: BTreeSet<String>,
    /// Child modules that only tests have.
    pub(super) test_modules: Vec<String>,
}

/// A name that `use` brings in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Use {
    /// The path, as written.
    pub(super) path: Vec<String>,
    /// The name by which the module knows it; `*` for all names below the path.
    pub(super) name: String,
    /// Whether others may name it through the module.
    pub(super) is_reexport: bool,
}

/// Keywords of items, each followed by the name of the item.
const ITEMS: [&str; 9] = ["struct", "enum", "union", "trait", "type", "const", "static", "fn", "macro_rules"];

/// Reads the text of the module at `path`: the module itself, then those with a body inside of it.
pub(super) fn modules(path: &[String], text: &str) -> Vec<Module> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    module(path.to_vec(), &tokens, &mut found);
    found
}

fn module(path: Vec<String>, tokens: &[&str], found: &mut Vec<Module>) {
    let mut module = Module { path, ..Module::default() };
    let place = found.len();
    found.push(Module::default());
    let mut depth = 0usize;
    let mut at = 0;
    while at < tokens.len() {
        let next = |ahead: usize| tokens.get(at + ahead).copied().unwrap_or_default();
        let token = tokens[at];
        at += match token {
            "{" | "(" | "[" => {
                depth += 1;
                1
            }
            "}" | ")" | "]" => {
                depth = depth.saturating_sub(1);
                1
            }
            "#" if next(1) == "[" => {
                let end = closing(&tokens[at + 1..]) + 1;
                let attribute = &tokens[at..at + end];
                if attribute.contains(&"cfg") && attribute.contains(&"test") && !attribute.contains(&"not") {
                    let item = item(&tokens[at + end..]);
                    let body = &tokens[at + end..at + end + item];
                    if let Some(name) = body.windows(2).find(|pair| pair[0] == "mod") {
                        module.test_modules.push(name[1].to_owned());
                    }
                    end + item
                } else {
                    end
                }
            }
            "mod" if depth == 0 && next(2) == "{" => {
                let end = closing(&tokens[at + 2..]);
                let path = [module.path.as_slice(), &[next(1).to_owned()]].concat();
                self::module(path, &tokens[at + 3..at + 1 + end], found);
                2 + end
            }
            "use" if is_name(next(1)) || matches!(next(1), "{" | "::") => {
                let end = tokens[at..].iter().position(|token| *token == ";").unwrap_or(tokens.len() - at);
                let is_reexport = at > 0 && matches!(tokens[at - 1], "pub" | ")");
                for (path, name) in imports(&[], &tokens[at + 1..at + end]) {
                    module.uses.push(Use { path, name, is_reexport });
                }
                end
            }
            "macro_rules" if depth == 0 => {
                module.items.insert(next(2).to_owned());
                3
            }
            _ if depth == 0 && ITEMS.contains(&token) && is_name(next(1)) => {
                let name = if next(1) == "mut" { next(2) } else { next(1) };
                module.items.insert(name.to_owned());
                1
            }
            _ if is_name(token) && next(1) == "::" => {
                let mut path = vec![token.to_owned()];
                let mut length = 1;
                while next(length) == "::" && is_name(next(length + 1)) {
                    path.push(next(length + 1).to_owned());
                    length += 2;
                }
                module.words.insert(token.to_owned());
                module.paths.push(path);
                length
            }
            // A path that begins with `::` leads to another crate.
            "::" => 2,
            _ => {
                module.words.insert(token.to_owned());
                1
            }
        };
    }
    found[place] = module;
}

/// The number of tokens up to and with the bracket that closes the one at the beginning.
fn closing(tokens: &[&str]) -> usize {
    let mut depth = 0;
    let end = tokens.iter().position(|token| {
        depth += i32::from(matches!(*token, "{" | "(" | "[")) - i32::from(matches!(*token, "}" | ")" | "]"));
        depth == 0
    });
    end.map_or(tokens.len(), |end| end + 1)
}

/// The number of tokens of the item at the beginning, with its further attributes: up to a `;` or the end of a body.
fn item(tokens: &[&str]) -> usize {
    let mut is_field = true;
    let mut at = 0;
    while at < tokens.len() {
        is_field &= !ITEMS.contains(&tokens[at]) && !matches!(tokens[at], "impl" | "mod" | "use");
        match tokens[at] {
            ";" => return at + 1,
            "," if is_field => return at + 1,
            "{" if tokens.get(at.wrapping_sub(1)) != Some(&"::") => return at + closing(&tokens[at..]),
            "{" | "(" | "[" => at += closing(&tokens[at..]),
            _ => at += 1,
        }
    }
    at
}

/// What stands between `use` and `;`: paths, and the names they get.
fn imports(before: &[String], tokens: &[&str]) -> Vec<(Vec<String>, String)> {
    let mut path = before.to_vec();
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "{" => {
                let mut found = Vec::new();
                let mut rest = &tokens[at + 1..at + closing(&tokens[at..]) - 1];
                while !rest.is_empty() {
                    let mut length = 0;
                    while length < rest.len() && rest[length] != "," {
                        length += if rest[length] == "{" { closing(&rest[length..]) } else { 1 };
                    }
                    found.extend(imports(&path, &rest[..length]));
                    rest = &rest[(length + 1).min(rest.len())..];
                }
                return found;
            }
            "as" => {
                let name = tokens.get(at + 1).copied().unwrap_or_default().to_owned();
                return vec![(path, name)];
            }
            "*" => return vec![(path, "*".to_owned())],
            "self" if !path.is_empty() => {}
            "::" if path.is_empty() => return Vec::new(),
            "::" => {}
            name => path.push(name.to_owned()),
        }
    }
    path.last().cloned().map(|name| (path, name)).into_iter().collect()
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// The tokens of Rust code: words, `::` and single marks. Comments, literals of text and lifetimes are left out.
pub(crate) fn tokens(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        at += match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => block_comment(rest),
            '"' => literal(rest),
            'r' | 'b' | 'c' if is_literal(rest) => raw_literal(rest),
            '\'' => character(rest),
            ':' if rest.starts_with("::") => {
                found.push("::");
                2
            }
            _ if word > 0 => {
                found.push(&rest[..word]);
                word
            }
            _ if first.is_whitespace() => first.len_utf8(),
            _ => {
                found.push(&rest[..first.len_utf8()]);
                first.len_utf8()
            }
        };
    }
    found
}

/// The length of a comment in `/* */`, which may hold others.
fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        match &text.as_bytes()[at..text.len().min(at + 2)] {
            b"/*" => (depth, at) = (depth + 1, at + 2),
            b"*/" if depth == 1 => return at + 2,
            b"*/" => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    at
}

/// The length of a literal in quotes.
fn literal(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text[1..].bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 2)
}

/// Whether `text` begins with a literal that has a prefix, as `r#"…"#` or `b"…"`.
fn is_literal(text: &str) -> bool {
    let rest = text.trim_start_matches(['r', 'b', 'c']);
    text.len() - rest.len() <= 2 && rest.trim_start_matches('#').starts_with('"')
}

/// The length of a literal with a prefix.
fn raw_literal(text: &str) -> usize {
    let prefix = text.len() - text.trim_start_matches(['r', 'b', 'c']).len();
    if !text[..prefix].contains('r') {
        return prefix + literal(&text[prefix..]);
    }
    let hashes = text[prefix..].bytes().take_while(|byte| *byte == b'#').count();
    let begin = prefix + hashes + 1;
    let end = format!("\"{}", "#".repeat(hashes));
    text[begin..].find(&end).map_or(text.len(), |length| begin + length + end.len())
}

/// The length of a character in quotes, or of a lifetime.
fn character(text: &str) -> usize {
    let mut characters = text.char_indices().skip(1);
    match (characters.next(), characters.next()) {
        (Some((_, '\\')), Some((after, _))) => {
            let from = text[after..].chars().next().map_or(after, |c| after + c.len_utf8());
            text[from..].find('\'').map_or(text.len(), |end| from + end + 1)
        }
        (Some(_), Some((end, '\''))) => end + 1,
        _ => 1,
    }
}
