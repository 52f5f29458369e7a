//! A row of members in memory, and the tasks on it.

use std::fmt;

use stripewise_base::prng::Prng;

/// The numbers of data and parity members of a row, and the bytes of each member.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) data: usize,
    pub(crate) parity: usize,
    pub(crate) bytes: usize,
}

/// The measured task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// All parities from all data.
    Encode,
    /// One changed data member into every parity.
    Delta,
    /// One lost data member, all other members available.
    DecodeOne,
    /// Two lost data members.
    DecodeTwo,
}

impl Task {
    pub(crate) const ALL: [Self; 4] = [Self::Encode, Self::Delta, Self::DecodeOne, Self::DecodeTwo];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Encode => "encode",
            Self::Delta => "delta",
            Self::DecodeOne => "decode one",
            Self::DecodeTwo => "decode two",
        }
    }
}

impl Shape {
    /// The data members that a task changes or decodes.
    pub(crate) fn touched(self, task: Task) -> Vec<usize> {
        match task {
            Task::Encode => vec![],
            Task::Delta | Task::DecodeOne => vec![1],
            Task::DecodeTwo => vec![1, self.data - 2],
        }
    }

    /// The members that a task writes.
    pub(crate) fn written(self, task: Task) -> Vec<usize> {
        match task {
            Task::Encode | Task::Delta => (self.data..self.data + self.parity).collect(),
            Task::DecodeOne | Task::DecodeTwo => self.touched(task),
        }
    }

    /// Bytes of source that a task reads: all source members, or the change.
    pub(crate) fn source_bytes(self, task: Task) -> usize {
        if task == Task::Delta { self.bytes } else { self.data * self.bytes }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}+{}", self.data, self.parity)
    }
}

/// The members of a row, one after another as in a pool of pages: data, parity, a change, and spare members for
/// `memcpy`, as many as there are data members.
pub(crate) struct CodeRow {
    memory: Vec<u8>,
    start: usize,
    shape: Shape,
}

/// All members of a row as slices.
pub(crate) struct Members<'a> {
    pub(crate) data: Vec<&'a mut [u8]>,
    pub(crate) parity: Vec<&'a mut [u8]>,
    pub(crate) change: &'a mut [u8],
    pub(crate) spare: Vec<&'a mut [u8]>,
}

impl CodeRow {
    const ALIGNMENT: usize = 4096;

    /// Members with bytes drawn from a seed.
    pub(crate) fn new(shape: Shape) -> Self {
        let members = 2 * shape.data + shape.parity + 1;
        let memory = vec![0; members * shape.bytes + Self::ALIGNMENT];
        let start = memory.as_ptr().align_offset(Self::ALIGNMENT);
        let mut row = Self { memory, start, shape };
        let mut random = Prng::new(1);
        row.memory
            .chunks_exact_mut(8)
            .for_each(|word| word.copy_from_slice(&random.next_u64().to_le_bytes()));
        row
    }

    pub(crate) fn shape(&self) -> Shape {
        self.shape
    }

    pub(crate) fn members(&mut self) -> Members<'_> {
        let Shape { data, parity, bytes } = self.shape;
        let mut members: Vec<&mut [u8]> = self.memory[self.start..].chunks_exact_mut(bytes).collect();
        members.truncate(2 * data + parity + 1);
        let spare = members.split_off(data + parity + 1);
        let change = members.pop().expect("there is a change");
        let parity = members.split_off(data);
        Members { data: members, parity, change, spare }
    }

    /// The bytes of data and parity members.
    pub(crate) fn bytes_of(&mut self, members: &[usize]) -> Vec<Vec<u8>> {
        let at = |member: &usize| self.start + member * self.shape.bytes;
        members.iter().map(|member| self.memory[at(member)..at(member) + self.shape.bytes].to_vec()).collect()
    }

    /// Overwrites data and parity members.
    pub(crate) fn put(&mut self, members: &[usize], content: &[Vec<u8>]) {
        for (member, content) in members.iter().zip(content) {
            let at = self.start + member * self.shape.bytes;
            self.memory[at..at + self.shape.bytes].copy_from_slice(content);
        }
    }
}
