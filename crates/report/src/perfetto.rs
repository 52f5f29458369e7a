//! A time line as a Perfetto trace: packets of track events in Protocol Buffers' wire format.
//!
//! The encoder below writes the necessary part of <https://perfetto.dev/docs/reference/trace-packet-proto>, without
//! interning; a library would bring clocks of its own. Times are nanoseconds of simulated time.

use std::collections::BTreeMap;
use std::io::{self, Write};

use stripewise_array::{Class, RequestKind};
use stripewise_flash::Work;
use stripewise_sim::{DieSpan, Timeline};

/// Field numbers of messages, from `trace_packet.proto` and the files that it includes.
mod field {
    pub(super) const TRACE_PACKET: u32 = 1;
    pub(super) const PACKET_TIMESTAMP: u32 = 8;
    pub(super) const PACKET_SEQUENCE: u32 = 10;
    pub(super) const PACKET_EVENT: u32 = 11;
    pub(super) const PACKET_FLAGS: u32 = 13;
    pub(super) const PACKET_TRACK: u32 = 60;
    pub(super) const TRACK_UUID: u32 = 1;
    pub(super) const TRACK_NAME: u32 = 2;
    pub(super) const TRACK_PARENT: u32 = 5;
    pub(super) const TRACK_ORDERING: u32 = 11;
    pub(super) const TRACK_RANK: u32 = 12;
    pub(super) const EVENT_NOTES: u32 = 4;
    pub(super) const EVENT_TYPE: u32 = 9;
    pub(super) const EVENT_TRACK: u32 = 11;
    pub(super) const EVENT_CATEGORY: u32 = 22;
    pub(super) const EVENT_NAME: u32 = 23;
    pub(super) const EVENT_FLOW: u32 = 47;
    pub(super) const EVENT_FLOW_END: u32 = 48;
    pub(super) const NOTE_UINT: u32 = 3;
    pub(super) const NOTE_STRING: u32 = 6;
    pub(super) const NOTE_NAME: u32 = 10;
}

/// `SLICE_BEGIN` and `SLICE_END`.
const BEGIN: u64 = 1;
const END: u64 = 2;
/// The state of the sequence is new: no packet precedes it.
const STATE_CLEARED: u64 = 1;
/// Children are ordered by their ranks.
const EXPLICIT: u64 = 3;

/// An unfinished message.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn key(&mut self, field: u32, wire: u32) {
        self.varint(u64::from(field << 3 | wire));
    }

    fn number(&mut self, field: u32, value: u64) -> &mut Self {
        self.key(field, 0);
        self.varint(value);
        self
    }

    fn fixed(&mut self, field: u32, value: u64) -> &mut Self {
        self.key(field, 1);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    fn bytes(&mut self, field: u32, bytes: &[u8]) -> &mut Self {
        self.key(field, 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }
}

/// An annotation of a slice.
enum Note<'a> {
    Number(&'a str, u64),
    Text(&'a str, &'a str),
}

/// A span of time on a track.
struct Slice<'a> {
    track: u64,
    name: &'a str,
    category: &'a str,
    times: (u64, u64),
    notes: &'a [Note<'a>],
    flows: &'a [u64],
    flows_end: &'a [u64],
}

/// The numbers of tracks begin here. Those of dies and buses are children of the tracks of channels.
const HOST: u64 = 1;
const LANES: u64 = 1 << 32;
const CHANNELS: u64 = 2 << 32;
const BUSES: u64 = 3 << 32;
const DIES: u64 = 4 << 32;

/// Writes packets of one sequence.
struct Packets<W> {
    out: W,
    is_first: bool,
}

impl<W: Write> Packets<W> {
    fn packet(&mut self, mut packet: Message) -> io::Result<()> {
        packet.number(field::PACKET_SEQUENCE, 1);
        if std::mem::take(&mut self.is_first) {
            packet.number(field::PACKET_FLAGS, STATE_CLEARED);
        }
        let mut trace = Message::default();
        trace.bytes(field::TRACE_PACKET, &packet.0);
        self.out.write_all(&trace.0)
    }

    fn track(&mut self, uuid: u64, parent: Option<u64>, rank: u64, name: &str) -> io::Result<()> {
        let mut track = Message::default();
        track.number(field::TRACK_UUID, uuid).bytes(field::TRACK_NAME, name.as_bytes());
        if let Some(parent) = parent {
            track.number(field::TRACK_PARENT, parent);
        }
        track.number(field::TRACK_ORDERING, EXPLICIT).number(field::TRACK_RANK, rank);
        let mut packet = Message::default();
        packet.bytes(field::PACKET_TRACK, &track.0);
        self.packet(packet)
    }

    fn slice(&mut self, slice: &Slice<'_>) -> io::Result<()> {
        let mut event = Message::default();
        event.number(field::EVENT_TYPE, BEGIN).number(field::EVENT_TRACK, slice.track);
        event
            .bytes(field::EVENT_NAME, slice.name.as_bytes())
            .bytes(field::EVENT_CATEGORY, slice.category.as_bytes());
        for note in slice.notes {
            let mut message = Message::default();
            match note {
                Note::Number(name, value) => {
                    message.bytes(field::NOTE_NAME, name.as_bytes()).number(field::NOTE_UINT, *value)
                }
                Note::Text(name, text) => message
                    .bytes(field::NOTE_NAME, name.as_bytes())
                    .bytes(field::NOTE_STRING, text.as_bytes()),
            };
            event.bytes(field::EVENT_NOTES, &message.0);
        }
        for (flows, number) in [(slice.flows, field::EVENT_FLOW), (slice.flows_end, field::EVENT_FLOW_END)] {
            for &flow in flows {
                event.fixed(number, flow);
            }
        }
        self.event(slice.times.0, &event)?;
        let mut event = Message::default();
        event.number(field::EVENT_TYPE, END).number(field::EVENT_TRACK, slice.track);
        self.event(slice.times.1, &event)
    }

    fn event(&mut self, at: u64, event: &Message) -> io::Result<()> {
        let mut packet = Message::default();
        packet.number(field::PACKET_TIMESTAMP, at).bytes(field::PACKET_EVENT, &event.0);
        self.packet(packet)
    }
}

/// Writes a time line for Perfetto's viewer (<https://ui.perfetto.dev>): host requests; for each channel its bus and its
/// dies; arrows from each request to its operations.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(timeline: &Timeline, out: impl Write) -> io::Result<()> {
    let mut packets = Packets { out, is_first: true };
    tracks(timeline, &mut packets)?;
    requests(timeline, &mut packets)?;
    // Track by track in the order of time: a reader sorts only by time, and a slice that ends at a time must precede
    // one that begins at that time.
    let mut stretches: Vec<&DieSpan> = timeline.stretches.iter().collect();
    stretches.sort_by_key(|span| (span.stretch.die, span.stretch.start_ns));
    let mut joined = BTreeMap::<(u32, u64), Vec<u32>>::new();
    for &(place, operation) in &timeline.joined {
        let stretch = &timeline.stretches[place as usize].stretch;
        joined.entry((stretch.die, stretch.start_ns)).or_default().push(operation);
    }
    let mut pointed_at = vec![false; timeline.operations.len()];
    timeline.joined.iter().for_each(|joined| pointed_at[joined.1 as usize] = true);
    for span in &stretches {
        let first =
            span.operation.is_some_and(|place| !std::mem::replace(&mut pointed_at[place as usize], true));
        let beside = joined.get(&(span.stretch.die, span.stretch.start_ns)).map_or(&[][..], Vec::as_slice);
        stretch(timeline, span, On::Die { first, beside }, &mut packets)?;
    }
    let bus = |span: &DieSpan| span.stretch.die / timeline.shape.dies_per_bus;
    stretches.retain(|span| span.stretch.bus_ns > 0);
    stretches.sort_by_key(|span| (bus(span), span.stretch.start_ns));
    for span in &stretches {
        stretch(timeline, span, On::Bus, &mut packets)?;
    }
    packets.out.flush()
}

fn tracks<W: Write>(timeline: &Timeline, packets: &mut Packets<W>) -> io::Result<()> {
    let shape = &timeline.shape;
    packets.track(HOST, None, 0, "host requests")?;
    let channels_per_device = shape.dies_per_device / shape.dies_per_bus;
    for bus in 0..shape.buses {
        let name = match shape.devices {
            1 => format!("channel {bus}"),
            _ => format!("SSD {}, channel {}", bus / channels_per_device, bus % channels_per_device),
        };
        let channel = CHANNELS + u64::from(bus);
        packets.track(channel, None, u64::from(bus) + 1, &name)?;
        packets.track(BUSES + u64::from(bus), Some(channel), 0, "bus")?;
        for die in 0..shape.dies_per_bus {
            let number = bus * shape.dies_per_bus + die;
            let member = number / shape.dies_per_member;
            let name = format!("die {die} (member {member})");
            packets.track(DIES + u64::from(number), Some(channel), u64::from(die) + 1, &name)?;
        }
    }
    Ok(())
}

/// The requests, on as many tracks as the largest number of simultaneous requests.
fn requests<W: Write>(timeline: &Timeline, packets: &mut Packets<W>) -> io::Result<()> {
    let mut flows = vec![Vec::new(); timeline.requests.len()];
    let mut has_work = vec![false; timeline.operations.len()];
    let joined = timeline.joined.iter().map(|joined| joined.1);
    for place in timeline.stretches.iter().filter_map(|span| span.operation).chain(joined) {
        has_work[place as usize] = true;
    }
    for (place, operation) in timeline.operations.iter().enumerate().filter(|(place, _)| has_work[*place]) {
        for &request in &operation.requests {
            flows[request as usize].push(flow(place as u32, request));
        }
    }
    let mut free_at: Vec<u64> = Vec::new();
    for (request, flows) in timeline.requests.iter().zip(flows) {
        let lane = free_at.iter().position(|&at| at <= request.arrival_ns).unwrap_or(free_at.len());
        if lane == free_at.len() {
            // Tracks of one name and parent are shown as one.
            packets.track(LANES + lane as u64, Some(HOST), lane as u64, "requests")?;
            free_at.push(0);
        }
        free_at[lane] = request.acknowledged_ns;
        let name = match request.kind {
            RequestKind::Read => "read",
            RequestKind::Write => "write",
            RequestKind::Trim => "trim",
            RequestKind::Flush => "flush",
        };
        let notes = [
            Note::Number("request", request.index),
            Note::Number("offset_bytes", request.offset_bytes),
            Note::Number("size_bytes", request.size_bytes.into()),
            Note::Text("outcome", if request.failed { "failed" } else { "acknowledged" }),
        ];
        packets.slice(&Slice {
            track: LANES + lane as u64,
            name,
            category: "request",
            times: (request.arrival_ns, request.acknowledged_ns),
            notes: &notes,
            flows: &flows,
            flows_end: &[],
        })?;
    }
    Ok(())
}

/// The identifier of the arrow from an operation to one of its requests.
fn flow(operation: u32, request: u32) -> u64 {
    (u64::from(operation) + 1) << 32 | u64::from(request)
}

/// The track of a stretch.
enum On<'a> {
    /// Its die's, for all of it. Arrows lead to the first stretch of an operation, including those of operations that
    /// other planes perform beside it.
    Die { first: bool, beside: &'a [u32] },
    /// Its bus', for as long as it uses the bus.
    Bus,
}

/// Writes a stretch of a die to one of its tracks.
fn stretch<W: Write>(
    timeline: &Timeline,
    span: &DieSpan,
    on: On<'_>,
    packets: &mut Packets<W>,
) -> io::Result<()> {
    let stretch = &span.stretch;
    let operation = span.operation.map(|place| (place, &timeline.operations[place as usize]));
    let class = operation.map(|(_, operation)| operation.operation.class);
    let name = match (stretch.work, class) {
        (Work::MoveSense, _) => "GC move: read",
        (Work::MoveProgram, _) => "GC move: program",
        (Work::Erase, _) => "GC erase",
        (Work::Collection, _) => "GC of a block",
        (Work::Out, Some(Class::PreRead)) => "pre-read: out",
        (Work::Out, _) => "read: out",
        (_, Some(Class::HostRead)) => "read",
        (_, Some(Class::HostWrite)) => "write",
        (_, Some(class)) => class.name(),
        (Work::Sense, None) => "read",
        (Work::Program, None) => "write",
    };
    let mut notes = vec![
        Note::Number("plane", stretch.plane.into()),
        Note::Number("bus_ns", stretch.bus_ns),
        Note::Number("cell_ns", stretch.cell_ns),
    ];
    let mut flows = Vec::new();
    if let Some((place, operation)) = operation {
        notes.push(Note::Number("operation", place.into()));
        notes.push(Note::Number("member", operation.operation.member.number().into()));
        notes.push(Note::Number("page", operation.operation.page.into()));
        notes.push(Note::Number("queued_ns", operation.started_ns - operation.queued_ns));
        if matches!(on, On::Die { first: true, .. }) {
            flows.extend(operation.requests.iter().map(|&request| flow(place, request)));
        }
    } else if stretch.token.is_none() {
        notes.push(Note::Number("block", stretch.block.into()));
        notes.push(Note::Number("moved_pages", stretch.moves.into()));
    }
    if let On::Die { beside, .. } = on {
        for &place in beside {
            notes.push(Note::Number("with_operation", place.into()));
            let operation = &timeline.operations[place as usize];
            flows.extend(operation.requests.iter().map(|&request| flow(place, request)));
        }
    }
    let category = match stretch.work {
        Work::Sense | Work::Out | Work::Program => "operation",
        Work::MoveSense | Work::MoveProgram | Work::Erase | Work::Collection => "gc",
    };
    let on_bus = stretch.start_ns + stretch.bus_ns;
    let (track, end) = match on {
        On::Die { .. } => (DIES + u64::from(stretch.die), on_bus + stretch.cell_ns),
        On::Bus => (BUSES + u64::from(stretch.die / timeline.shape.dies_per_bus), on_bus),
    };
    let times = (stretch.start_ns, end);
    packets.slice(&Slice { track, name, category, times, notes: &notes, flows: &[], flows_end: &flows })
}
