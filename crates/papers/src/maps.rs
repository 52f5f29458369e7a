//! Maps: what a scheme gains over another, over something that the paper does not print, with the places where the gain
//! changes its sign.

use minijinja::value::Value;
use serde_json::json;

use crate::break_even::BreakEven;
use crate::document::{MapText, Text};
use crate::error::Error;
use crate::gain::Gain;
use crate::language::{NOTHING, items, of_toml};
use crate::names::Names;
use crate::paper::Paper;
use crate::point::{Attributes, Measured, More, with};
use crate::tables::Section;

/// A map: panels over the same places.
#[derive(Clone, Debug, PartialEq)]
pub struct GainMap {
    /// Its title.
    pub title: String,
    /// What it shows, and why.
    pub about: String,
    /// What is divided by what: `Adaptive over Baseline`.
    pub ratio: String,
    /// What the places are.
    pub axis: String,
    /// Whether the axis is logarithmic.
    pub is_log: bool,
    /// The places, upwards.
    pub places: Vec<f64>,
    /// Its panels; those without a gain are left out.
    pub panels: Vec<MapPanel>,
}

/// A panel of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct MapPanel {
    /// Its title.
    pub title: String,
    /// Its lines.
    pub lines: Vec<MapLine>,
}

/// The gains of one workload.
#[derive(Clone, Debug, PartialEq)]
pub struct MapLine {
    /// Its name.
    pub name: String,
    /// One gain a place; none where it was not measured.
    pub gains: Vec<Option<Gain>>,
}

impl GainMap {
    /// Where a line's gain changes its sign, with intervals. One seed says nothing of chance, so it has none.
    pub fn break_evens(&self, line: &MapLine) -> Vec<BreakEven> {
        let ends = |gain: &Option<Gain>| {
            let Gain { typical, interval } = (*gain)?;
            interval.map(|(low, high)| [low, typical, high])
        };
        BreakEven::all(&self.places, &line.gains.iter().map(ends).collect::<Vec<_>>(), self.is_log)
    }

    /// A table for each panel.
    pub fn sections(&self) -> Vec<Section> {
        let places = self.places.iter().map(f64::to_string);
        let head: Vec<String> =
            [self.axis.clone()].into_iter().chain(places).chain(["break-even".to_owned()]).collect();
        let row = |line: &MapLine| {
            let gains = line.gains.iter().map(|gain| gain.map_or(NOTHING.to_owned(), Gain::text));
            let found: Vec<String> = self.break_evens(line).iter().map(shown).collect();
            let found = if found.is_empty() { NOTHING.to_owned() } else { found.join(", ") };
            [line.name.clone()].into_iter().chain(gains).chain([found]).collect()
        };
        let section = |panel: &MapPanel| {
            let panel_title = Some(&panel.title).filter(|title| !title.is_empty());
            let title = panel_title.map_or(self.title.clone(), |title| format!("{}: {title}", self.title));
            Section { title, head: head.clone(), rows: panel.lines.iter().map(row).collect(), left: Some(1) }
        };
        self.panels.iter().map(section).collect()
    }

    /// The same for programs: gains are shares.
    pub fn json(&self) -> serde_json::Value {
        let line = |line: &MapLine| {
            let of = |of: fn(&Gain) -> Option<f64>| -> Vec<Option<f64>> {
                line.gains.iter().map(|gain| gain.as_ref().and_then(of)).collect()
            };
            let found = self.break_evens(line);
            json!({
                "name": line.name,
                "gains": of(|gain| Some(gain.typical)),
                "low": of(|gain| gain.interval.map(|(low, _)| low)),
                "high": of(|gain| gain.interval.map(|(_, high)| high)),
                // Its former name, for one release: half of the interval.
                "margins": of(|gain| gain.interval.map(|(low, high)| (high - low) / 2.0)),
                "break_evens": found.iter().map(|it| it.place).collect::<Vec<_>>(),
                "break_even_intervals": found.iter().map(|it| it.interval).collect::<Vec<_>>(),
            })
        };
        let panel = |panel: &MapPanel| json!({ "title": panel.title, "lines": panel.lines.iter().map(line).collect::<Vec<_>>() });
        json!({
            "title": self.title,
            "ratio": self.ratio,
            "axis": self.axis,
            "places": self.places,
            "panels": self.panels.iter().map(panel).collect::<Vec<_>>(),
        })
    }
}

impl Paper {
    /// The maps of what several seeds measured, each all points. Maps without a gain are left out.
    ///
    /// # Errors
    /// What is wrong in the paper's file: an unknown column, a bad expression, places that do not rise, a gain that is no number.
    pub fn maps(&self, seeds: &[&[Measured]], more: &More<'_>) -> Result<Vec<GainMap>, Error> {
        let maps: Vec<GainMap> =
            self.document.map.iter().map(|map| self.map(map, seeds, more)).collect::<Result<_, _>>()?;
        Ok(maps.into_iter().filter(|map| !map.panels.is_empty()).collect())
    }

    fn map(&self, spec: &MapText, seeds: &[&[Measured]], more: &More<'_>) -> Result<GainMap, Error> {
        let constants = Names::value("name", self.constants.clone());
        let text = |text: &Text| self.language.line(text, &constants);
        let places = items(&self.language.expression(&spec.places, &constants)?);
        let places: Vec<f64> = places.iter().filter_map(|place| f64::try_from(place.clone()).ok()).collect();
        let rises = places.windows(2).all(|pair| pair[0] < pair[1]);
        if !rises || places.len() < 2 || spec.log && places[0] <= 0.0 {
            let reason = "write a list of two numbers or more, upwards; above 0 with `log`";
            return Err(self.language.error(&spec.places, reason));
        }
        let each = spec.each.as_ref().map_or(vec![None], |each| each.iter().map(Some).collect());
        let mut panels = Vec::new();
        for value in each {
            panels.push(self.panel(spec, value.map(of_toml), &places, seeds, more)?);
        }
        panels.retain(|panel: &MapPanel| !panel.lines.is_empty());
        Ok(GainMap {
            title: text(&spec.title)?,
            about: text(&spec.about)?,
            ratio: text(&spec.ratio)?,
            axis: text(&spec.axis)?,
            is_log: spec.log,
            places,
            panels,
        })
    }

    fn panel(
        &self,
        spec: &MapText,
        each: Option<Value>,
        places: &[f64],
        seeds: &[&[Measured]],
        more: &More<'_>,
    ) -> Result<MapPanel, Error> {
        let mut of_seeds = Vec::new();
        for measured in seeds {
            let mut names = self.names(measured, more)?;
            names.insert("points".to_owned(), self.select(spec.points.as_ref(), measured)?);
            names.extend(each.clone().map(|value| ("each".to_owned(), value)));
            of_seeds.push(names);
        }
        let first = Names::value("name", of_seeds[0].clone());
        let title =
            spec.panel.as_ref().map_or(Ok(String::new()), |panel| self.language.line(panel, &first))?;
        let mut lines = Vec::new();
        for line in items(&self.language.expression(&spec.lines, &first)?) {
            let of_line = |names: &Attributes| with(names, "line", line.clone());
            let name = self.language.line(&spec.name, &Names::value("name", of_line(&of_seeds[0])))?;
            let mut gains = Vec::new();
            for place in places {
                let mut seeds = Vec::new();
                for names in &of_seeds {
                    let names = with(&of_line(names), "place", (*place).into());
                    seeds.push(self.gain_of(&spec.gain, &Names::value("name", names))?);
                }
                let seeds: Option<Vec<f64>> = seeds.into_iter().collect();
                gains.push(seeds.and_then(|seeds| Gain::of(&seeds)));
            }
            lines.push(MapLine { name, gains });
        }
        // With `--rows` some of the points may be measured for other claims.
        lines.retain(|line| line.gains.iter().flatten().count() > 1);
        Ok(MapPanel { title, lines })
    }

    /// The number that an expression gives; none where it gives none.
    fn gain_of(&self, text: &Text, names: &Value) -> Result<Option<f64>, Error> {
        let value = self.language.expression(text, names)?;
        if value.is_none() {
            return Ok(None);
        }
        let number = f64::try_from(value.clone());
        number.map(Some).map_err(|_| self.language.error(text, format!("{value} is no number")))
    }
}

/// A break-even with its interval.
fn shown(found: &BreakEven) -> String {
    let (low, high) = (rounded(found.interval.0), rounded(found.interval.1));
    let place = rounded(found.place);
    if low == high { place } else { format!("{place} [{low}, {high}]") }
}

/// A place to two significant digits.
fn rounded(place: f64) -> String {
    let digits = 1 - place.abs().max(1e-9).log10().floor() as i32;
    let unit = 10f64.powi(digits);
    ((place * unit).round() / unit).to_string()
}
