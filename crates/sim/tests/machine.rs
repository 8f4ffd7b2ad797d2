//! The machine by itself: time, programs, waiting and waking, without any limit.

mod world;

use cpumax_bandwidth::Nanos;
use cpumax_sched::Kernel;
use cpumax_sim::setup::{Action, Step};
use cpumax_sim::{Error, LockMisuse};
use world::{World, forever, ms, object, on_cpu, once, spin, us};

#[test]
fn a_spinner_alone_has_all_the_time() {
    for kernel in Kernel::MEASURED {
        let outcome = World::ideal(2).kernel(kernel).task("s", spin()).run();
        let task = &outcome.tasks[0];
        assert_eq!(
            (task.cpu_time, task.user_time),
            (ms(100), ms(100)),
            "{kernel}"
        );
        assert_eq!((task.wakeups, task.switches), (1, 0), "{kernel}");
    }
}

#[test]
fn nothing_happens_without_tasks_or_time() {
    let outcome = World::ideal(1).run();
    assert!(
        outcome.tasks.is_empty() && outcome.events == 1,
        "only the end: {outcome:?}"
    );
    let outcome = World::ideal(1)
        .duration(Nanos::ZERO)
        .task("s", spin())
        .run();
    assert_eq!(outcome.tasks[0].cpu_time, Nanos::ZERO);
}

#[test]
fn two_spinners_on_one_cpu_share_it() {
    for kernel in Kernel::MEASURED {
        let outcome = World::ideal(2)
            .kernel(kernel)
            .duration(ms(1000))
            .task_with("a", spin(), on_cpu(1))
            .task_with("b", spin(), on_cpu(1))
            .run();
        let times: Vec<u64> = outcome.tasks.iter().map(|task| task.cpu_time.0).collect();
        assert_eq!(times[0] + times[1], ms(1000).0, "{kernel}");
        assert!(
            times[0].abs_diff(times[1]) <= ms(8).0,
            "{kernel}: {times:?}"
        );
        assert!(outcome.tasks[0].switches > 50, "{kernel}: {outcome:?}");
    }
}

#[test]
fn a_sleeper_wakes_on_time() {
    let program = forever(vec![Step::Run(ms(3)), Step::Sleep(ms(7))]);
    let outcome = World::ideal(1).duration(ms(95)).task("c", program).run();
    let task = &outcome.tasks[0];
    assert_eq!(task.cpu_time, ms(30), "runs at 0, 10, .. 90");
    assert_eq!(task.wakeups, 10);
    assert_eq!(task.responses, vec![ms(3); 10], "the one at 90 ended at 93");
    assert_eq!(task.wake_latencies, vec![Nanos::ZERO; 10]);
}

#[test]
fn a_late_timer_goes_on_at_once_and_counts_from_its_moment() {
    let program = forever(vec![
        Step::Repeat(1, vec![Step::Run(ms(25)), Step::Timer(ms(10))]),
        Step::Run(ms(1)),
        Step::Timer(ms(10)),
    ]);
    let outcome = World::ideal(1).duration(ms(40)).task("c", program).run();
    // Job 1 runs 0-25 and is due at 10 again: job 2 runs 25-26, job 3 (due at 20) 26-51.
    assert_eq!(outcome.tasks[0].responses, [ms(25), ms(16)]);
    assert_eq!(outcome.tasks[0].wake_latencies, [ms(0), ms(15), ms(6)]);
}

#[test]
fn costs_are_the_tasks_time_but_not_its_work() {
    let program = once(vec![
        Step::Run(ms(10)),
        Step::Syscall,
        Step::RunKernel(ms(2)),
    ]);
    let outcome = World::lab(1).task("t", program).run();
    let task = &outcome.tasks[0];
    assert!(task.exited.is_some());
    // Ticks at 4 and 8 ms fall into the run and are part of it; the calls come on top.
    assert!(
        task.user_time < ms(10) && task.user_time > ms(10) - us(30),
        "{task:?}"
    );
    assert!(
        task.cpu_time > ms(12) && task.cpu_time < ms(12) + us(20),
        "{task:?}"
    );
}

#[test]
fn ping_pong_through_pipes_alternates() {
    let there = object(0);
    let back = object(1);
    let ping = forever(vec![
        Step::Run(us(50)),
        Step::PipeWrite(there, 1),
        Step::PipeRead(back, 1),
    ]);
    let pong = forever(vec![
        Step::PipeRead(there, 1),
        Step::Run(us(50)),
        Step::PipeWrite(back, 1),
    ]);
    let outcome = World::ideal(1)
        .duration(ms(10))
        .task("ping", ping)
        .task("pong", pong)
        .run();
    let [ping, pong] = &outcome.tasks[..] else {
        panic!()
    };
    assert_eq!(ping.cpu_time + pong.cpu_time, ms(10));
    assert!(
        ping.responses.len().abs_diff(100) <= 1,
        "{}",
        ping.responses.len()
    );
    assert!(
        pong.responses.len().abs_diff(100) <= 1,
        "{}",
        pong.responses.len()
    );
    assert!(
        pong.responses
            .iter()
            .skip(1)
            .all(|&response| response == us(50)),
        "{:?}",
        pong.responses
    );
}

#[test]
fn a_writer_waits_for_room() {
    let pipe = object(0);
    let writer = once(vec![Step::Repeat(40, vec![Step::PipeWrite(pipe, 4096)])]);
    let reader = forever(vec![Step::Sleep(ms(1)), Step::PipeReadAll(pipe, 4096)]);
    let outcome = World::ideal(2).task("w", writer).task("r", reader).run();
    assert!(outcome.tasks[0].exited.is_some());
    // 16 pages fit; then a page of room comes each ms, and each is waited for.
    assert_eq!(outcome.tasks[0].wakeups, 1 + 24);
}

#[test]
fn a_read_of_all_collects_small_writes() {
    let pipe = object(0);
    let writer = forever(vec![Step::Sleep(ms(1)), Step::PipeWrite(pipe, 10)]);
    let reader = forever(vec![Step::PipeReadAll(pipe, 35), Step::Run(us(1))]);
    let outcome = World::ideal(2)
        .duration(us(8500))
        .task("w", writer)
        .task("r", reader)
        .run();
    // 80 bytes: the reader has had 35 twice, and was woken by each of the writes.
    assert_eq!(outcome.tasks[1].cpu_time, us(2));
    assert_eq!(outcome.tasks[1].wakeups, 1 + 8);
}

#[test]
fn waiters_are_woken_in_order_or_all() {
    let queue = object(0);
    let waiter = || once(vec![Step::Wait(queue)]);
    let waker = once(vec![
        Step::Sleep(ms(1)),
        Step::WakeOne(queue),
        Step::Sleep(ms(1)),
        Step::WakeAll(queue),
        Step::WakeAll(queue),
    ]);
    let mut simulation = World::ideal(4)
        .task("a", waiter())
        .task("b", waiter())
        .task("c", waiter())
        .task("w", waker)
        .simulation()
        .unwrap();
    let exited = |simulation: &cpumax_sim::Simulation| {
        simulation
            .outcome()
            .tasks
            .iter()
            .filter(|task| task.exited.is_some())
            .count()
    };
    simulation.run_until(us(500)).unwrap();
    assert_eq!(exited(&simulation), 0);
    simulation.run_until(us(1500)).unwrap();
    assert_eq!(exited(&simulation), 1);
    simulation.run_until(us(2500)).unwrap();
    assert_eq!(exited(&simulation), 4);
}

#[test]
fn a_mutex_is_held_by_one_at_a_time() {
    let mutex = object(0);
    let worker = || {
        once(vec![Step::Repeat(
            3,
            vec![
                Step::Lock(mutex),
                Step::RunKernel(ms(1)),
                Step::Unlock(mutex),
                Step::Run(us(1)),
            ],
        )])
    };
    let world = World::ideal(3)
        .task("a", worker())
        .task("b", worker())
        .task("c", worker());
    let mut simulation = world.simulation().unwrap();
    simulation.run_until(us(8999)).unwrap();
    assert!(
        !simulation
            .outcome()
            .tasks
            .iter()
            .all(|task| task.exited.is_some())
    );
    let outcome = simulation.run().unwrap();
    assert!(
        outcome
            .tasks
            .iter()
            .all(|task| task.exited.is_some() && task.cpu_time == us(3003)),
        "{outcome:?}"
    );
}

#[test]
fn wrong_use_of_a_mutex_is_an_error() {
    let mutex = object(0);
    let fails = |steps: Vec<Step>| match World::ideal(1).task("t", once(steps)).try_run() {
        Err(Error::Lock { misuse, .. }) => misuse,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        fails(vec![Step::Lock(mutex), Step::Lock(mutex)]),
        LockMisuse::Relock
    );
    assert_eq!(fails(vec![Step::Unlock(mutex)]), LockMisuse::NotOwner);
    assert_eq!(fails(vec![Step::Lock(mutex)]), LockMisuse::ExitHolding);
}

#[test]
fn a_program_that_takes_no_time_is_an_error() {
    let programs = [
        forever(vec![Step::Syscall]),
        forever(vec![Step::Run(Nanos::ZERO)]),
        forever(vec![Step::Sleep(Nanos::ZERO)]),
        forever(vec![Step::Yield]),
        once(vec![Step::Repeat(u64::MAX, vec![Step::WakeAll(object(0))])]),
    ];
    for program in programs {
        let result = World::ideal(1).task("loop", program.clone()).try_run();
        assert!(
            matches!(&result, Err(Error::NoProgress { task, .. }) if task == "loop"),
            "{program:?}: {result:?}"
        );
    }
    assert!(
        World::ideal(1).task("empty", forever(vec![])).run().tasks[0]
            .exited
            .is_some()
    );
}

#[test]
fn an_offline_cpu_leaves_its_tasks_to_the_others() {
    let outcome = World::ideal(2)
        .task("a", spin())
        .task("b", spin())
        .event(ms(50), Action::CpuOffline(1))
        .event(ms(70), Action::CpuOnline(1))
        .run();
    let total = outcome.tasks[0].cpu_time + outcome.tasks[1].cpu_time;
    assert!(total >= ms(150) && total <= ms(180), "{outcome:?}");
    let last = World::ideal(1)
        .event(ms(1), Action::CpuOffline(0))
        .try_run();
    assert!(matches!(last, Err(Error::LastCpu { .. })), "{last:?}");
}

#[test]
fn bad_setups_are_refused() {
    let no_cpu = World::ideal(0).try_run();
    assert!(
        matches!(no_cpu, Err(Error::CpuCount { given: 0, .. })),
        "{no_cpu:?}"
    );
    let absent = World::ideal(2).task_with("t", spin(), on_cpu(5)).try_run();
    assert!(
        matches!(absent, Err(Error::NoAllowedCpu { .. })),
        "{absent:?}"
    );
    let missing = World::ideal(1)
        .task_with("t", spin(), world::in_group(0))
        .try_run();
    assert!(
        matches!(
            missing,
            Err(Error::OutOfRange {
                what: "group",
                index: 0
            })
        ),
        "{missing:?}"
    );
}

#[test]
fn the_same_seed_gives_the_same_outcome() {
    let run = |seed| {
        let cycle = || forever(vec![Step::Run(us(700)), Step::Sleep(us(300)), Step::Yield]);
        let mut world = World::lab(4).seed(seed);
        for index in 0..9 {
            world = world.task(&format!("t{index}"), cycle());
        }
        world.run()
    };
    for seed in 1..4 {
        assert!(run(seed) == run(seed), "seed {seed}");
    }
}
