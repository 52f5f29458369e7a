//! Preconditioning: bringing a fresh device, before the first request, to the state that results from long use.
//!
//! The direct method ([`State::Written`]) writes every page through the map, with garbage collection but without
//! time. It takes about a hundred flash operations per page. The fast method ([`State::Steady`]) relies on two facts
//! about uniform writes: planes collect independently, and the assignment of logical pages to places is a random
//! permutation. It brings one plane to its steady state by the direct method and copies it to all planes, with a
//! different permutation for each. Between two copies it writes enough pages to put the planes out of phase. A test
//! compares the two methods.

use stripewise_base::prng::Prng;

use crate::collection::gc;
use crate::flash::{Carried, Flash};
use crate::geometry::Level;
use crate::media::Media;
use crate::spec::{DieInterleaving, MultiPlane, Pool};
use stripewise_base::share::Share;

/// The state of a device before its first request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Every page of the share has been written once, in order.
    Sequential,
    /// The steady state under uniform random writes to the pages of the share.
    Steady,
    /// The same state, reached by writing; takes about a hundred times as long.
    Written,
}

/// Random writes per mapped page before the state counts as steady. By then all but e^-6 of the pages have been
/// written since the sequential fill, and the valid counts have turned over several times.
const ROUNDS: u64 = 6;
/// The template also counts as steady after each of its blocks has been erased this often, on average. Uniform writes
/// have no memory, so only the initial fill must be forgotten.
const GENERATIONS: u64 = 20;
/// Up to this share of the template's blocks is erased between two copies. This is many times the distance between
/// two collections.
const ADVANCE: Share = Share(500_000);
/// Random writes between two calls of `may_continue`: some hundredths of a second.
const WRITES_PER_LOOK: u64 = 1 << 18;

impl<M: Media> Flash<M> {
    /// Brings a fresh device to `state`, with the first `fill` of each member's logical pages mapped. Takes no
    /// simulated time and counts nothing, not even erases: blocks keep the initial age of the device. Media are not
    /// called.
    ///
    /// # Panics
    /// If the device has been used.
    pub fn precondition(&mut self, state: State, fill: Share, seed: u64) {
        self.precondition_while(state, fill, seed, &mut || true);
    }

    /// Runs [`Flash::precondition`] while `may_continue`, called from time to time, returns true. Returns whether it
    /// finished. If it did not, the device is unusable.
    ///
    /// # Panics
    /// If the device has been used.
    pub fn precondition_while(
        &mut self,
        state: State,
        fill: Share,
        seed: u64,
        may_continue: &mut dyn FnMut() -> bool,
    ) -> bool {
        let used = self.members.iter().any(|member| member.counters.program_pages > 0);
        assert!(!used, "only a fresh device can be preconditioned");
        let mut random = Prng::stream(seed, 0x7072_6563);
        // The same number of pages in each pool.
        let pools = self.pools.count.get();
        let pages = fill.of(u64::from(self.shape.logical_pages / pools)) as u32 * pools;
        if pages == 0 {
            return true;
        }
        let done = match state {
            State::Sequential => self.fill_all(pages, may_continue),
            State::Written => {
                self.fill_all(pages, may_continue) && self.rewrite_all(pages, &mut random, may_continue)
            }
            State::Steady => self.stamp_all(pages / self.shape.planes_per_member, &mut random, may_continue),
        };
        self.ftl.age(self.spec.age);
        self.reset_counters(0);
        self.members.iter_mut().for_each(|member| member.carried = Carried::default());
        done
    }

    /// Writes the first `pages` pages of each member, in order.
    fn fill_all(&mut self, pages: u32, may_continue: &mut dyn FnMut() -> bool) -> bool {
        (0..self.shape.members).all(|member| {
            self.write_in_order(member, pages);
            may_continue()
        })
    }

    /// Writes to random pages of each member, [`ROUNDS`] times the number of mapped pages.
    fn rewrite_all(&mut self, pages: u32, random: &mut Prng, may_continue: &mut dyn FnMut() -> bool) -> bool {
        (0..self.shape.members).all(|member| {
            let mut left = u64::from(pages) * ROUNDS;
            while left > 0 && may_continue() {
                let now = left.min(WRITES_PER_LOOK);
                self.write_randomly(member, pages, now, random);
                left -= now;
            }
            left == 0
        })
    }

    /// Writes the first `pages` pages of a member, in order.
    fn write_in_order(&mut self, member: u32, pages: u32) {
        (0..pages).for_each(|page| self.write_untimed(member, page));
    }

    /// Writes random pages of a member, among the first `pages`.
    fn write_randomly(&mut self, member: u32, pages: u32, writes: u64, random: &mut Prng) {
        (0..writes).for_each(|_| self.write_untimed(member, random.below(pages.into()) as u32));
    }

    /// Calls [`Self::write_untimed_to`] for stream 0.
    pub fn write_untimed(&mut self, member: u32, page: u32) {
        self.write_untimed_to(member, page, 0);
    }

    /// Writes a page of a stream through the map and runs the collections that become due, all in no simulated time.
    /// Media are not called. Must not be mixed with operations in flight.
    ///
    /// # Panics
    /// If the device has no such stream.
    pub fn write_untimed_to(&mut self, member: u32, page: u32, stream: u8) {
        assert!(u32::from(stream) < self.ftl.streams.count(), "no stream {stream}");
        let plane = self.untimed_plane(member, page, stream);
        self.pass_turn(member, page, plane);
        self.holds.forget(member, page);
        let placed = self.ftl.program(member, page, plane, stream, false);
        self.members[member as usize].counters.program_pages += 1;
        if placed.low {
            while self.ftl.below_high(plane) && self.collect_untimed(member, plane) {}
        }
    }

    /// Collects one block of a plane; false if that would gain no space.
    fn collect_untimed(&mut self, member: u32, plane: u32) -> bool {
        let Some(block) =
            gc::choose(&mut self.ftl, plane, self.gc.victim, &mut self.random, &mut self.chooser)
        else {
            return false;
        };
        self.empty_untimed(member, plane, block, false);
        if let Some(cold) = self.cold_block(plane, block) {
            self.empty_untimed(member, plane, cold, true);
        }
        true
    }

    /// Moves the valid pages of a block and erases it, for wear-levelling or for its space.
    fn empty_untimed(&mut self, member: u32, plane: u32, block: u32, levels: bool) {
        let local = plane - self.shape.first_plane(member);
        let first = (local * self.shape.blocks_per_plane + block) * self.shape.pages_per_block;
        let counters = &mut self.members[member as usize].counters;
        counters.erase_blocks += 1;
        counters.wear_erase_blocks += u64::from(levels);
        for page in first..first + self.shape.data_pages {
            if let Some(tenant) = self.ftl.tenant(member, page) {
                self.ftl.relocate(member, plane, page, tenant, false);
                counters.gc_move_pages += 1;
                counters.wear_move_pages += u64::from(levels);
            }
        }
        self.ftl.erase(plane, block);
    }

    /// Brings one plane to its steady state and copies it to all planes, with `pages` logical pages for each.
    fn stamp_all(&mut self, pages: u32, random: &mut Prng, may_continue: &mut dyn FnMut() -> bool) -> bool {
        let blocks = u64::from(self.shape.blocks_per_plane);
        let mut template = self.template(random.next_u64());
        template.chooser = std::mem::take(&mut self.chooser);
        template.write_in_order(0, pages);
        template.write_until(pages, blocks * GENERATIONS, random);
        let pools = self.pools.count.get();
        let per_pool = self.shape.planes_per_member / pools;
        for member in 0..self.shape.members {
            for pool in 0..pools {
                let scatter = Scatter::new(pages * per_pool, random);
                for nth in 0..per_pool {
                    if !may_continue() {
                        return false;
                    }
                    template.write_until(pages, random.below(ADVANCE.of(blocks) + 1), random);
                    // The copy is taken at a random point between two erases, not just after one.
                    template.write_randomly(0, pages, random.below(self.shape.data_pages.into()), random);
                    let plane = self.shape.first_plane(member) + self.pools.planes(pool)[nth as usize];
                    let logical = |page: u32| scatter.at(nth * pages + page) * pools + pool;
                    self.ftl.stamp(member, plane, &template.ftl, logical);
                }
            }
        }
        self.chooser = template.chooser;
        true
    }

    /// Writes random pages until `erases` more blocks of the only member are erased, or [`ROUNDS`] times the number
    /// of pages.
    fn write_until(&mut self, pages: u32, erases: u64, random: &mut Prng) {
        let erased = |flash: &Self| flash.members[0].counters.erase_blocks;
        let end = erased(self) + erases;
        for _ in 0..u64::from(pages) * ROUNDS {
            if erased(self) >= end {
                break;
            }
            self.write_untimed(0, random.below(pages.into()) as u32);
        }
    }

    /// A device with one plane like those of this device.
    fn template(&self, seed: u64) -> Flash {
        let mut spec = self.spec.clone();
        let g = &mut spec.geometry;
        (g.channels, g.chips, g.dies, g.planes) = (1, 1, 1, 1);
        spec.ftl.pool = Pool::Plane;
        // Without time, no operations run in parallel.
        spec.scheduling.multi_plane = MultiPlane::Off;
        spec.scheduling.die_interleaving = DieInterleaving::Free;
        // Validation applies to each plane separately.
        Flash::new(&spec, Level::Chip, 1, seed)
            .unwrap_or_else(|error| panic!("one plane of a valid device: {error}"))
    }
}

/// A random permutation of `0..count` of the form `i -> (a i + b) mod count`. The permuted pages are already in
/// random order; the permutation only has to make the planes differ.
struct Scatter {
    count: u32,
    factor: u32,
    offset: u32,
}

impl Scatter {
    fn new(count: u32, random: &mut Prng) -> Self {
        let below = |random: &mut Prng| if count == 0 { 0 } else { random.below(count.into()) as u32 };
        let mut factor = below(random);
        while gcd(factor, count) > 1 {
            factor = below(random);
        }
        Self { count, factor, offset: below(random) }
    }

    #[inline(always)]
    fn at(&self, index: u32) -> u32 {
        ((u64::from(self.factor) * u64::from(index) + u64::from(self.offset)) % u64::from(self.count)) as u32
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scatters_are_permutations() {
        for count in [1, 2, 3, 64, 97, 1000, 4096] {
            let scatter = Scatter::new(count, &mut Prng::new(u64::from(count)));
            let mut seen: Vec<u32> = (0..count).map(|index| scatter.at(index)).collect();
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..count), "{count}");
        }
    }
}
