//! The registry of features that an array may use and that not every program knows. `docs/design/format.md`, "Features".

use std::fmt::{Display, Formatter, Result};

use serde::Serialize;

use super::list::List;

/// How a program treats an array with a feature that the program does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureClass {
    /// The program assembles the array as if the feature were not there.
    Compatible,
    /// The program reads the array but does not write it.
    ReadOnly,
    /// The program refuses the array.
    Incompatible,
}

/// A line of the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feature {
    /// The class, which selects one of the three words.
    pub class: FeatureClass,
    /// The number of the bit in that word.
    pub bit: u8,
    /// The name of the feature.
    pub name: &'static str,
    /// Whether this program implements the feature. For other features, only place and bit are reserved.
    pub is_known: bool,
}

/// All features with a bit and a name. A bit is never reused for another feature.
pub const FEATURES: [Feature; 13] = {
    use FeatureClass::{Compatible, Incompatible, ReadOnly};
    [
        Feature { class: Incompatible, bit: 0, name: "late-parity", is_known: true },
        Feature { class: Incompatible, bit: 1, name: "covered-versions", is_known: false },
        Feature { class: Incompatible, bit: 2, name: "segment-geometry", is_known: false },
        Feature { class: Incompatible, bit: 3, name: "shards", is_known: false },
        Feature { class: Incompatible, bit: 4, name: "member-roles", is_known: false },
        Feature { class: Incompatible, bit: 5, name: "one-round", is_known: false },
        Feature { class: Incompatible, bit: 6, name: "partial-parity", is_known: false },
        Feature { class: Incompatible, bit: 7, name: "cache-log", is_known: false },
        Feature { class: Incompatible, bit: 8, name: "move-map", is_known: false },
        Feature { class: Incompatible, bit: 9, name: "parity-log", is_known: false },
        Feature { class: Incompatible, bit: 10, name: "no-parity-metadata", is_known: false },
        Feature { class: ReadOnly, bit: 0, name: "text-area", is_known: false },
        Feature { class: Compatible, bit: 0, name: "serving-chain", is_known: true },
    ]
};

/// The features that an array uses, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Features {
    /// Features that a program may ignore if it does not know them.
    pub compatible: u64,
    /// Features that allow a program that does not know them to read the array, but not to write it.
    pub read_only: u64,
    /// Features that a program must know.
    pub incompatible: u64,
}

impl Features {
    /// Incompatible: records of the redo journal may have the old content that deferred parity covers.
    pub const LATE_PARITY: u64 = 1;
    /// Compatible: superblocks identify the serving, and say why members failed and whether they are whole.
    pub const SERVING_CHAIN: u64 = 1;

    /// The features of a class that this program does not know.
    pub fn unknown(&self, class: FeatureClass) -> Bits {
        let bits = match class {
            FeatureClass::Compatible => self.compatible,
            FeatureClass::ReadOnly => self.read_only,
            FeatureClass::Incompatible => self.incompatible,
        };
        let known = FEATURES.iter().filter(|its| its.class == class && its.is_known);
        let bits = known.fold(bits, |bits, its| bits & !(1 << its.bit));
        Bits { class, bits }
    }
}

/// Features of one class. They are printed by name, or by the number of the bit if the name is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bits {
    /// The class.
    pub class: FeatureClass,
    /// One bit for each feature.
    pub bits: u64,
}

impl Bits {
    /// Whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.bits == 0
    }
}

impl Display for Bits {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let name =
            |bit: &u32| FEATURES.iter().find(|its| its.class == self.class && u32::from(its.bit) == *bit);
        let bits = (0..u64::BITS).filter(|bit| self.bits >> bit & 1 == 1);
        let all = bits.map(|bit| match name(&bit) {
            Some(feature) => format!("`{}`", feature.name),
            None => format!("bit {bit}"),
        });
        let all: Vec<String> = all.collect();
        let one = if all.len() == 1 { "feature" } else { "features" };
        write!(f, "{one} {}", List(all.iter()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_features_share_a_bit_or_a_name() {
        for (nth, one) in FEATURES.iter().enumerate() {
            for other in &FEATURES[..nth] {
                assert!(
                    (one.class != other.class || one.bit != other.bit) && one.name != other.name,
                    "{one:?}"
                );
            }
        }
    }

    #[test]
    fn features_are_reported_by_name_where_one_is_known() {
        let all = Features { compatible: 1 << 17, read_only: 1, incompatible: 0b11 | 1 << 40 };
        let names = |class| all.unknown(class).to_string();
        assert_eq!(names(FeatureClass::Incompatible), "features `covered-versions`, bit 40");
        assert_eq!(names(FeatureClass::ReadOnly), "feature `text-area`");
        assert_eq!(names(FeatureClass::Compatible), "feature bit 17");
        assert_eq!(
            Bits { class: FeatureClass::Incompatible, bits: 1 << 7 }.to_string(),
            "feature `cache-log`"
        );
        let known = Features { incompatible: Features::LATE_PARITY, ..Features::default() };
        assert!(known.unknown(FeatureClass::Incompatible).is_empty());
    }

    /// The table of `docs/design/format.md` has a row for each feature, with the same meaning.
    #[test]
    fn the_registry_is_that_of_the_document() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/design/format.md");
        let document = std::fs::read_to_string(path).expect("the document lies beside the code");
        for Feature { class, bit, name, is_known } in FEATURES {
            let class = match class {
                FeatureClass::Compatible => "compatible",
                FeatureClass::ReadOnly => "read-only compatible",
                FeatureClass::Incompatible => "incompatible",
            };
            let state = if is_known { "in use" } else { "reserved" };
            let row = format!("| {class} | {bit} | `{name}` | {state} |");
            assert!(document.contains(&row), "docs/design/format.md has no row \"{row}\"");
        }
    }
}
