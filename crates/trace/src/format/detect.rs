//! Detects the format of a text file from its first lines.
//!
//! Every format, in each variant that its lines show, tries to read the sample. It fits if it reads at least three
//! quarters of the lines (the rest may be damage). It scores 2 points for each line that it reads, and 1 if the file is
//! untypical of it, as where times are whole numbers and the format's own are decimal. The highest score wins. In a tie
//! between a format and its declared twin (`same_as`: same columns, same units, same requests) the format earlier in
//! the list wins, and a note reports that. Any other tie is an error, because the two would yield different requests.
//! A file that is untypical of the only format that fits, or implausible in it, is an error too: its units are not
//! sure. Where the variants of a format are stages of requests, the first stage that has requests is taken.

use std::cmp::Reverse;

use super::likely::Likely;
use super::plausible::{absurd_rate, records};
use super::undetected::Undetected;
use super::{
    Chosen, Cursor, Entry, FORMATS, Format, FormatName, Separator, Variant, columns, ends_field, quotes,
};

/// Lines in the sample.
const SAMPLE: usize = 200;

/// A format, and the questions that its choice left open.
#[derive(Debug)]
pub(crate) struct Detected {
    pub(crate) chosen: Chosen,
    pub(crate) note: Option<String>,
}

/// The score of one candidate.
struct Fit {
    chosen: Chosen,
    score: u32,
    fits: u32,
    lines: u32,
    /// Why another format is likelier, if the file is untypical of this one.
    untypical: Option<&'static str>,
    /// The first line that it could not read: number, byte and the expected content.
    failure: Option<(usize, usize, &'static str)>,
}

/// Chooses the format of the whole lines in `block`, or returns why none was chosen.
///
/// Columns with obvious names are read by their names, unless a format reads the same requests or they leave units open.
pub(crate) fn detect(block: &[u8]) -> Result<Detected, Undetected> {
    let by_format = detect_format(block);
    match columns::detect::detect(block) {
        None => by_format,
        Some(Err(unclear)) => by_format.map_err(|_| unclear),
        Some(Ok(by_name)) => match by_format {
            Ok(format) if columns::detect::agree(format.chosen, by_name.chosen, block) => Ok(format),
            _ => Ok(Detected { chosen: by_name.chosen, note: Some(by_name.note) }),
        },
    }
}

/// Chooses among the formats.
fn detect_format(block: &[u8]) -> Result<Detected, Undetected> {
    let mut fits: Vec<Fit> = candidates().map(|chosen| try_format(chosen, block)).collect();
    if fits.iter().all(|fit| fit.lines == 0) {
        let reason = "the file holds no line of data".to_owned();
        let remedy = "record the trace, or fetch it, again".to_owned();
        return Err(Undetected { reason, remedy });
    }
    // The sort is stable: equals stay in the order of the list.
    fits.sort_by_key(|fit| Reverse((fit.fits * 4 >= fit.lines * 3, fit.score)));
    let best = &fits[0];
    if best.fits * 4 < best.lines * 3 || best.fits == 0 {
        return Err(none_fits(&mut fits, block));
    }
    let name = FormatName::new(best.chosen);
    let mut note = None;
    for other in fits[1..].iter().take_while(|fit| fit.score == best.score) {
        let format = other.chosen.format();
        if format.and_then(|format| format.same_as) != best.chosen.format().map(|format| format.name) {
            let other = FormatName::new(other.chosen);
            let reason = format!("{name} and {other} fit its first lines equally well");
            return Err(Undetected { reason, remedy: format!("name one with --format: {name} or {other}") });
        }
        let twin = format.map_or("", |format| format.name);
        note = Some(format!("{twin} has the same columns and units: the requests are the same"));
    }
    if let Some(why) = best.untypical {
        let reason = format!("it can be read as {name}, but {why}");
        let remedy = format!(
            "name {name} with --format if that is right, or the columns and their units with --columns"
        );
        return Err(Undetected { reason, remedy });
    }
    let chosen = stage(best.chosen, block);
    let others: Vec<String> = possible(chosen, block)?
        .iter()
        .map(|(other, about)| format!("{} ({about})", FormatName::new(*other)))
        .collect();
    let mut text = if chosen == best.chosen {
        format!("read as {name}")
    } else {
        format!("its first lines hold no request for {name}: read as {}", FormatName::new(chosen))
    };
    if !others.is_empty() {
        text += &format!("; if not, name {}", others.join(" or "));
    }
    if chosen != best.chosen || !others.is_empty() {
        note = Some(note.map_or(text.clone(), |note| format!("{text}; {note}")));
    }
    Ok(Detected { chosen, note })
}

/// The first stage that has requests in `block`, if the variants of the format of `chosen` are stages of requests;
/// otherwise `chosen`.
fn stage(chosen: Chosen, block: &[u8]) -> Chosen {
    let Chosen::Text { format, .. } = chosen else { return chosen };
    if !FORMATS[format].has_stages() {
        return chosen;
    }
    let mut stages = (0..FORMATS[format].variants.len()).map(|variant| Chosen::Text { format, variant });
    stages.find(|stage| !records(*stage, block).is_empty()).unwrap_or(chosen)
}

/// The variants, other than `chosen`, that `block` may have and does not show, each with its meaning.
///
/// Read as `chosen`, the block is plausible; otherwise an error explains why it is not, and which variants to name.
fn possible(chosen: Chosen, block: &[u8]) -> Result<Vec<(Chosen, &'static str)>, Undetected> {
    let sample = |chosen: Chosen| Some((records(chosen, block), chosen.lines()?));
    let has_stages = chosen.format().is_some_and(Format::has_stages);
    let rate = |chosen: Chosen| {
        let (records, lines) = sample(chosen)?;
        absurd_rate(&records, lines.tick_ns())
    };
    let name = FormatName::new(chosen);
    let refused = |why: String, remedies: Vec<(Chosen, &'static str)>| {
        let mut names: Vec<String> =
            remedies.iter().map(|(other, about)| format!("{} ({about})", FormatName::new(*other))).collect();
        names.push(format!("{name} if that is right"));
        let columns = if remedies.is_empty() { "; other units are read with --columns" } else { "" };
        Undetected {
            reason: format!("read as {name}, {why}"),
            remedy: format!("name the unit with --format: {}{columns}", names.join(", or ")),
        }
    };
    if let Some((why, remedy)) = sample(chosen).and_then(|(records, lines)| lines.implausible(&records)) {
        return Err(Undetected { reason: format!("read as {name}, {why}"), remedy });
    }
    if let Some(bytes) = rate(chosen) {
        let remedies = hidden(chosen).filter(|(other, _)| rate(*other).is_none()).collect();
        let gigabytes = bytes / 1e9;
        return Err(refused(
            format!("its times make {gigabytes:.1} GB/s on each volume, which no device takes"),
            remedies,
        ));
    }
    let mut others = Vec::new();
    for (other, about) in hidden(chosen).filter(|(other, _)| *other != chosen) {
        let Some((records, lines)) = sample(other) else { continue };
        if has_stages && records.is_empty() {
            continue;
        }
        match lines.likely(&records) {
            Likely::No => {}
            Likely::Maybe => others.push((other, about)),
            Likely::Rather(why) => return Err(refused(why.to_owned(), vec![(other, about)])),
        }
    }
    Ok(others)
}

/// The variants of the format of `chosen` that its lines do not show, each with its meaning.
fn hidden(chosen: Chosen) -> impl Iterator<Item = (Chosen, &'static str)> {
    let (format, variants): (usize, &'static [Variant]) = match chosen {
        Chosen::Text { format, .. } => (format, FORMATS[format].variants),
        _ => (0, &[]),
    };
    let hidden = variants.iter().enumerate().filter(|(_, variant)| !variant.visible);
    hidden.map(move |(variant, its)| (Chosen::Text { format, variant }, its.about))
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
    let mut fit = Fit { chosen, score: 0, fits: 0, lines: 0, untypical: None, failure: None };
    let (mut requests, mut typical) = (0, 0);
    let (Some(mut reader), Some(format)) = (chosen.lines(), chosen.format()) else { return fit };
    let plain = quotes::plain_lines(chosen, sample);
    let data = lines(&plain).enumerate().filter(|(_, line)| !line.trim_ascii().is_empty());
    for (number, line) in data.filter(|(_, line)| !is_header(line, format)).take(SAMPLE) {
        fit.lines += 1;
        let mut cursor = Cursor::new(line);
        match reader.whole_record(&mut cursor) {
            Ok(Entry::Header) => fit.lines -= 1,
            Ok(Entry::Event) => fit.fits += 1,
            Ok(Entry::Request(_)) => {
                fit.fits += 1;
                requests += 1;
                typical += u32::from(reader.is_typical(line));
            }
            Err(expected) if fit.failure.is_none() => fit.failure = Some((number, cursor.at(), expected)),
            Err(_) => {}
        }
    }
    if requests > 0 {
        fit.untypical = reader.untypical(typical, requests);
    }
    fit.score = fit.fits * if fit.untypical.is_none() { 2 } else { 1 };
    fit
}

/// The other file of Alibaba's traces, which is easily taken for the trace.
const TABLE_OF_SIZES: &str = "its lines hold two numbers each, as Alibaba's device_size.csv (volume, capacity), which is \
                              no trace: give io_traces.csv";

fn is_table_of_sizes(sample: &[u8]) -> bool {
    let number = |field: &[u8]| !field.is_empty() && field.iter().all(u8::is_ascii_digit);
    let mut data = lines(sample).map(<[u8]>::trim_ascii).filter(|line| !line.is_empty()).take(SAMPLE);
    data.all(|line| {
        line.split(|&byte| byte == b',').count() == 2 && line.split(|&byte| byte == b',').all(number)
    })
}

/// The number of formats that the error lists where none fits.
const LIKELIEST: usize = 3;

/// The failure of the format that came nearest, and the likeliest formats.
fn none_fits(fits: &mut [Fit], sample: &[u8]) -> Undetected {
    if is_table_of_sizes(sample) {
        let remedy = "device_size.csv is read by no format".to_owned();
        return Undetected { reason: TABLE_OF_SIZES.to_owned(), remedy };
    }
    // By the number of lines that fit; then, for the first line that does not, by its number of fields and by how
    // much of it fits.
    fits.sort_by_key(|fit| {
        let (number, at, _) = fit.failure.unwrap_or_default();
        let line = lines(sample).nth(number).unwrap_or_default();
        let lacking = fit.chosen.format().map_or(usize::MAX, |format| lacking(line, format));
        (Reverse(fit.fits), lacking, Reverse(at))
    });
    let mut likeliest: Vec<&Fit> = Vec::new();
    for fit in fits.iter().filter(|fit| fit.failure.is_some()) {
        let format = fit.chosen.format();
        let is_new = likeliest.iter().all(|other| {
            let other = other.chosen.format().map(|other| other.name);
            format.is_some_and(|format| other != Some(format.name) && other != format.same_as)
        });
        if is_new && likeliest.len() < LIKELIEST {
            likeliest.push(fit);
        }
    }
    let names: Vec<String> = likeliest.iter().map(|fit| FormatName::new(fit.chosen).to_string()).collect();
    let reason = match likeliest.first().and_then(|fit| fit.failure) {
        None => "no format fits its first lines".to_owned(),
        Some((number, at, expected)) => format!(
            "no format fits its first lines; {} comes nearest, and fails at line {}, column {}: expected {expected}, \
             found `{}`",
            names[0],
            number + 1,
            at + 1,
            found(lines(sample).nth(number).unwrap_or_default(), at)
        ),
    };
    let remedy = format!(
        "name the format with --format (the likeliest: {}; `stripewise trace formats` lists all), or the columns with \
         --columns",
        names.join(", ")
    );
    Undetected { reason, remedy }
}

/// The difference between the numbers of fields of `line` and of a line of `format`.
fn lacking(line: &[u8], format: &Format) -> usize {
    let fields = match format.separator {
        Separator::Comma => line.split(|&byte| byte == b',').count(),
        Separator::Blanks | Separator::None => {
            line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty()).count()
        }
    };
    fields.abs_diff(format.fields)
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

/// The field of `line` that begins at byte `at`, in printable form.
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
