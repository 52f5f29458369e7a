//! Writes SVG, and escapes foreign text for SVG and HTML.

use std::fmt::Write as _;

use super::look::Look;

/// `text` as content or attribute value of HTML and SVG. Characters that XML does not allow become the replacement
/// character.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(letter),
            _ if letter.is_control() || is_direction(letter) => escaped.push('\u{FFFD}'),
            _ => escaped.push(letter),
        }
    }
    escaped
}

/// Characters that change the direction of the text around them, and could make a name look like another.
fn is_direction(letter: char) -> bool {
    matches!(letter, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// The alignment of a text relative to its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// The plot area of a drawing, and its axes as the page's script reads them.
pub(crate) struct Plot {
    /// Left, top, right and bottom.
    pub(crate) area: [f64; 4],
    pub(crate) across: String,
    pub(crate) upward: String,
    /// Whether readers look for the horizontal value at a height, as in a distribution.
    pub(crate) is_level: bool,
}

/// An unfinished drawing.
pub(crate) struct Svg {
    width: f64,
    height: f64,
    body: String,
}

impl Svg {
    pub(crate) fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new() }
    }

    fn push(&mut self, arguments: std::fmt::Arguments<'_>) {
        self.body.write_fmt(arguments).expect("a string takes all");
    }

    pub(crate) fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        self.push(format_args!(
            r#"<line class="{class}" x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}"/>"#
        ));
    }

    pub(crate) fn text(&mut self, class: &str, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = escape(text);
        self.push(format_args!(
            r#"<text class="{class}" x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{text}</text>"#
        ));
    }

    /// A slanted text that rises to its position and ends there.
    pub(crate) fn slanted(&mut self, (x, y): (f64, f64), text: &str) {
        let text = escape(text);
        self.push(format_args!(
            r#"<text class="label" transform="translate({x:.1} {y:.1}) rotate(-35)" text-anchor="end">{text}</text>"#
        ));
    }

    /// Begins the marks in the plot area, which zooming moves.
    pub(crate) fn begin_marks(&mut self) {
        self.body.push_str(r#"<g class="plot">"#);
    }

    /// Ends the marks.
    pub(crate) fn end_marks(&mut self) {
        self.body.push_str("</g>");
    }

    /// Begins a group of marks of one series, with the tooltip `tip`.
    pub(crate) fn begin_series(&mut self, look: Look, tip: &str) {
        let tip = if tip.is_empty() { String::new() } else { format!("<title>{}</title>", escape(tip)) };
        self.push(format_args!(r#"<g data-s="{}">{tip}"#, look.0));
    }

    /// Ends the group.
    pub(crate) fn end_series(&mut self) {
        self.body.push_str("</g>");
    }

    /// A filled box in the look of its series, whose hatch lies over it.
    pub(crate) fn rect(&mut self, look: Look, place: [f64; 4]) {
        let [x, y, width, height] = place;
        let place = format!(r#"x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}""#);
        self.push(format_args!(r#"<rect class="{}" {place}/>"#, look.fill()));
        if let Some(hatch) = look.hatch() {
            self.push(format_args!(r#"<rect fill="url(#hatch-{hatch})" {place}/>"#));
        }
    }

    /// A line through points, with the tooltip `tip`. A point that is no number interrupts it.
    pub(crate) fn path(&mut self, class: &str, points: &[(f64, f64)], tip: &str) {
        self.push(format_args!(r#"<g class="{class}"><title>{}</title><path d=""#, escape(tip)));
        let mut is_down = false;
        for (x, y) in points {
            if !(x.is_finite() && y.is_finite()) {
                is_down = false;
                continue;
            }
            let command = if is_down { 'L' } else { 'M' };
            self.push(format_args!("{command}{x:.1} {y:.1}"));
            is_down = true;
        }
        self.body.push_str(r#""/></g>"#);
    }

    /// The area between two heights at each place, in the look of its series. A place without a number interrupts it.
    pub(crate) fn band(&mut self, look: Look, ends: &[(f64, f64, f64)]) {
        let is_number = |(_, low, high): &(f64, f64, f64)| low.is_finite() && high.is_finite();
        for part in ends.split(|end| !is_number(end)).filter(|part| part.len() > 1) {
            self.push(format_args!(r#"<path class="band {}" d=""#, look.fill()));
            let there = part.iter().map(|&(x, _, high)| (x, high));
            let back = part.iter().rev().map(|&(x, low, _)| (x, low));
            for (at, (x, y)) in there.chain(back).enumerate() {
                let command = if at == 0 { 'M' } else { 'L' };
                self.push(format_args!("{command}{x:.1} {y:.1}"));
            }
            self.body.push_str(r#""/>"#);
        }
    }

    /// Adds text that is SVG already.
    pub(crate) fn raw(&mut self, svg: &str) {
        self.body.push_str(svg);
    }

    /// The drawing, with a title and a description for screen readers. `id` is unique in the page.
    pub(crate) fn finish(self, id: &str, title: &str, description: &str, plot: &Plot) -> String {
        let [left, top, right, bottom] = plot.area;
        let read = if plot.is_level { r#" data-read="level""# } else { "" };
        let axes = format!(
            r#" data-plot="{left:.1} {top:.1} {right:.1} {bottom:.1}" data-x="{}" data-y="{}"{read}"#,
            escape(&plot.across),
            escape(&plot.upward)
        );
        self.finish_with(id, title, description, &axes)
    }

    /// The drawing, which the page's script leaves as it is.
    pub(crate) fn finish_still(self, id: &str, title: &str, description: &str) -> String {
        self.finish_with(id, title, description, "")
    }

    fn finish_with(self, id: &str, title: &str, description: &str, axes: &str) -> String {
        let Self { width, height, body } = self;
        let (title, description) = (escape(title), escape(description));
        // A wide drawing scrolls on a phone instead of shrinking to nothing; none grows beyond a readable text size.
        let least = if width > super::WIDTH { width * 0.8 } else { 0.0 };
        let size = format!("min-width:{least:.0}px;max-width:{:.0}px", width * 1.35);
        let label = format!(r#"role="img" aria-labelledby="{id}-t {id}-d""#);
        let labels = format!(r#"<title id="{id}-t">{title}</title><desc id="{id}-d">{description}</desc>"#);
        let wide = if width > super::WIDTH * 1.1 { " wide" } else { "" };
        let view = format!(r#"viewBox="0 0 {width:.0} {height:.0}""#);
        format!(
            r#"<svg class="chart{wide}" id="{id}" {view} style="{size}" {label}{axes}>{labels}{body}</svg>"#
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_is_markup() {
        let text = escape("<script>alert('a&b')</script>\"\u{202E}\u{0}");
        assert!(!text.contains(['<', '>', '"', '\'', '\u{202E}', '\u{0}']), "{text}");
        assert_eq!(escape("a<b & \"c\""), "a&lt;b &amp; &quot;c&quot;");
        let mut svg = Svg::new(10.0, 10.0);
        svg.text("t", (0.0, 0.0), Anchor::Start, "</text><script>");
        svg.begin_series(Look(0), "</title><script>");
        svg.rect(Look(0), [0.0; 4]);
        svg.end_series();
        svg.path("p", &[(0.0, 0.0)], "</title><script>");
        svg.slanted((0.0, 0.0), "<script>");
        let plot = Plot {
            area: [0.0; 4],
            across: "<script>".to_owned(),
            upward: "\"><script>".to_owned(),
            is_level: true,
        };
        assert!(!svg.finish("a", "<script>", "<script>", &plot).contains("<script"));
    }
}
