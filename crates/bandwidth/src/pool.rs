//! The runtime pool of one group: requests, refills, slack, timers, statistics.
//!
//! Units: nanoseconds everywhere. Points in time are absolute, on a clock that never goes back.
//!
//! The life of the time in a pool: [`Pool::refill`] adds one quota per period and caps at quota plus
//! burst; [`Pool::request`] moves slices to the queues that run; [`Pool::give_to_throttled`] moves just
//! enough to a queue that waits; [`Pool::return_slack`] takes back what a queue that went idle holds.
//!
//! Two timers, both programmed by the caller when a method returns their absolute expiry:
//!
//! * the period timer. When it fires, the caller runs the kernel's callback loop:
//!   [`Pool::enter_period_timer`], then [`Pool::period_iteration`] until it answers
//!   [`PeriodIteration::Done`] or [`PeriodIteration::Stop`], then [`Pool::leave_period_timer`];
//! * the slack timer, one shot: [`Pool::slack_timer_fired`].

use crate::timer::PeriodTimer;
use crate::{Limit, Nanos, Runtime};

#[cfg(test)]
mod tests;

/// What a queue that goes idle keeps of its balance (kernel: `min_cfs_rq_runtime`).
pub const MIN_CFS_RQ_RUNTIME: Nanos = Nanos::from_millis(1);
/// So close to a refill, slack is not worth a distribution (kernel: `min_bandwidth_expiration`).
pub const MIN_BANDWIDTH_EXPIRATION: Nanos = Nanos::from_millis(2);
/// Delay from the return of slack to its distribution (kernel: `cfs_bandwidth_slack_period`).
pub const SLACK_PERIOD: Nanos = Nanos::from_millis(5);

/// The callback's iterations after which the period counts as too short for the machine.
const MAX_ITERATIONS: u32 = 3;

/// What an administrator can set. The kernel reads it at every use, so a new value counts at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tunables {
    /// How much a running queue asks for, and what the pool must exceed for slack to be given out;
    /// at least 1 us (kernel: `sysctl_sched_cfs_bandwidth_slice`, in us).
    pub slice: Nanos,
}

impl Default for Tunables {
    fn default() -> Self {
        Self {
            slice: Nanos::from_millis(5),
        }
    }
}

/// Statistics of one pool (kernel: the counters of `cfs_bandwidth`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BandwidthStat {
    /// Period boundaries that passed while the timer was armed, those of a late callback included.
    pub nr_periods: u64,
    /// Those of them at which a queue of this group was waiting before the refill.
    pub nr_throttled: u64,
    /// Sum over CPUs of the time that queues were throttled, as far as
    /// [`Pool::add_throttled_time`] was told.
    pub throttled_time: Nanos,
    /// Refills that found more than one quota granted since the refill before.
    pub nr_bursts: u64,
    /// How much more.
    pub burst_time: Nanos,
}

/// The answer to [`Pool::request`].
#[must_use = "the balance may still be out, and the period timer may need programming"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What was added to the balance. May be more than zero without success: the debt was larger.
    pub granted: Nanos,
    /// Whether the balance is above zero now.
    pub success: bool,
    /// Program the period timer for this absolute time.
    pub arm_period: Option<Nanos>,
}

/// What one pass of the period timer's loop found, and what the caller does next.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeriodIteration {
    /// No boundary has passed since the last iteration: leave the loop, keep the timer.
    Done,
    /// The pool went unlimited, or idle for two boundaries: leave the loop, stop the timer.
    ///
    /// The kernel looks at its clock once more first. A caller whose iterations take time may do so
    /// too: the last answer before `Done` says whether the timer stops.
    Stop,
    /// Refilled, and nobody waits: iterate again.
    Continue,
    /// Refilled, and queues wait: give runtime to them while there are any and the pool has some,
    /// call [`Pool::after_distribution`], then iterate again.
    Distribute,
}

/// What was done about a period in which the callback cannot keep up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeriodTooShort {
    /// Quota, period and burst were doubled.
    Doubled,
    /// The doubled period would reach [`MAX_PERIOD`](crate::MAX_PERIOD): nothing was changed.
    AtMaximum,
}

/// The bandwidth pool of one group (kernel: `struct cfs_bandwidth`).
#[derive(Clone, Debug)]
pub struct Pool {
    /// R: time that no queue holds. At most quota plus burst after a refill; returned slack may lift
    /// it above until the next.
    runtime: Nanos,
    /// R right after the last refill. Never above quota plus burst while the quota is finite.
    runtime_snap: Nanos,
    limit: Limit,
    /// Nothing was granted since the last boundary, at which nobody waited either.
    idle: bool,
    /// The slack timer is armed.
    slack_started: bool,
    /// What the last iteration of the running callback did about a period that is too short.
    too_short: Option<PeriodTooShort>,
    period_timer: PeriodTimer,
    stat: BandwidthStat,
}

impl Pool {
    /// An empty pool with its timers off (kernel: `init_cfs_bandwidth`).
    ///
    /// `phase` is the first expiry of the period timer, which lays the grid of all later ones. The
    /// kernel draws it from `0..period` of the default period; 6.1 has 0.
    ///
    /// A group begins [unlimited](Limit::UNLIMITED) and is limited by [`Pool::configure`], which also
    /// fills the pool; with a finite `limit` here the pool is empty until the first boundary.
    pub const fn new(limit: Limit, phase: Nanos) -> Self {
        Self {
            runtime: Nanos::ZERO,
            runtime_snap: Nanos::ZERO,
            limit,
            idle: false,
            slack_started: false,
            too_short: None,
            period_timer: PeriodTimer::new(phase),
            stat: BandwidthStat {
                nr_periods: 0,
                nr_throttled: 0,
                throttled_time: Nanos::ZERO,
                nr_bursts: 0,
                burst_time: Nanos::ZERO,
            },
        }
    }

    /// Sets a new limit, refills, and starts the period timer if there is a quota and it is off;
    /// `Some` is the expiry to program. A timer that is armed keeps its expiry, and uses the new
    /// period from then on (kernel: the pool's part of `tg_set_cfs_bandwidth`).
    ///
    /// The refill has two effects that surprise: writing the old value again fills the pool, and a
    /// lower quota may count as a burst. The queues' balances and their throttling are the caller's.
    #[must_use = "program the period timer"]
    pub fn configure(&mut self, now: Nanos, limit: Limit) -> Option<Nanos> {
        self.limit = limit;
        self.refill();
        self.debug_check();
        if !limit.is_finite() {
            // An armed timer stops at its next expiry.
            return None;
        }
        self.start_period_timer(now)
    }

    /// Moves runtime to a balance that is out, so that it holds `target` once its debt is paid; less
    /// if the pool has less, and then it keeps that part. Starts the period timer even if there is
    /// nothing (kernel: `__assign_cfs_rq_runtime`).
    ///
    /// `target` is at least 1 ns: a slice for a queue that runs, 1 ns for one that must only be let
    /// go. A pool without quota gives all that is asked and starts no timer.
    ///
    /// # Panics
    /// In debug builds, if the balance is not out (`local` above zero).
    pub fn request(&mut self, now: Nanos, local: &mut Runtime, target: Nanos) -> Request {
        debug_assert!(local.is_out(), "a balance of {local} needs no runtime");
        let need = local.need(target);
        let (granted, arm_period) = if self.limit.is_finite() {
            let arm_period = self.start_period_timer(now);
            let granted = self.take(need);
            if granted > Nanos::ZERO {
                self.idle = false;
            }
            (granted, arm_period)
        } else {
            (need, None)
        };
        local.credit(granted);
        Request {
            granted,
            success: !local.is_out(),
            arm_period,
        }
    }

    /// Gives a waiting queue what it takes to end at a balance of 1 ns, or all that there is, and
    /// returns how much. The queue may go on if its balance is above zero then (kernel: the loop body
    /// of `distribute_cfs_runtime`).
    pub fn give_to_throttled(&mut self, local: &mut Runtime) -> Nanos {
        let granted = self.take(local.need(Nanos::NANOSECOND));
        local.credit(granted);
        granted
    }

    fn take(&mut self, need: Nanos) -> Nanos {
        let taken = need.min(self.runtime);
        self.runtime -= taken;
        taken
    }

    /// Adds one quota and caps at quota plus burst; nothing without a quota (kernel:
    /// `__refill_cfs_bandwidth_runtime`).
    ///
    /// Counts a burst if the pool, quota included, holds less than after the refill before: then the
    /// net grants in between exceeded one quota.
    pub fn refill(&mut self) {
        let (Some(quota), Some(cap)) = (self.limit.quota(), self.limit.cap()) else {
            return;
        };
        self.runtime = self.runtime.saturating_add(quota);
        let used_over = self.runtime_snap.saturating_sub(self.runtime);
        if used_over > Nanos::ZERO {
            self.stat.burst_time = self.stat.burst_time.saturating_add(used_over);
            self.stat.nr_bursts += 1;
        }
        self.runtime = self.runtime.min(cap);
        self.runtime_snap = self.runtime;
    }

    // ---- period timer -------------------------------------------------------------------------

    /// Starts the period timer at the first point of its grid after `now`, unless it is active;
    /// `Some` is the expiry to program (kernel: `start_cfs_bandwidth`).
    ///
    /// The grid survives idleness, so that the first period after a restart is what is left of a
    /// cell: more than nothing, at most a period. A timer that went off already stands at its next
    /// grid point; a period that was shortened since counts from there.
    #[must_use = "program the period timer"]
    pub fn start_period_timer(&mut self, now: Nanos) -> Option<Nanos> {
        self.period_timer.start(now, self.limit.period())
    }

    /// The period timer fired: its callback begins (kernel: `sched_cfs_period_timer`).
    pub fn enter_period_timer(&mut self) {
        debug_assert!(
            self.period_timer.active,
            "a timer that is off does not fire"
        );
        debug_assert!(
            !self.in_period_timer(),
            "a callback does not interrupt itself"
        );
        self.period_timer.iterations = Some(0);
        self.too_short = None;
    }

    /// One pass of the callback's loop at time `now`: counts the boundaries that passed, refills once
    /// however many they are, and looks for idleness (kernel: `do_sched_cfs_period_timer`).
    ///
    /// `had_throttled`: a queue of the group waits for runtime now, before the refill.
    pub fn period_iteration(&mut self, now: Nanos, had_throttled: bool) -> PeriodIteration {
        debug_assert!(self.in_period_timer(), "iterations happen in the callback");
        self.too_short = None;
        let overruns = self.period_timer.forward(now, self.limit.period());
        if overruns == 0 {
            return PeriodIteration::Done;
        }
        let iteration = self.period_tick(overruns, had_throttled);
        if iteration != PeriodIteration::Distribute {
            self.end_iteration();
        }
        iteration
    }

    fn period_tick(&mut self, overruns: u64, had_throttled: bool) -> PeriodIteration {
        if !self.limit.is_finite() {
            return PeriodIteration::Stop;
        }
        self.stat.nr_periods = self.stat.nr_periods.saturating_add(overruns);
        self.refill();
        if had_throttled {
            self.stat.nr_throttled = self.stat.nr_throttled.saturating_add(overruns);
            PeriodIteration::Distribute
        } else if self.idle {
            PeriodIteration::Stop
        } else {
            self.idle = true;
            PeriodIteration::Continue
        }
    }

    /// The distribution that [`PeriodIteration::Distribute`] asked for is over: a pool that somebody
    /// waited for is not idle.
    pub fn after_distribution(&mut self) {
        self.idle = false;
        self.end_iteration();
    }

    /// Counts an iteration, and doubles quota, period and burst at the fourth of one callback: the
    /// periods pass faster than the callback gets done.
    fn end_iteration(&mut self) {
        let iterations = self
            .period_timer
            .iterations
            .map_or(1, |iterations| iterations + 1);
        if iterations <= MAX_ITERATIONS {
            self.period_timer.iterations = Some(iterations);
            return;
        }
        self.period_timer.iterations = Some(0);
        self.too_short = Some(match self.limit.doubled() {
            Some(doubled) => {
                self.limit = doubled;
                PeriodTooShort::Doubled
            }
            None => PeriodTooShort::AtMaximum,
        });
    }

    /// The callback ends. `stop`: the last iteration was [`PeriodIteration::Stop`]; the timer goes off
    /// and its grid stays. Otherwise the expiry to program.
    #[must_use = "program the period timer"]
    pub fn leave_period_timer(&mut self, stop: bool) -> Option<Nanos> {
        debug_assert!(self.in_period_timer(), "what is left was entered");
        self.period_timer.iterations = None;
        self.period_timer.active = !stop;
        self.debug_check();
        (!stop).then_some(self.period_timer.expires)
    }

    // ---- slack --------------------------------------------------------------------------------

    /// Takes back what the balance of a queue that went idle holds above 1 ms. `Some` is the expiry
    /// of the slack timer to program: somebody waits (`throttled_waiting`), the pool has more than a
    /// slice, the timer is not armed, and the next refill is at least 7 ms away (kernel:
    /// `__return_cfs_rq_runtime`, `start_cfs_slack_bandwidth`).
    ///
    /// The pool is not capped here. Without a quota the balance is cut all the same.
    #[must_use = "program the slack timer"]
    pub fn return_slack(
        &mut self,
        now: Nanos,
        local: &mut Runtime,
        throttled_waiting: bool,
        slice: Nanos,
    ) -> Option<Nanos> {
        let keep = MIN_CFS_RQ_RUNTIME.0 as i64;
        if local.0 <= keep {
            return None;
        }
        let slack = Nanos((local.0 - keep) as u64);
        local.0 = keep;
        if !self.limit.is_finite() {
            return None;
        }
        self.runtime = self.runtime.saturating_add(slack);
        let useful = self.runtime > slice && throttled_waiting && !self.slack_started;
        let span = SLACK_PERIOD + MIN_BANDWIDTH_EXPIRATION;
        if !useful || self.period_timer.fires_within(now, span) {
            return None;
        }
        self.slack_started = true;
        Some(now.saturating_add(SLACK_PERIOD))
    }

    /// The slack timer fired. `true`: give runtime to the waiting queues, once, from all that the pool
    /// has. `false`: the next refill is less than 2 ms away, or there is not more than a slice (kernel:
    /// `do_sched_cfs_slack_timer`).
    #[must_use = "distribute"]
    pub fn slack_timer_fired(&mut self, now: Nanos, slice: Nanos) -> bool {
        self.slack_started = false;
        !self
            .period_timer
            .fires_within(now, MIN_BANDWIDTH_EXPIRATION)
            && self.limit.is_finite()
            && self.runtime > slice
    }

    /// Adds the time for which a queue was throttled, when it is let go (kernel: in
    /// `unthrottle_cfs_rq`).
    pub fn add_throttled_time(&mut self, time: Nanos) {
        self.stat.throttled_time = self.stat.throttled_time.saturating_add(time);
    }

    // ---- reading ------------------------------------------------------------------------------

    /// The limit. Quota, period and burst may have been doubled, see [`PeriodTooShort`].
    pub const fn limit(&self) -> Limit {
        self.limit
    }

    /// R: time that no queue holds.
    pub const fn runtime(&self) -> Nanos {
        self.runtime
    }

    /// R right after the last refill.
    pub const fn runtime_snap(&self) -> Nanos {
        self.runtime_snap
    }

    /// Whether nothing was granted since a boundary at which nobody waited.
    pub const fn is_idle(&self) -> bool {
        self.idle
    }

    /// Whether the period timer is armed, or its callback runs.
    pub const fn period_active(&self) -> bool {
        self.period_timer.active
    }

    /// Whether the period timer's callback runs.
    pub const fn in_period_timer(&self) -> bool {
        self.period_timer.iterations.is_some()
    }

    /// When the period timer fires; while it is off, a point of its grid that may be past.
    pub const fn period_expires(&self) -> Nanos {
        self.period_timer.expires
    }

    /// What the last iteration of the period timer's callback (its distribution included) did about a
    /// period that is too short. The kernel logs a line, rate limited, for each `Some`.
    pub const fn period_too_short(&self) -> Option<PeriodTooShort> {
        self.too_short
    }

    /// Whether the slack timer is armed.
    pub const fn slack_started(&self) -> bool {
        self.slack_started
    }

    /// The statistics.
    pub const fn stat(&self) -> BandwidthStat {
        self.stat
    }

    /// What each callback and each configuration write leaves true.
    fn debug_check(&self) {
        debug_assert!(
            self.limit.cap().is_none_or(|cap| self.runtime_snap <= cap),
            "a refill leaves at most quota plus burst, not {}",
            self.runtime_snap
        );
        debug_assert!(
            self.stat.nr_throttled <= self.stat.nr_periods,
            "a throttled period is a period"
        );
    }
}
