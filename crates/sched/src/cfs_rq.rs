//! The queue of one (group, CPU) pair.

use alloc::vec::Vec;

use cpumax_bandwidth::{Nanos, Runtime};

use crate::pelt::SchedAvg;
use crate::timeline::Timeline;
use crate::{CfsRqId, CpuId, EntityId, GroupId, TaskId};

/// Kernel: `struct cfs_rq`.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent flags, as in the kernel"
)]
pub(crate) struct CfsRq {
    pub group: GroupId,
    pub cpu: CpuId,
    /// The group's entity on this CPU; `None` of the root group.
    pub entity: Option<EntityId>,
    /// The parent group's queue on this CPU; `None` of the root group.
    pub parent: Option<CfsRqId>,
    /// Queues of child groups on this CPU, in order of creation.
    pub children: Vec<CfsRqId>,

    /// Entities waiting to run; the current one is not in it.
    pub timeline: Timeline,
    /// Entities queued, the current one included (kernel: `nr_queued`).
    pub nr_queued: u32,
    /// Tasks queued at or below this queue, delayed ones included (kernel: `h_nr_queued`).
    pub h_nr_queued: u32,
    /// Tasks queued at or below this queue that can run (kernel: `h_nr_runnable`).
    pub h_nr_runnable: u32,
    /// Sum of the queued entities' weights, scaled.
    pub load: u64,
    /// The entity of this queue on the path of the running task (kernel 7.3: `h_curr`).
    pub curr: Option<EntityId>,
    /// Entity that asked to be picked next.
    pub next: Option<EntityId>,
    /// Entity that was preempted last (CFS).
    pub last: Option<EntityId>,
    /// Entity to pass over once (CFS, yield).
    pub skip: Option<EntityId>,
    /// Monotonic lower bound of the queued vruntimes (CFS).
    pub min_vruntime: i64,
    /// Reference point of `sum_w_vruntime`, near the average (EEVDF).
    pub zero_vruntime: i64,
    /// Sum of weight x (vruntime - `zero_vruntime`) over the timeline (EEVDF).
    pub sum_w_vruntime: i128,
    /// Sum of weights over the timeline (EEVDF).
    pub sum_weight: i64,

    /// Load tracking of the queue.
    pub avg: SchedAvg,
    /// What sleeping tasks that left for another CPU took with them, to be subtracted.
    pub removed: Removed,
    /// This queue's part of the group's `load_avg`, as last published.
    pub tg_load_avg_contrib: u64,
    /// This queue's part of the group's `runnable_avg`, as last published (7.3).
    pub tg_runnable_avg_contrib: u64,
    /// Clock at the last publication.
    pub last_update_tg_load_avg: Nanos,
    /// A change of runnable load below must be carried into the group entity.
    pub propagate: bool,
    /// That change.
    pub prop_runnable_sum: i64,
    /// On the CPU's list of queues whose load must be decayed.
    pub on_leaf_list: bool,
    /// Next queue on that list: never an ancestor before its descendant.
    pub leaf_next: Option<CfsRqId>,
    /// Previous queue on that list.
    pub leaf_prev: Option<CfsRqId>,

    /// This group is limited and the CPU online: account here.
    pub runtime_enabled: bool,
    /// Local balance L, may be negative.
    pub runtime_remaining: Runtime,
    /// Ran out and waits on the pool's list.
    pub throttled: bool,
    /// Throttled queues from here to the root.
    pub throttle_count: u32,
    /// On its CPU's list of pending unthrottles.
    pub on_csd_list: bool,
    /// Tasks taken off this queue, the last one first (models C, D). In reverse: the head is the end.
    pub limbo: Vec<TaskId>,
    /// Rq clock when the throttled stretch that counts began.
    pub throttled_clock: Option<Nanos>,
    /// The same for "self or ancestor".
    pub throttled_clock_self: Option<Nanos>,
    /// Total time throttled, self or ancestor.
    pub throttled_clock_self_time: Nanos,
    /// PELT clock at the last freeze.
    pub throttled_clock_pelt: u64,
    /// Total frozen PELT time.
    pub throttled_clock_pelt_time: u64,
    /// The PELT clock is frozen (models C, D; A and B freeze with `throttle_count`).
    pub pelt_clock_throttled: bool,
}

/// Load that left a queue while its task slept (kernel: `cfs_rq->removed`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Removed {
    pub nr: u32,
    pub load_avg: u64,
    pub util_avg: u64,
    pub runnable_avg: u64,
}

impl CfsRq {
    pub fn new(
        group: GroupId,
        cpu: CpuId,
        parent: Option<CfsRqId>,
        entity: Option<EntityId>,
    ) -> Self {
        Self {
            group,
            cpu,
            entity,
            parent,
            children: Vec::new(),
            timeline: Timeline::default(),
            nr_queued: 0,
            h_nr_queued: 0,
            h_nr_runnable: 0,
            load: 0,
            curr: None,
            next: None,
            last: None,
            skip: None,
            min_vruntime: INITIAL_VRUNTIME,
            zero_vruntime: INITIAL_VRUNTIME,
            sum_w_vruntime: 0,
            sum_weight: 0,
            avg: SchedAvg::default(),
            removed: Removed::default(),
            tg_load_avg_contrib: 0,
            tg_runnable_avg_contrib: 0,
            last_update_tg_load_avg: Nanos::ZERO,
            propagate: false,
            prop_runnable_sum: 0,
            on_leaf_list: false,
            leaf_next: None,
            leaf_prev: None,
            runtime_enabled: false,
            runtime_remaining: Runtime(0),
            throttled: false,
            throttle_count: 0,
            on_csd_list: false,
            limbo: Vec::new(),
            throttled_clock: None,
            throttled_clock_self: None,
            throttled_clock_self_time: Nanos::ZERO,
            throttled_clock_pelt: 0,
            throttled_clock_pelt_time: 0,
            pelt_clock_throttled: false,
        }
    }

    /// In a throttled hierarchy: this queue or an ancestor is throttled.
    #[inline]
    pub fn in_throttled_hierarchy(&self) -> bool {
        self.throttle_count > 0
    }

    /// Nothing of its load is left to decay (kernel: `cfs_rq_is_decayed`).
    pub fn is_decayed(&self) -> bool {
        self.load == 0
            && self.avg.load_sum == 0
            && self.avg.util_sum == 0
            && self.avg.runnable_sum == 0
            && self.tg_load_avg_contrib == 0
    }
}

/// Where virtual time starts. The kernel starts 2^20 before a wrap; there is none to find here.
const INITIAL_VRUNTIME: i64 = 0;
