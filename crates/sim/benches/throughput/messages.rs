//! 640 tasks on 384 CPUs that wake each other and wait for an answer, as hackbench's do: 16 clubs of
//! 40, every second one in a group with a quota.

use cpumax_bandwidth::Nanos;
use cpumax_sched::{CAPACITY_ONE, CpuId, CpuPlace, Kernel, Leave, TaskId, Topology};

use crate::Subject;
use crate::host::{Host, Random, TICK};

pub const CPUS: usize = 384;
pub const CLUBS: usize = 16;
/// Tasks in a club.
pub const MEMBERS: usize = 40;
/// A limited club gets so many CPUs.
pub const QUOTA: f64 = 15.0;
/// Members of each club that are awake at any time.
const AWAKE: usize = 28;
/// A task runs for so long until it passes its message on.
const BURST: Nanos = Nanos::from_micros(20);

/// Two sockets of 12 caches of 8 cores of 2 threads; the second threads are numbered behind all cores.
pub fn topology() -> Topology {
    let place = |cpu: usize| {
        let core = (cpu % (CPUS / 2)) as u32;
        CpuPlace {
            core,
            llc: core / 8,
            node: core / 96,
            capacity: CAPACITY_ONE,
        }
    };
    Topology {
        cpus: (0..CPUS).map(place).collect(),
    }
}

pub struct Messages {
    host: Host,
    /// Tasks that sleep, by club.
    sleepers: Vec<Vec<TaskId>>,
    /// By the core's task number.
    club_of: Vec<usize>,
    random: Random,
    /// The CPU whose turn it is.
    turn: usize,
    next_tick: Nanos,
}

impl Messages {
    pub fn new(kernel: Kernel) -> Self {
        let mut host = Host::new(kernel, topology());
        let mut sleepers = vec![Vec::new(); CLUBS];
        let mut club_of = Vec::new();
        for (club, sleeping) in sleepers.iter_mut().enumerate() {
            let group = host.group((club % 2 == 0).then_some(QUOTA));
            for member in 0..MEMBERS {
                let cpu = CpuId::new((club * MEMBERS + member) % CPUS);
                let task = host.task(group, cpu);
                club_of.push(club);
                if member < AWAKE {
                    host.wake(task, cpu);
                } else {
                    sleeping.push(task);
                }
            }
        }
        host.settle();
        Self {
            host,
            sleepers,
            club_of,
            random: Random::new(),
            turn: 0,
            next_tick: TICK,
        }
    }

    /// The next CPU's turn: its task wakes a member of its club and waits for an answer.
    #[inline]
    fn step(&mut self) {
        self.turn = (self.turn + 1) % CPUS;
        if self.turn == 0 {
            self.host.now += BURST;
            self.host.fire_timers();
            self.host.settle();
            if self.host.now >= self.next_tick {
                self.next_tick += TICK;
                self.tick_all();
            }
        }
        let cpu = CpuId::new(self.turn);
        self.host.fire_hrtick(cpu);
        self.host.settle();
        let Some(task) = self.host.sched.curr(cpu) else {
            return;
        };
        let sleepers = &mut self.sleepers[self.club_of[task.index()]];
        let at = self.random.below(sleepers.len() as u64) as usize;
        let wakee = std::mem::replace(&mut sleepers[at], task);
        self.host.wake(wakee, cpu);
        self.host.schedule(cpu, Leave::Sleep);
        self.host.settle();
    }

    fn tick_all(&mut self) {
        for cpu in 0..CPUS {
            self.host.tick(CpuId::new(cpu));
        }
        self.host.settle();
    }
}

impl Subject for Messages {
    fn work(&mut self) {
        for _ in 0..CPUS {
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
