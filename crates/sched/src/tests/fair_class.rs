//! The fair class around bandwidth control: slices, placement, preemption, weights.

use super::world::*;
use crate::{GroupId, Kernel, Nice, PickRule, Policy, TaskId, TaskState, Weight};

/// A running task and a queued one in the root group of CPU 0, on a machine of 8 CPUs.
fn running_and_queued(kernel: Kernel) -> (World, TaskId, TaskId) {
    let mut world = World::new(kernel, 8);
    let tasks = [world.spin(GroupId::ROOT, 0), world.spin(GroupId::ROOT, 0)];
    let [running, queued] = if world.state(tasks[0]) == TaskState::Running {
        tasks
    } else {
        [tasks[1], tasks[0]]
    };
    assert_eq!(world.state(queued), TaskState::Queued, "{kernel}");
    (world, running, queued)
}

/// Moves a queued task that does not run to a place in virtual time.
fn place(world: &mut World, task: TaskId, vruntime: i64) {
    let entity = world.t(task).entity;
    world.sched.timeline_remove(entity);
    world.e_mut(task).vruntime = vruntime;
    world.sched.timeline_insert(entity);
}

#[test]
fn t117_base_slice_by_number_of_cpus() {
    for kernel in EEVDF {
        for (cpus, slice) in [
            (1, 700_000),
            (2, 1_400_000),
            (3, 1_400_000),
            (4, 2_100_000),
            (8, 2_800_000),
            (64, 2_800_000),
        ] {
            let mut world = World::new(kernel, cpus);
            assert_eq!(world.sched.base_slice, slice, "{kernel}: {cpus} CPUs");
            let task = world.task(GroupId::ROOT, 0);
            world.wake(task, 0);
            assert_eq!(world.e(task).slice, slice, "{kernel}: {cpus} CPUs");
        }
    }
}

#[test]
fn t118_cfs_slice() {
    for kernel in A {
        for (tasks, slice) in [(4, 6_000_000), (12, 3_000_000)] {
            let mut world = World::new(kernel, 8);
            for _ in 0..tasks {
                world.spin(GroupId::ROOT, 0);
            }
            let entity = world.t(world.sched.curr(cpu(0)).unwrap()).entity;
            assert_eq!(
                world.sched.sched_slice(entity),
                slice,
                "{kernel}: {tasks} tasks"
            );
        }
    }
}

#[test]
fn t119_cfs_sleeper_placement() {
    for kernel in A {
        for (own, placed) in [
            (900_000_000, 988_000_000),
            (995_000_000, 995_000_000),
            (2_000_000_000, 2_000_000_000),
        ] {
            let mut world = World::new(kernel, 8);
            let spinner = world.spin(GroupId::ROOT, 0);
            let sleeper = world.task(GroupId::ROOT, 0);
            world.e_mut(spinner).vruntime = 1_000_000_000;
            world.q_mut(GroupId::ROOT, 0).min_vruntime = 1_000_000_000;
            world.e_mut(sleeper).vruntime = own;
            world.wake(sleeper, 0);
            assert_eq!(world.e(sleeper).vruntime, placed, "{kernel}");
        }
    }
}

#[test]
fn t118_cfs_slice_of_an_idle_entity() {
    for kernel in A {
        // The shortest slice is scaled with the number of CPUs, that of an idle task among others is not.
        for (other, slice) in [(Policy::Normal, 750_000), (Policy::Idle, 12_000_000)] {
            let mut world = World::new(kernel, 8);
            let idle = world.task_with(GroupId::ROOT, 0, |params| params.policy = Policy::Idle);
            let other = world.task_with(GroupId::ROOT, 0, |params| params.policy = other);
            world.fork(idle, 0);
            world.fork(other, 0);
            assert_eq!(
                world.sched.sched_slice(world.t(idle).entity),
                slice,
                "{kernel}"
            );
        }
    }
}

#[test]
fn t119_cfs_idle_sleeper_placement() {
    for kernel in A {
        let mut world = World::new(kernel, 8);
        let spinner = world.spin(GroupId::ROOT, 0);
        let sleeper = world.task_with(GroupId::ROOT, 0, |params| params.policy = Policy::Idle);
        world.e_mut(spinner).vruntime = 1_000_000_000;
        world.q_mut(GroupId::ROOT, 0).min_vruntime = 1_000_000_000;
        world.wake(sleeper, 0);
        // Half of the shortest slice instead of half a latency period.
        assert_eq!(world.e(sleeper).vruntime, 998_500_000, "{kernel}");
    }
}

#[test]
fn t119_cfs_wakeup_preemption() {
    for kernel in A {
        for (behind, preempts) in [(4_000_000, false), (4_000_001, true), (-1, false)] {
            let mut world = World::new(kernel, 8);
            let spinner = world.spin(GroupId::ROOT, 0);
            let sleeper = world.task(GroupId::ROOT, 0);
            world.e_mut(spinner).vruntime = 1_000_000_000;
            world.q_mut(GroupId::ROOT, 0).min_vruntime = 1_000_000_000;
            world.e_mut(sleeper).vruntime = 1_000_000_000 - behind;
            world.wake(sleeper, 0);
            assert_eq!(
                world.state(sleeper) == TaskState::Running,
                preempts,
                "{kernel}: {behind} ns behind"
            );
        }
    }
}

#[test]
fn t120_eligible_up_to_the_average() {
    for kernel in EEVDF {
        let (mut world, running, queued) = running_and_queued(kernel);
        world.e_mut(running).vruntime = 0;
        place(&mut world, queued, 10);
        let root = world.rq(0).root;
        let eligible = [0, 4, 5, 6, 10].map(|v| world.sched.vruntime_eligible(root, v));
        assert_eq!(eligible, [true, true, true, false, false], "{kernel}");
        assert!(
            world.sched.entity_eligible(world.t(running).entity),
            "{kernel}"
        );
        assert!(
            !world.sched.entity_eligible(world.t(queued).entity),
            "{kernel}"
        );
        assert_eq!(world.sched.avg_vruntime(root), 5, "{kernel}");
    }
}

#[test]
fn t120_the_average_is_rounded_down() {
    for kernel in EEVDF {
        for (a, b, v) in [(0, 11, 5), (0, -11, -6), (-3, -4, -4)] {
            let (mut world, running, queued) = running_and_queued(kernel);
            world.e_mut(running).vruntime = a;
            place(&mut world, queued, b);
            let root = world.rq(0).root;
            assert_eq!(world.sched.avg_vruntime(root), v, "{kernel}");
            assert!(
                world.sched.vruntime_eligible(root, v),
                "{kernel}: who stands at it is eligible"
            );
            assert!(!world.sched.vruntime_eligible(root, v + 1), "{kernel}");
        }
    }
}

#[test]
fn t120_the_earliest_deadline_of_the_eligible_is_picked() {
    // Where the running and the queued task stand: (vruntime, deadline) each; V is in the middle.
    let cases = [
        (
            (0, 100),
            (0, 50),
            false,
            "both eligible, the queued one is due first",
        ),
        (
            (0, 50),
            (0, 100),
            true,
            "both eligible, the running one is due first",
        ),
        ((0, 100), (10, 50), true, "the queued one is not eligible"),
        ((10, 50), (0, 100), false, "the running one is not eligible"),
    ];
    for kernel in EEVDF {
        for (at, other, stays, why) in cases {
            for protected in [false, true] {
                let (mut world, running, queued) = running_and_queued(kernel);
                let entity = world.t(queued).entity;
                world.sched.timeline_remove(entity);
                (world.e_mut(queued).vruntime, world.e_mut(queued).deadline) = other;
                world.sched.timeline_insert(entity);
                (world.e_mut(running).vruntime, world.e_mut(running).deadline) = at;
                let curr = world.t(running).entity;
                world.sched.set_protect_slice(curr);
                let root = world.rq(0).root;
                let picked = world.sched.pick_eevdf(root, protected).unwrap();
                // Protection is for who is eligible.
                let stays = stays || (protected && world.sched.entity_eligible(curr));
                assert_eq!(
                    picked == curr,
                    stays,
                    "{kernel}: {why}, protected {protected}"
                );
            }
        }
    }
}

#[test]
fn t121_placement_with_lag() {
    for kernel in EEVDF {
        let mut world = World::new(kernel, 8);
        let spinner = world.spin(GroupId::ROOT, 0);
        let sleeper = world.task(GroupId::ROOT, 0);
        world.drive(ms(10));
        world.charge(0);
        let v = world.e(spinner).vruntime;
        world.e_mut(sleeper).vlag = 1_000_000;
        world.wake(sleeper, 0);
        assert_eq!(world.e(sleeper).vruntime, v - 2_000_000, "{kernel}");
        let lag = world.sched.entity_lag(world.t(sleeper).entity);
        assert_eq!(lag, 1_000_000, "{kernel}");
    }
}

#[test]
fn t122_lag_is_limited() {
    for (kernel, limit) in [
        (Kernel::V6_12, 5_600_000),
        (Kernel::V7_2, 6_800_000),
        (Kernel::V7_3, 6_800_000),
    ] {
        for sign in [1, -1] {
            let (mut world, running, _) = running_and_queued(kernel);
            world.e_mut(running).vruntime -= sign * 1_000_000_000;
            let lag = world.sched.entity_lag(world.t(running).entity);
            assert_eq!(lag, sign * limit, "{kernel}");
        }
    }
}

#[test]
fn t123_deadline_of_a_nice_5_task() {
    for kernel in EEVDF {
        let mut world = World::new(kernel, 8);
        let task = world.task_with(GroupId::ROOT, 0, |params| {
            params.nice = Nice::new(5).unwrap();
        });
        world.wake(task, 0);
        let expected = if kernel == Kernel::V6_12 {
            8_558_806
        } else {
            8_558_805
        };
        assert_eq!(
            world.e(task).deadline - world.e(task).vruntime,
            expected,
            "{kernel}"
        );
    }
}

/// A group that runs an always-running nice-0 task on each of 4 CPUs, with its published load settled
/// at 1024 a CPU, and this sum of published `runnable_avg`.
fn settled_on_four_cpus(kernel: Kernel, runnable: u64) -> (World, GroupId) {
    let mut world = World::new(kernel, 4);
    let group = world.group(GroupId::ROOT);
    for at in 0..4 {
        world.spin(group, at);
        let q = world.q_mut(group, at);
        (q.avg.load_avg, q.tg_load_avg_contrib) = (1024, 1024);
    }
    let g = &mut world.sched.groups[group];
    (g.load_avg, g.runnable_avg) = (4096, runnable);
    (world, group)
}

#[test]
fn t124_weight_of_a_group_on_four_cpus() {
    for kernel in ALL {
        let cases: &[(u64, u64)] = if kernel == Kernel::V7_3 {
            &[(4096, 1024), (4095, 768), (3072, 768), (0, 256)]
        } else {
            &[(4096, 256)]
        };
        for &(runnable, weight) in cases {
            let (mut world, group) = settled_on_four_cpus(kernel, runnable);
            for at in 0..4 {
                let queue = world.sched.queue_of(group, cpu(at));
                let shares = world.sched.calc_group_shares(queue);
                assert_eq!(
                    shares,
                    Weight::from_unscaled(weight),
                    "{kernel}: {runnable}"
                );
            }
        }
    }
}

#[test]
fn t125_flattened_weight() {
    let kernel = Kernel::V7_3;
    for nested in [false, true] {
        let mut world = World::new(kernel, 1);
        let group = world.group(GroupId::ROOT);
        let inner = if nested { world.group(group) } else { group };
        let tasks = [world.spin(inner, 0), world.spin(inner, 0)];
        let queue = world.sched.queue_of(group, cpu(0));
        let entity = world.sched.queues[queue].entity.unwrap();
        world.sched.reweight_entity(entity, Weight::NICE_0);
        for task in tasks {
            let weight = world.sched.flattened_weight(world.t(task).entity);
            assert_eq!(
                weight,
                Weight::from_unscaled(512),
                "{kernel}: nested {nested}"
            );
        }
    }
}

#[test]
fn a_flattened_weight_that_changes_keeps_service_time() {
    let kernel = Kernel::V7_3;
    let (mut world, _, queued) = running_and_queued(kernel);
    let request = |world: &World| {
        let e = world.e(queued);
        (i128::from(e.deadline - e.vruntime) * i128::from(e.h_load.0)) >> 20
    };
    assert_eq!(request(&world), 1_400_000, "{kernel}: half a slice");
    for policy in [Policy::Idle, Policy::Normal] {
        world.set_policy(queued, policy);
        let left = request(&world);
        assert!(
            (1_399_990..=1_400_010).contains(&left),
            "{kernel}: {left} ns of its request are left"
        );
    }
}

#[test]
fn a_flat_timeline_has_tasks_as_buddies_only() {
    let kernel = Kernel::V7_3;
    let mut world = World::new(kernel, 1);
    let group = world.group(GroupId::ROOT);
    world.spin(GroupId::ROOT, 0);
    let task = world.spin(group, 0);
    let entity = world.t(task).entity;
    world.sched.set_next_buddy(entity);
    assert_eq!(world.q(GroupId::ROOT, 0).next, Some(entity), "{kernel}");
    world.drive_bounded(100, |world| world.state(task) == TaskState::Running);
    assert_eq!(
        world.q(GroupId::ROOT, 0).next,
        None,
        "{kernel}: it has been picked"
    );
}

#[test]
fn a_normal_task_takes_the_cpu_from_an_idle_one() {
    for kernel in ALL {
        let mut world = World::new(kernel, 8);
        let idle = world.task_with(GroupId::ROOT, 0, |params| params.policy = Policy::Idle);
        world.fork(idle, 0);
        world.drive(ms(1));
        let normal = world.task(GroupId::ROOT, 0);
        world.wake(normal, 0);
        // 6.12 asks for the switch and then protects the slice that the idle task has begun.
        let at_once = kernel.pick_rule() != PickRule::Eevdf;
        assert_eq!(
            world.state(normal) == TaskState::Running,
            at_once,
            "{kernel}"
        );
    }
}

#[test]
fn a_decayed_queue_stays_listed_while_one_below_decays() {
    for kernel in ALL {
        let mut world = World::new(kernel, 1);
        let outer = world.group(GroupId::ROOT);
        let inner = world.group(outer);
        let task = world.spin(inner, 0);
        world.drive(ms(50));
        world.sleep(task);
        let load = |world: &World, group| world.q(group, 0).avg.load_sum;
        world.q_mut(outer, 0).avg = crate::pelt::SchedAvg::default();
        world.q_mut(outer, 0).tg_load_avg_contrib = 0;
        world.sched.update_blocked_averages(cpu(0));
        assert!(load(&world, inner) > 0, "{kernel}");
        assert!(
            world.q(outer, 0).on_leaf_list && world.q(inner, 0).on_leaf_list,
            "{kernel}"
        );
        world.check();
        // In the end both leave.
        for second in 1..10 {
            world.now = ms(1000 * second);
            world.sched.begin(world.now, cpu(0));
            world.sched.update_blocked_averages(cpu(0));
        }
        assert!(
            !world.q(outer, 0).on_leaf_list && !world.q(inner, 0).on_leaf_list,
            "{kernel}"
        );
    }
}

#[test]
fn t128_first_deadline_of_a_child() {
    for kernel in EEVDF {
        let mut world = World::new(kernel, 8);
        let child = world.spin(GroupId::ROOT, 0);
        assert_eq!(
            world.e(child).deadline - world.e(child).vruntime,
            1_400_000,
            "{kernel}"
        );
    }
}
