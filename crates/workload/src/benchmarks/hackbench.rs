//! hackbench: groups of senders that write messages to each receiver of their group.

use cpumax_bandwidth::Nanos;
use cpumax_sched::Kernel;
use cpumax_sim::setup::{GroupIndex, ObjectIndex, Start, Step, TaskIndex};
use cpumax_sim::{Error, Machine};

use super::builder::{Builder, Limits, program};
use super::steady::{self, Steady, SteadyResult};

/// hackbench, with the names of the program's options.
///
/// A group has `fds` senders and `fds` receivers. Each receiver has a pipe or socket of its own; in each of `loops` rounds
/// a sender writes a message of `datasize` bytes to each receiver of its group. All tasks are forked first and then
/// begin together; the time runs from then until the last has exited.
#[derive(Clone, Debug, PartialEq)]
pub struct Hackbench {
    /// Groups; in each leaf of nested limits.
    pub groups: usize,
    /// Senders, and receivers, of a group.
    pub fds: usize,
    /// Messages from each sender to each receiver.
    pub loops: u64,
    /// Bytes of a message.
    pub datasize: u32,
    /// What carries the messages.
    pub transport: Transport,
    /// CPU limits.
    pub limits: Limits,
}

/// What carries hackbench's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Pipes.
    Pipes,
    /// Unix stream sockets.
    Sockets,
}

/// A sender waits for the start here.
const START: ObjectIndex = ObjectIndex(0);
/// The pipe through which tasks say that they are ready.
const READY: ObjectIndex = ObjectIndex(0);

impl Hackbench {
    /// As published: 150,000 loops over pipes.
    pub fn published(groups: usize, limits: Limits) -> Self {
        Self {
            groups,
            fds: 20,
            loops: 150_000,
            datasize: 100,
            transport: Transport::Pipes,
            limits,
        }
    }

    /// Runs it; the value is in seconds.
    ///
    /// # Errors
    /// What is wrong with the machine.
    pub fn run(
        &self,
        machine: &Machine,
        kernel: Kernel,
        seed: u64,
        steady: Steady,
    ) -> Result<SteadyResult, Error> {
        let mut builder = Builder::new(machine, Nanos::from_secs(100_000));
        let places = builder.groups(&self.limits);
        let tasks = places.len() * self.groups * self.fds * 2;
        let begin = vec![Step::PipeReadAll(READY, tasks as u32), Step::WakeAll(START)];
        builder.starter("hackbench", places.first().copied(), tasks, begin);
        let mut senders = Vec::new();
        for (place, &group) in places.iter().enumerate() {
            for club in 0..self.groups {
                let first = 1 + (place * self.groups + club) * self.fds;
                senders.extend(self.club(&mut builder, group, first));
            }
        }
        let loops = self.loops as f64;
        let senders_count = senders.len() as f64;
        steady::run(
            builder.setup,
            kernel,
            seed,
            steady,
            &senders,
            |rounds, window| window.0 as f64 / 1e9 * loops * senders_count / (rounds as f64),
            |time| time.0 as f64 / 1e9,
        )
    }

    /// One group, whose pipes are numbered from `first` on; its senders.
    fn club(&self, builder: &mut Builder, group: GroupIndex, first: usize) -> Vec<TaskIndex> {
        let objects: Vec<ObjectIndex> = (first..first + self.fds).map(ObjectIndex).collect();
        let ready = || vec![Step::PipeWrite(READY, 1), Step::Wait(START)];
        for &object in &objects {
            let read = match self.transport {
                Transport::Pipes => Step::PipeReadAll(object, self.datasize),
                Transport::Sockets => Step::SocketReadAll(object, self.datasize),
            };
            let messages = self.loops * self.fds as u64;
            let receiver = program(ready(), vec![read], Some(messages));
            builder.task("receiver".into(), Some(group), Start::Forked, &receiver);
        }
        let write = |&object: &ObjectIndex| match self.transport {
            Transport::Pipes => Step::PipeWrite(object, self.datasize),
            Transport::Sockets => Step::SocketWrite(object, self.datasize),
        };
        let sender = program(
            ready(),
            objects.iter().map(write).collect(),
            Some(self.loops),
        );
        (0..self.fds)
            .map(|_| builder.task("sender".into(), Some(group), Start::Forked, &sender))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small(transport: Transport, loops: u64) -> Hackbench {
        Hackbench {
            groups: 2,
            fds: 3,
            loops,
            transport,
            ..Hackbench::published(2, Limits::None)
        }
    }

    const LONG: Steady = Steady {
        warmup: Nanos::from_millis(20),
        window: Nanos::from_millis(200),
    };

    #[test]
    fn every_message_arrives_and_the_time_is_that_of_the_last() {
        for transport in [Transport::Pipes, Transport::Sockets] {
            let run = small(transport, 200)
                .run(&Machine::lab(4), Kernel::V6_12, 1, LONG)
                .unwrap();
            assert!(run.complete, "{transport:?}");
            // 2 x 3 x 3 x 200 messages of at least 3 us of CPU time on 4 CPUs.
            assert!(run.value > 0.002 && run.value < 0.1, "{}", run.value);
        }
    }

    #[test]
    fn what_is_extrapolated_is_what_comes_out() {
        let machine = Machine::lab(4);
        let whole = small(Transport::Pipes, 20_000);
        let complete = Steady {
            warmup: Nanos::ZERO,
            window: Nanos::from_secs(10),
        };
        let real = whole.run(&machine, Kernel::V6_12, 1, complete).unwrap();
        let guess = whole.run(&machine, Kernel::V6_12, 1, LONG).unwrap();
        assert!(real.complete && !guess.complete);
        let error = (guess.value - real.value).abs() / real.value;
        assert!(error < 0.05, "{} for {}", guess.value, real.value);
    }

    #[test]
    fn nested_limits_have_four_leaves() {
        let limit = cpumax_bandwidth::Limit::UNLIMITED;
        let mut builder = Builder::new(&Machine::lab(4), Nanos::SECOND);
        let leaves = builder.groups(&Limits::Nested(vec![limit; 3]));
        let paths: Vec<&str> = leaves
            .iter()
            .map(|leaf| builder.setup.groups[leaf.0].path.as_str())
            .collect();
        assert_eq!(builder.setup.groups.len(), 7);
        assert_eq!(
            paths,
            [
                "/level0-0/level1-0/level2-0",
                "/level0-0/level1-0/level2-1",
                "/level0-0/level1-1/level2-0",
                "/level0-0/level1-1/level2-1"
            ]
        );
    }
}
