//! Whatever is wrong with the input: one clear error on standard error, exit status 2, no panic.

mod program;

use program::{Ran, cpumax, file};

/// The error of a run that must fail, with the path of the tests' own folder taken out.
fn error_of(arguments: &[&str]) -> String {
    let Ran {
        status,
        stdout,
        stderr,
    } = cpumax(arguments);
    assert_eq!((status, stdout.as_str()), (2, ""), "{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    stderr.replace(env!("CARGO_TARGET_TMPDIR"), "TMP")
}

/// The error of running a scenario with this text.
fn error_of_scenario(name: &str, text: &str) -> String {
    error_of(&["run", &file(name, text)])
}

const HEAD: &str = "duration = \"1s\"\n[machine]\ncpus = 2\n";

#[test]
fn malformed_toml() {
    insta::assert_snapshot!(error_of_scenario(
        "malformed.toml",
        "duration = \"1s\"\n[machine\ncpus = 2\n"
    ));
}

#[test]
fn unknown_key() {
    insta::assert_snapshot!(error_of_scenario(
        "key.toml",
        &format!("{HEAD}[groups.\"/a\"]\n\"cpu.mx\" = \"50000 100000\"\n")
    ));
}

#[test]
fn limit_that_the_kernel_refuses() {
    insta::assert_snapshot!(error_of_scenario(
        "limit.toml",
        &format!("{HEAD}[groups.\"/a\"]\n\"cpu.max\" = \"500 100000\"\n")
    ));
}

#[test]
fn negative_sleep() {
    insta::assert_snapshot!(error_of_scenario(
        "sleep.toml",
        &format!(
            "{HEAD}[[tasks]]\nname = \"t\"\nsteps = [{{ run = \"1ms\" }}, {{ sleep = \"-5ms\" }}]\n"
        )
    ));
}

#[test]
fn cycle_in_groups() {
    insta::assert_snapshot!(error_of_scenario(
        "cycle.txt",
        "smp 2\nduration 100000\ngroup a parent=b\ngroup b parent=a\ntask t group=a kind=spin\n"
    ));
}

#[test]
fn empty_file() {
    insta::assert_snapshot!(error_of_scenario("empty.toml", ""));
}

#[test]
fn file_of_100_megabytes() {
    let path = file("large.toml", "");
    let large = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    large.set_len(100 << 20).unwrap();
    insta::assert_snapshot!(error_of(&["run", &path]));
    let no_line = error_of(&["oracle", &path]);
    assert!(no_line.contains("line 1 has more than"), "{no_line}");
}

#[test]
fn file_that_is_no_text() {
    let path = file("binary.toml", "");
    std::fs::write(&path, b"duration = \"1s\"\nname = \"\xff\"\n").unwrap();
    insta::assert_snapshot!(error_of(&["run", &path]));
}

#[test]
fn file_that_is_not_there() {
    insta::assert_snapshot!(error_of(&["run", "no-such-file.toml"]));
}

#[test]
fn unknown_kernel() {
    let of = |kernel| error_of(&["run", "examples/web-service.toml", "--kernel", kernel]);
    insta::assert_snapshot!("unknown_kernel", of("6.99"));
    insta::assert_snapshot!("unknown_model", of("hierarchy-asnc"));
}

#[test]
fn options_out_of_range() {
    for arguments in [
        &["run", "examples/web-service.toml", "--seed", "-1"][..],
        &["run", "examples/web-service.toml", "--threads", "0"],
        &["run", "examples/web-service.toml", "--duration", "-5s"],
        &["run", "examples/web-service.toml", "--duration", "0s"],
        &["run"],
        &["frobnicate"],
        &["compare", "examples/web-service.toml", "--base", "6.1"],
        &[
            "compare",
            "examples/web-service.toml",
            "--base",
            "6.1",
            "--head",
            "7.3",
            "--runs",
            "1",
        ],
        &["oracle", "examples/web-service.toml", "--phases", "31"],
        &["oracle", "examples/web-service.toml"],
        &["explain", "everything"],
    ] {
        assert!(!error_of(arguments).is_empty());
    }
}

#[test]
fn colour_is_for_those_who_want_it() {
    let path = file("colour.toml", "");
    assert!(!error_of(&["run", &path]).contains('\x1b'));
    assert!(error_of(&["run", &path, "--color", "always"]).contains('\x1b'));
}
