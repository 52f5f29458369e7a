//! The same run yields the same rows on every machine, with and without assertions, optimised more or less. `make test`
//! runs this test in the `dev` profile, and again with `no_assertions.toml`.

use stripewise_array::Scheme;
use stripewise_base::prng::Prng;
use stripewise_base::units::Span;
use stripewise_flash::DeviceSpec;
use stripewise_sim::tables::{GcRow, RequestRow, SampleRow, Sink};
use stripewise_sim::{RunConfig, run};
use stripewise_trace::{Kind, Request, Source, TraceError};

/// Device, members, and the digest of all rows of the run below. A digest changes when the model changes: in that
/// case, note the change in the changelog and put the new digest here.
const DIGESTS: [(&str, &str, &str); 3] = [
    ("ssdsim-5+1", "channel:1", "57d53c2ee8cc8ed62fa4aaca47ef274a"),
    ("paper003", "ssd:3", "0bc506aad4dc45dbeaa8ddf0fc9f1920"),
    ("paper003", "ssd:32", "9ca4d0a12e67c4ce9ca4b53fd9af4ede"),
];

/// Reads and writes of odd sizes, some at the same time, some apart.
struct Mixed {
    prng: Prng,
    left: u32,
    time_ns: u64,
    span: u64,
}

impl Source for Mixed {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        batch.clear();
        while batch.len() < batch.capacity() && self.left > 0 {
            self.left -= 1;
            self.time_ns += self.prng.below(400_000);
            let bytes = 512 * (1 + self.prng.below(60) as u32);
            let offset = self.prng.below((self.span - u64::from(bytes)) / 512) * 512;
            let kind = if self.prng.chance(3, 10) { Kind::Read } else { Kind::Write };
            batch.push(Request { time_ns: self.time_ns, offset, bytes, volume: 0, kind });
        }
        Ok(())
    }
}

/// Hashes rows as text: slow, and independent of the format of tables.
#[derive(Default)]
struct Hashing {
    hasher: blake3::Hasher,
    rows: u64,
    collections: u64,
}

impl Hashing {
    fn add(&mut self, row: &dyn std::fmt::Debug) {
        self.rows += 1;
        self.hasher.update(format!("{row:?}\n").as_bytes());
    }
}

impl Sink for Hashing {
    fn request(&mut self, row: &RequestRow) {
        self.add(row);
    }
    fn sample(&mut self, row: &SampleRow) {
        self.add(row);
    }
    fn gc(&mut self, row: &GcRow) {
        self.collections += 1;
        self.add(row);
    }
}

fn digest(preset: &str, members: &str, seed: u64) -> (String, u64, u64) {
    let mut device = DeviceSpec::preset(preset).expect("a preset");
    device.geometry.blocks = 32;
    let config = RunConfig {
        precondition: "steady:70%".parse().expect("a state"),
        pacing: "open:1".parse().expect("a pacing"),
        seed,
        sample_every: Span(10_000_000),
        request_rows: true,
        gc_rows: true,
        ..RunConfig::new(
            Scheme::from_toml("test", "name = 'baseline'\n[parity]\nxor = '19us'\n").expect("a scheme"),
            device,
            members.parse().expect("a layout"),
        )
    };
    let span = stripewise_sim::capacity(&config).expect("a device") / 10 * 7;
    let mut source = Mixed { prng: Prng::new(seed), left: 20_000, time_ns: 0, span };
    let mut sink = Hashing::default();
    let totals = run(&config, &mut source, &mut sink, &mut |_| true).expect("a run");
    sink.add(&totals.figures());
    sink.add(&totals.members);
    (sink.hasher.finalize().to_hex()[..32].to_owned(), sink.rows, sink.collections)
}

#[test]
fn a_run_has_the_same_digest_in_every_build() {
    let of = |(preset, members, _)| {
        let (digest, rows, collections) = digest(preset, members, 1);
        assert!(
            rows > 20_000 && collections > 100,
            "the run is worth a digest: {members}, {rows} rows, {collections} collections"
        );
        (preset, members, digest)
    };
    let expected = DIGESTS.map(|(preset, members, digest)| (preset, members, digest.to_owned()));
    assert_eq!(DIGESTS.map(of), expected);
}

#[test]
fn another_seed_is_another_run() {
    let digest = |seed| digest("ssdsim-5+1", "channel:1", seed).0;
    assert_ne!(digest(1), digest(2));
}
