//! Resolves a scheme over given members, or explains why it has no meaning there.

use stripewise_code::{Code, Kind};
use stripewise_core::geometry::{Geometry, Level, Shape};
use stripewise_core::members::Members;
use stripewise_policy::cache::PreParity;
use stripewise_policy::hotness::HotnessPolicy;
use stripewise_policy::read::ReadPolicy;

use super::{Acknowledge, CodeSection, Scheme, SchemeError, WindowSize};
use crate::placement::{COMMITS_MAX, ROW_DELTAS_MAX, ROWS_MAX};
use crate::placement::{Dimensions, FirstWrites, ParityLoggingSection, PartialWrites};

/// The largest number of slots of a parity window: the ring is searched from end to end.
const WINDOW_MAX: u32 = 1024;

impl Scheme {
    /// The geometry of this scheme over `members`.
    ///
    /// # Errors
    /// When the scheme has no meaning over these members, with the reason.
    pub fn resolve(&self, members: &Members, carries_data: bool) -> Result<Geometry, SchemeError> {
        let refuse = |key, value: String, reason| {
            Err(SchemeError::Setting { scheme: self.name.clone(), key, value, reason })
        };
        self.check_sizes(members)?;
        self.check_dispatch()?;
        if self.geometry.rotate_every == 0 {
            return refuse("geometry.rotate_every", "0".into(), "must be at least 1 stripe");
        }
        if carries_data {
            self.check_real_bytes()?;
        }
        if let Err((key, value, reason)) = self.cache.check(members.page_bytes) {
            return refuse(key, value, reason);
        }
        if self.cache.policy.makes_parity_first() {
            self.check_parity_first()?;
        }
        let window = self.parity.window.slots(members.count);
        if window > WINDOW_MAX {
            return refuse("parity.window", window.to_string(), "must be at most 1024 chunks");
        }
        if self.geometry.level == Level::Raid0 {
            self.check_without_parity()?;
        }
        if let Err((key, value, reason)) = self.read.check(self.geometry.level, members.gc_state) {
            return refuse(key, value, reason);
        }
        let facts = self.placement.facts();
        self.check_overlapping_updates(members, carries_data)?;
        self.check_sections()?;
        self.check_in_place(members)?;
        self.check_parity_memory()?;
        self.check_coordination(members)?;
        self.check_metadata(members)?;
        let geometry = self.geometry_over(members)?;
        self.code(&geometry, members.page_bytes)?;
        if window > 0 && self.queues.plans <= geometry.data {
            // A write of a whole row may make as many parity updates due as it has chunks.
            let reason = "must be more than the data chunks of a stripe with a parity window";
            return refuse("queues.plans", self.queues.plans.to_string(), reason);
        }
        if facts.logs_parity {
            self.check_parity_logging(&geometry, members)?;
        }
        if facts.forms_stripes {
            self.check_elastic(&geometry, members)?;
        }
        if facts.has_zones {
            self.check_zones(&geometry)?;
        }
        Ok(geometry)
    }

    /// Checks the sizes of pages and queues.
    fn check_sizes(&self, members: &Members) -> Result<(), SchemeError> {
        let refuse = |key, value: String, reason| {
            Err(SchemeError::Setting { scheme: self.name.clone(), key, value, reason })
        };
        if !members.page_bytes.is_power_of_two() || !(512..=32768).contains(&members.page_bytes) {
            return refuse(
                "page size",
                members.page_bytes.to_string(),
                "must be a power of two from 512 bytes to 32 KiB",
            );
        }
        if self.queues.requests == 0 || self.queues.requests > 1 << 20 {
            return refuse("queues.requests", self.queues.requests.to_string(), "must be 1 to 1048576");
        }
        if self.queues.plans == 0 || self.queues.plans > 1 << 20 {
            return refuse("queues.plans", self.queues.plans.to_string(), "must be 1 to 1048576");
        }
        Ok(())
    }

    /// Checks the settings that are for members without bytes.
    fn check_real_bytes(&self) -> Result<(), SchemeError> {
        let refuse = |key, value: String, reason| {
            Err(SchemeError::Setting { scheme: self.name.clone(), key, value, reason })
        };
        if self.placement.partial_writes == PartialWrites::RoundUp {
            let reason = "would overwrite bytes that no request wrote; over real bytes use \"merge\"";
            return refuse("placement.partial_writes", "\"round-up\"".into(), reason);
        }
        if self.cache.pre_parity == PreParity::BehindAck {
            let reason =
                "would acknowledge content that no memory keeps yet; over real bytes use \"before-ack\"";
            return refuse("cache.pre_parity", "\"behind-ack\"".into(), reason);
        }
        Ok(())
    }

    /// Checks that no setting is about parity, which RAID-0 lacks.
    fn check_without_parity(&self) -> Result<(), SchemeError> {
        let refuse = |key, value: String, reason| {
            Err(SchemeError::Setting { scheme: self.name.clone(), key, value, reason })
        };
        if self.parity.window != WindowSize::default() {
            let reason = "has no meaning without parity; use 0 with RAID-0";
            return refuse("parity.window", self.parity.window.to_string(), reason);
        }
        if self.placement.first_writes == FirstWrites::Encode {
            let reason = "has no meaning without parity; use \"in-place\" with RAID-0";
            return refuse("placement.first_writes", "\"encode\"".into(), reason);
        }
        if self.parity.acknowledge == Acknowledge::AfterData {
            let reason = "has no meaning without parity; use \"after-parity\" with RAID-0";
            return refuse("parity.acknowledge", "\"after-data\"".into(), reason);
        }
        Ok(())
    }

    /// Checks that no section is for placements that this scheme does not have.
    fn check_sections(&self) -> Result<(), SchemeError> {
        let refuse = |key, value: String, reason| {
            Err(SchemeError::Setting { scheme: self.name.clone(), key, value, reason })
        };
        let facts = self.placement.facts();
        if !facts.forms_stripes && !self.elastic.is_default() {
            let reason = "has no meaning without a log; use placement.policy = \"elastic\", or leave it out";
            return refuse("section", "[elastic]".into(), reason);
        }
        if !facts.asks_hotness && !self.hotness.is_default() {
            let reason = "is asked by placement.policy = \"elastic\" alone; use that, or leave it out";
            return refuse("section", "[hotness]".into(), reason);
        }
        if !facts.has_zones && !self.zones.is_default() {
            let reason = "has no meaning without zones; use placement.policy = \"mc-rais\", or leave it out";
            return refuse("section", "[zones]".into(), reason);
        }
        if !self.asks_mix() && !self.mix.is_default() {
            let reason = "is asked by no placement that this scheme has; leave it out, or use \"mc-rais\", or elastic.classes = \
                \"hotness-and-mix\"";
            return refuse("section", "[mix]".into(), reason);
        }
        if !facts.logs_parity && !self.parity_logging.is_default() {
            let reason = "has no meaning without a parity log; use placement.policy = \"parity-logging\", or leave it out";
            return refuse("section", "[parity_logging]".into(), reason);
        }
        Ok(())
    }

    /// The geometry over `members`, whose other settings were checked.
    fn geometry_over(&self, members: &Members) -> Result<Geometry, SchemeError> {
        let facts = self.placement.facts();
        let layout = self.log_layout(members);
        let pages = layout.map_or(members.pages, |layout| layout.data.pages);
        let zones = self.zones_over(members)?;
        let chunk = if facts.has_zones { self.zones.reads.chunk.0 } else { u64::from(members.page_bytes) };
        let shape = Shape {
            level: self.geometry.level,
            members: members.count.saturating_sub(self.parity_log_members()),
            groups: self.geometry.groups,
            chunk_bytes: self.geometry.chunk.map_or(chunk, |chunk| chunk.0),
            page_bytes: members.page_bytes,
            member_pages: zones.as_ref().map_or(pages, |zones| zones[0].1),
            rotation: self.geometry.rotation,
            rotate_every: self.geometry.rotate_every,
            membership: self.geometry.membership,
        };
        let refuse_geometry = |reason| Err(SchemeError::Geometry { scheme: self.name.clone(), reason });
        let mut geometry = Geometry::new(&shape).or_else(refuse_geometry)?;
        if let Some(layout) = self.in_place_layout(members, &geometry)? {
            let shape = Shape { member_pages: layout.data.pages, ..shape };
            geometry = Geometry::new(&shape).or_else(refuse_geometry)?;
            geometry.first_page = layout.data.first;
        }
        if let Some(zones) = zones {
            geometry = geometry.with_zones(zones[0].1, &zones[1..]);
        }
        if self.has_deep_stripes() {
            self.check_deep(&geometry)?;
            geometry = geometry.deep();
        }
        Ok(geometry)
    }

    /// Checks that the discipline of dispatch has a meaning for these members.
    fn check_dispatch(&self) -> Result<(), SchemeError> {
        let refuse = |key, value: String, reason| {
            Err(SchemeError::Setting { scheme: self.name.clone(), key, value, reason })
        };
        let dispatch = &self.dispatch;
        if dispatch.lookahead == 0 {
            return refuse(
                "dispatch.lookahead",
                "0".into(),
                "must be at least 1, or nothing is ever started",
            );
        }
        if dispatch.queue == Some(0) {
            let reason = "must be at least 1, or nothing is ever issued; for no bound leave it out";
            return refuse("dispatch.queue", "0".into(), reason);
        }
        if let Some((key, value, reason)) = dispatch.idle_setting() {
            return refuse(key, value, reason);
        }
        let facts = self.placement.facts();
        if dispatch.asks_targets()
            && (facts.locates_on_write || self.placement.first_writes == FirstWrites::Gather)
        {
            let reason = "needs to know the members of a write that waits, which a placement that looks for a place when \
                it writes does not; use first_writes = \"in-place\", or dispatch.policy = \"async-fifo\" without \
                dispatch.queue";
            let (key, value) = if facts.locates_on_write {
                ("placement.policy", facts.value())
            } else {
                ("placement.first_writes", "\"gather\"".to_owned())
            };
            return refuse(key, format!("{value} with this section [dispatch]"), reason);
        }
        Ok(())
    }

    /// Checks that parity can be computed before pages enter the write cache.
    fn check_parity_first(&self) -> Result<(), SchemeError> {
        let refuse = |key, value: &dyn std::fmt::Display, reason| {
            Err(SchemeError::Setting { scheme: self.name.clone(), key, value: value.to_string(), reason })
        };
        if self.parity.window != WindowSize::default() {
            let reason =
                "leaves parity late, and this write cache makes it first; use 0, or cache.policy = \"wow\"";
            return refuse("parity.window", &self.parity.window, reason);
        }
        if self.parity.acknowledge == Acknowledge::AfterData {
            let reason = "has no meaning where writes are acknowledged from the write cache; leave it out";
            return refuse("parity.acknowledge", &"\"after-data\"", reason);
        }
        let facts = self.placement.facts();
        if facts.logs_parity {
            let reason = "logs what this write cache has made parity of before; use \"in-place\", or cache.policy = \"wow\"";
            return refuse("placement.policy", &facts.value(), reason);
        }
        if self.placement.first_writes != FirstWrites::InPlace {
            let reason = "gives pages their row after this write cache has made parity of them; use \"in-place\", or \
                cache.policy = \"wow\"";
            let value = if self.placement.first_writes == FirstWrites::Gather { "gather" } else { "encode" };
            return refuse("placement.first_writes", &format!("\"{value}\""), reason);
        }
        Ok(())
    }

    /// The number of pages that hosts may fill.
    pub fn pages(&self, geometry: &Geometry) -> u64 {
        let facts = self.placement.facts();
        if facts.forms_stripes {
            let summary = self.summary_room(geometry.page_bytes);
            Dimensions::new(&self.elastic, geometry, self.tiers(), summary).capacity
        } else if facts.has_zones {
            geometry.first_zone_pages()
        } else {
            geometry.pages()
        }
    }

    /// The number of hotness tiers.
    pub fn tiers(&self) -> u32 {
        if self.hotness.policy == HotnessPolicy::None { 1 } else { self.hotness.tiers }
    }

    /// The number of members that hold deltas of parity, one for each parity chunk of a stripe. They are the last members
    /// of the array; the geometry spans the others.
    pub fn parity_log_members(&self) -> u32 {
        if self.placement.facts().logs_parity { self.geometry.level.parity() } else { 0 }
    }

    /// The number of pages that the parity log takes of each log member.
    pub fn parity_log_pages(&self, members: &Members) -> u64 {
        let page = u64::from(members.page_bytes);
        self.parity_logging.capacity.map_or(u64::from(members.pages), |capacity| capacity.0 / page)
    }

    /// Checks that parity logging has a meaning for these members.
    fn check_parity_logging(&self, geometry: &Geometry, members: &Members) -> Result<(), SchemeError> {
        let refuse = |key, value: String, reason| {
            Err(SchemeError::Setting { scheme: self.name.clone(), key, value, reason })
        };
        let ParityLoggingSection { row_deltas, high_watermark, low_watermark, commits, .. } =
            self.parity_logging;
        if geometry.level == Level::Raid0 {
            let reason = "has no meaning without parity; use \"in-place\" with RAID-0";
            return refuse("placement.policy", "\"parity-logging\"".into(), reason);
        }
        if self.parity.window != WindowSize::default() {
            let reason =
                "leaves parity late, as a log does; use 0 with placement.policy = \"parity-logging\"";
            return refuse("parity.window", self.parity.window.to_string(), reason);
        }
        if row_deltas == 0 || row_deltas > ROW_DELTAS_MAX {
            return refuse("parity_logging.row_deltas", row_deltas.to_string(), "must be 1 to 64");
        }
        if commits == 0 || commits > COMMITS_MAX {
            return refuse("parity_logging.commits", commits.to_string(), "must be 1 to 1024");
        }
        if low_watermark > high_watermark {
            let reason = "must not be above parity_logging.high_watermark: commits end where it says";
            return refuse("parity_logging.low_watermark", low_watermark.to_string(), reason);
        }
        let pages = self.parity_log_pages(members);
        if pages == 0 || pages > u64::from(members.pages) {
            let reason = "must be at least a page and no more than a member; leave it out for a whole member";
            let capacity = self.parity_logging.capacity.unwrap_or_default();
            return refuse("parity_logging.capacity", format!("\"{capacity}\""), reason);
        }
        if geometry.rows() > ROWS_MAX {
            let reason = "can distinguish 4294967294 rows; use larger pages or smaller members";
            return refuse("placement.policy", "\"parity-logging\"".into(), reason);
        }
        Ok(())
    }

    /// Whether stripes are as deep as they are wide: those of X-Code.
    pub fn has_deep_stripes(&self) -> bool {
        self.code.kind == Some(Kind::XCode)
    }

    /// Checks that stripes as deep as they are wide have a meaning for this scheme.
    fn check_deep(&self, geometry: &Geometry) -> Result<(), SchemeError> {
        let refuse = |key, value: String, reason| {
            Err(SchemeError::Setting { scheme: self.name.clone(), key, value, reason })
        };
        let kind = || format!("\"{}\"", Kind::XCode.name());
        if !self.placement.facts().forms_stripes {
            let reason = "has stripes as many pages deep as there are members, which only a log writes; use \
                placement.policy = \"elastic\", or \"pq\" or \"rdp\"";
            return refuse("code.kind", kind(), reason);
        }
        if geometry.level != Level::Raid6 {
            let reason = if geometry.level == Level::Raid0 {
                "has no meaning without parity; leave it out with RAID-0"
            } else {
                "makes two parity chunks; use \"xor\" with RAID-5"
            };
            return refuse("code.kind", kind(), reason);
        }
        if !matches!(geometry.width, 5 | 7) {
            let reason = "needs 5 or 7 members a group: a stripe is as deep as it is wide, which must be a prime number, and \
                takes at most 64 chunks (11 members would take 121); use 5 or 7 members, groups of them (10 or 14 members \
                with geometry.groups = 2), or code.kind = \"rdp\"";
            return refuse("code.kind", kind(), reason);
        }
        if self.code.prime.is_some() {
            let reason = "is the number of members of a group with \"x-code\"; leave it out";
            return refuse("code.prime", self.code.prime.unwrap_or_default().to_string(), reason);
        }
        if self.read.policy != ReadPolicy::Direct {
            let reason =
                "decodes a chunk from one row, and \"x-code\" has parity along diagonals; use \"direct\"";
            return refuse("read.policy", format!("\"{}\"", self.read.policy.name()), reason);
        }
        if !self.elastic.chunks.is_empty() {
            let reason = "writes bands of stripes that are one row deep, which those of \"x-code\" are not; leave it out";
            return refuse("elastic.chunks", format!("{:?}", self.elastic.chunks), reason);
        }
        if self.elastic.segment_rows < geometry.width {
            let reason =
                "is less than the rows of a stripe of \"x-code\", as many as a group has members; use more";
            return refuse("elastic.segment_rows", self.elastic.segment_rows.to_string(), reason);
        }
        Ok(())
    }

    /// The code of this scheme's parity over rows of pages of `page_bytes`; `None` without parity.
    ///
    /// # Errors
    /// The code has no meaning for the geometry, or its parts do not divide a page.
    pub fn code(&self, geometry: &Geometry, page_bytes: u32) -> Result<Option<Code>, SchemeError> {
        let CodeSection { kind, prime } = self.code;
        let refuse = |key, value: String, reason| {
            Err(SchemeError::Setting { scheme: self.name.clone(), key, value, reason })
        };
        let name = |kind: Kind| format!("\"{}\"", kind.name());
        let kind = match (geometry.level, kind) {
            (Level::Raid0, None) => return Ok(None),
            (Level::Raid0, Some(kind)) => {
                let reason = "has no meaning without parity; leave it out with RAID-0";
                return refuse("code.kind", name(kind), reason);
            }
            (Level::Raid5, None | Some(Kind::Xor)) => Kind::Xor,
            (Level::Raid5, Some(kind)) => {
                return refuse("code.kind", name(kind), "makes two parity chunks; use \"xor\" with RAID-5");
            }
            (Level::Raid6, None) => Kind::Pq,
            (Level::Raid6, Some(Kind::Xor)) => {
                let reason = "makes one parity chunk; use \"pq\", \"rdp\" or \"evenodd\" with RAID-6";
                return refuse("code.kind", name(Kind::Xor), reason);
            }
            (Level::Raid6, Some(kind)) => kind,
        };
        let code = Code::new(kind, geometry.data, prime)
            .map_err(|reason| SchemeError::Code { scheme: self.name.clone(), reason })?;
        if !page_bytes.is_multiple_of(code.granularity()) {
            let reason =
                "cuts a page into one part less than it says, which must divide it: use 5, 17 or 257";
            return refuse("code.prime", code.prime().unwrap_or_default().to_string(), reason);
        }
        Ok(Some(code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMBERS: Members =
        Members { volatile_cache: false, old_versions: 8, gc_control: true, ..Members::opaque(6, 4096, 64) };

    fn refused(text: &str) -> String {
        let scheme = Scheme::from_toml("test", text).unwrap_or_else(|error| panic!("{error}"));
        scheme.resolve(&MEMBERS, false).expect_err("a refusal").to_string()
    }

    #[test]
    fn a_window_without_meaning_is_refused_with_the_reason() {
        let raid0 = "name = 'test'\n[geometry]\nlevel = 'raid0'\n[parity]\n";
        assert!(refused(&format!("{raid0}window = 3")).contains("has no meaning without parity"));
        assert!(
            refused(&format!("{raid0}acknowledge = 'after-data'")).contains("has no meaning without parity")
        );
        assert!(
            refused(&format!("{raid0}window = 'members'")).contains("parity.window = \"members\" has no")
        );
        assert!(refused("name = 'test'\n[parity]\nwindow = 2000").contains("at most 1024"));
        assert!(refused("name = 'test'\n[parity]\nwindow = 2\n[queues]\nplans = 5").contains("data chunks"));
    }

    #[test]
    fn a_log_without_meaning_is_refused_with_the_reason() {
        let log =
            |text: &str| refused(&format!("name = 'test'\n[placement]\npolicy = 'parity-logging'\n{text}"));
        assert!(log("[geometry]\nlevel = 'raid0'").contains("has no meaning without parity"));
        assert!(log("[parity]\nwindow = 2").contains("leaves parity late, as a log does"));
        assert!(
            log("[parity_logging]\nrow_deltas = 0").contains("parity_logging.row_deltas = 0 must be 1 to 64")
        );
        assert!(log("[parity_logging]\nrow_deltas = 65").contains("must be 1 to 64"));
        assert!(log("[parity_logging]\ncommits = 0").contains("must be 1 to 1024"));
        assert!(
            log("[parity_logging]\nlow_watermark = '80%'")
                .contains("must not be above parity_logging.high_watermark")
        );
        assert!(log("[parity_logging]\ncapacity = '2KiB'").contains("at least a page"));
        assert!(log("[parity_logging]\ncapacity = '260KiB'").contains("no more than a member"));
        assert!(
            refused("name = 'test'\n[parity_logging]\nrow_deltas = 3")
                .contains("has no meaning without a parity log")
        );
    }

    #[test]
    fn the_geometry_spans_all_members_but_one_for_the_log_of_each_parity_chunk() {
        for (level, members) in [("raid5", 5), ("raid6", 4)] {
            let text = format!(
                "name = 'test'\n[geometry]\nlevel = '{level}'\n[placement]\npolicy = 'parity-logging'"
            );
            let scheme = Scheme::from_toml("test", &text).unwrap();
            assert_eq!(scheme.resolve(&MEMBERS, true).unwrap().columns, members);
        }
    }

    #[test]
    fn a_code_without_meaning_is_refused_with_the_reason() {
        let of = |level: &str, code: &str| {
            refused(&format!("name = 'test'\n[geometry]\nlevel = '{level}'\n[code]\n{code}"))
        };
        assert!(of("raid0", "kind = 'xor'").contains("has no meaning without parity"));
        assert!(of("raid5", "kind = 'pq'").contains("makes two parity chunks"));
        assert!(of("raid6", "kind = 'xor'").contains("makes one parity chunk"));
        assert!(of("raid6", "kind = 'x-code'").contains("which only a log writes"));
        assert!(of("raid6", "kind = 'rdp'\nprime = 7").contains("use 5, 17 or 257"));
        assert!(of("raid6", "kind = 'rdp'\nprime = 9").contains("prime"));
    }

    #[test]
    fn deep_stripes_without_meaning_are_refused_with_the_reason() {
        let of = |level: &str, text: &str| {
            let scheme = format!(
                "name = 'test'\n[geometry]\nlevel = '{level}'\n[placement]\npolicy = 'elastic'\n[code]\nkind = 'x-code'\n{text}"
            );
            let scheme = Scheme::from_toml("test", &scheme).unwrap();
            let members = |count| Members { count, pages: 512, ..MEMBERS };
            [5, 6].map(|count| scheme.resolve(&members(count), false).map_err(|error| error.to_string()))
        };
        let [five, six] = of("raid6", "[elastic]\nsegment_rows = 10");
        let geometry = five.expect("five members are a prime number of them");
        assert_eq!((geometry.columns, geometry.data, geometry.depth, geometry.tolerance()), (25, 15, 5, 2));
        let six = six.expect_err("a refusal");
        assert!(
            six.contains("needs 5 or 7 members") && six.contains("use 5 or 7 members, groups of them"),
            "{six}"
        );
        let refused = |level: &str, text: &str| of(level, text)[0].clone().expect_err("a refusal");
        assert!(refused("raid5", "").contains("makes two parity chunks"));
        assert!(refused("raid6", "prime = 5").contains("is the number of members"));
        assert!(refused("raid6", "[read]\npolicy = 'hedged'").contains("parity along diagonals"));
        assert!(refused("raid6", "[elastic]\nchunks = ['8KiB']").contains("one row deep"));
        assert!(refused("raid6", "[elastic]\nsegment_rows = 4").contains("less than the rows of a stripe"));
    }

    #[test]
    fn a_cache_without_room_is_refused_with_the_remedy() {
        let cache =
            |text: &str| refused(&format!("name = 'test'\n[cache]\npolicy = 'parity-caching'\n{text}"));
        assert!(cache("chunks = 0").contains("cache.chunks = 0 must be 1 to 16777216 chunks"));
        assert!(cache("destaging = 0").contains("cache.destaging = 0"));
        assert!(cache("chunks = 20000000").contains("policy = \"none\""));
    }

    #[test]
    fn a_window_is_a_number_or_one_slot_a_member() {
        let window = |text: &str| {
            let text = format!("name = 'test'\n[parity]\nwindow = {text}");
            Scheme::from_toml("test", &text).map(|scheme| scheme.parity.window.slots(6))
        };
        assert_eq!((window("4").unwrap(), window("'members'").unwrap()), (4, 6));
        let error = window("'many'").unwrap_err().to_string();
        assert!(error.contains("a number of chunks"), "{error}");
    }
}
