//! Groups so wide that a summary has room for exactly one stripe.

use stripewise_testkit::Disk;

use crate::host::Host;

fn scheme(level: &str) -> String {
    format!(
        "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"{level}\"\n[placement]\npolicy = \"elastic\"\n\
         buffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 4\nacknowledge = \"buffered\"\n"
    )
}

/// An array of `width` members serves, loses the members in `failed` when a part of it is written, and serves again after
/// it was assembled again.
fn serves_degraded(level: &str, page_bytes: u32, width: usize, failed: &[u16]) {
    let mut host = Host::without_create(&scheme(level), Disk::new(width, 120, page_bytes));
    let chunks = host.capacity() / 2;
    (0..chunks / 2).for_each(|chunk| host.write(chunk, 1));
    failed.iter().for_each(|&member| host.fail(member));
    let value = |chunk: u64| (chunk % 200) as u8 + 2;
    for round in 0..4 {
        (0..chunks).for_each(|chunk| host.write(chunk, value(chunk + round)));
        host.flush();
    }
    let is_right = |host: &mut Host| (0..chunks).all(|chunk| host.read(chunk) == Some(value(chunk + 3)));
    let said = format!("{level} over {width} members with pages of {page_bytes} bytes without {failed:?}");
    assert!(is_right(&mut host), "{said}");
    assert!(is_right(&mut host.lose_power()), "{said}, opened anew");
}

#[test]
fn a_full_stripe_of_a_degraded_group_has_room_in_its_summary_however_wide_the_group_is() {
    for (page_bytes, widths) in [(512, 13..=15), (1024, 34..=36)] {
        for width in widths {
            (0..width as u16).for_each(|member| serves_degraded("raid5", page_bytes, width, &[member]));
        }
    }
    for (page_bytes, widths) in [(512, 11..=14), (1024, 33..=35)] {
        for width in widths {
            for member in 0..width as u16 {
                serves_degraded("raid6", page_bytes, width, &[member]);
                let next = (member + 1) % width as u16;
                serves_degraded("raid6", page_bytes, width, &[member, next]);
            }
            serves_degraded("raid6", page_bytes, width, &[0, width as u16 / 2]);
        }
    }
}

#[test]
fn an_array_whose_summaries_have_no_room_for_each_stripe_is_not_created() {
    for (level, page_bytes, most) in
        [("raid5", 512, 14), ("raid6", 512, 12), ("raid5", 1024, 35), ("raid6", 1024, 33)]
    {
        let refusal = |width| Host::refused_creation(&scheme(level), Disk::new(width, 120, page_bytes));
        assert_eq!(refusal(most), "", "{level} over {most} members with pages of {page_bytes} bytes");
        let refusal = refusal(most + 1);
        assert!(refusal.ends_with("use fewer members a group, or larger pages"), "{refusal}");
    }
}
