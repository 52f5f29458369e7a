//! Which format a text file is in, told from its first lines.
//!
//! Every format, in each variant that its lines show, tries the sample. It fits if it reads at least three quarters
//! of the lines (the rest may be damage), and scores 2 points a line that is typical of it, 1 if another format is
//! likelier. The highest score wins. A tie between a format and one that declares itself its twin (`same_as`: same
//! columns, same units, same requests) goes to the one earlier in the list, and a note says so; any other tie is an
//! error, because the two would yield different requests.

use super::{Chosen, Cursor, Entry, FORMATS, Format, FormatName, Separator, ends_field};

/// Lines that are looked at.
const SAMPLE: usize = 200;

/// A format, and what its choice left open.
#[derive(Debug)]
pub(crate) struct Detected {
    pub(crate) chosen: Chosen,
    pub(crate) note: Option<String>,
}

/// How one candidate fared.
struct Fit {
    chosen: Chosen,
    score: u32,
    fits: u32,
    lines: u32,
    /// The first line that it could not read: number, byte and what it wanted there.
    failure: Option<(usize, usize, &'static str)>,
}

/// Chooses the format of the whole lines in `sample`, or says why none was chosen.
pub(crate) fn detect(sample: &[u8]) -> Result<Detected, String> {
    let mut fits: Vec<Fit> = candidates().map(|chosen| try_format(chosen, sample)).collect();
    if fits.iter().all(|fit| fit.lines == 0) {
        return Err("the file holds no line of data".to_owned());
    }
    // Stable: equals stay in the order of the list.
    fits.sort_by_key(|fit| std::cmp::Reverse((fit.fits * 4 >= fit.lines * 3, fit.score)));
    let best = &fits[0];
    if best.fits * 4 < best.lines * 3 || best.fits == 0 {
        return Err(if is_table_of_sizes(sample) {
            TABLE_OF_SIZES.to_owned()
        } else {
            nearest(&fits, sample)
        });
    }
    let name = FormatName::new(best.chosen);
    let mut note = None;
    for other in fits[1..].iter().take_while(|fit| fit.score == best.score) {
        let format = other.chosen.format();
        if format.and_then(|format| format.same_as) != best.chosen.format().map(|format| format.name) {
            let other = FormatName::new(other.chosen);
            return Err(format!("{name} and {other} fit its first lines equally well"));
        }
        let twin = format.map_or("", |format| format.name);
        note = Some(format!("{twin} has the same columns and units: the requests are the same"));
    }
    let variants = best.chosen.format().map_or(&[][..], |format| format.variants);
    let hidden = variants.iter().filter(|variant| !variant.visible);
    let others: Vec<String> =
        hidden.map(|variant| format!("{} ({})", base(name, variant.name), variant.about)).collect();
    if !others.is_empty() {
        let text = format!("read as {name}; if not, name {}", others.join(" or "));
        note = Some(note.map_or(text.clone(), |note| format!("{text}; {note}")));
    }
    Ok(Detected { chosen: best.chosen, note })
}

fn base(name: FormatName, variant: &str) -> String {
    let text = name.to_string();
    format!("{}:{variant}", text.split(':').next().unwrap_or_default())
}

fn candidates() -> impl Iterator<Item = Chosen> {
    FORMATS.iter().enumerate().flat_map(|(format, entry)| {
        let variants = 0..entry.variants.len().max(1);
        let shown = move |&variant: &usize| entry.variants.get(variant).is_none_or(|variant| variant.visible);
        variants.filter(shown).map(move |variant| Chosen::Text { format, variant })
    })
}

/// The lines of a block without their line feeds.
fn lines(block: &[u8]) -> impl Iterator<Item = &[u8]> {
    block.split_inclusive(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\n").unwrap_or(line))
}

fn try_format(chosen: Chosen, sample: &[u8]) -> Fit {
    let mut fit = Fit { chosen, score: 0, fits: 0, lines: 0, failure: None };
    let (Some(mut reader), Some(format)) = (chosen.lines(), chosen.format()) else { return fit };
    let data = lines(sample).enumerate().filter(|(_, line)| !line.trim_ascii().is_empty());
    for (number, line) in data.filter(|(_, line)| !is_header(line, format)).take(SAMPLE) {
        fit.lines += 1;
        let mut cursor = Cursor::new(line);
        match reader.whole_record(&mut cursor) {
            Ok(Entry::Header) => fit.lines -= 1,
            Ok(Entry::Event) => {
                fit.fits += 1;
                fit.score += 2;
            }
            Ok(Entry::Request(_)) => {
                fit.fits += 1;
                fit.score += reader.typical(line);
            }
            Err(expected) if fit.failure.is_none() => fit.failure = Some((number, cursor.at(), expected)),
            Err(_) => {}
        }
    }
    fit
}

/// Alibaba's other file, which is easily taken for the trace.
const TABLE_OF_SIZES: &str = "its lines hold two numbers each, as Alibaba's device_size.csv (volume, capacity), which is \
                              no trace: give io_traces.csv";

fn is_table_of_sizes(sample: &[u8]) -> bool {
    let number = |field: &[u8]| !field.is_empty() && field.iter().all(u8::is_ascii_digit);
    let mut data = lines(sample).map(<[u8]>::trim_ascii).filter(|line| !line.is_empty()).take(SAMPLE);
    data.all(|line| {
        line.split(|&byte| byte == b',').count() == 2 && line.split(|&byte| byte == b',').all(number)
    })
}

/// The format that came nearest, and where it failed: the likeliest thing to help.
fn nearest(fits: &[Fit], sample: &[u8]) -> String {
    let failed = fits.iter().filter_map(|fit| fit.failure.map(|failure| (fit, failure)));
    let Some((fit, (number, at, expected))) = failed.max_by_key(|(fit, (_, at, _))| (fit.fits, *at)) else {
        return "no format fits its first lines".to_owned();
    };
    format!(
        "no format fits its first lines; {} comes nearest, and fails at line {}, column {}: expected {expected}, \
         found `{}`",
        FormatName::new(fit.chosen),
        number + 1,
        at + 1,
        found(lines(sample).nth(number).unwrap_or_default(), at)
    )
}

/// Whether `line` names columns: as many fields as the format has, each with a letter and none with a digit.
pub(crate) fn is_header(line: &[u8], format: &Format) -> bool {
    if line.iter().any(u8::is_ascii_digit) {
        return false;
    }
    let names = |field: &[u8]| field.iter().any(u8::is_ascii_alphabetic);
    let line = line.trim_ascii();
    match format.separator {
        Separator::Comma => {
            let fields = line.split(|&byte| byte == b',');
            fields.clone().all(names) && fields.count() >= format.fields
        }
        Separator::None => false,
        Separator::Blanks => {
            let fields = line.split(|&byte| ends_field(byte)).filter(|field| !field.is_empty());
            fields.clone().all(names) && fields.count() >= format.fields
        }
    }
}

/// The field of `line` that begins at byte `at`, made fit to print.
pub(crate) fn found(line: &[u8], at: usize) -> String {
    let rest = line.get(at..).unwrap_or_default();
    let rest = rest.trim_ascii();
    if rest.is_empty() {
        return "end of line".to_owned();
    }
    let length = rest.iter().skip(1).position(|&byte| ends_field(byte)).map_or(rest.len(), |end| end + 1);
    let mut text = rest[..length.min(40)].escape_ascii().to_string();
    if length > 40 {
        text.push('…');
    }
    text
}
