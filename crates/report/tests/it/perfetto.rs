//! A Perfetto trace, read by a separate decoder, contains the same as the time line.

use std::collections::BTreeMap;

use stripewise_array::Scheme;
use stripewise_flash::DeviceSpec;
use stripewise_flash::spec::MultiPlane;
use stripewise_report::perfetto;
use stripewise_sim::{RunConfig, Timeline, timeline};
use stripewise_trace::{Kind, Request, Source, TraceError};

struct Writes(u64);

impl Source for Writes {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        batch.clear();
        while batch.len() < batch.capacity() && self.0 < 400 {
            let kind = if self.0.is_multiple_of(4) { Kind::Read } else { Kind::Write };
            let offset = self.0 * 7_919 % 2_000 * 8192;
            batch.push(Request { time_ns: self.0 * 200_000, offset, bytes: 16_384, volume: 0, kind });
            self.0 += 1;
        }
        Ok(())
    }
}

fn line(members: &str, together: bool) -> Timeline {
    let mut device = DeviceSpec::preset("ssdsim-5+1").expect("a preset");
    (device.geometry.blocks, device.geometry.pages) = (32, 16);
    if together {
        device.scheduling.multi_plane = MultiPlane::AnyPage;
    }
    let config = RunConfig {
        precondition: "steady:100%".parse().expect("a state"),
        pacing: "open:1".parse().expect("a pacing"),
        ..RunConfig::new(
            Scheme::from_toml("test", "name = 'test'\n").expect("a scheme"),
            device,
            members.parse().expect("a layout"),
        )
    };
    timeline(&config, &mut Writes(0), (0, 400), &mut |_| true).expect("a time line")
}

/// A field's value: a number, or bytes.
#[derive(Clone, Debug)]
enum Value {
    Number(u64),
    Bytes(Vec<u8>),
}

/// Fields of a message by number, as the wire format has them.
fn decode(mut bytes: &[u8]) -> BTreeMap<u32, Vec<Value>> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for place in 0.. {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            value |= u64::from(byte & 0x7F) << (7 * place);
            if byte < 0x80 {
                break;
            }
        }
        value
    }
    let mut fields: BTreeMap<u32, Vec<Value>> = BTreeMap::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let value = match key & 7 {
            0 => Value::Number(varint(&mut bytes)),
            1 => {
                let (number, rest) = bytes.split_at(8);
                bytes = rest;
                Value::Number(u64::from_le_bytes(number.try_into().expect("eight bytes")))
            }
            2 => {
                let length = varint(&mut bytes) as usize;
                let (inside, rest) = bytes.split_at(length);
                bytes = rest;
                Value::Bytes(inside.to_vec())
            }
            other => panic!("wire type {other}"),
        };
        fields.entry((key >> 3) as u32).or_default().push(value);
    }
    fields
}

fn number(fields: &BTreeMap<u32, Vec<Value>>, field: u32) -> u64 {
    match fields.get(&field).map(Vec::as_slice) {
        Some([Value::Number(number)]) => *number,
        other => panic!("field {field}: {other:?}"),
    }
}

fn bytes(fields: &BTreeMap<u32, Vec<Value>>, field: u32) -> &[u8] {
    match fields.get(&field).map(Vec::as_slice) {
        Some([Value::Bytes(bytes)]) => bytes,
        other => panic!("field {field}: {other:?}"),
    }
}

fn numbers(fields: &BTreeMap<u32, Vec<Value>>, field: u32) -> Vec<u64> {
    let number = |value: &Value| match value {
        Value::Number(number) => *number,
        Value::Bytes(_) => panic!("field {field} is bytes"),
    };
    fields.get(&field).map_or(Vec::new(), |values| values.iter().map(number).collect())
}

#[test]
fn a_trace_decodes_to_the_slices_and_arrows_of_its_time_line() {
    check(&line("channel:1", false), 6);
    let together = line("ssd:3", true);
    assert!(!together.joined.is_empty());
    check(&together, 18);
}

fn check(line: &Timeline, channels: usize) {
    let mut file = Vec::new();
    perfetto::write(line, &mut file).expect("memory takes all");
    let trace = decode(&file);
    assert_eq!(trace.keys().copied().collect::<Vec<_>>(), [1], "a trace is packets");
    let mut names: BTreeMap<u64, (String, Option<u64>)> = BTreeMap::new();
    // Open and finished slices of each track.
    let mut open: BTreeMap<u64, (u64, String)> = BTreeMap::new();
    let mut ended: BTreeMap<u64, u64> = BTreeMap::new();
    let mut slices: Vec<(u64, String, u64, u64)> = Vec::new();
    let (mut from, mut to) = (Vec::new(), Vec::new());
    for packet in &trace[&1] {
        let Value::Bytes(packet) = packet else { panic!("a packet is a message") };
        let packet = decode(packet);
        assert_eq!(number(&packet, 10), 1, "one sequence");
        if packet.contains_key(&60) {
            let track = decode(bytes(&packet, 60));
            let name = String::from_utf8(bytes(&track, 2).to_vec()).expect("a name is text");
            let parent = track.contains_key(&5).then(|| number(&track, 5));
            assert!(parent.is_none_or(|parent| names.contains_key(&parent)), "parents come first");
            assert!(names.insert(number(&track, 1), (name, parent)).is_none(), "a track is told once");
            continue;
        }
        let at = number(&packet, 8);
        let event = decode(bytes(&packet, 11));
        let track = number(&event, 11);
        assert!(names.contains_key(&track), "events are on tracks that were told before");
        if number(&event, 9) == 1 {
            let name = String::from_utf8(bytes(&event, 23).to_vec()).expect("a name is text");
            assert!(ended.get(&track).is_none_or(|&end| end <= at), "each track is in the order of time");
            assert!(open.insert(track, (at, name)).is_none(), "one thing at a time on each track");
            from.extend(numbers(&event, 47));
            to.extend(numbers(&event, 48));
        } else {
            let (begin, name) = open.remove(&track).expect("what ends has begun");
            assert!(begin <= at);
            ended.insert(track, at);
            slices.push((track, name, begin, at));
        }
    }
    assert!(open.is_empty(), "what begins ends");

    let of_dies = slices.iter().filter(|(track, ..)| names[track].0.starts_with("die"));
    assert_eq!(of_dies.clone().count(), line.stretches.len());
    let time: u64 = of_dies.map(|(.., begin, end)| end - begin).sum();
    let exact: u64 = line.stretches.iter().map(|span| span.stretch.bus_ns + span.stretch.cell_ns).sum();
    assert_eq!(time, exact);
    let of_buses = slices.iter().filter(|(track, ..)| names[track].0 == "bus");
    let time: u64 = of_buses.map(|(.., begin, end)| end - begin).sum();
    assert_eq!(time, line.stretches.iter().map(|span| span.stretch.bus_ns).sum::<u64>());
    let requests = slices.iter().filter(|(track, ..)| names[track].0 == "requests").count();
    assert_eq!(requests, line.requests.len());
    let found = names.values().filter(|(name, parent)| name.contains("channel") && parent.is_none());
    assert_eq!(found.count(), channels);
    assert!(slices.iter().any(|(_, name, ..)| name == "pre-read"));
    assert!(slices.iter().any(|(_, name, ..)| name == "GC erase"));
    assert!(slices.iter().any(|(_, name, ..)| name == "parity"));

    from.sort_unstable();
    to.sort_unstable();
    assert!(!from.is_empty());
    assert_eq!(from, to, "every arrow that leaves a request arrives at an operation");
    assert!(from.windows(2).all(|pair| pair[0] < pair[1]), "each arrow is its own");
}
