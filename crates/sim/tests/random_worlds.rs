//! Random small worlds: whatever the tasks do and whatever changes at run time, the invariants hold
//! after every event, and no time is lost or made.
//!
//! `CPUMAX_WORLDS=5000 cargo test --release -p cpumax-sim --test random_worlds` runs more of them,
//! `CPUMAX_WORLD=17` the one with that seed. A failure names its seed.

mod world;

use cpumax_bandwidth::{Limit, Nanos};
use cpumax_sched::{CpuId, CpuMask, Kernel, Nice, Preemption};
use cpumax_sim::Machine;
use cpumax_sim::setup::{Action, GroupIndex, GroupSpec, Policy, Program, Start, Step};
use rand_core::Rng;
use rand_pcg::Lcg64Xsh32;
use world::{World, ms, object, task_index, us};

/// Draws a world from a seed.
struct Draw(Lcg64Xsh32);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0.next_u32() as usize % bound
    }

    fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    fn time(&mut self) -> Nanos {
        let scale = self.pick(&[1_000, 30_000, 300_000, 2_000_000]);
        Nanos(1 + self.below(scale) as u64)
    }

    fn limit(&mut self) -> Limit {
        let period = self.pick(&[us(1000), ms(5), ms(10), ms(25), ms(100)]);
        let quota = us(1000) + Nanos(self.below(2 * period.0 as usize) as u64);
        let burst = if self.one_in(3) {
            quota / (1 + self.below(4) as u64)
        } else {
            Nanos::ZERO
        };
        Limit::new(Some(quota), period, burst).unwrap()
    }

    fn mask(&mut self, cpus: usize) -> CpuMask {
        let mut mask = CpuMask::empty(cpus);
        for _ in 0..=self.below(cpus) {
            mask.insert(CpuId::new(self.below(cpus)));
        }
        mask
    }

    /// A program that takes some time each time round.
    fn program(&mut self, index: usize) -> Program {
        let pair = object(index / 2);
        let mut steps = vec![Step::Run(self.time())];
        match self.below(9) {
            0 => {
                return Program {
                    prelude: vec![],
                    steps: vec![Step::Spin],
                    times: None,
                };
            }
            1 => steps.push(Step::Sleep(self.time())),
            2 => steps.push(Step::Timer(ms(1 + self.below(20) as u64))),
            3 => steps.extend([Step::Syscall, Step::RunKernel(self.time()), Step::Yield]),
            4 => steps.extend([Step::PipeWrite(pair, 1 + self.below(20_000) as u32)]),
            5 => steps.extend([Step::PipeReadAll(pair, 1 + self.below(20_000) as u32)]),
            6 => {
                let lock = object(self.below(2));
                let inner = vec![Step::RunKernel(self.time()), Step::Run(self.time())];
                steps.extend([Step::Lock(lock), Step::Repeat(2, inner)]);
                if self.one_in(2) {
                    steps.push(Step::Sleep(self.time()));
                }
                steps.push(Step::Unlock(lock));
            }
            7 => steps.push(Step::Wait(object(0))),
            _ => {
                let all = self.one_in(2);
                let wake = if all {
                    Step::WakeAll(object(0))
                } else {
                    Step::WakeOne(object(0))
                };
                steps.extend([Step::Sleep(self.time()), wake]);
            }
        }
        let times = if self.one_in(6) {
            Some(1 + self.below(30) as u64)
        } else {
            None
        };
        Program {
            prelude: vec![],
            steps,
            times,
        }
    }

    fn action(&mut self, groups: usize, tasks: usize, cpus: usize) -> Action {
        let group = GroupIndex(self.below(groups));
        let task = task_index(self.below(tasks));
        match self.below(9) {
            0 => Action::SetMax {
                group,
                quota: None,
                period: None,
            },
            1 | 2 => {
                let limit = self.limit();
                // A burst above the new quota would be refused, so the quota is never small.
                Action::SetMax {
                    group,
                    quota: limit.quota().map(|quota| quota + ms(200)),
                    period: None,
                }
            }
            3 => Action::SetWeight(group, 1 + self.below(1000) as u32),
            4 => Action::MoveTask(task, (!self.one_in(3)).then_some(group)),
            5 => Action::SetAffinity(task, self.mask(cpus)),
            6 => Action::SetNice(task, Nice::new(self.below(40) as i64 - 20).unwrap()),
            7 => Action::SetPolicy(
                task,
                self.pick(&[Policy::Normal, Policy::Batch, Policy::Idle, Policy::Fifo]),
            ),
            _ if cpus == 1 => Action::SetWeight(group, 100),
            _ if self.one_in(2) => Action::CpuOffline(1 + self.below(cpus - 1)),
            _ => Action::CpuOnline(1 + self.below(cpus - 1)),
        }
    }

    fn world(&mut self, seed: u64) -> World {
        let cpus = self.pick(&[1, 2, 3, 8]);
        let mut machine = if self.one_in(3) {
            Machine::ideal(cpus)
        } else {
            Machine::lab(cpus)
        };
        let modes = [
            Preemption::None,
            Preemption::Voluntary,
            Preemption::Full,
            Preemption::Lazy,
        ];
        machine.preemption = self.one_in(2).then(|| self.pick(&modes));
        let mut world = World::on(machine)
            .seed(seed)
            .duration(ms(20 + self.below(200) as u64));
        let groups = 1 + self.below(5);
        for index in 0..groups {
            let parent = (index > 0 && self.one_in(2)).then(|| GroupIndex(self.below(index)));
            let limit = if self.one_in(4) {
                Limit::UNLIMITED
            } else {
                self.limit()
            };
            let weight = self.pick(&[1, 50, 100, 100, 1000]);
            let path = format!("/g{index}");
            world.setup.groups.push(GroupSpec {
                path,
                parent,
                limit,
                weight,
                created_later: false,
            });
        }
        let tasks = 1 + self.below(14);
        for index in 0..tasks {
            let program = self.program(index);
            world = world.task_with(&format!("t{index}"), program, |spec| {
                spec.group = (!self.one_in(5)).then(|| GroupIndex(self.below(groups)));
                spec.nice = Nice::new(self.pick(&[0, 0, 0, 5, -5, 19])).unwrap();
                spec.policy =
                    self.pick(&[Policy::Normal, Policy::Normal, Policy::Batch, Policy::Idle]);
                spec.affinity = self.one_in(3).then(|| self.mask(cpus));
                spec.start = Start::At(Nanos(self.below(10_000_000) as u64));
                spec.kernel_thread = self.one_in(12);
            });
        }
        for _ in 0..self.pick(&[0, 0, 3, 30]) {
            let at = Nanos(self.below(world.setup.duration.0 as usize) as u64);
            world = world.event(at, self.action(groups, tasks, cpus));
        }
        world
    }
}

/// Runs the world of a seed on a kernel.
fn check(seed: u64, kernel: Kernel) {
    let world = Draw(Lcg64Xsh32::new(seed, 77)).world(seed).kernel(kernel);
    let name = format!("world {seed} on {kernel}");
    let mut simulation = world
        .simulation()
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    // A task that moves while it waits is queued on a CPU that may be idle and is not told; else no CPU
    // idles for long with work in its queue.
    let moves = world
        .setup
        .events
        .iter()
        .any(|event| matches!(event.action, Action::MoveTask(..)));
    let mut idle_with_work = vec![0; world.setup.machine.topology.cpu_count()];
    let mut until = Nanos::ZERO;
    while until < world.setup.duration {
        // Odd steps, so that a short cycle is not met at the same place each time.
        until += us(400) + Nanos(until.0 * 7919 % 100_003);
        simulation
            .run_until(until)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        for (index, samples) in idle_with_work.iter_mut().enumerate() {
            let cpu = CpuId::new(index);
            let sched = simulation.scheduler();
            let wrong = sched.curr(cpu).is_none() && sched.nr_running(cpu) > 0;
            *samples = if wrong { *samples + 1 } else { 0 };
            // It may be on its way out of idleness again and again, but not at 20 samples in a row.
            let most = if sched.need_resched(cpu).is_some() {
                20
            } else {
                1
            };
            assert!(
                moves || *samples < most,
                "{name}: cpu {index} idles with work at {until}"
            );
        }
    }
    let outcome = simulation
        .run()
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let most = world.setup.duration * world.setup.machine.topology.cpu_count() as u64;
    let used: Nanos = outcome.tasks.iter().map(|task| task.cpu_time).sum();
    assert!(used <= most, "{name}: {used} of {most}");
    // The core does not account tasks outside the fair class.
    let fifo = |action: &Action| matches!(action, Action::SetPolicy(_, Policy::Fifo));
    if !world.setup.events.iter().any(|event| fifo(&event.action)) {
        for (id, task) in simulation.task_ids().zip(&outcome.tasks) {
            assert_eq!(
                simulation.scheduler().task_runtime(id),
                task.cpu_time,
                "{name}: {task:?}"
            );
            assert!(task.user_time <= task.cpu_time, "{name}: {task:?}");
        }
        let tops = world
            .setup
            .groups
            .iter()
            .zip(&outcome.groups)
            .filter(|(spec, _)| spec.parent.is_none());
        let usage: u64 = tops.map(|(_, group)| group.stat.usage_usec).sum();
        assert!(
            usage <= used.as_micros(),
            "{name}: groups used {usage} of {used}"
        );
    }
    assert_eq!(outcome, world.run(), "{name}: the same again");
}

#[test]
fn random_worlds_keep_the_invariants() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let seeds = match number("CPUMAX_WORLD") {
        Some(seed) => seed..seed + 1,
        None => 0..number("CPUMAX_WORLDS").unwrap_or(24),
    };
    for seed in seeds {
        for kernel in [
            Kernel::V6_1,
            Kernel::V6_12,
            Kernel::V6_18,
            Kernel::V7_2,
            Kernel::V7_3,
        ] {
            check(seed, kernel);
        }
    }
}
