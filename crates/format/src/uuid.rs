//! Identifiers of arrays and members; they stay the same wherever the devices are attached.

/// An identifier (RFC 9562). The creator of an array draws it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid(pub [u8; 16]);

impl std::fmt::Display for Uuid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (nth, byte) in self.0.iter().enumerate() {
            let hyphen = if matches!(nth, 4 | 6 | 8 | 10) { "-" } else { "" };
            write!(f, "{hyphen}{byte:02x}")?;
        }
        Ok(())
    }
}

impl serde::Serialize for Uuid {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Uuid {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl std::str::FromStr for Uuid {
    type Err = ParseUuidError;

    /// Parses the display form of [`Uuid`]; hyphens are optional.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits: Vec<u8> = text.bytes().filter(|&byte| byte != b'-').collect();
        let mut bytes = [0; 16];
        if digits.len() != 32 {
            return Err(ParseUuidError);
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |at: usize| char::from(pair[at]).to_digit(16).ok_or(ParseUuidError);
            *byte = (digit(0)? * 16 + digit(1)?) as u8;
        }
        Ok(Self(bytes))
    }
}

/// The text is not an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected an identifier of 32 hexadecimal digits, such as 2c8b1f0e-5a6d-4f3b-9c1d-7e8f90a1b2c3")]
pub struct ParseUuidError;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_what_it_displays() {
        let uuid = Uuid(std::array::from_fn(|nth| nth as u8 * 17));
        assert_eq!(uuid.to_string(), "00112233-4455-6677-8899-aabbccddeeff");
        assert_eq!(uuid.to_string().parse(), Ok(uuid));
        assert_eq!("00112233".parse::<Uuid>(), Err(ParseUuidError));
    }
}
