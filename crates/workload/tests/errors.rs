//! What a person sees when a scenario is wrong. The snapshots are read when they change: each entry
//! names the file, shows the line with the place underlined, and says what would be right.

use std::fmt::Write as _;

use cpumax_workload::{MAX_FILE_BYTES, Problem, ScenarioError, read_scenario};
use miette::{GraphicalReportHandler, GraphicalTheme};

/// A TOML scenario that is right, to which a test adds one thing that is not.
const TOML: &str = r#"duration = "10s"
[machine]
cpus = 4
"#;

/// The same in the measurements' language.
const LINES: &str = "smp 4\nduration 1000000\n";

fn error(text: &str, file_name: &str) -> ScenarioError {
    match read_scenario(text, file_name) {
        Ok(scenario) => panic!("this was read:\n{text}\n{scenario:#?}"),
        Err(error) => error,
    }
}

fn render(error: &ScenarioError) -> String {
    let mut text = String::new();
    GraphicalReportHandler::new_themed(GraphicalTheme::none())
        .with_width(100)
        .render_report(&mut text, error)
        .expect("a string takes any text");
    let lines = text
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

fn render_all(cases: &[(&str, String)], file_name: &str) -> String {
    let mut all = String::new();
    for (title, text) in cases {
        let rendered = render(&error(text, file_name));
        write!(all, "=== {title}\n{rendered}\n\n").expect("a string takes any text");
    }
    all
}

#[test]
fn toml_files() {
    let with = |text: &str| format!("{TOML}{text}");
    let task = |text: &str| format!("{TOML}[[tasks]]\nname = \"t\"\n{text}\n");
    let event = |text: &str| {
        format!(
            "{TOML}[groups.\"/a\"]\n[[tasks]]\nname = \"t\"\nprogram = \"spin\"\n[[events]]\n{text}\n"
        )
    };
    let machine = |text: &str| format!("duration = \"10s\"\n[machine]\n{text}\n");
    let cases = [
        ("an empty file", "\n# nothing\n".into()),
        ("malformed TOML", "duration = \"10s\nsample = 1\n".into()),
        ("no duration", "[machine]\ncpus = 4\n".into()),
        ("no machine", "duration = \"10s\"\n".into()),
        (
            "a duration without unit",
            "duration = 10\n[machine]\ncpus = 4\n".into(),
        ),
        (
            "a duration of zero",
            "duration = \"0s\"\n[machine]\ncpus = 4\n".into(),
        ),
        (
            "an unknown unit",
            "duration = \"10 sec\"\n[machine]\ncpus = 4\n".into(),
        ),
        ("an unknown key", with("cpu = 3\n")),
        (
            "an unknown kernel",
            format!("kernels = [\"6.1\", \"2.6\"]\n{TOML}"),
        ),
        ("a misspelt kernel", format!("kernels = \"unifed\"\n{TOML}")),
        ("no kernel", format!("kernels = []\n{TOML}")),
        ("no CPU", machine("cpus = 0")),
        ("too many CPUs", machine("cpus = 5000")),
        ("a negative number of CPUs", machine("cpus = -4")),
        ("CPUs as a string", machine("cpus = \"4\"")),
        ("an unknown preset", machine("cpus = 4\npreset = \"labs\"")),
        (
            "a tick and HZ",
            machine("cpus = 4\ntick = \"4ms\"\nhz = 250"),
        ),
        ("a tick too long", machine("cpus = 4\ntick = \"4s\"")),
        ("an unknown mode", machine("cpus = 4\npreempt = \"rt\"")),
        (
            "a misspelt cost",
            machine("cpus = 4\n[machine.costs]\ncontext_switch = \"3us\""),
        ),
        (
            "an odd topology",
            machine("cpus = 12\nthreads-per-core = 4\ncpus-per-llc = 6"),
        ),
        (
            "a misspelt group key",
            with("[groups.\"/a\"]\n\"cpu.mx\" = \"max\"\n"),
        ),
        (
            "an unquoted group key",
            with("[groups.\"/a\"]\ncpu.max = \"max\"\n"),
        ),
        (
            "a quota that the kernel refuses",
            with("[groups.\"/a\"]\n\"cpu.max\" = \"500 100000\"\n"),
        ),
        (
            "a period that the kernel refuses",
            with("[groups.\"/a\"]\n\"cpu.max\" = \"5000 2000000\"\n"),
        ),
        (
            "a quota that is no number",
            with("[groups.\"/a\"]\n\"cpu.max\" = \"-1\"\n"),
        ),
        (
            "units in cpu.max",
            with("[groups.\"/a\"]\n\"cpu.max\" = \"20000us 100000\"\n"),
        ),
        (
            "a word in cpu.max",
            with("[groups.\"/a\"]\n\"cpu.max\" = \"20000 100ms\"\n"),
        ),
        (
            "a burst above the quota",
            with(
                "[groups.\"/a\"]\n\"cpu.max\" = \"20000 100000\"\n\"cpu.max.burst\" = \"30000\"\n",
            ),
        ),
        (
            "a weight out of range",
            with("[groups.\"/a\"]\n\"cpu.weight\" = 0\n"),
        ),
        (
            "a limit of the root",
            with("[groups.\"/\"]\n\"cpu.max\" = \"20000 100000\"\n"),
        ),
        ("a path that goes up", with("[groups.\"/a/../b\"]\n")),
        ("a path with an empty name", with("[groups.\"/a//b\"]\n")),
        ("a path with a slash at its end", with("[groups.\"/a/\"]\n")),
        ("a relative path", with("[groups.kubepods]\n")),
        (
            "a group twice",
            with("[groups.\"/a.0\"]\n[groups.\"/a\"]\ncount = 2\n"),
        ),
        ("too many groups", with("[groups.\"/a\"]\ncount = 100001\n")),
        (
            "a task without a name",
            with("[[tasks]]\nprogram = \"spin\"\n"),
        ),
        ("a task without work", task("")),
        (
            "a task with two kinds of work",
            task("program = \"spin\"\nsteps = [\"spin\"]"),
        ),
        ("a single task table", with("[tasks]\nname = \"t\"\n")),
        (
            "steps under another name",
            task("run = [{ run = \"1ms\" }]"),
        ),
        ("a misspelt program", task("program = \"sysspni\"")),
        (
            "a task in an unknown group",
            with(
                "[groups.\"/kubepods/api\"]\n[[tasks]]\nname = \"t\"\ngroup = \"/kubepod/api\"\nprogram = \"spin\"\n",
            ),
        ),
        (
            "a task in a group far from any",
            task("group = \"/a\"\nprogram = \"spin\""),
        ),
        (
            "a nice value out of range",
            task("nice = 20\nprogram = \"spin\""),
        ),
        (
            "CPUs that are not there",
            task("cpus = \"8-11\"\nprogram = \"spin\""),
        ),
        (
            "CPUs that are no set",
            task("cpus = \"all\"\nprogram = \"spin\""),
        ),
        (
            "an odd way to pin",
            task("pin = \"roundrobin\"\nprogram = \"spin\""),
        ),
        (
            "too many tasks",
            task("count = 1000001\nprogram = \"spin\""),
        ),
        (
            "too many tasks of one entry",
            task("count = 1000\nprogram = \"hack\"\nsenders = 600\nreceivers = 600"),
        ),
        (
            "a hack without senders",
            task("program = \"hack\"\nreceivers = 20"),
        ),
        ("bytes of a spinner", task("program = \"spin\"\nbytes = 5")),
        (
            "two tasks of one name",
            task("program = \"spin\"\n[[tasks]]\nname = \"t\"\nprogram = \"spin\""),
        ),
        (
            "a copy with another task's name",
            task("program = \"spin\"\ncount = 2\n[[tasks]]\nname = \"t.1\"\nprogram = \"spin\""),
        ),
        (
            "an empty name",
            with("[[tasks]]\nname = \"\"\nprogram = \"spin\"\n"),
        ),
        (
            "a start that is never",
            task("count = 1000\nstart = \"1s\"\nstagger = \"1000000s\"\nprogram = \"spin\""),
        ),
        (
            "a negative sleep",
            task("steps = [{ run = \"1ms\" }, { sleep = \"-5ms\" }]"),
        ),
        ("a run without unit", task("steps = [{ run = 2 }]")),
        ("a timer of zero", task("steps = [{ timer = \"0ms\" }]")),
        (
            "a step of two things",
            task("steps = [{ run = \"2ms\", sleep = \"8ms\" }]"),
        ),
        ("a step of nothing", task("steps = [{ }]")),
        ("a misspelt step", task("steps = [{ runn = \"2ms\" }]")),
        ("a misspelt word", task("steps = [\"yeild\"]")),
        ("a step without its value", task("steps = [\"sleep\"]")),
        ("a number as a step", task("steps = [5]")),
        (
            "bytes of a lock",
            task("steps = [{ lock = \"m\", bytes = 5 }]"),
        ),
        (
            "a program that does nothing for ever",
            task("steps = [{ run = \"0ms\" }]"),
        ),
        ("no steps for ever", task("steps = []")),
        ("a loop of no times", task("steps = [\"spin\"]\nloop = 0")),
        (
            "a loop for ever inside",
            task("steps = [{ loop = -1, steps = [\"spin\"] }]"),
        ),
        ("an event without a time", event("group = \"/a\"")),
        (
            "an event without a change",
            event("at = \"1s\"\ngroup = \"/a\""),
        ),
        ("an event about nothing", event("at = \"1s\"")),
        (
            "an event after the end",
            event("at = \"10s\"\ngroup = \"/a\"\n\"cpu.weight\" = 5"),
        ),
        (
            "an event on an unknown task",
            event("at = \"1s\"\ntask = \"tt\"\nnice = 5"),
        ),
        (
            "an event on an unknown group",
            event("at = \"1s\"\ngroup = \"/b\"\n\"cpu.max\" = \"max\""),
        ),
        (
            "an event about two things",
            event("at = \"1s\"\ngroup = \"/a\"\ntask = \"t\"\nnice = 5"),
        ),
        (
            "a nice value of a group",
            event("at = \"1s\"\ngroup = \"/a\"\nnice = 5"),
        ),
        (
            "a limit that is refused by then",
            event(
                "at = \"2s\"\ngroup = \"/a\"\n\"cpu.max\" = \"20000\"\n[[events]]\nat = \"1s\"\ngroup = \"/a\"\n\"cpu.max.burst\" = 30000",
            ),
        ),
        (
            "a group that is not yet there",
            event(
                "at = \"2s\"\ncreate = \"/b\"\n[[events]]\nat = \"1s\"\ntask = \"t\"\nmove = \"/b\"",
            ),
        ),
        (
            "a group that is gone",
            event(
                "at = \"1s\"\nremove = \"/a\"\n[[events]]\nat = \"2s\"\ngroup = \"/a\"\n\"cpu.weight\" = 5",
            ),
        ),
        ("a group made twice", event("at = \"1s\"\ncreate = \"/a\"")),
        (
            "a task in a group to come",
            event(
                "at = \"1s\"\ncreate = \"/b\"\n[[tasks]]\nname = \"u\"\ngroup = \"/b\"\nprogram = \"spin\"",
            ),
        ),
        ("a CPU that is not there", event("at = \"1s\"\noffline = 4")),
        (
            "the last CPU",
            "duration = \"10s\"\n[machine]\ncpus = 1\n[[events]]\nat = \"1s\"\noffline = 0\n"
                .into(),
        ),
    ];
    insta::assert_snapshot!(render_all(&cases, "api.toml"));
}

#[test]
fn files_of_lines() {
    let with = |text: &str| format!("{LINES}{text}\n");
    let cases = [
        ("an unknown directive", with("grup a")),
        ("no CPU count", "duration 1000000\n".into()),
        ("no duration", "smp 4\n".into()),
        ("a directive twice", with("smp 2")),
        ("no CPU", "smp 0\nduration 1000000\n".into()),
        ("a unit", "smp 4\nduration 1s\n".into()),
        ("nothing behind", "smp\nduration 1000000\n".into()),
        ("a group without name", with("group")),
        ("a path as a name", with("group a/b")),
        ("a misspelt option", with("group a qouta=20000")),
        ("an option twice", with("group a quota=20000 quota=30000")),
        ("no option", with("group a 20000")),
        (
            "a limit that the kernel refuses",
            with("group a quota=999 period=100000"),
        ),
        (
            "a period that the kernel refuses",
            with("group a quota=5000 period=999"),
        ),
        (
            "an unknown parent",
            with("group alpha\ngroup b parent=alhpa"),
        ),
        ("a group twice", with("group a.0\ngroup a n=2")),
        ("no kind", with("task s")),
        ("a misspelt kind", with("task s kind=spni")),
        (
            "a cycle without a pause",
            with("task s kind=cycle run=1000"),
        ),
        (
            "a cycle with two pauses",
            with("task s kind=cycle run=1000 sleep=5 every=9"),
        ),
        (
            "a cycle of nothing",
            "smp 1\nduration 1000000\ntask s kind=cycle run=0 every=0\n".into(),
        ),
        (
            "a negative sleep",
            with("task s kind=cycle run=1000 sleep=-5"),
        ),
        ("work of a spinner", with("task s kind=spin work=5")),
        (
            "an unknown group",
            with("group a\ntask s kind=spin group=b"),
        ),
        (
            "too few groups",
            with("group x n=2\ntask s kind=spin n=3 eachgroup=x"),
        ),
        ("a mask without a CPU", with("task s kind=spin cpus=0xf0")),
        ("percpu above the CPUs", with("task s kind=spin percpu=8")),
        (
            "too many tasks",
            with("task s kind=hack senders=600000 receivers=600000"),
        ),
        ("an event without change", with("event 1000")),
        ("a misspelt change", with("event 1000 mxa a 20000")),
        (
            "a change with too little",
            with("group a\nevent 1000 max a"),
        ),
        (
            "an event on an unknown task",
            with("task s kind=spin n=2\nevent 1000 cpus s.2 0x1"),
        ),
        (
            "an event after the end",
            with("group a\nevent 2000000 max a max"),
        ),
        ("a limit of the root", with("event 1000 max / 20000")),
    ];
    insta::assert_snapshot!(render_all(&cases, "17_affinity.txt"));
}

#[test]
fn a_file_too_large_is_refused_before_it_is_read() {
    let error = error(&"#".repeat(MAX_FILE_BYTES + 1), "huge.toml");
    assert_eq!(
        *error.problem(),
        Problem::FileTooLarge {
            bytes: MAX_FILE_BYTES + 1
        }
    );
    insta::assert_snapshot!(render(&error));
}

#[test]
fn an_error_knows_its_place() {
    let text = format!("{TOML}[[tasks]]\nname = \"t\"\nsteps = [{{ sleep = \"-5ms\" }}]\n");
    let error = error(&text, "api.toml");
    assert_eq!(error.file_name(), "api.toml");
    assert_eq!(error.line(), 6);
    assert_eq!(&text[error.span()], "\"-5ms\"");
    assert_eq!(error.help_text(), Some("write zero or more, as in \"5ms\""));
    assert_eq!(
        error.to_string(),
        "`-5ms` is negative, and time only goes forward"
    );
}
