//! Quantities are read exactly and printed shortest, and errors include the remedy.

use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use stripewise_base::units::{Bytes, Count, Span, UnitError, parse_bytes, parse_count, parse_duration};

#[test]
fn sizes_are_read_exactly() {
    for (text, bytes) in [
        ("4KiB", 4096),
        ("1GiB", 1 << 30),
        ("1.5KiB", 1536),
        ("0.5MiB", 524_288),
        ("480GB", 480_000_000_000),
        ("512B", 512),
        (" 8 KiB ", 8192),
        ("0", 0),
        ("0.0", 0),
        ("18446744073709551615B", u64::MAX),
    ] {
        assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
    }
}

#[test]
fn spans_are_read_exactly() {
    for (text, nanos) in [
        ("25us", 25_000),
        ("25µs", 25_000),
        ("3.5ms", 3_500_000),
        ("1s", 1_000_000_000),
        ("0.000000001s", 1),
        ("1.5h", 5_400_000_000_000),
        ("2d", 172_800_000_000_000),
        ("4y", 126_230_400_000_000_000),
        ("10min", 600_000_000_000),
        ("0", 0),
    ] {
        assert_eq!(parse_duration(text), Ok(nanos), "{text}");
    }
}

#[test]
fn counts_may_be_bare_or_carry_a_suffix() {
    for (text, count) in
        [("3M", 3_000_000), ("250k", 250_000), ("2.5M", 2_500_000), ("17", 17), ("1G", 1_000_000_000)]
            .into_iter()
            .chain([("1e6", 1_000_000), ("2.5E3", 2_500), ("1e+2", 100), ("3e0", 3), ("0e9", 0)])
    {
        assert_eq!(parse_count(text), Ok(count), "{text}");
    }
}

#[test]
fn errors_say_what_is_wrong_and_what_would_be_right() {
    for (error, says) in [
        (parse_bytes("4096"), "`4096` has no unit; write for example `4096B` (units: B, kB, KiB,"),
        (
            parse_duration("25"),
            "`25` has no unit; write for example `25ns` (units: ns, us, ms, s, min, h, d, y)",
        ),
        (parse_bytes("1e6"), "unknown unit in `1e6`"),
        (parse_count("1e20"), "`1e20` is too large"),
        (parse_count("1e99999999999"), "is too large"),
        (parse_count("1.5e0"), "`1.5e0` is not a whole number of items"),
        (parse_count("1e-3"), "unknown unit in `1e-3`"),
        (parse_count("1e"), "unknown unit in `1e`"),
        (parse_bytes("4kib"), "did you mean `4KiB`?"),
        (parse_duration("4msec"), "unknown unit in `4msec`; "),
        (parse_duration("25 parsecs"), "units are ns, us, ms, s, min, h, d, y"),
        (parse_bytes("0.3B"), "`0.3B` is not a whole number of bytes"),
        (parse_bytes("0.0001KiB"), "use a finer unit or fewer decimals"),
        (parse_bytes("16777216TiB"), "`16777216TiB` is too large; the largest is 18446744073709551615B"),
        (parse_bytes("99999999999999999999999999999999999999999999B"), "too large"),
        (parse_bytes("0.00000000000000000000000000000000000000000001PiB"), "not a whole number"),
        (parse_bytes(""), "expected a size such as `4KiB`, found ``"),
        (parse_bytes("-4KiB"), "expected a size such as `4KiB`, found `-4KiB`"),
        (parse_bytes(".5KiB"), "expected a size"),
        (parse_bytes("5.KiB"), "expected a size"),
        (parse_bytes("1.2.3KiB"), "expected a size"),
        (parse_count("3X"), "units are k, M, G, T"),
        (parse_count("0.5"), "`0.5` is not a whole number of items"),
    ] {
        let message = error.expect_err(says).to_string();
        assert!(message.contains(says), "`{message}` should contain `{says}`");
    }
}

#[test]
fn the_shortest_exact_form_is_printed() {
    for (bytes, text) in [
        (0, "0B"),
        (1, "1B"),
        (4096, "4KiB"),
        (1536, "1536B"),
        (1000, "1kB"),
        (1 << 30, "1GiB"),
        (3 << 29, "1.5GiB"),
    ] {
        assert_eq!(Bytes(bytes).to_string(), text);
    }
    for (nanos, text) in
        [(0, "0ns"), (25_000, "25us"), (3_500_000, "3.5ms"), (1_000_000_000, "1s"), (1_001, "1001ns")]
    {
        assert_eq!(Span(nanos).to_string(), text);
    }
    for (count, text) in
        [(0, "0"), (999, "999"), (3_000_000, "3M"), (250_000, "250k"), (1_234_567, "1234567")]
    {
        assert_eq!(Count(count).to_string(), text);
    }
    assert_eq!(format!("{:>8}|{:<6}|", Bytes(4096), Span(1_000)), "    4KiB|1us   |");
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Device {
    page: Bytes,
    read: Span,
    requests: Count,
}

#[test]
fn toml_takes_strings_with_units_and_gives_them_back() {
    let device: Device = toml::from_str("page = '8KiB'\nread = '25us'\nrequests = 3000000").expect("valid");
    assert_eq!(device, Device { page: Bytes(8192), read: Span(25_000), requests: Count(3_000_000) });
    let text = toml::to_string(&device).expect("serializable");
    assert_eq!(text, "page = \"8KiB\"\nread = \"25us\"\nrequests = \"3M\"\n");
    assert_eq!(toml::from_str::<Device>(&text).expect("valid"), device);
}

#[test]
fn toml_refuses_bare_numbers_other_than_zero() {
    assert_eq!(
        toml::from_str::<Device>("page = 0\nread = 0\nrequests = 0").expect("zero has no unit").page,
        Bytes(0)
    );
    let error =
        toml::from_str::<Device>("page = 8192\nread = '1us'\nrequests = 1").expect_err("no unit").to_string();
    assert!(error.contains("`8192` has no unit; write for example `8192B`"), "{error}");
    let error =
        toml::from_str::<Device>("page = -1\nread = '1us'\nrequests = 1").expect_err("negative").to_string();
    assert!(error.contains("expected a size such as `4KiB`, found `-1`"), "{error}");
    let error =
        toml::from_str::<Device>("page = 1.5\nread = '1us'\nrequests = 1").expect_err("float").to_string();
    assert!(error.contains("expected a size such as `4KiB`"), "{error}");
}

/// Round numbers, near-round numbers and any numbers, in every magnitude.
fn magnitudes() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        (any::<u64>(), 0..64u32).prop_map(|(bits, shift)| bits >> shift),
        (0..2000u64, 0..54u32).prop_map(|(digits, shift)| digits << shift),
        (0..2000u64, 0..16u32).prop_map(|(digits, power)| digits * 10u64.pow(power)),
    ]
}

proptest! {
    #[test]
    fn what_is_printed_reads_back_as_the_same(value in magnitudes()) {
        prop_assert_eq!(parse_bytes(&Bytes(value).to_string()), Ok(value));
        prop_assert_eq!(parse_duration(&Span(value).to_string()), Ok(value));
        prop_assert_eq!(parse_count(&Count(value).to_string()), Ok(value));
    }

    #[test]
    fn no_form_with_a_unit_is_shorter_than_the_printed_one(value in magnitudes()) {
        let plain = [format!("{value}B"), format!("{value}ns"), format!("{value}")];
        let printed = [Bytes(value).to_string(), Span(value).to_string(), Count(value).to_string()];
        for (plain, printed) in plain.iter().zip(&printed) {
            prop_assert!(printed.len() <= plain.len(), "{} {}", printed, plain);
        }
    }

    #[test]
    fn decimals_shift_by_powers_of_ten(whole in 0..1_000_000u64, thousandths in 0..1000u64) {
        let exact = whole * 1000 + thousandths;
        prop_assert_eq!(parse_duration(&format!("{whole}.{thousandths:03}us")), Ok(exact));
        prop_assert_eq!(parse_bytes(&format!("{whole}.{thousandths:03}kB")), Ok(exact));
        prop_assert_eq!(parse_count(&format!("{whole}.{thousandths:03}k")), Ok(exact));
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,24}", number in "[0-9.]{0,60}", unit in "[A-Za-zµ]{0,4}") {
        for text in [text, format!("{number}{unit}")] {
            let read: [Result<u64, UnitError>; 3] =
                [parse_bytes(&text), parse_duration(&text), parse_count(&text)];
            prop_assert!(read.iter().flatten().all(|_| text.contains(|c: char| c.is_ascii_digit())));
        }
    }
}
