//! The contenders: this project's codes, ISA-L, crates, and `memcpy`.

use std::hint::black_box;

use anyhow::Result;
use reed_solomon_simd::{ReedSolomonDecoder, ReedSolomonEncoder};
use stripewise_code::{Code, Kind};

use crate::isal::{Isal, Pointers, Tables};
use crate::row::{CodeRow, Members, Shape, Task};

/// An implementation of a task.
pub(crate) struct Contender<'a> {
    pub(crate) name: &'static str,
    pub(crate) kind: Role,
    work: Box<dyn FnMut(Members<'_>, u64) + 'a>,
}

/// The role of a contender in the comparison.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// This project.
    Ours,
    /// ISA-L, whose parity is the same.
    Isal,
    /// A crate, whose parity may differ from ours.
    Crate,
    /// A copy without a code.
    Memcpy,
}

impl Contender<'_> {
    /// Runs the task `calls` times.
    pub(crate) fn run(&mut self, row: &mut CodeRow, calls: u64) {
        (self.work)(row.members(), calls);
    }
}

/// All contenders that implement `task`, this project first.
pub(crate) fn all<'a>(row: &mut CodeRow, task: Task, isal: Option<&'a Isal>) -> Result<Vec<Contender<'a>>> {
    let shape = row.shape();
    let mut all = vec![ours(shape, task)?];
    if let Some(isal) = isal {
        all.extend(of_isal(isal, shape, task)?);
    }
    all.extend(of_simd_crate(row, task)?);
    all.push(memcpy());
    Ok(all)
}

impl<'a> Contender<'a> {
    pub(crate) fn new(name: &'static str, kind: Role, work: impl FnMut(Members<'_>, u64) + 'a) -> Self {
        Self { name, kind, work: Box::new(work) }
    }
}

fn ours<'a>(shape: Shape, task: Task) -> Result<Contender<'a>> {
    let kind = if shape.parity == 1 { Kind::Xor } else { Kind::Pq };
    let code = Code::new(kind, shape.data as u32, None)?;
    let touched = shape.touched(task);
    Ok(Contender::new("stripewise", Role::Ours, move |members, calls| {
        let Members { data, mut parity, change, .. } = members;
        match task {
            Task::Encode => {
                let data: Vec<&[u8]> = data.iter().map(|member| &**member).collect();
                (0..calls).for_each(|_| code.encode(black_box(&data), black_box(&mut parity)));
            }
            Task::Delta => {
                let index = touched[0] as u32;
                (0..calls).for_each(|_| code.update(index, black_box(change), black_box(&mut parity)));
            }
            Task::DecodeOne | Task::DecodeTwo => {
                let lost = touched.iter().fold(0, |lost, index| lost | 1 << index);
                let mut members: Vec<&mut [u8]> = data.into_iter().chain(parity).collect();
                for _ in 0..calls {
                    code.decode(black_box(&mut members), lost, lost).expect("the code bears it");
                }
            }
        }
    }))
}

/// The remaining members, data first, and the lost members.
type Split<'a> = (Vec<&'a mut [u8]>, Vec<&'a mut [u8]>);

fn split<'a>(data: Vec<&'a mut [u8]>, parity: Vec<&'a mut [u8]>, lost: &[usize]) -> Split<'a> {
    let members = data.into_iter().chain(parity).enumerate();
    let (lost, left): (Vec<_>, Vec<_>) = members.partition(|(index, _)| lost.contains(index));
    let bare = |members: Vec<(usize, &'a mut [u8])>| members.into_iter().map(|(_, member)| member).collect();
    (bare(left), bare(lost))
}

fn of_isal<'a>(isal: &'a Isal, shape: Shape, task: Task) -> Result<Vec<Contender<'a>>> {
    let new = |name, work| Contender { name, kind: Role::Isal, work };
    let touched = shape.touched(task);
    let lost = touched.clone();
    Ok(match task {
        Task::Encode => {
            let mut tables = isal.encoding(shape.data, shape.parity);
            let gen_name = if shape.parity == 1 { "xor_gen" } else { "pq_gen" };
            vec![
                new(
                    gen_name,
                    Box::new(move |Members { data, parity, .. }, calls| {
                        let mut all = Pointers::new(data.into_iter().chain(parity));
                        for _ in 0..calls {
                            if shape.parity == 1 { isal.xor_gen(&mut all) } else { isal.pq_gen(&mut all) }
                        }
                    }),
                ),
                new(
                    "ec_encode_data",
                    Box::new(move |Members { data, parity, .. }, calls| {
                        let (mut from, mut to) = (Pointers::new(data), Pointers::new(parity));
                        (0..calls).for_each(|_| isal.ec_encode_data(&mut tables, &mut from, &mut to));
                    }),
                ),
            ]
        }
        Task::Delta => {
            let mut tables: Tables = isal.encoding(shape.data, shape.parity);
            let mut found = vec![new(
                "ec_encode_data_update",
                Box::new(move |Members { parity, change, .. }, calls| {
                    let (mut change, mut to) = (Pointers::new([change]), Pointers::new(parity));
                    for _ in 0..calls {
                        isal.ec_encode_data_update(&mut tables, touched[0], &mut change, &mut to);
                    }
                }),
            )];
            if shape.parity == 1 {
                found.push(new(
                    "xor_gen",
                    Box::new(|Members { parity, change, .. }, calls| {
                        let mut all = Pointers::new([change].into_iter().chain(parity)).with_last_in_front();
                        (0..calls).for_each(|_| isal.xor_gen(&mut all));
                    }),
                ));
            }
            found
        }
        Task::DecodeOne | Task::DecodeTwo => {
            let mut survivors: Vec<usize> =
                (0..shape.data + shape.parity).filter(|index| !lost.contains(index)).collect();
            survivors.truncate(shape.data);
            let mut tables = isal.decoding(shape.data, shape.parity, &survivors, &lost)?;
            let lost_too = lost.clone();
            let mut found = vec![new(
                "ec_encode_data",
                Box::new(move |Members { data, parity, .. }, calls| {
                    let (left, lost) = split(data, parity, &lost);
                    let (mut from, mut to) =
                        (Pointers::new(left.into_iter().take(shape.data)), Pointers::new(lost));
                    (0..calls).for_each(|_| isal.ec_encode_data(&mut tables, &mut from, &mut to));
                }),
            )];
            if task == Task::DecodeOne {
                found.push(new(
                    "xor_gen",
                    Box::new(move |Members { data, parity, .. }, calls| {
                        let (left, lost) = split(data, parity, &lost_too);
                        let mut all = Pointers::new(left.into_iter().take(shape.data).chain(lost));
                        (0..calls).for_each(|_| isal.xor_gen(&mut all));
                    }),
                ));
            }
            found
        }
    })
}

/// `reed-solomon-simd`: codes by fast Fourier transforms over 16-bit elements. Its parity differs from ours, and it
/// cannot update. It keeps its results in its own memory; they are copied to the row, as its users must do.
fn of_simd_crate<'a>(row: &mut CodeRow, task: Task) -> Result<Option<Contender<'a>>> {
    let Shape { data: count, parity: parities, bytes } = row.shape();
    let lost = row.shape().touched(task);
    let new = |work| Contender { name: "reed-solomon-simd", kind: Role::Crate, work };
    let mut encoder = ReedSolomonEncoder::new(count, parities, bytes)?;
    let encode = move |data: &[&mut [u8]], parity: &mut [&mut [u8]]| {
        data.iter().for_each(|member| encoder.add_original_shard(member).expect("it is of the right length"));
        let result = encoder.encode().expect("all were added");
        parity.iter_mut().zip(result.recovery_iter()).for_each(|(to, from)| to.copy_from_slice(from));
    };
    Ok(match task {
        Task::Encode => {
            let mut encode = encode;
            Some(new(Box::new(move |Members { data, mut parity, .. }, calls| {
                (0..calls).for_each(|_| encode(black_box(&data), &mut parity));
            })))
        }
        Task::Delta => None,
        Task::DecodeOne | Task::DecodeTwo => {
            let mut encode = encode;
            let mut recovery = vec![vec![0; bytes]; parities];
            let mut targets: Vec<&mut [u8]> = recovery.iter_mut().map(Vec::as_mut_slice).collect();
            encode(&row.members().data, &mut targets);
            let mut decoder = ReedSolomonDecoder::new(count, parities, bytes)?;
            Some(new(Box::new(move |Members { mut data, .. }, calls| {
                for _ in 0..calls {
                    for (index, member) in data.iter().enumerate().filter(|(index, _)| !lost.contains(index))
                    {
                        decoder
                            .add_original_shard(index, black_box(member))
                            .expect("it is of the right length");
                    }
                    for (index, shard) in recovery.iter().take(lost.len()).enumerate() {
                        decoder.add_recovery_shard(index, shard).expect("it is of the right length");
                    }
                    let result = decoder.decode().expect("enough were added");
                    for (index, bytes) in result.restored_original_iter() {
                        data[index].copy_from_slice(bytes);
                    }
                }
            })))
        }
    })
}

/// A copy of the source to other memory.
fn memcpy<'a>() -> Contender<'a> {
    Contender::new("memcpy", Role::Memcpy, |Members { data, mut spare, .. }, calls| {
        for _ in 0..calls {
            for (to, from) in spare.iter_mut().zip(&data) {
                to.copy_from_slice(black_box(from));
            }
        }
    })
}
