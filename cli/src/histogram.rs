//! Bars of text.

/// Eighths of a character cell.
const PARTS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/// A bar for `share` of the whole, at most `width` characters long. What is not zero is seen.
pub(crate) fn bar(share: f64, width: usize) -> String {
    let eighths = (share.clamp(0.0, 1.0) * (width * 8) as f64).ceil() as usize;
    let mut text = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        text.push(PARTS[eighths % 8]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        assert_eq!(bar(0.0, 10), "");
        assert_eq!(bar(1.0, 10), "█".repeat(10));
        assert_eq!(bar(0.5, 3), "█▌");
        assert_eq!(bar(1e-9, 10), "▏");
        assert_eq!(bar(7.0, 2), "██");
    }
}
