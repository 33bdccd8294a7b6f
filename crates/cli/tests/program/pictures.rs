//! Pictures in documents are those that the commands beside them make.

use std::path::Path;
use std::process::Command;

/// The command of the README that makes a picture of this name.
fn command_of(name: &str) -> Vec<String> {
    let readme = include_str!("../../../../README.md");
    let output = format!("--output {name}");
    let line = readme.lines().find(|line| line.starts_with("peloton ") && line.ends_with(&output));
    let words = line.unwrap_or_else(|| panic!("no command of the README makes {name}")).split(' ').skip(1);
    words.map(String::from).collect()
}

#[test]
fn the_picture_of_the_readme_is_that_of_its_command() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_peloton"));
    let output = command.args(command_of("long_tracks.svg")).current_dir(&folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let made = std::fs::read_to_string(folder.path().join("long_tracks.svg")).unwrap();
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/long_tracks.svg");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&document, &made).unwrap();
    }
    let shown = std::fs::read_to_string(&document).unwrap();
    assert!(
        made == shown,
        "docs/long_tracks.svg has changed: if it should, look at it and run this test with UPDATE=1"
    );
}
