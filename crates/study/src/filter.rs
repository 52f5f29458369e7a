//! `[[only]]` and `[[except]]`: partial points that a plan keeps or leaves out.

use stripewise_base::suggest;

use crate::axis::Axis;
use crate::choice::is_leaf;
use crate::error::Error;
use crate::text::{Item, Section};

/// A partial point.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    /// For each axis that it names: the axis, and whether it names each of its values.
    axes: Vec<(usize, Vec<bool>)>,
    /// The schemes that it names, a bit each.
    schemes: u64,
}

impl Filter {
    /// Reads one table.
    pub(crate) fn read(section: &Section<'_>, axes: &[Axis], schemes: &[String]) -> Result<Self, Error> {
        let mut filter = Self { axes: Vec::new(), schemes: u64::MAX };
        for item in section.items.iter().flat_map(|item| item.flat(&is_leaf)) {
            if item.key == "scheme" {
                let names: Vec<&str> = schemes.iter().map(String::as_str).collect();
                let places = places(&item, &names)?;
                filter.schemes = places.into_iter().fold(0, |mask, place| mask | 1 << place);
                continue;
            }
            let Some(at) = axes.iter().position(|axis| axis.key == item.key) else {
                let mut known: Vec<&str> = axes.iter().map(|axis| axis.key.as_str()).collect();
                known.push("scheme");
                return Err(item.refuse_key(suggest::unknown("axis", &item.key, &known)));
            };
            let shown: Vec<&str> = axes[at].values.iter().map(|value| value.shown.as_str()).collect();
            let mut named = vec![false; shown.len()];
            places(&item, &shown)?.into_iter().for_each(|place| named[place] = true);
            filter.axes.push((at, named));
        }
        Ok(filter)
    }

    /// The schemes that it names at a point, none if it does not name the point.
    pub(crate) fn schemes(&self, at: &[u32]) -> u64 {
        let matches = self.axes.iter().all(|(axis, named)| named[at[*axis] as usize]);
        if matches { self.schemes } else { 0 }
    }

    /// Its content, for the digest of a plan.
    pub(crate) fn canonical(&self) -> String {
        let named = |(axis, named): &(usize, Vec<bool>)| {
            let places = named.iter().enumerate().filter(|(_, named)| **named);
            let places: Vec<String> = places.map(|(place, _)| place.to_string()).collect();
            format!("{axis}:{}", places.join(","))
        };
        let axes: Vec<String> = self.axes.iter().map(named).collect();
        format!("{} {:x}", axes.join(" "), self.schemes)
    }
}

/// The places in `known` of the values of a list.
fn places(item: &Item<'_>, known: &[&str]) -> Result<Vec<usize>, Error> {
    let place = |value: &Item<'_>| {
        let name = match value.table() {
            Some(table) => table.get("trace").map(Item::string).transpose()?.unwrap_or_default(),
            None => value.plain()?,
        };
        let found = known.iter().position(|known| *known == name);
        found.ok_or_else(|| value.refuse(suggest::unknown(&format!("value of `{}`", item.key), &name, known)))
    };
    item.list().iter().map(place).collect()
}
