//! What `completions` and `man` write, read by those that it is for: bash, zsh, fish and mandoc, where they are installed.

use std::path::Path;
use std::process::{Command, Output};

fn peloton(words: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_peloton")).args(words).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What a program prints; nothing where it is not installed, which is said.
fn said(program: &str, words: &[&str]) -> Option<(bool, String)> {
    match Command::new(program).args(words).output() {
        Ok(output) => Some((output.status.success(), text(&output.stdout) + &text(&output.stderr))),
        Err(_) => {
            eprintln!("skipped: no {program}");
            None
        }
    }
}

/// The script of a shell as a file in a folder.
fn script(folder: &Path, shell: &str) -> String {
    let path = folder.join(shell);
    std::fs::write(&path, peloton(&["completions", shell]).stdout).unwrap();
    path.to_string_lossy().into_owned()
}

#[test]
fn shells_read_their_scripts() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let script = script(folder.path(), shell);
        let length = std::fs::metadata(&script).unwrap().len();
        assert!(length > 10_000, "{shell}: {length} bytes");
        if let Some((is_right, told)) = said(shell, &["-n", &script]) {
            assert!(is_right && told.is_empty(), "{shell}: {told}");
        }
    }
}

/// What a real bash completes of a line, as if Tab had been pressed at its end.
fn completed(script: &str, line: &str) -> Option<Vec<String>> {
    let words: Vec<_> = line.split(' ').collect();
    let quoted: Vec<_> = words.iter().map(|word| format!("'{word}'")).collect();
    let last = words.len() - 1;
    let program = format!(
        "source {script}; complete -p peloton >/dev/null || exit 3; \
         COMP_WORDS=({}); COMP_CWORD={last}; compopt() {{ :; }}; \
         _peloton peloton '{}' '{}'; printf '%s\n' \"${{COMPREPLY[@]}}\"",
        quoted.join(" "),
        words[last],
        words[last - 1],
    );
    let (is_right, told) = said("bash", &["--norc", "-c", &program])?;
    assert!(is_right, "{line}: {told}");
    Some(told.split_whitespace().map(String::from).collect())
}

#[test]
fn bash_completes_commands_flags_and_values() {
    let folder = tempfile::tempdir().unwrap();
    let script = script(folder.path(), "bash");
    for (line, expected) in [
        ("peloton rep", &["report", "reproduce"][..]),
        ("peloton run --seq", &["--sequence"]),
        ("peloton run --sequence ve", &["velo", "velo-ut"]),
        ("peloton check --preset h", &["hlt1", "hlt1-unrestricted"]),
        ("peloton tune --isa a", &["auto", "avx2", "avx512"]),
        ("peloton run --format t", &["t3pa", "tpx3", "tpx4"]),
        ("peloton display --view x", &["xy", "xz"]),
        ("peloton run sim:cylinder --builder s", &["standard"]),
        ("peloton reproduce compass-t", &["compass-table3"]),
        ("peloton soak --transport u", &["udp"]),
        ("peloton completions z", &["zsh"]),
    ] {
        let Some(mut found) = completed(&script, line) else { return };
        found.sort();
        let expected: Vec<_> = expected.iter().map(ToString::to_string).collect();
        // Of a positional argument all the names stand among the flags that begin so.
        let found: Vec<_> =
            found.into_iter().filter(|word| line.contains("--") || !word.starts_with('-')).collect();
        assert!(expected.iter().all(|word| found.contains(word)), "{line}: {found:?}");
        assert!(found.len() <= expected.len() + 2, "{line}: {found:?}");
    }
}

#[test]
fn every_subcommand_has_a_page_with_its_examples() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("made/man1");
    let told = text(&peloton(&["man", folder.to_str().unwrap()]).stdout);
    let mut names: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert!(told.starts_with(&format!("{} pages", names.len())), "{told}");
    let help = text(&peloton(&["help"]).stdout);
    let commands = help.split_once("Commands:\n").unwrap().1.split_once("\n\n").unwrap().0;
    // Descriptions that are continued stand further to the right.
    let commands = commands.lines().map(|line| &line[2..]).filter(|line| !line.starts_with(' '));
    for name in commands.filter_map(|line| line.split(' ').next()).filter(|name| *name != "help") {
        assert!(names.contains(&format!("peloton-{name}.1")), "{name}: {names:?}");
    }
    for name in ["peloton.1", "peloton-completions.1", "peloton-man.1"] {
        assert!(names.contains(&name.to_string()), "{name}: {names:?}");
    }
    for name in &names {
        let path = folder.join(name);
        let page = std::fs::read_to_string(&path).unwrap();
        for part in
            [".TH PELOTON", ".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH EXAMPLES\n.nf\npeloton"]
        {
            assert!(page.contains(part), "{name}: {part}");
        }
        if let Some((_, told)) = said("mandoc", &["-Tlint", "-W", "error", path.to_str().unwrap()]) {
            assert_eq!(told, "", "{name}");
        }
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_peloton")).arg("man").arg(&file).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("file"), "{}", text(&output.stderr));
}
