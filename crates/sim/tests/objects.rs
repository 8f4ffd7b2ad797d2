//! Pipes under contention, sockets, read-write semaphores, forks and the hung-task detector, on small machines.

mod world;

use cpumax_bandwidth::{Limit, Nanos};
use cpumax_sched::{CAPACITY_ONE, CpuPlace, Kernel, Topology};
use cpumax_sim::setup::{GroupIndex, Program, Start, Step, TaskIndex};
use cpumax_sim::{Caches, Error, LockMisuse, Machine};
use world::{World, forever, ms, object, on_cpu, once, us};

fn times(times: u64, steps: Vec<Step>) -> Program {
    Program {
        prelude: vec![],
        steps,
        times: Some(times),
    }
}

#[test]
fn every_writer_that_waits_for_room_is_woken_in_the_end() {
    // Far more than fits into the pipe, so that all writers wait; the reader frees one slot at a time.
    for kernel in Kernel::MEASURED {
        let mut world = World::lab(1).kernel(kernel).duration(ms(200));
        world.setup.ends_with_tasks = true;
        for _ in 0..10 {
            let write = times(200, vec![Step::PipeWrite(object(0), 100)]);
            world = world.task("writer", write);
        }
        let read = times(2000, vec![Step::PipeReadAll(object(0), 100)]);
        let outcome = world.task("reader", read).run();
        assert!(
            outcome.tasks.iter().all(|task| task.exited.is_some()),
            "{kernel}"
        );
        assert!(outcome.elapsed < ms(200));
        assert_eq!(outcome.tasks[0].rounds, 200);
    }
}

#[test]
fn a_stream_socket_carries_everything() {
    let mut world = World::lab(2).duration(ms(500));
    world.setup.ends_with_tasks = true;
    for _ in 0..4 {
        let write = times(500, vec![Step::SocketWrite(object(3), 100)]);
        world = world.task("writer", write);
    }
    let read = times(2000, vec![Step::SocketReadAll(object(3), 100)]);
    let outcome = world.task("reader", read).run();
    assert!(outcome.tasks.iter().all(|task| task.exited.is_some()));
    assert!(
        outcome.tasks[..4].iter().any(|task| task.wakeups > 1),
        "278 messages fit, so writers wait"
    );
}

#[test]
fn a_request_and_its_response_take_what_they_cost() {
    let mut machine = Machine::ideal(2);
    machine.costs.udp_send = us(3);
    machine.costs.udp_softirq = us(2);
    machine.costs.udp_receive = us(1);
    let client = forever(vec![
        Step::UdpSend(object(0), 1),
        Step::UdpReceive(object(1)),
    ]);
    let server = forever(vec![
        Step::UdpReceive(object(0)),
        Step::UdpSend(object(1), 1),
    ]);
    let outcome = World::on(machine)
        .duration(ms(12))
        .task_with("client", client, on_cpu(0))
        .task_with("server", server, on_cpu(1))
        .run();
    // 5 us until the request is there. The receiver has paid for its receive before it slept, and sends: 5 us.
    let rounds = outcome.tasks[0].rounds;
    assert!(rounds.abs_diff(1200) <= 2, "{rounds}");
    // What a transaction costs the CPUs: send, softirq and receive on either side.
    let used = outcome.tasks[0].cpu_time + outcome.tasks[1].cpu_time;
    assert!(used.0.abs_diff(us(12).0 * rounds) < us(20).0, "{used}");
}

#[test]
fn datagrams_without_a_receiver_are_dropped() {
    let outcome = World::lab(1)
        .duration(ms(50))
        .task("sender", times(1000, vec![Step::UdpSend(object(0), 1)]))
        .task_with("late", forever(vec![Step::UdpReceive(object(0))]), |spec| {
            spec.start = Start::At(ms(40));
        })
        .run();
    assert_eq!(outcome.tasks[1].rounds, 278, "as many as the buffer holds");
}

#[test]
fn a_writer_waits_for_readers_and_readers_behind_it() {
    let outcome = World::ideal(4)
        .duration(ms(100))
        .task(
            "reader",
            once(vec![
                Step::ReadLock(object(0)),
                Step::RunKernel(ms(10)),
                Step::ReadUnlock(object(0)),
            ]),
        )
        .task_with(
            "writer",
            once(vec![
                Step::WriteLock(object(0)),
                Step::RunKernel(ms(5)),
                Step::WriteUnlock(object(0)),
            ]),
            |spec| spec.start = Start::At(ms(1)),
        )
        .task_with(
            "late",
            once(vec![
                Step::ReadLock(object(0)),
                Step::RunKernel(ms(1)),
                Step::ReadUnlock(object(0)),
            ]),
            |spec| spec.start = Start::At(ms(2)),
        )
        .run();
    let semaphore = &outcome.semaphores[0];
    assert_eq!(semaphore.writer_waits, [ms(9)]);
    assert_eq!(semaphore.reader_waits, [ms(13)]);
    assert_eq!(semaphore.most_waiting_readers, 1);
    assert_eq!(outcome.tasks[2].exited, Some(ms(16)));
}

#[test]
fn semaphores_are_used_correctly_or_not_at_all() {
    let misuse = |steps| match World::ideal(1).task("t", once(steps)).try_run() {
        Err(Error::Lock { misuse, .. }) => misuse,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        misuse(vec![Step::ReadUnlock(object(0))]),
        LockMisuse::NotHolder
    );
    assert_eq!(
        misuse(vec![Step::WriteUnlock(object(0))]),
        LockMisuse::NotHolder
    );
    assert_eq!(
        misuse(vec![Step::ReadLock(object(0))]),
        LockMisuse::ExitHolding
    );
}

/// A reader under a tiny quota, in kernel work for longer than the quota allows, and a writer outside it.
fn reader_under_quota(kernel: Kernel) -> cpumax_sim::Outcome {
    let mut machine = Machine::ideal(2);
    machine.hung_task = ms(400);
    let limit = Limit::new(Some(ms(1)), ms(100), Nanos::ZERO).unwrap();
    World::on(machine)
        .kernel(kernel)
        .duration(Nanos::from_secs(3))
        .group_with("/readers", None, limit)
        .task_with(
            "reader",
            forever(vec![
                Step::ReadLock(object(0)),
                Step::RunKernel(ms(9)),
                Step::ReadUnlock(object(0)),
            ]),
            |spec| spec.group = Some(GroupIndex(0)),
        )
        .task(
            "writer",
            forever(vec![
                Step::Sleep(ms(3)),
                Step::WriteLock(object(0)),
                Step::RunKernel(us(10)),
                Step::WriteUnlock(object(0)),
            ]),
        )
        .run()
}

#[test]
fn a_throttled_reader_hangs_the_writer_only_where_it_is_throttled_in_the_kernel() {
    for kernel in ["6.1", "6.12"] {
        let outcome = reader_under_quota(kernel.parse().unwrap());
        let longest = outcome.semaphores[0].writer_waits.iter().max();
        assert!(longest > Some(&ms(100)), "{kernel}: {longest:?}");
        assert!(!outcome.hung.is_empty(), "{kernel}");
        let hung = outcome.hung[0];
        assert_eq!(hung.task, TaskIndex(1));
        assert_eq!(hung.reported.0 % ms(400).0, 0);
        assert!(
            hung.blocked > ms(400) && hung.blocked <= ms(800),
            "{hung:?}"
        );
    }
    for kernel in ["6.18", "7.2", "7.3"] {
        let outcome = reader_under_quota(kernel.parse().unwrap());
        let longest = outcome.semaphores[0].writer_waits.iter().max();
        assert!(longest < Some(&ms(10)), "{kernel}: {longest:?}");
        assert!(outcome.hung.is_empty(), "{kernel}");
    }
}

#[test]
fn a_fork_starts_its_task() {
    let mut world = World::lab(4)
        .task(
            "parent",
            once(vec![
                Step::Run(ms(1)),
                Step::Fork(TaskIndex(1)),
                Step::Run(ms(1)),
            ]),
        )
        .task_with("child", once(vec![Step::Run(ms(3))]), |spec| {
            spec.start = Start::Forked;
        });
    world.setup.ends_with_tasks = true;
    let outcome = world.run();
    let exit = outcome.tasks[1].exited.unwrap();
    assert!(exit > ms(4) && exit < ms(5), "{exit}");
    assert!(
        outcome.elapsed.0.abs_diff(exit.0) < us(10).0,
        "{}",
        outcome.elapsed
    );
}

#[test]
fn a_task_is_forked_once() {
    let fork = |child| {
        World::ideal(1)
            .task(
                "parent",
                once(vec![
                    Step::Fork(TaskIndex(child)),
                    Step::Fork(TaskIndex(child)),
                ]),
            )
            .task_with("child", once(vec![]), |spec| spec.start = Start::Forked)
            .task("own", once(vec![]))
            .try_run()
    };
    assert!(matches!(fork(1), Err(Error::Fork { .. })));
    assert!(matches!(fork(2), Err(Error::Fork { .. })));
    assert!(matches!(fork(3), Err(Error::OutOfRange { .. })));
}

#[test]
fn lines_and_siblings_cost_time() {
    let place = |core| CpuPlace {
        core,
        llc: core,
        node: core,
        capacity: CAPACITY_ONE,
    };
    let mut machine = Machine::ideal(1);
    machine.topology = Topology {
        cpus: vec![place(0), place(0), place(1)],
    };
    machine.smt_percent = 50;
    machine.caches = Caches {
        other_node: us(1),
        pipe_lines: 3,
        ..Caches::NONE
    };
    machine.costs.pipe_write = us(10);
    machine.costs.pipe_read = us(10);
    let run = |reader_cpu| {
        let mut world = World::on(machine.clone())
            .duration(ms(10))
            .task_with(
                "writer",
                once(vec![Step::PipeWrite(object(0), 1)]),
                on_cpu(0),
            )
            .task_with(
                "reader",
                once(vec![Step::PipeRead(object(0), 1)]),
                move |spec| {
                    on_cpu(reader_cpu)(spec);
                    spec.start = Start::At(us(100));
                },
            );
        world.setup.ends_with_tasks = true;
        world.run().tasks[1].cpu_time
    };
    assert_eq!(run(1), us(10), "a thread of the same core has the lines");
    assert_eq!(run(2), us(13));
    let beside = |cpu| {
        World::on(machine.clone())
            .duration(ms(100))
            .task_with("spin", once(vec![Step::Spin]), on_cpu(0))
            .task_with("work", once(vec![Step::Run(ms(10))]), move |spec| {
                on_cpu(cpu)(spec);
                spec.start = Start::At(ms(1));
            })
            .run()
            .tasks[1]
            .cpu_time
    };
    assert_eq!((beside(2), beside(1)), (ms(10), ms(20)));
}
