//! Allocation: which plane a page is written to.
//!
//! The planes of a member form pools. A logical page belongs permanently to one pool: its number modulo the number of
//! pools. Within the pool, a write may go to any plane. Pools of one plane give static allocation; one pool for the
//! whole member gives dynamic allocation (Hu et al., ICS 2011). DiskSim's allocation pools lie between the two.

use crate::divide::Divisor;
use crate::geometry::{Level, Shape};
use crate::spec::{Choice, DeviceSpec, Pool};

/// The pools of a member. All members have the same pools.
#[derive(Clone, Debug)]
pub(crate) struct Pools {
    pub(crate) count: Divisor,
    pub(crate) choice: Choice,
    /// The planes of a member, pool by pool, each pool in the order in which its planes are visited.
    planes: Vec<u32>,
    per_pool: u32,
    /// Each pool has several planes, all of one die.
    late: bool,
}

impl Pools {
    pub(crate) fn new(spec: &DeviceSpec, shape: &Shape) -> Self {
        let g = &spec.geometry;
        let counts = match shape.level {
            Level::Ssd => [g.channels, g.chips, g.dies, g.planes],
            Level::Channel => [1, g.chips, g.dies, g.planes],
            Level::Chip => [1, 1, g.dies, g.planes],
        };
        // At the levels above the pool, the place of a page is fixed.
        let fixed = match spec.ftl.pool {
            Pool::Member => 0,
            Pool::Channel => 1,
            Pool::Chip => 2,
            Pool::Die => 3,
            Pool::Plane => 4,
        };
        let pools: u32 = counts[..fixed].iter().product();
        let per_pool = shape.planes_per_member / pools;
        let mut planes = Vec::with_capacity(shape.planes_per_member as usize);
        for pool in 0..pools {
            for member in 0..per_pool {
                let (mut outer, mut inner) = (pool, member);
                let mut place = [0; 4];
                for &digit in &spec.ftl.order.0 {
                    let digit = usize::from(digit);
                    let rest = if digit < fixed { &mut outer } else { &mut inner };
                    place[digit] = *rest % counts[digit];
                    *rest /= counts[digit];
                }
                planes.push(place.iter().zip(counts).fold(0, |plane, (digit, count)| plane * count + digit));
            }
        }
        let one_die = |pool: &[u32]| pool.iter().all(|plane| plane / g.planes == pool[0] / g.planes);
        let late = per_pool > 1 && planes.chunks(per_pool as usize).all(one_die);
        Self { count: Divisor::new(pools), choice: spec.ftl.choice, planes, per_pool, late }
    }

    /// The pool of a logical page.
    #[inline(always)]
    pub(crate) fn of_page(&self, page: u32) -> u32 {
        self.count.divide_rest(page).1
    }

    /// The planes of a pool, within the member.
    #[inline(always)]
    pub(crate) fn planes(&self, pool: u32) -> &[u32] {
        let first = (pool * self.per_pool) as usize;
        &self.planes[first..first + self.per_pool as usize]
    }

    /// Whether every pool has several planes, all of one die. If so, the plane is chosen when the die is free.
    #[inline(always)]
    pub(crate) fn is_late(&self) -> bool {
        self.late
    }

    /// Whether every pool is one plane, so that there is no choice of planes.
    #[inline(always)]
    pub(crate) fn is_static(&self) -> bool {
        self.per_pool == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::DeviceSpec;
    use crate::spec::Order;

    /// 2 channels x 3 chips x 2 dies x 2 planes.
    fn device(order: &str, pool: Pool) -> DeviceSpec {
        let mut spec = DeviceSpec::preset("mqsim").unwrap_or_else(|error| panic!("{error}"));
        let g = &mut spec.geometry;
        (g.channels, g.chips, g.dies, g.planes) = (2, 3, 2, 2);
        (spec.ftl.order, spec.ftl.pool) = (order.parse().expect("an order"), pool);
        spec
    }

    fn pools(spec: &DeviceSpec, level: Level) -> (Pools, Shape) {
        let shape = Shape::new(spec, level, 1).unwrap_or_else(|error| panic!("{error}"));
        (Pools::new(spec, &shape), shape)
    }

    /// Channel, chip, die and plane of a plane number.
    fn place(plane: u32) -> [u32; 4] {
        [plane / 12, plane / 4 % 3, plane / 2 % 2, plane % 2]
    }

    #[test]
    fn all_24_orders_visit_every_plane_with_the_first_letter_fastest() {
        let letters = *b"CWDP";
        let mut orders = 0;
        for code in 0..256u32 {
            let order: String =
                (0..4).map(|at| char::from(letters[(code >> (2 * at)) as usize % 4])).collect();
            let Ok(parsed) = order.parse::<Order>() else { continue };
            orders += 1;
            assert_eq!(parsed.to_string(), order);
            let (pools, shape) = pools(&device(&order, Pool::Plane), Level::Ssd);
            let visited: Vec<u32> = (0..24).map(|page| pools.planes(pools.of_page(page))[0]).collect();
            let mut sorted = visited.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..shape.planes), "{order}");
            // From one page to the next, the coordinate of the first letter advances; the others advance only when it
            // wraps.
            let first =
                letters.iter().position(|letter| order.starts_with(char::from(*letter))).expect("a letter");
            for pair in visited.windows(2) {
                let (from, to) = (place(pair[0]), place(pair[1]));
                let wraps = to[first] == 0;
                assert!(to[first] == from[first] + 1 || wraps, "{order}");
                let others_stay = (0..4).all(|at| at == first || from[at] == to[at]);
                assert_eq!(others_stay, !wraps, "{order}");
            }
        }
        assert_eq!(orders, 24);
    }

    #[test]
    fn pools_leave_the_coordinates_below_them_open() {
        for (pool, count, late) in [
            (Pool::Plane, 24, false),
            (Pool::Die, 12, true),
            (Pool::Chip, 6, false),
            (Pool::Channel, 2, false),
            (Pool::Member, 1, false),
        ] {
            let (pools, _) = pools(&device("WPCD", pool), Level::Ssd);
            assert_eq!((pools.count.get(), pools.is_late(), pools.is_static()), (count, late, count == 24));
            let mut all: Vec<u32> = (0..count).flat_map(|at| pools.planes(at).to_vec()).collect();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..24), "{pool:?}");
        }
        let (pools, _) = pools(&device("WPCD", Pool::Channel), Level::Ssd);
        assert!((0..2).all(|channel| pools.planes(channel).iter().all(|&plane| place(plane)[0] == channel)));
    }

    #[test]
    fn a_member_knows_only_what_is_inside_it() {
        for (level, pool, count) in
            [(Level::Channel, Pool::Channel, 1), (Level::Channel, Pool::Chip, 3), (Level::Chip, Pool::Die, 2)]
        {
            let (pools, shape) = pools(&device("CWDP", pool), level);
            assert_eq!(pools.count.get(), count);
            assert_eq!(pools.planes(0).len() as u32 * count, shape.planes_per_member);
        }
    }
}
