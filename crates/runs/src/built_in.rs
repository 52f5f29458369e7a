//! The built-in comparison: what is compared where no workload is named.
//!
//! It is a load that every scheme sustains, so that response times are those of the schemes and not of a queue that grows as long as
//! the run does: half a dozen SSDs of paper 003, each under a third of what it can do. Skewed writes of a page make the updates of
//! parity, and the collections, that the schemes differ in.

/// Its requests, without their number: a Zipf law over the usual exponent of YCSB, seven writes in ten, 10,000 requests a second.
const WORKLOAD: &str = "zipf:theta=0.99,write=0.7,size=4KiB,arrival=poisson:100us";
/// The number of its requests: two cores compare its schemes with five seeds each in less than half a minute.
pub const REQUESTS: u64 = 100_000;
/// Its device.
pub const DEVICE: &str = "paper003";
/// Its members.
pub const MEMBERS: &str = "ssd:6";
/// Its schemes, which every array with parity can have: those with one acknowledgement together. The first of each are what people have: Linux's RAID-5,
/// and RAID-5 behind a plain write cache that survives a power failure.
pub const SCHEMES: [&str; 8] =
    ["linux-md", "adaptive", "brr", "least-finish", "parity-caching", "paper003-siw", "was", "stripewise"];

/// The specification of its requests' generator, with this number of them.
pub fn workload(requests: u64) -> String {
    format!("{WORKLOAD},requests={requests}")
}
