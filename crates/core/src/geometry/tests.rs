use crate::ids::RowNo;
use proptest::prelude::*;

use super::*;

fn shape(level: Level, members: u32, groups: u32, chunk_pages: u64, rotation: Rotation) -> Shape {
    Shape {
        level,
        members,
        groups,
        chunk_bytes: chunk_pages * 4096,
        page_bytes: 4096,
        member_pages: 240,
        rotation,
        rotate_every: 1,
        membership: Membership::Contiguous,
    }
}

fn any_shape() -> impl Strategy<Value = Shape> {
    let rotation = prop::sample::select(vec![
        Rotation::LeftSymmetric,
        Rotation::LeftAsymmetric,
        Rotation::RightSymmetric,
        Rotation::RightAsymmetric,
        Rotation::None,
    ]);
    let level = prop::sample::select(vec![Level::Raid0, Level::Raid5, Level::Raid6]);
    (level, 4u32..9, 1u32..5, 1u64..7, rotation, 1u32..3, any::<bool>()).prop_map(
        |(level, columns, groups, chunk, rotation, rotate_every, is_apart)| Shape {
            rotate_every,
            membership: match is_apart && groups > 1 && level != Level::Raid0 {
                true => Membership::LongestCodeInterval,
                false => Membership::Contiguous,
            },
            ..shape(level, columns * groups, groups, chunk, rotation)
        },
    )
}

#[test]
fn left_symmetric_raid5_lays_chunks_as_linux_md_does() {
    let geometry = Geometry::new(&shape(Level::Raid5, 4, 1, 1, Rotation::LeftSymmetric)).unwrap();
    let layout: Vec<Vec<u16>> = (0..4)
        .map(|row| {
            (0..4).map(|column| geometry.member(geometry.place(RowNo::new(row)), column).number()).collect()
        })
        .collect();
    // Members of D0, D1, D2 and P of the first four stripes, from md(4)'s description of left-symmetric.
    assert_eq!(layout, [[0, 1, 2, 3], [3, 0, 1, 2], [2, 3, 0, 1], [1, 2, 3, 0]]);
}

/// Disks of D0, D1 …, P and Q of the first stripes, and the exponents of g that the data columns have in Q.
fn raid6(members: u32, rotation: Rotation) -> Vec<(Vec<u16>, Vec<u32>)> {
    let geometry = Geometry::new(&shape(Level::Raid6, members, 1, 1, rotation)).unwrap();
    let layout = |row: u64| {
        let place = geometry.place(RowNo::new(row));
        let disks = (0..members).map(|column| geometry.member(place, column).number()).collect();
        (disks, (0..geometry.data).map(|column| geometry.code_index(place, column)).collect())
    };
    (0..u64::from(members)).map(layout).collect()
}

#[test]
fn raid6_lays_chunks_and_numbers_coefficients_as_linux_md_does() {
    // Computed by hand from raid5_compute_sector and raid6_d0 of Linux md: Q follows P, and the coefficients begin with
    // the disk after Q.
    let symmetric = raid6(4, Rotation::LeftSymmetric);
    assert_eq!(symmetric[0], (vec![1, 2, 3, 0], vec![0, 1]));
    assert_eq!(symmetric[1], (vec![0, 1, 2, 3], vec![0, 1]));
    assert_eq!(symmetric[2], (vec![3, 0, 1, 2], vec![0, 1]));
    assert_eq!(symmetric[3], (vec![2, 3, 0, 1], vec![0, 1]));
    let asymmetric = raid6(5, Rotation::LeftAsymmetric);
    assert_eq!(asymmetric[0], (vec![1, 2, 3, 4, 0], vec![0, 1, 2]), "P on the last disk, Q on the first");
    assert_eq!(asymmetric[1], (vec![0, 1, 2, 3, 4], vec![0, 1, 2]));
    assert_eq!(asymmetric[2], (vec![0, 1, 4, 2, 3], vec![1, 2, 0]), "disk 4 is the first behind Q");
    assert_eq!(asymmetric[4], (vec![2, 3, 4, 0, 1], vec![0, 1, 2]));
    assert_eq!(raid6(4, Rotation::RightSymmetric)[1], (vec![3, 0, 1, 2], vec![0, 1]));
    assert_eq!(raid6(4, Rotation::None)[3], (vec![0, 1, 2, 3], vec![0, 1]));
}

#[test]
fn paper_002_puts_parity_of_group_g_at_member_s_mod_t() {
    let geometry = Geometry::new(&shape(Level::Raid5, 9, 3, 1, Rotation::RightAsymmetric)).unwrap();
    for stripe in 0..30u64 {
        let place = geometry.place(RowNo::new(stripe));
        assert_eq!(u64::from(geometry.member(place, 2).number()), stripe % 3 * 3 + stripe / 3 % 3);
    }
}

#[test]
fn what_cannot_be_is_refused_with_the_remedy() {
    let few = Geometry::new(&shape(Level::Raid5, 2, 1, 1, Rotation::None)).unwrap_err();
    assert!(few.to_string().contains("at least 3"), "{few}");
    let few = Geometry::new(&shape(Level::Raid6, 3, 1, 1, Rotation::None)).unwrap_err();
    assert!(few.to_string().contains("at least 4"), "{few}");
    let odd = Geometry::new(&shape(Level::Raid5, 10, 3, 1, Rotation::None)).unwrap_err();
    assert!(odd.to_string().contains("divides"), "{odd}");
    let chunk = Geometry::new(&Shape { chunk_bytes: 6000, ..shape(Level::Raid0, 2, 1, 1, Rotation::None) });
    assert!(chunk.unwrap_err().to_string().contains("multiple"));
    let long = Geometry::new(&shape(Level::Raid0, 2, 1, 241, Rotation::None));
    assert!(long.unwrap_err().to_string().contains("larger than a member"));
}

/// Stripe, page in the chunk and data column of the array's `page`, by counting chunks one by one: the stripes of all
/// groups are filled either one after the other, or chunk by chunk in turn.
fn counted(geometry: &Geometry, page: u64) -> (u64, u64, u32) {
    let (chunk, offset) = (page / u64::from(geometry.chunk_pages), page % u64::from(geometry.chunk_pages));
    let groups = u64::from(geometry.groups);
    let mut left = chunk;
    for first in (0..).step_by(groups as usize) {
        let stripes = first..first + groups;
        let columns = 0..geometry.data;
        let mut order: Vec<(u64, u32)> = match geometry.membership {
            Membership::Contiguous => {
                stripes.flat_map(|stripe| columns.clone().map(move |column| (stripe, column))).collect()
            }
            Membership::LongestCodeInterval => {
                columns.flat_map(|column| stripes.clone().map(move |stripe| (stripe, column))).collect()
            }
        };
        if left < order.len() as u64 {
            let (stripe, column) = order.swap_remove(left as usize);
            return (stripe, offset, column);
        }
        left -= order.len() as u64;
    }
    unreachable!("the array has as many stripes as it takes")
}

fn apart(level: Level, members: u32, groups: u32, rotation: Rotation) -> Geometry {
    let membership = Membership::LongestCodeInterval;
    Geometry::new(&Shape { membership, ..shape(level, members, groups, 1, rotation) }).unwrap()
}

#[test]
fn the_longest_code_interval_is_as_many_members_as_there_are_groups() {
    let group = |members, groups, group| -> Vec<u16> {
        let geometry = apart(Level::Raid5, members, groups, Rotation::RightAsymmetric);
        geometry.group(group).map(MemberNo::number).collect()
    };
    // Paper 002, figure 8: nine chips in three groups.
    assert_eq!([group(9, 3, 0), group(9, 3, 1), group(9, 3, 2)], [[0, 3, 6], [1, 4, 7], [2, 5, 8]]);
    assert_eq!(group(64, 8, 0), [0, 8, 16, 24, 32, 40, 48, 56]);
    assert_eq!(group(64, 16, 0), [0, 16, 32, 48], "length 4, where the paper's text would say 0, 4, 8 …");
    assert_eq!(group(64, 4, 3), (0..16).map(|nth| 3 + 4 * nth).collect::<Vec<_>>(), "length 16");
}

#[test]
fn pages_of_paper_002_fill_the_chips_without_parity_in_ascending_order() {
    for (level, members, groups) in
        [(Level::Raid5, 9, 3), (Level::Raid5, 64, 16), (Level::Raid5, 64, 4), (Level::Raid6, 64, 8)]
    {
        let geometry = apart(level, members, groups, Rotation::RightAsymmetric);
        let mut page = 0;
        for stripe in 0..40 {
            // Parity of every group at column `stripe mod t`, and Q after it.
            let is_parity = |member: u32| {
                let position = member / groups;
                (0..level.parity()).any(|nth| position == (stripe + nth) % geometry.columns)
            };
            for member in (0..members).filter(|&member| !is_parity(member)) {
                let (row, column) = geometry.slot(page);
                let place = geometry.place(row);
                assert_eq!(
                    (u32::from(geometry.member(place, column).number()), place.page),
                    (member, stripe)
                );
                page += 1;
            }
        }
    }
}

#[test]
fn a_page_among_sixteen_groups_is_one_row() {
    let geometry = apart(Level::Raid5, 64, 16, Rotation::RightAsymmetric);
    let mut cursor = RowCursor::new(17, 1);
    assert_eq!(cursor.next(&geometry), Some(RowPiece { row: RowNo::new(1), first: 1, last: 1 }));
    assert!(cursor.is_done());
    let mut cursor = RowCursor::new(15, 18);
    let rows: Vec<_> = std::iter::from_fn(|| cursor.next(&geometry)).collect();
    assert_eq!(rows.len(), 16, "18 chunks from the last group on: two groups have two of them");
    assert_eq!(rows[0], RowPiece { row: RowNo::new(15), first: 0, last: 1 });
    assert_eq!(rows[1], RowPiece { row: RowNo::new(0), first: 1, last: 2 });
    assert_eq!(rows[2], RowPiece { row: RowNo::new(1), first: 1, last: 1 });
}

#[test]
fn a_membership_without_a_choice_is_refused_with_the_reason() {
    let of = |level, groups| {
        let membership = Membership::LongestCodeInterval;
        let shape = Shape { membership, ..shape(level, 8, groups, 1, Rotation::None) };
        Geometry::new(&shape).unwrap_err().to_string()
    };
    assert!(of(Level::Raid0, 1).contains("leave it out with RAID-0"), "{}", of(Level::Raid0, 1));
    assert!(of(Level::Raid5, 1).contains("raise geometry.groups"), "{}", of(Level::Raid5, 1));
}

proptest! {
    #[test]
    fn a_page_lies_where_counting_chunk_by_chunk_finds_it(shape in any_shape(), at in 0.0..1.0f64) {
        let geometry = Geometry::new(&shape).unwrap();
        let page = (geometry.pages() as f64 * at) as u64;
        let (stripe, offset, column) = counted(&geometry, page);
        let row = RowNo::new(stripe * u64::from(geometry.chunk_pages) + offset);
        prop_assert_eq!(geometry.slot(page), (row, column));
        prop_assert_eq!(geometry.array_page(row, column), page, "the way back");
        let mut cursor = RowCursor::new(page, 1);
        prop_assert_eq!(cursor.next(&geometry), Some(RowPiece { row, first: column, last: column }));
        prop_assert!(cursor.is_done());
    }

    #[test]
    fn the_members_of_a_row_are_the_members_of_its_group(shape in any_shape(), at in 0.0..1.0f64) {
        let geometry = Geometry::new(&shape).unwrap();
        let row = (geometry.rows() as f64 * at) as u64;
        let place = geometry.place(RowNo::new(row));
        let group = geometry.group_of(place.base);
        let mut members: Vec<MemberNo> =
            (0..geometry.columns).map(|column| geometry.member(place, column)).collect();
        members.sort_unstable();
        prop_assert_eq!(&members, &geometry.group(group).collect::<Vec<_>>());
        prop_assert!(members.iter().all(|&member| geometry.group_of(member) == group));
        let groups = (0..geometry.groups).flat_map(|group| geometry.group(group)).collect::<std::collections::BTreeSet<_>>();
        prop_assert_eq!(groups, MemberNo::first(shape.members).collect(), "every member has a group");
    }

    #[test]
    fn every_page_of_the_array_has_a_slot_of_its_own(shape in any_shape()) {
        let geometry = Geometry::new(&shape).unwrap();
        let mut taken = vec![false; (shape.members * shape.member_pages) as usize];
        for row in 0..geometry.rows() {
            let place = geometry.place(RowNo::new(row));
            for column in 0..geometry.columns {
                let slot = u32::from(geometry.member(place, column).number()) * shape.member_pages + place.page;
                prop_assert!(!std::mem::replace(&mut taken[slot as usize], true));
            }
        }
    }

    #[test]
    fn a_run_is_cut_into_rows_that_cover_each_page_once(shape in any_shape(), at in 0.0..1.0f64, count in 1u64..90) {
        let geometry = Geometry::new(&shape).unwrap();
        let count = count.min(geometry.pages());
        let start = ((geometry.pages() - count) as f64 * at) as u64;
        let mut cursor = RowCursor::new(start, count);
        let mut pages = Vec::new();
        let mut rows = Vec::new();
        while let Some(piece) = cursor.next(&geometry) {
            rows.push(piece.row);
            pages.extend((piece.first..=piece.last).map(|column| geometry.array_page(piece.row, column)));
        }
        pages.sort_unstable();
        prop_assert_eq!(pages, (start..start + count).collect::<Vec<_>>());
        rows.sort_unstable();
        rows.dedup();
        let touched: std::collections::BTreeSet<RowNo> = (start..start + count)
            .map(|page| {
                let (stripe, chunk, _) = counted(&geometry, page);
                RowNo::new(stripe * u64::from(geometry.chunk_pages) + chunk)
            })
            .collect();
        prop_assert_eq!(rows, touched.into_iter().collect::<Vec<_>>());
    }
}
