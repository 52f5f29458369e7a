//! The tokens of a Rust file that decide what a program does: no comment, no doc comment, no layout, and nothing that
//! only tests compile.
//!
//! A space inside an operator counts, because `& &` is not `&&`; so does a comma that rustfmt adds to a broken line.

use std::iter::Peekable;

use proc_macro2::token_stream::IntoIter;
use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

#[derive(Default)]
pub(crate) struct Code {
    /// The tokens, with a space behind each that does not belong to a longer operator.
    pub(crate) tokens: String,
    /// Modules in other files that only tests compile.
    pub(crate) tests: Vec<String>,
}

/// The code of a file.
///
/// # Errors
/// A text that is not Rust, or `#[cfg(test)]` before something other than an item.
pub(crate) fn code(text: &str) -> Result<Code, String> {
    let stream = text.parse::<TokenStream>().map_err(|error| error.to_string())?;
    let mut code = Code::default();
    code.add(stream)?;
    Ok(code)
}

type Tokens = Peekable<IntoIter>;

impl Code {
    fn add(&mut self, stream: TokenStream) -> Result<(), String> {
        let start = self.tokens.len();
        // Where the attributes of the next item begin.
        let mut item = None;
        let mut tokens = stream.into_iter().peekable();
        while let Some(token) = tokens.next() {
            let Some((inner, attribute)) = attribute(&token, &mut tokens) else {
                item = None;
                self.add_token(token)?;
                continue;
            };
            if inner && is_test(&attribute) {
                self.tokens.truncate(start);
                return Ok(());
            }
            let begin = *item.get_or_insert(self.tokens.len());
            if is_test(&attribute) {
                self.tokens.truncate(begin);
                self.tests.extend(skip_item(&mut tokens)?);
                item = None;
            } else if !starts_with(&attribute, "doc") {
                self.tokens.push_str(if inner { "#![ " } else { "#[ " });
                self.add(attribute)?;
                self.tokens.push_str("] ");
            }
            if inner {
                item = None;
            }
        }
        Ok(())
    }

    fn add_token(&mut self, token: TokenTree) -> Result<(), String> {
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("( ", ") "),
                    Delimiter::Bracket => ("[ ", "] "),
                    Delimiter::Brace => ("{ ", "} "),
                    Delimiter::None => ("", ""),
                };
                self.tokens.push_str(open);
                self.add(group.stream())?;
                self.tokens.push_str(close);
            }
            TokenTree::Punct(punct) => {
                self.tokens.push(punct.as_char());
                if punct.spacing() == Spacing::Alone {
                    self.tokens.push(' ');
                }
            }
            word => {
                self.tokens.push_str(&word.to_string());
                self.tokens.push(' ');
            }
        }
        Ok(())
    }
}

/// The content of the attribute that begins at `token`, if one does, and whether it is one of what encloses it (`#!`).
fn attribute(token: &TokenTree, tokens: &mut Tokens) -> Option<(bool, TokenStream)> {
    let bracket = |token: Option<&TokenTree>| match token {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Bracket => Some(group.stream()),
        _ => None,
    };
    if !is(token, '#') {
        return None;
    }
    let mut ahead = tokens.clone();
    let inner = ahead.next_if(|token| is(token, '!')).is_some();
    let content = bracket(ahead.next().as_ref())?;
    *tokens = ahead;
    Some((inner, content))
}

/// Whether an attribute leaves out all but tests: `test`, or `cfg` with a condition that only tests fulfil.
fn is_test(attribute: &TokenStream) -> bool {
    starts_with(attribute, "cfg") && inside(attribute).is_some_and(|condition| only_tests(&condition))
        || attribute.to_string() == "test"
}

fn only_tests(condition: &TokenStream) -> bool {
    let Some(conditions) = inside(condition) else { return condition.to_string() == "test" };
    let conditions: Vec<_> = conditions.into_iter().collect();
    let mut conditions = conditions
        .split(|token| is(token, ','))
        .map(|tokens| tokens.iter().cloned().collect::<TokenStream>());
    starts_with(condition, "all") && conditions.any(|condition| only_tests(&condition))
}

fn starts_with(stream: &TokenStream, word: &str) -> bool {
    matches!(stream.clone().into_iter().next(), Some(TokenTree::Ident(ident)) if ident == word)
}

/// What stands between the parentheses of `word(…)`.
fn inside(stream: &TokenStream) -> Option<TokenStream> {
    match stream.clone().into_iter().nth(1) {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => Some(group.stream()),
        _ => None,
    }
}

/// What begins an item that ends at a semicolon, even if it has braces.
const UP_TO_SEMICOLON: [&str; 4] = ["use", "static", "type", "let"];
/// What begins an item that ends at its braces, or at a semicolon if it has none. So does a macro, as `proptest! { }`.
const UP_TO_BRACES: [&str; 10] =
    ["mod", "fn", "unsafe", "async", "extern", "impl", "struct", "enum", "trait", "union"];

/// Skips an item; its name if it is a module in another file.
fn skip_item(tokens: &mut Tokens) -> Result<Option<String>, String> {
    while let Some(mark) = tokens.next_if(|token| is(token, '#')) {
        attribute(&mark, tokens);
    }
    if tokens.next_if(|token| is_word(token, "pub")).is_some() {
        tokens.next_if(|token| matches!(token, TokenTree::Group(_)));
    }
    let first = tokens.next().map(|token| token.to_string()).unwrap_or_default();
    let known = |words: &[&str]| words.contains(&first.as_str());
    let constant =
        first == "const" && !tokens.peek().is_some_and(|token| UP_TO_BRACES.contains(&&*token.to_string()));
    let to_semicolon = constant || known(&UP_TO_SEMICOLON);
    let is_macro = tokens.peek().is_some_and(|token| is(token, '!'));
    if !(to_semicolon || first == "const" || is_macro || known(&UP_TO_BRACES)) {
        return Err(format!("`#[cfg(test)]` before `{first}`: put it before an item, such as `mod` or `fn`"));
    }
    let mut last = String::new();
    for token in tokens {
        match &token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace && !to_semicolon => break,
            end if is(end, ';') => return Ok((first == "mod").then_some(last)),
            word => last = word.to_string(),
        }
    }
    Ok(None)
}

fn is(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}

fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == word)
}
