//! Numbers as text.

/// Appends a whole number in decimal.
pub(crate) fn push_number(line: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    line.extend_from_slice(&digits[first..]);
}

/// Appends `value / 10^places` with the necessary decimals, at least `shown`; without a point if there are none.
pub(crate) fn push_decimal(line: &mut Vec<u8>, value: u64, places: u32, shown: u32) {
    let scale = 10u64.pow(places);
    push_number(line, value / scale);
    let (mut rest, mut unit, mut count) = (value % scale, scale, 0);
    if rest > 0 || shown > 0 {
        line.push(b'.');
    }
    while rest > 0 || count < shown {
        unit /= 10;
        line.push(b'0' + (rest / unit) as u8);
        rest %= unit;
        count += 1;
    }
}
