//! What the files mean: TOML and the measurements' language end in the same setup.

use cpumax_bandwidth::{Limit, Nanos};
use cpumax_sched::{CpuMask, Kernel, Nice};
use cpumax_sim::setup::{Action, GroupIndex, Policy, Program, Setup, Start, Step, TaskIndex};
use cpumax_workload::{Scenario, read_scenario};

fn read(text: &str, file_name: &str) -> Scenario {
    read_scenario(text, file_name)
        .unwrap_or_else(|error| panic!("{file_name}:{}: {error}", error.line()))
}

/// A setup as text, without the numbers of lines.
fn without_lines(mut setup: Setup) -> String {
    setup.events.iter_mut().for_each(|event| event.line = None);
    format!("{setup:#?}")
}

fn task_names(scenario: &Scenario) -> Vec<&str> {
    scenario
        .setup
        .tasks
        .iter()
        .map(|task| task.name.as_str())
        .collect()
}

/// Each directive and each option once.
const LINES: &str = "\
# the same as TOML
smp 4
duration 3000000
sample 50000
rawlat
group p quota=200000 period=100000 burst=50000
group x parent=p n=2 weight=300   # x.0 and x.1
group lone
task s group=p kind=spin n=3 percpu=2 nice=5
task k group=lone kind=sysspin cpus=0x6 phase=1500
task c eachgroup=x n=2 kind=cycle run=5000 sleep=8000 stagger=3
task e kind=cycle run=2000 every=100000
task pp group=lone kind=pingpong n=2 work=20
task h group=p kind=hack n=2 senders=2 receivers=3 bytes=64
event 1030000 max p 60000 100000
event 1030000 burst p 0
event 2000000 max p max
event 500000 weight x.1 50
event 2500000 move s.1 lone
event 2500000 move k /
event 2600000 cpus c.0 0xf
";

const TOML: &str = r#"
name = "both"
duration = "3s"
sample = "50ms"
every-response = true

[machine]
preset = "lab"
cpus = 4

[groups."/p"]
"cpu.max" = "200000 100000"
"cpu.max.burst" = "50000"
[groups."/p/x"]
count = 2
"cpu.weight" = 300
[groups."/lone"]

[[tasks]]
name = "s"
group = "/p"
count = 3
cpus = "0-1"
pin = "round-robin"
nice = 5
program = "spin"

[[tasks]]
name = "k"
group = "/lone"
cpus = "1,2"
start = "1.5ms"
program = "sysspin"

[[tasks]]
name = "c"
group = "/p/x.{i}"
count = 2
stagger = "3us"
steps = [{ run-by-clock = "5ms" }, { sleep = "8ms" }]

[[tasks]]
name = "e"
steps = [{ run-by-clock = "2ms" }, { timer = "100ms" }]
loop = -1

[[tasks]]
name = "pp"
group = "/lone"
count = 2
program = "pingpong"
work = "20us"

[[tasks]]
name = "h"
group = "/p"
count = 2
program = "hack"
senders = 2
receivers = 3
bytes = 64

[[events]]
at = "1.03s"
group = "/p"
"cpu.max" = "60000 100000"
"cpu.max.burst" = 0

[[events]]
at = "2s"
group = "/p"
"cpu.max" = "max"

[[events]]
at = "500ms"
group = "/p/x.1"
"cpu.weight" = 50

[[events]]
at = "2500ms"
task = "s.1"
move = "/lone"

[[events]]
at = "2500ms"
task = "k"
move = "/"

[[events]]
at = "2600ms"
task = "c.0"
cpus = "0xf"
"#;

#[test]
fn both_languages_say_the_same() {
    let (lines, toml) = (read(LINES, "both.txt"), read(TOML, "both.toml"));
    assert_eq!(without_lines(lines.setup), without_lines(toml.setup));
    assert_eq!(lines.name, toml.name);
    assert_eq!(lines.kernels, toml.kernels);
    assert_eq!(lines.sample, toml.sample);
    assert_eq!(lines.every_response, toml.every_response);
    assert_eq!(lines.group_names, ["p", "x.0", "x.1", "lone"]);
    assert_eq!(toml.group_names, ["/p", "/p/x.0", "/p/x.1", "/lone"]);
}

#[test]
fn the_text_decides_the_language() {
    let toml = "duration = \"1s\"\n[machine]\ncpus = 1\n";
    assert_eq!(read(toml, "x.txt").setup.duration, Nanos::SECOND);
    assert_eq!(
        read("\u{feff}# hello\nrawlat\nsmp 1\nduration 5\r\n", "x")
            .setup
            .duration,
        Nanos::from_micros(5)
    );
    assert!(read_scenario(LINES, "x.toml").is_err());
}

#[test]
fn tasks_have_the_names_that_the_measurements_give() {
    let names = |line: &str| {
        let text = format!("smp 2\nduration 1000\ngroup a\n{line}\n");
        let scenario = read(&text, "18_pingpong.txt");
        assert_eq!(scenario.name, "18_pingpong");
        task_names(&scenario).join(" ")
    };
    assert_eq!(names("task s kind=spin"), "s");
    assert_eq!(names("task s group=a kind=spin n=2"), "s.0 s.1");
    assert_eq!(
        names("task pp group=a kind=pingpong n=2 work=20"),
        "ppa.0 ppb.0 ppa.1 ppb.1"
    );
    assert_eq!(
        names("task h group=a kind=hack n=2 senders=2 receivers=2"),
        "h0r.0 h0r.1 h0s.0 h0s.1 h1r.0 h1r.1 h1s.0 h1s.1"
    );
}

#[test]
fn ready_made_programs_do_what_the_measurements_did() {
    let scenario = read(LINES, "both.txt");
    let program = |name: &str| -> Program {
        let mut tasks = scenario.setup.tasks.iter();
        tasks
            .find(|task| task.name == name)
            .expect("a task of this name")
            .program
            .as_ref()
            .clone()
    };
    let forever = |steps: Vec<Step>| Program {
        prelude: vec![],
        steps,
        times: None,
    };
    let us = Nanos::from_micros;
    assert_eq!(program("s.0"), forever(vec![Step::Spin]));
    assert_eq!(
        program("k"),
        forever(vec![Step::Run(Nanos(400)), Step::Syscall])
    );
    assert_eq!(
        program("c.0"),
        forever(vec![Step::RunByClock(us(5000)), Step::Sleep(us(8000))])
    );
    assert_eq!(
        program("e"),
        forever(vec![Step::RunByClock(us(2000)), Step::Timer(us(100_000))])
    );

    // One byte there and back, the work behind each arrival, and `a` begins.
    let [.., Step::Run(work)] = program("ppa.1").steps[..] else {
        panic!("no work")
    };
    assert_eq!(work, us(20));
    let (Step::PipeWrite(there, 1), Step::PipeRead(back, 1)) = (
        program("ppa.1").steps[0].clone(),
        program("ppa.1").steps[1].clone(),
    ) else {
        panic!("`a` writes, then reads")
    };
    assert_eq!(
        program("ppb.1"),
        forever(vec![
            Step::PipeRead(there, 1),
            Step::Run(us(20)),
            Step::PipeWrite(back, 1)
        ])
    );
    assert_ne!(
        program("ppa.0"),
        program("ppa.1"),
        "each pair has its own pipes"
    );

    // Each receiver has one pipe, and each sender of the set writes to all of them in turn.
    let receivers: Vec<Step> = (0..3)
        .map(|i| program(&format!("h1r.{i}")).steps[0].clone())
        .collect();
    let written: Vec<Step> = receivers
        .iter()
        .map(|step| match *step {
            Step::PipeReadAll(pipe, bytes) => Step::PipeWrite(pipe, bytes),
            ref other => panic!("a receiver reads, and this is {other:?}"),
        })
        .collect();
    assert_eq!(program("h1s.0"), forever(written.clone()));
    assert_eq!(program("h1s.1"), forever(written));
}

#[test]
fn everything_that_toml_can_say() {
    let scenario = read(
        r#"
        duration = "2min"
        kernels = "6.12"
        [machine]
        name = "two sockets"
        preset = "ideal"
        cpus = 8
        threads-per-core = 2
        cpus-per-llc = 4
        cpus-per-node = 4
        hz = 1000
        preempt = "full"
        costs = { context-switch = "2us" }
        [groups."/a/b"]
        "cpu.max" = 50000
        [[tasks]]
        name = "w"
        count = 2
        policy = "batch"
        kernel-thread = true
        loop = 3
        steps = [
            { run = "1us" }, { run-by-clock = "2us" }, { kernel = "3us" }, { sleep = "4us" },
            { timer = "5us" }, "yield", "syscall", "spin",
            { lock = "m" }, { unlock = "m" },
            { wait = "q" }, { suspend = "q" }, { signal = "q" }, { broad = "own-{i}" }, { resume = "q" },
            { write = "p" }, { read = "p", bytes = 7 }, { read-all = "p", bytes = 8 },
            { loop = 9, steps = [{ loop = 2, steps = ["yield"] }] },
        ]
        [[events]]
        at = "1s"
        create = "/a/new"
        "cpu.max" = "10000 50000"
        "cpu.weight" = 7
        [[events]]
        at = "2s"
        task = "w"
        move = "/a/new"
        policy = "idle"
        nice = -5
        [[events]]
        at = "2s"
        group = "/a/new"
        "cpu.max" = "30000"
        [[events]]
        at = "1.5s"
        offline = 7
        [[events]]
        at = "3s"
        online = 7
        [[events]]
        at = "4s"
        remove = "/a/b"
        "#,
        "some/folder/all.toml",
    );
    let us = Nanos::from_micros;
    assert_eq!(scenario.name, "all");
    assert_eq!(scenario.kernels, [Kernel::V6_12]);
    let setup = &scenario.setup;
    assert_eq!(setup.duration, Nanos::from_secs(120));
    assert_eq!(setup.machine.name, "two sockets");
    assert_eq!(setup.machine.tick, Nanos::MILLISECOND);
    assert_eq!(setup.machine.costs.context_switch, us(2));
    let places: Vec<_> = setup
        .machine
        .topology
        .cpus
        .iter()
        .map(|cpu| (cpu.core, cpu.llc, cpu.node))
        .collect();
    assert_eq!(places[3], (1, 0, 0));
    assert_eq!(places[4], (2, 1, 1));

    let paths: Vec<&str> = setup
        .groups
        .iter()
        .map(|group| group.path.as_str())
        .collect();
    assert_eq!(paths, ["/a", "/a/b", "/a/new"]);
    assert_eq!(setup.groups[0].limit, Limit::UNLIMITED);
    assert_eq!(setup.groups[1].limit.quota(), Some(us(50_000)));
    assert_eq!(setup.groups[1].parent, Some(GroupIndex(0)));
    assert!(setup.groups[2].created_later);
    assert_eq!(setup.groups[2].weight, 7);

    let [first, second] = &setup.tasks[..] else {
        panic!("two tasks")
    };
    assert_eq!((first.policy, first.kernel_thread), (Policy::Batch, true));
    assert_eq!(first.program.times, Some(3));
    let steps = &first.program.steps;
    assert_eq!(
        steps[..5],
        [
            Step::Run(us(1)),
            Step::RunByClock(us(2)),
            Step::RunKernel(us(3)),
            Step::Sleep(us(4)),
            Step::Timer(us(5)),
        ]
    );
    assert_eq!(steps[5..8], [Step::Yield, Step::Syscall, Step::Spin]);
    let (Step::Wait(queue), Step::WakeAll(own)) = (&steps[10], &steps[13]) else {
        panic!("{steps:?}")
    };
    assert_eq!(steps[11..13], [Step::Wait(*queue), Step::WakeOne(*queue)]);
    assert_eq!(steps[14], Step::WakeAll(*queue));
    assert_ne!(
        second.program.steps[13],
        Step::WakeAll(*own),
        "each copy has its own"
    );
    assert_eq!(second.program.steps[14], steps[14]);
    let Step::PipeWrite(pipe, 1) = steps[15] else {
        panic!("{steps:?}")
    };
    assert_eq!(
        steps[16..18],
        [Step::PipeRead(pipe, 7), Step::PipeReadAll(pipe, 8)]
    );
    assert_eq!(
        steps[18],
        Step::Repeat(9, vec![Step::Repeat(2, vec![Step::Yield])])
    );

    let new = GroupIndex(2);
    let events: Vec<(u64, &Action)> = setup
        .events
        .iter()
        .map(|event| (event.at.as_millis(), &event.action))
        .collect();
    let nice = Nice::new(-5).expect("a nice value");
    assert_eq!(
        events,
        [
            (1000, &Action::CreateGroup(new)),
            (1500, &Action::CpuOffline(7)),
            (2000, &Action::MoveTask(TaskIndex(0), Some(new))),
            (2000, &Action::MoveTask(TaskIndex(1), Some(new))),
            (2000, &Action::SetPolicy(TaskIndex(0), Policy::Idle)),
            (2000, &Action::SetPolicy(TaskIndex(1), Policy::Idle)),
            (2000, &Action::SetNice(TaskIndex(0), nice)),
            (2000, &Action::SetNice(TaskIndex(1), nice)),
            (
                2000,
                &Action::SetMax {
                    group: new,
                    quota: Some(us(30_000)),
                    period: None
                }
            ),
            (3000, &Action::CpuOnline(7)),
            (4000, &Action::RemoveGroup(GroupIndex(1))),
        ]
    );
    assert_eq!(setup.events[0].line, Some(32));
}

#[test]
fn copies_share_a_program_and_take_cpus_in_turn() {
    let scenario = read(
        r#"
        duration = "1s"
        [machine]
        cpus = 4
        [[tasks]]
        name = "w"
        count = 3
        cpus = "1,3"
        pin = "round-robin"
        start = "1ms"
        stagger = "2ms"
        steps = [{ run = "1ms" }, { sleep = "1ms" }]
        "#,
        "pin.toml",
    );
    let tasks = &scenario.setup.tasks;
    assert!(std::sync::Arc::ptr_eq(&tasks[0].program, &tasks[2].program));
    let cpus: Vec<usize> = tasks
        .iter()
        .flat_map(|task| {
            task.affinity
                .as_ref()
                .map(CpuMask::iter)
                .into_iter()
                .flatten()
        })
        .map(cpumax_sched::CpuId::index)
        .collect();
    assert_eq!(cpus, [1, 3, 1]);
    let starts: Vec<Start> = tasks.iter().map(|task| task.start).collect();
    assert_eq!(
        starts,
        [1, 3, 5].map(|at| Start::At(Nanos::from_millis(at)))
    );
}
