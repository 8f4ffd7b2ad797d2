//! What the README shows is what the program prints.

mod program;

use program::{cpumax, root};

/// Set to anything, it writes the output into the README.
const UPDATE: &str = "CPUMAX_UPDATE_README";

/// The start of a command that the README shows with its output.
const PROMPT: &str = "$ cargo run --release -- ";

#[test]
fn outputs_are_real() {
    let path = root().join("README.md");
    let readme = std::fs::read_to_string(&path).unwrap();
    let mut shown = 0;
    let mut real = String::new();
    let mut rest = readme.as_str();
    while let Some((before, after)) = rest.split_once(PROMPT) {
        let (arguments, after) = after.split_once('\n').expect("a command is a line");
        let (_, after) = after.split_once("```\n").expect("a block ends");
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        let output = cpumax(&arguments).result();
        let command = arguments.join(" ");
        real.extend([before, PROMPT, &command, "\n", &output, "```\n"]);
        rest = after;
        shown += 1;
    }
    real += rest;
    assert!(shown > 0, "the README shows a command with its output");
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&path, real).unwrap();
    } else {
        let hint =
            format!("{UPDATE}=1 cargo test -p cpumax --test readme writes what is printed now");
        assert!(
            readme == real,
            "the README shows other output; {hint}:\n{real}"
        );
    }
}
