//! A finished run, as the store keeps it.

use stripewise_results::steady::Steady;
use stripewise_results::{Digest, Figures};
use stripewise_runs::InMemory;

/// A finished run: its inputs, its totals and the digest of its results.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// The key by which plans find it.
    pub(crate) key: [u8; 16],
    /// The digest of its inputs.
    pub(crate) run: Digest,
    /// The digest of its results: that of the same run in a directory of results.
    pub(crate) results: Digest,
    /// The scheme, as the study file names it.
    pub(crate) scheme: String,
    /// The seed.
    pub(crate) seed: u64,
    /// The program.
    pub(crate) version: String,
    /// The digest of the requests.
    pub(crate) trace_digest: String,
    /// Scheme and device, as TOML.
    pub(crate) configuration: String,
    /// The settings of the replay, as TOML.
    pub(crate) replay: String,
    /// Whether the warm-up of the response times was over.
    pub(crate) steady: Steady,
    /// The totals.
    pub(crate) totals: Figures,
}

impl Row {
    pub(crate) fn new(key: [u8; 16], scheme: &str, made: &InMemory) -> Self {
        let inputs = &made.inputs;
        Self {
            key,
            run: inputs.digest(),
            results: made.run.results_digest(),
            scheme: scheme.to_owned(),
            seed: inputs.seed,
            version: inputs.version.clone(),
            trace_digest: inputs.trace_digest.clone(),
            configuration: inputs.configuration().to_owned(),
            replay: inputs.replay().to_owned(),
            steady: made.steady,
            totals: made.run.totals().clone(),
        }
    }
}

/// Hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of hexadecimal digits.
pub(crate) fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let mut bytes = [0; N];
    if pairs.len() != N {
        return None;
    }
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = (digit(*high)? << 4 | digit(*low)?) as u8;
    }
    Some(bytes)
}
