//! Former names of options, which are accepted for one release with a remark.

use std::ffi::OsString;

/// Options: the former name and the present one. clap knows the former ones as aliases.
const OPTIONS: [(&str, &str); 2] = [("--elements", "--members"), ("-e", "--members")];

/// A remark for each former name among `arguments`.
pub(crate) fn remarks(arguments: &[OsString]) -> Vec<String> {
    let options = arguments.iter().skip(1).take_while(|argument| *argument != "--");
    let texts: Vec<&str> = options.filter_map(|argument| argument.to_str()).collect();
    let is_given = |name: &str| {
        let rest = texts.iter().filter_map(|text| text.strip_prefix(name));
        // A value follows a long option after `=`, a short one at once.
        rest.into_iter().any(|rest| rest.is_empty() || !name.starts_with("--") || rest.starts_with('='))
    };
    let former = OPTIONS.into_iter().filter(|(former, _)| is_given(former));
    former.map(|(former, present)| stripewise_base::renamed::remark(former, present)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remarks_on(line: &str) -> Vec<String> {
        remarks(&line.split(' ').map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn a_former_name_has_a_remark_however_its_value_is_given() {
        for line in ["run --elements ssd:4", "run --elements=ssd:4", "run --elements ssd:4 --elements ssd:5"]
        {
            let remark = "`--elements` is now `--members`; the next release will refuse the former name";
            assert_eq!(remarks_on(&format!("stripewise {line}")), [remark], "{line}");
        }
        for line in ["run -e ssd:4", "run -essd:4"] {
            assert_eq!(remarks_on(&format!("stripewise {line}")).len(), 1, "{line}");
        }
    }

    #[test]
    fn other_words_have_none() {
        for line in ["run --members ssd:4", "run -m ssd:4", "run -- --elements", "run --elementsish 3"] {
            assert!(remarks_on(&format!("stripewise {line}")).is_empty(), "{line}");
        }
    }
}
