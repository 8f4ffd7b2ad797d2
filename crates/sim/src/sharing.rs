//! What CPUs share: the threads of a core its pipelines, and all of them the cache lines of what they work on.

use cpumax_bandwidth::Nanos;
use cpumax_sched::{CAPACITY_ONE, CpuId, Topology};

use crate::machine::{Caches, Machine};
use crate::program::Call;

/// Who used an object last.
///
/// Those who use an object at the same time take turns, in the order in which they came, and spin until it is
/// theirs (kernel: `pipe->mutex` with optimistic spinning). The one who uses it is taken to run: that it can be
/// interrupted while others spin is left out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sharing {
    /// The CPU in whose cache it is.
    last: Option<CpuId>,
    /// Until when it is in use.
    busy_until: Nanos,
}

impl Sharing {
    /// A CPU uses the object from `from` on for `work`, and to get `lines` of it. When it is done.
    pub fn use_for(
        &mut self,
        cpu: CpuId,
        from: Nanos,
        work: Nanos,
        lines: u32,
        speeds: &Speeds,
    ) -> Nanos {
        let line = self.last.map_or(Nanos::ZERO, |last| speeds.line(last, cpu));
        let begins = from.max(self.busy_until);
        self.last = Some(cpu);
        self.busy_until = begins + work + line * u64::from(lines);
        self.busy_until
    }
}

/// How fast CPUs are, and how far from one another.
#[derive(Debug)]
pub(crate) struct Speeds {
    caches: Caches,
    topology: Topology,
    smt_percent: u64,
    /// The other hardware threads of each CPU's core.
    siblings: Vec<Vec<CpuId>>,
    /// Every CPU is as fast as any other, whatever runs beside it.
    uniform: bool,
}

impl Speeds {
    pub fn of(machine: &Machine) -> Self {
        let cpus = &machine.topology.cpus;
        let cores = cpus.iter().map(|place| place.core as usize + 1).max();
        let mut threads: Vec<Vec<CpuId>> = vec![Vec::new(); cores.unwrap_or(0)];
        for (cpu, place) in cpus.iter().enumerate() {
            threads[place.core as usize].push(CpuId::new(cpu));
        }
        let siblings = cpus.iter().enumerate().map(|(cpu, place)| {
            let core = threads[place.core as usize].iter().copied();
            core.filter(|other| other.index() != cpu).collect()
        });
        Self {
            caches: machine.caches.clone(),
            smt_percent: u64::from(machine.smt_percent.max(1)),
            siblings: siblings.collect(),
            uniform: machine.smt_percent == 100
                && cpus.iter().all(|place| place.capacity == CAPACITY_ONE),
            topology: machine.topology.clone(),
        }
    }

    /// How long work takes on a CPU that would take `work` on the fastest one alone.
    #[inline]
    pub fn paced(&self, cpu: CpuId, work: Nanos, is_busy: impl Fn(CpuId) -> bool) -> Nanos {
        if self.uniform || work == Nanos::ZERO {
            return work;
        }
        let capacity = u64::from(self.topology.cpus[cpu.index()].capacity.max(1));
        let mut time = work.0 * u64::from(CAPACITY_ONE) / capacity;
        if self.siblings[cpu.index()]
            .iter()
            .any(|&other| is_busy(other))
        {
            time = time * 100 / self.smt_percent;
        }
        Nanos(time)
    }

    /// Time for a cache line to come from one CPU to another.
    #[inline]
    pub fn line(&self, from: CpuId, to: CpuId) -> Nanos {
        let (from, to) = (
            &self.topology.cpus[from.index()],
            &self.topology.cpus[to.index()],
        );
        if from.core == to.core {
            Nanos::ZERO
        } else if from.llc == to.llc {
            self.caches.same_llc
        } else if from.node == to.node {
            self.caches.same_node
        } else {
            self.caches.other_node
        }
    }

    /// Lines that a call shares with the last one on its object.
    pub fn lines_of(&self, call: Call) -> u32 {
        match call {
            Call::PipeWrite { .. } | Call::PipeRead { .. } => self.caches.pipe_lines,
            Call::SocketWrite { .. } | Call::SocketRead { .. } => self.caches.socket_lines,
            Call::UdpSend { .. } | Call::UdpReceive(_) => self.caches.udp_lines,
            _ => 0,
        }
    }

    /// What a wakeup on another CPU costs for the lines of its run queue.
    pub fn remote_wakeup(&self, waker: CpuId, target: CpuId) -> Nanos {
        self.line(target, waker) * u64::from(self.caches.wakeup_lines)
    }
}

#[cfg(test)]
mod tests {
    use cpumax_sched::CpuPlace;

    use super::*;

    /// Two nodes of two caches of two cores of two threads; the second threads behind all cores.
    fn machine() -> Machine {
        let place = |cpu: u32| CpuPlace {
            core: cpu % 8,
            llc: cpu % 8 / 2,
            node: cpu % 8 / 4,
            capacity: CAPACITY_ONE,
        };
        Machine {
            topology: Topology {
                cpus: (0..16).map(place).collect(),
            },
            smt_percent: 50,
            caches: Caches {
                same_llc: Nanos(30),
                same_node: Nanos(100),
                other_node: Nanos(200),
                ..Caches::NONE
            },
            ..Machine::ideal(1)
        }
    }

    const fn cpu(index: usize) -> CpuId {
        CpuId::new(index)
    }

    #[test]
    fn lines_take_longer_from_farther_away() {
        let speeds = Speeds::of(&machine());
        let from_zero = [0, 8, 1, 9, 2, 4, 12].map(|to| speeds.line(cpu(0), cpu(to)).0);
        assert_eq!(from_zero, [0, 0, 30, 30, 100, 200, 200]);
    }

    #[test]
    fn who_comes_second_spins_until_the_first_is_done() {
        let speeds = Speeds::of(&machine());
        let mut pipe = Sharing::default();
        let work = Nanos(500);
        assert_eq!(pipe.use_for(cpu(0), Nanos(0), work, 2, &speeds), Nanos(500));
        assert_eq!(
            pipe.use_for(cpu(1), Nanos(100), work, 2, &speeds),
            Nanos(500 + 60 + 500)
        );
        assert_eq!(
            pipe.use_for(cpu(1), Nanos(5000), work, 2, &speeds),
            Nanos(5500),
            "nobody is in the way, and the lines are here"
        );
    }

    #[test]
    fn a_busy_sibling_and_a_small_core_make_slow() {
        let mut machine = machine();
        machine.topology.cpus[1].capacity = 512;
        let speeds = Speeds::of(&machine);
        let busy = |busy: usize| move |other: CpuId| other.index() == busy;
        assert_eq!(speeds.paced(cpu(0), Nanos(100), busy(3)), Nanos(100));
        assert_eq!(speeds.paced(cpu(0), Nanos(100), busy(8)), Nanos(200));
        assert_eq!(speeds.paced(cpu(1), Nanos(100), busy(3)), Nanos(200));
        assert_eq!(speeds.paced(cpu(1), Nanos(100), busy(9)), Nanos(400));
    }
}
