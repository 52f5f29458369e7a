//! A mix that changes over time: several generators take turns, each for a fixed time, in rotation.
//!
//! Each generator keeps a clock of its own, which stops while the others have their turns: request `t` of the
//! generator `i` of `n` arrives at `(t / each) * n * each + i * each + t % each`. So the requests of a generator do
//! not depend on the others, intervals within a turn are its own, and a generator that pauses longer than a turn has
//! turns without requests.
//!
//! For policies that adapt to the workload: paper 003, section 4, proposes one that "switches between WOW and SIW
//! adaptively to the workload" and has no workload that changes. Lengths and mixes are choices.

use std::sync::Arc;

use stripewise_base::Nanos;

use super::Generator;
use super::keys::{Key, Keys};
use super::recipe::{About, Recipe};
use super::synthetic::REQUESTS;
use crate::{Request, Source, TraceError};

const EACH: Key = Key { name: "each", default: "10s", help: "how long a turn is, such as `10s`" };
const OF: Key = Key {
    name: "of",
    default: "",
    help: "the generators that take turns, each in parentheses, such as `(wriw:size=4KiB)(wriw:size=1MiB)`; quote them in \
           a shell",
};

pub(super) const ABOUT: About = About {
    name: "phases",
    summary: "a mix that changes: several generators take turns of a fixed length, repeatedly",
    example: "phases:of=(wriw:size=4KiB,span=8GiB)(wriw:size=1MiB,span=8GiB),each=10s,requests=100k",
    keys: &[OF, EACH, REQUESTS],
    build,
};

/// The generators, the length of their turns, and the total number of requests.
#[derive(Clone, Debug, PartialEq)]
struct Phases {
    members: Vec<Generator>,
    each_ns: Nanos,
    requests: u64,
}

fn build(keys: &Keys) -> Result<Arc<dyn Recipe>, TraceError> {
    let text = keys.text("of");
    let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
    let inner = inner.ok_or_else(|| keys.fail("of", format!("expected {}", OF.help)))?;
    let members = inner.split(")(").map(member).collect::<Result<Vec<Generator>, _>>();
    let members = members.map_err(|reason| keys.fail("of", reason))?;
    let each_ns = keys.duration("each")?;
    if each_ns == 0 {
        return Err(keys.fail("each", "a turn takes time; write for example `10s`"));
    }
    Ok(Arc::new(Phases { members, each_ns, requests: keys.count("requests")? }))
}

fn member(spec: &str) -> Result<Generator, String> {
    let generator: Generator = spec.parse().map_err(|error: TraceError| error.to_string())?;
    if generator.keys.generator() == ABOUT.name {
        return Err(format!("({spec}): phases have no phases of their own; name all generators"));
    }
    if generator.to_string().contains("arrival=none") {
        return Err(format!(
            "({spec}): all of its requests arrive at once, so that its turn never ends; give it an arrival such as \
             `arrival=poisson:1ms`"
        ));
    }
    Ok(generator)
}

impl Recipe for Phases {
    /// The first generator has this seed, each further one the next.
    fn source(&self, seed: u64) -> Box<dyn Source + Send> {
        let member = |(at, generator): (u64, &Generator)| Turn {
            source: generator.source(seed.wrapping_add(at)),
            batch: Vec::with_capacity(BATCH),
            next: 0,
        };
        let members = (0..).zip(&self.members).map(member).collect();
        let (each_ns, requests) = (self.each_ns, self.requests);
        Box::new(Changing { members, each_ns, left: requests, requests })
    }

    /// The largest end, if each generator has one.
    fn end_bytes(&self) -> Option<u64> {
        let ends = self.members.iter().map(Generator::end_bytes).collect::<Option<Vec<_>>>()?;
        ends.into_iter().max()
    }
}

/// Requests of a generator that are buffered at a time.
const BATCH: usize = 256;

/// A running mix.
struct Changing {
    members: Vec<Turn>,
    each_ns: Nanos,
    left: u64,
    requests: u64,
}

struct Turn {
    source: Box<dyn Source + Send>,
    batch: Vec<Request>,
    next: usize,
}

impl Turn {
    /// The generator's next request, by its own clock; none at its end.
    fn peek(&mut self) -> Result<Option<Request>, TraceError> {
        if self.next == self.batch.len() {
            self.source.next_batch(&mut self.batch)?;
            self.next = 0;
        }
        Ok(self.batch.get(self.next).copied())
    }
}

impl Source for Changing {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        batch.clear();
        let room = batch.capacity().max(1);
        let (each, count) = (self.each_ns, self.members.len() as u64);
        while batch.len() < room && self.left > 0 {
            let mut first: Option<(usize, Request)> = None;
            for (at, member) in self.members.iter_mut().enumerate() {
                let Some(request) = member.peek()? else { continue };
                let turn = (request.time_ns / each).saturating_mul(count).saturating_add(at as u64);
                let time_ns = turn.saturating_mul(each).saturating_add(request.time_ns % each);
                if first.is_none_or(|(_, earlier)| time_ns < earlier.time_ns) {
                    first = Some((at, Request { time_ns, ..request }));
                }
            }
            let Some((at, request)) = first else { break };
            self.members[at].next += 1;
            self.left -= 1;
            batch.push(request);
        }
        Ok(())
    }

    fn progress(&self) -> Option<f64> {
        Some(1.0 - self.left as f64 / self.requests.max(1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(spec: &str, seed: u64) -> Vec<Request> {
        let generator: Generator = spec.parse().unwrap_or_else(|error| panic!("{spec}: {error}"));
        let mut batch = Vec::with_capacity(10_000);
        generator.source(seed).next_batch(&mut batch).expect("generators do not fail");
        batch
    }

    #[test]
    fn generators_take_turns_and_their_clocks_stand_still_meanwhile() {
        let all = requests(
            "phases:of=(uniform:size=4KiB,arrival=fixed:4s)(uniform:size=8KiB,arrival=fixed:3s),each=10s,requests=12",
            1,
        );
        let times: Vec<(u64, u32)> = all.iter().map(|one| (one.time_ns / 1_000_000_000, one.bytes)).collect();
        // Own times 0 4 8 | 12 16 | 20 ... and 0 3 6 9 | 12 15 18 | 21 ...
        let (small, large) = (4096, 8192);
        let expected = [
            (0, small),
            (4, small),
            (8, small),
            (10, large),
            (13, large),
            (16, large),
            (19, large),
            (22, small),
            (26, small),
            (32, large),
            (35, large),
            (38, large),
        ];
        assert_eq!(times, expected);
    }

    #[test]
    fn what_a_generator_yields_does_not_depend_on_the_others() {
        let alone = requests("wriw:size=4KiB,interval=1ms,requests=300", 7);
        let mixed =
            requests("phases:of=(wriw:size=4KiB,interval=1ms)(wriw:size=1MiB),each=100ms,requests=1000", 7);
        let ours: Vec<&Request> = mixed.iter().filter(|one| one.bytes == 4096).collect();
        assert!(ours.len() >= 300);
        for (alone, mixed) in alone.iter().zip(ours) {
            assert_eq!((alone.offset, alone.kind), (mixed.offset, mixed.kind));
        }
    }

    #[test]
    fn requests_come_in_time_each_in_a_turn_of_its_generator_and_as_many_as_requested() {
        let spec = "phases:of=(wriw:size=4KiB,interval=2ms)(hpc:size=64KiB)(uniform:size=8KiB,arrival=poisson:5ms),\
                    each=50ms,requests=5k";
        let all = requests(spec, 3);
        assert_eq!(all.len(), 5000);
        assert!(all.windows(2).all(|pair| pair[0].time_ns <= pair[1].time_ns));
        for request in all {
            let turn = request.time_ns / 50_000_000 % 3;
            assert_eq!(request.bytes, [4096, 65_536, 8192][turn as usize], "{request:?}");
        }
        assert_eq!(requests(spec, 3), requests(spec, 3));
        assert_ne!(requests(spec, 3), requests(spec, 4));
    }

    #[test]
    fn a_mix_ends_where_all_of_its_generators_do() {
        let all = requests("phases:of=(wriw:size=4KiB,requests=10)(wriw:size=8KiB,requests=30),each=1s", 1);
        assert_eq!(all.len(), 40);
    }

    #[test]
    fn a_mix_that_cannot_be_is_refused_with_the_remedy() {
        for (spec, remedy) in [
            ("phases", "key `of` is missing"),
            ("phases:of=wriw", "each in parentheses"),
            ("phases:of=(wriw)(wrow)", "unknown generator `wrow`; did you mean `wriw`?"),
            ("phases:of=(wriw:sise=4KiB)", "unknown key `sise`"),
            ("phases:of=(uniform)", "give it an arrival such as `arrival=poisson:1ms`"),
            ("phases:of=(phases:of=(wriw))", "phases have no phases of their own"),
            ("phases:of=(wriw),each=0s", "a turn takes time"),
            ("phases:of=(wriw", "a parenthesis is not closed"),
        ] {
            let message = spec.parse::<Generator>().map(|_| ()).expect_err(spec).to_string();
            assert!(message.contains(remedy), "{spec}: {message}");
        }
    }
}
