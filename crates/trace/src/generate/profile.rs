//! The trace of a profile, built in or from a file; a built-in profile may itself be a generator.

use std::path::Path;
use std::sync::Arc;

use super::Generator;
use super::keys::{Key, Keys};
use super::recipe::{About, Recipe};
use crate::TraceError;
use crate::profile::{Builtin, Profile, find};

pub(super) const ABOUT: About = About {
    name: "profile",
    summary: "a trace with the statistics of a profile: of a paper's table, or of a measured trace",
    example: "profile:name=paper000/hm_0,requests=100k",
    keys: &[
        Key { name: "name", default: "none", help: "a built-in profile such as `paper000/hm_0`" },
        Key { name: "file", default: "none", help: "a profile's file such as `my.toml`, instead of a name" },
        Key { name: "requests", default: "profile", help: "how many; `profile`: as the profile says" },
    ],
    build,
};

fn build(keys: &Keys) -> Result<Arc<dyn Recipe>, TraceError> {
    let requests = match keys.text("requests") {
        "profile" => None,
        _ => Some(keys.count("requests")?),
    };
    let run = |profile: &Profile| -> Result<Arc<dyn Recipe>, TraceError> {
        Ok(Arc::new(profile.recipe(requests)?))
    };
    match (keys.text("name"), keys.text("file")) {
        ("none", "none") => Err(keys.fail("name", "give the `name` of a built-in profile, or a `file`")),
        ("none", file) => run(&Profile::read(Path::new(file))?),
        (name, "none") => match find(name).map_err(|error| keys.fail("name", error))? {
            Builtin { profile: Some(profile), .. } => run(&profile),
            Builtin { generator, .. } => {
                if requests.is_some() {
                    return Err(
                        keys.fail("requests", format!("`{name}` is a generator; use `{generator}` itself"))
                    );
                }
                Ok(generator.parse::<Generator>()?.recipe)
            }
        },
        _ => Err(keys.fail("file", "a profile comes from a `name` or from a `file`, not from both")),
    }
}
