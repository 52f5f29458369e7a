//! Wraps long lines at spaces.

/// Appends `line` to `text`, wrapped so that no part is longer than `width` characters where a space allows it. Parts
/// after the first are indented by `indent`; the first `indent` characters stay together.
pub(crate) fn wrap(line: &str, indent: usize, width: usize, text: &mut String) {
    let mut column = 0;
    for word in line.split_inclusive(' ') {
        let length = word.trim_end().chars().count();
        if column + length > width && column > indent {
            text.truncate(text.trim_end().len());
            text.push('\n');
            text.push_str(&" ".repeat(indent));
            column = indent;
        }
        text.push_str(word);
        column += word.chars().count();
    }
    text.truncate(text.trim_end_matches(' ').len());
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_at_spaces_and_continues_in_its_column() {
        let mut text = String::new();
        wrap("name  one two three four", 6, 14, &mut text);
        assert_eq!(text, "name  one two\n      three\n      four\n");
    }

    #[test]
    fn a_word_that_is_too_long_stands_alone() {
        let mut text = String::new();
        wrap("a abcdefghij b", 2, 6, &mut text);
        assert_eq!(text, "a abcdefghij\n  b\n");
    }
}
