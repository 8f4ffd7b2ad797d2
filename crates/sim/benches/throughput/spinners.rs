//! Four tasks that spin on two CPUs, in a group with a quota of one and a half CPUs: ticks, preemption,
//! a throttle and a refill in each period.

use cpumax_bandwidth::Nanos;
use cpumax_sched::{CpuId, Kernel, Topology};

use crate::Subject;
use crate::host::{Host, TICK};

const CPUS: usize = 2;
const TASKS: usize = 4;

pub struct Spinners {
    host: Host,
    next_tick: Nanos,
}

impl Spinners {
    pub fn new(kernel: Kernel) -> Self {
        let mut host = Host::new(kernel, Topology::flat(CPUS));
        let group = host.group(Some(1.5));
        for index in 0..TASKS {
            let cpu = CpuId::new(index % CPUS);
            let task = host.task(group, cpu);
            host.wake(task, cpu);
            host.settle();
        }
        Self {
            host,
            next_tick: TICK,
        }
    }

    /// Goes on to the next moment at which a timer fires or the CPUs tick.
    #[inline]
    fn step(&mut self) {
        let host = &mut self.host;
        let mut now = self.next_tick;
        if let Some(expires) = host.next_timer() {
            now = now.min(expires);
        }
        for cpu in 0..CPUS {
            if let Some(expires) = host.hrtick(CpuId::new(cpu)) {
                now = now.min(expires);
            }
        }
        host.now = host.now.max(now);
        host.fire_timers();
        let ticks = now == self.next_tick;
        for cpu in (0..CPUS).map(CpuId::new) {
            host.fire_hrtick(cpu);
            if ticks {
                host.tick(cpu);
            }
        }
        if ticks {
            self.next_tick += TICK;
        }
        host.settle();
    }
}

impl Subject for Spinners {
    fn work(&mut self) {
        for _ in 0..100 {
            self.step();
        }
    }

    fn operations(&self) -> u64 {
        self.host.operations()
    }

    fn mix(&self) -> Option<String> {
        Some(self.host.mix())
    }

    fn virtual_time(&self) -> Nanos {
        self.host.now
    }
}
