//! Bars of text.

/// Eighths of a character cell.
const PARTS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/// A bar for `share` of the whole, at most `width` characters long. A share above zero shows at least one eighth.
pub(crate) fn bar(share: f64, width: usize) -> String {
    let eighths = (share.clamp(0.0, 1.0) * (width * 8) as f64).ceil() as usize;
    let mut text = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        text.push(PARTS[eighths % 8]);
    }
    text
}

/// The area below a curve of `heights`, one a column and each a share of the whole height, as `rows` lines from the
/// top down. A height above zero is visible.
pub(crate) fn area(heights: &[f64], rows: usize) -> Vec<String> {
    const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let eighths = |height: &f64| (height.clamp(0.0, 1.0) * (rows * 8) as f64).ceil() as usize;
    let row = |row: usize| {
        let below = (rows - 1 - row) * 8;
        heights.iter().map(|height| LEVELS[eighths(height).saturating_sub(below).min(8)]).collect()
    };
    (0..rows).map(row).collect()
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

    #[test]
    fn an_area_is_as_high_as_its_share_and_shows_the_least() {
        assert_eq!(area(&[0.0, 1e-9, 0.5, 0.75, 1.0], 2), ["   ▄█", " ▁███"]);
        assert!(area(&[], 3).iter().all(String::is_empty));
    }
}
