//! Which content that does not match its checksum counts as an error of its member.

use stripewise_array::format::Uuid;
use stripewise_array::{Bug, Rejoining};
use stripewise_testkit::Disk;

use crate::host::Host;

const IN_PLACE: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid6\"\n";
const LOG: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid6\"\n[placement]\n\
    policy = \"elastic\"\nbuffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 16\nacknowledge = \"buffered\"\n";

/// A host that has written `chunks` chunks.
fn written(scheme: &str, chunks: u64) -> Host {
    let mut host = Host::create(scheme, Disk::new(6, 400, 1024));
    (0..chunks).for_each(|chunk| host.write(chunk, chunk as u8 | 1));
    host.flush();
    host
}

/// Members 1 and 3 fail, `chunks` chunks are written, and both return, one after the other. Reads continue.
fn returned(scheme: &str, chunks: u64, bug: Option<Bug>) -> Host {
    let mut host = written(scheme, chunks);
    host.array.plant(bug);
    [1, 3].into_iter().for_each(|member| host.fail(member));
    (0..chunks).for_each(|chunk| host.write(chunk, chunk as u8 | 2));
    host.flush();
    for member in [1, 3] {
        host.finish();
        host.disk().members[usize::from(member)].is_gone = false;
        let how = host.returned(member);
        host.rejoin(member, how);
        let mut chunk = 0;
        while host.array.rebuilding().is_some() {
            assert_eq!(host.read(chunk), Some(chunk as u8 | 2), "chunk {chunk}");
            chunk = (chunk + 7) % chunks;
        }
    }
    host.finish();
    host
}

#[test]
fn members_that_return_stale_are_not_charged_with_what_they_lack() {
    for (scheme, chunks) in [(IN_PLACE, 500), (LOG, 300)] {
        let mut host = returned(scheme, chunks, None);
        assert_eq!(host.charged(), [0; 6], "{scheme}");
        assert_eq!(host.scrub().bad, 0, "{scheme}");
        assert_eq!(host.charged(), [0; 6], "both are whole: {scheme}");
    }
    let host = returned(IN_PLACE, 500, Some(Bug::StaleCharged));
    assert!(host.charged()[1] > 50 && host.charged()[3] > 50, "{:?}", host.charged());
}

/// The members and pages of the stripe of a log that holds `chunk`.
fn stripe_of(host: &Host, chunk: u64) -> Vec<(u16, u32)> {
    let place = host.array.chunk_in_log(chunk).expect("it was written");
    let stripes = host.array.stripes();
    let its = stripes.iter().find(|stripe| stripe.columns.iter().any(|column| (column.1, column.2) == place));
    its.expect("it is in a stripe")
        .columns
        .iter()
        .map(|&(_, member, page, _)| (member.number(), page))
        .collect()
}

#[test]
fn pages_without_live_content_are_charged_to_no_member() {
    for bug in [None, Some(Bug::StaleCharged)] {
        let mut host = written(LOG, 40);
        host.array.plant(bug);
        let stripe = stripe_of(&host, 17);
        // None of its content counts from now on.
        (0..40).for_each(|chunk| host.write(chunk, 3));
        host.flush();
        host.finish();
        let (liar, page) = stripe[0];
        host.disk().members[usize::from(liar)].pages[page as usize][7] ^= 1;
        let gone = stripe[1].0;
        host.fail(gone);
        host.finish();
        {
            let its = &mut host.disk().members[usize::from(gone)];
            its.is_gone = false;
            its.pages.iter_mut().for_each(|page| page.fill(0xa5));
        }
        host.rejoin(gone, Rejoining::Replacement { uuid: Uuid([0x77; 16]), pages: 400 });
        host.finish_rebuild();
        host.finish();
        let mut expected = [0; 6];
        expected[usize::from(liar)] = u64::from(bug.is_some());
        assert_eq!(host.charged(), expected, "{bug:?}");
    }
}

/// The counterpart: silence does not pass.
#[test]
fn each_true_error_is_charged_to_the_member_that_lies() {
    for scheme in [IN_PLACE, LOG] {
        let mut host = written(scheme, 300);
        let mut expected = [0; 6];
        for chunk in (0..300).step_by(37) {
            let (member, page) = match scheme == LOG {
                true => host.array.chunk_in_log(chunk).expect("it was written"),
                false => {
                    let (row, column) = host.array.locate(chunk).expect("it has a place");
                    let place = host.array.geometry().place(row);
                    (host.array.geometry().member(place, column), place.page)
                }
            };
            host.disk().members[member.index()].pages[page as usize][7] ^= 1;
            expected[member.index()] += 1;
        }
        let counts = host.scrub();
        assert_eq!((counts.bad, counts.lost), (9, 0), "{scheme}: {counts:?}");
        assert_eq!(host.charged(), expected, "{scheme}");
        host.flush();
        host.finish();
        assert_eq!(host.scrub().bad, 0, "{scheme}");
        assert_eq!(host.charged(), expected, "{scheme}: they are repaired");
    }
}
