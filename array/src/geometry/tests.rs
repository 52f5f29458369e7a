use proptest::prelude::*;

use super::*;

fn shape(level: Level, elements: u32, groups: u32, chunk_pages: u64, rotation: Rotation) -> Shape {
    Shape {
        level,
        elements,
        groups,
        chunk_bytes: chunk_pages * 4096,
        page_bytes: 4096,
        element_pages: 240,
        rotation,
        rotate_every: 1,
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
    (level, 4u32..9, 1u32..4, 1u64..7, rotation, 1u32..3).prop_map(
        |(level, members, groups, chunk, rotation, rotate_every)| Shape {
            rotate_every,
            ..shape(level, members * groups, groups, chunk, rotation)
        },
    )
}

#[test]
fn left_symmetric_raid5_lays_chunks_as_linux_md_does() {
    let geometry = Geometry::new(&shape(Level::Raid5, 4, 1, 1, Rotation::LeftSymmetric)).unwrap();
    let layout: Vec<Vec<u16>> = (0..4)
        .map(|row| (0..4).map(|member| geometry.element(geometry.place(row), member)).collect())
        .collect();
    // Elements of D0, D1, D2 and P of the first four stripes, from md(4)'s description of left-symmetric.
    assert_eq!(layout, [[0, 1, 2, 3], [3, 0, 1, 2], [2, 3, 0, 1], [1, 2, 3, 0]]);
}

/// Disks of D0, D1 …, P and Q of the first stripes, and the exponents of g that the data members have in Q.
fn raid6(elements: u32, rotation: Rotation) -> Vec<(Vec<u16>, Vec<u32>)> {
    let geometry = Geometry::new(&shape(Level::Raid6, elements, 1, 1, rotation)).unwrap();
    let layout = |row| {
        let place = geometry.place(row);
        let disks = (0..elements).map(|member| geometry.element(place, member)).collect();
        (disks, (0..geometry.data).map(|member| geometry.code_index(place, member)).collect())
    };
    (0..u64::from(elements)).map(layout).collect()
}

#[test]
fn raid6_lays_chunks_and_numbers_coefficients_as_linux_md_does() {
    // By raid5_compute_sector and raid6_d0 of Linux md, worked out by hand: Q follows P, and the coefficients begin with
    // the disk behind Q.
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
        let place = geometry.place(stripe);
        assert_eq!(u64::from(geometry.element(place, 2)), stripe % 3 * 3 + stripe / 3 % 3);
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
    assert!(long.unwrap_err().to_string().contains("larger than an element"));
}

proptest! {
    #[test]
    fn every_page_of_the_array_has_a_slot_of_its_own(shape in any_shape()) {
        let geometry = Geometry::new(&shape).unwrap();
        let mut taken = vec![false; (shape.elements * shape.element_pages) as usize];
        for row in 0..geometry.rows() {
            let place = geometry.place(row);
            for member in 0..geometry.members {
                let slot = u32::from(geometry.element(place, member)) * shape.element_pages + place.page;
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
            pages.extend((piece.first..=piece.last).map(|member| geometry.array_page(piece.row, member)));
        }
        pages.sort_unstable();
        prop_assert_eq!(pages, (start..start + count).collect::<Vec<_>>());
        rows.sort_unstable();
        rows.dedup();
        let touched: std::collections::BTreeSet<u64> = (start..start + count)
            .map(|page| {
                let chunk = u64::from(geometry.chunk_pages);
                page / chunk / u64::from(geometry.data) * chunk + page % chunk
            })
            .collect();
        prop_assert_eq!(rows, touched.into_iter().collect::<Vec<_>>());
    }
}
