//! Whatever the text, a reader answers with a scenario or with an error that can be shown.

use cpumax_workload::read_scenario;
use miette::{GraphicalReportHandler, GraphicalTheme};
use proptest::prelude::*;

const TOML: &str = include_str!("../../../examples/web-service.toml");
const EVENTS: &str = include_str!("../../../examples/quota-change.toml");
const LINES: &str = "\
smp 4
duration 3000000
rawlat
group p quota=200000 period=100000 burst=50000
group x parent=p n=2 weight=300
task s group=p kind=spin n=3 percpu=2 nice=5
task c eachgroup=x n=2 kind=cycle run=5000 sleep=8000 stagger=3
task pp kind=pingpong n=2 work=20
task h group=p kind=hack n=2 senders=2 receivers=3 bytes=64
event 1030000 max p 60000 100000
event 2500000 move s.1 /
event 2600000 cpus c.0 0xf
";

/// Pieces that mean something in one of the languages.
const PIECES: [&str; 44] = [
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "=",
    "\"",
    "'",
    ",",
    ".",
    "\n",
    "#",
    "-",
    "0",
    "1",
    "-1",
    "99999999",
    "18446744073709551616",
    "9223372036854775807",
    "0x",
    "0xffffffffffffffffff",
    "0-",
    "{i}",
    "/",
    "//",
    "..",
    "ms",
    "us",
    "s",
    "min",
    "1e9",
    "nan",
    "true",
    "cpu.max",
    "steps",
    "loop",
    "count",
    "n=",
    "max",
    "µ",
    "\u{feff}",
    "\u{0}",
    "[[events]]\nat = \"1s\"\n",
];

fn check(text: &str, file_name: &str) -> Result<(), TestCaseError> {
    if let Err(error) = read_scenario(text, file_name) {
        let mut shown = String::new();
        let handler = GraphicalReportHandler::new_themed(GraphicalTheme::none());
        prop_assert!(handler.render_report(&mut shown, &error).is_ok());
        prop_assert!(!error.to_string().is_empty());
        prop_assert!(
            text.get(error.span()).is_some(),
            "{:?} is no place",
            error.span()
        );
        prop_assert!((1..=text.lines().count().max(1) + 1).contains(&error.line()));
    }
    Ok(())
}

/// Takes a piece out and puts another one in.
fn mutate(text: &str, edits: &[(usize, usize, String)]) -> String {
    let mut text = text.to_string();
    for (at, length, piece) in edits {
        let boundary = |from: usize| {
            (0..=from.min(text.len()))
                .rev()
                .find(|&at| text.is_char_boundary(at))
        };
        let start = boundary(at % (text.len() + 1)).unwrap_or(0);
        let end = boundary(start + length).unwrap_or(start).max(start);
        text.replace_range(start..end, piece);
    }
    text
}

fn edits() -> impl Strategy<Value = Vec<(usize, usize, String)>> {
    let piece = prop_oneof![
        4 => prop::sample::select(&PIECES[..]).prop_map(String::from),
        1 => any::<String>(),
        1 => Just(String::new()),
    ];
    prop::collection::vec((any::<usize>(), 0..12_usize, piece), 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text(text in any::<String>()) {
        check(&text, "random.toml")?;
        check(&text, "random.txt")?;
        check(&format!("smp 4\nduration 1000\n{text}"), "random.txt")?;
        check(&format!("duration = \"1s\"\n[machine]\ncpus = 4\n{text}"), "random.toml")?;
    }

    #[test]
    fn pieces_of_scenarios(pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..40)) {
        check(&pieces.concat(), "random.toml")?;
        check(&pieces.join(" "), "random.txt")?;
    }

    #[test]
    fn mutated_scenarios(edits in edits()) {
        check(&mutate(TOML, &edits), "random.toml")?;
        check(&mutate(EVENTS, &edits), "random.toml")?;
        check(&mutate(LINES, &edits), "random.txt")?;
    }
}

/// Brackets in brackets neither overflow the stack nor take for ever.
#[test]
fn deep_nesting() {
    let deep = |open: &str, depth: usize| {
        format!(
            "duration = \"1s\"\n[machine]\ncpus = 1\n[[tasks]]\nname = \"t\"\nsteps = {}",
            open.repeat(depth)
        )
    };
    assert!(read_scenario(&deep("[", 1 << 20), "deep.toml").is_err());
    assert!(read_scenario(&deep("[{ loop = 2, steps = ", 1 << 16), "deep.toml").is_err());
    assert!(
        read_scenario(
            &format!("[groups.\"{}\"]", "/a".repeat(1 << 20)),
            "deep.toml"
        )
        .is_err()
    );
}
