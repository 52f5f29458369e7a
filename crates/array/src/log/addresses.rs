//! Flat arrays of addresses: four bytes each where they fit, else five bytes each.
//!
//! Source: paper 001, section IV-C (the metadata of a chunk takes some 10 bytes); the format is our choice.

/// Marks the absence of an address.
pub(crate) const NOWHERE: u64 = u64::MAX;

/// One address for each index; initially [`NOWHERE`].
#[derive(Debug)]
pub(crate) struct Addresses {
    low: Vec<u32>,
    /// Bits 32 to 39 of each address; empty where addresses have four bytes.
    high: Vec<u8>,
}

impl Addresses {
    /// `len` addresses below `end`.
    pub(crate) fn new(len: u64, end: u64) -> Self {
        // The highest number of each width stands for no address.
        let is_wide = end > u64::from(u32::MAX);
        assert!(end < 1 << 40, "an address has at most 40 bits");
        Self {
            low: vec![u32::MAX; len as usize],
            high: vec![u8::MAX; if is_wide { len as usize } else { 0 }],
        }
    }

    /// The address at `index`.
    #[inline]
    pub(crate) fn get(&self, index: u64) -> u64 {
        let low = self.low[index as usize];
        let high = self.high.get(index as usize).copied();
        match high {
            None | Some(u8::MAX) if low == u32::MAX => NOWHERE,
            None => low.into(),
            Some(high) => u64::from(high) << 32 | u64::from(low),
        }
    }

    /// Sets the address at `index`.
    #[inline]
    pub(crate) fn set(&mut self, index: u64, address: u64) {
        self.low[index as usize] = address as u32;
        if let Some(high) = self.high.get_mut(index as usize) {
            *high = (address >> 32) as u8;
        }
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> u64 {
        (self.low.len() * 4 + self.high.len()) as u64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_address_takes_four_bytes_and_five_where_four_do_not_reach() {
        assert_eq!(Addresses::new(1000, u64::from(u32::MAX)).bytes(), 4000);
        assert_eq!(Addresses::new(1000, u64::from(u32::MAX) + 1).bytes(), 5000);
    }

    proptest! {
        #[test]
        fn what_is_set_is_found(
            is_wide: bool,
            sets in prop::collection::vec((0u64..20, any::<u64>(), any::<bool>()), 0..60),
        ) {
            let end = if is_wide { (1 << 40) - 1 } else { u64::from(u32::MAX) };
            let mut addresses = Addresses::new(20, end);
            let mut model = [NOWHERE; 20];
            for (index, address, clears) in sets {
                let address = if clears { NOWHERE } else { address % end };
                addresses.set(index, address);
                model[index as usize] = address;
            }
            for (index, &address) in model.iter().enumerate() {
                prop_assert_eq!(addresses.get(index as u64), address);
            }
        }
    }
}
