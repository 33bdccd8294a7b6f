//! Development tasks of the workspace, run by `.ci/run` or by hand: `cargo xtask TASK`.

mod book;
mod chart;
mod inlined;
mod package;
mod performance;
mod readme;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The result of a task; an error is a message for people.
type Result<T> = std::result::Result<T, String>;

const HELP: &str = "\
Usage: cargo xtask TASK [ARGUMENT...]

Tasks:
  book                     build the book of docs/ with mdbook, to target/book
  book-links               preprocess the book for mdbook: replace links out of docs/ by file names
  chart                    write docs/programs.svg from docs/performance/programs.csv
  deny                     check licences, sources and duplicates of dependencies with cargo-deny
  inlined PROGRAM          fail when kernels of PROGRAM call intrinsics instead of inlining them
  package                  check that every crate of the workspace can be packaged
  performance              measure times on this machine and write docs/performance/cpu.md (after cargo build --release)
  readme-commands          print the commands of the README, one a line
  readme-examples          print the names of the README's other runnable blocks
  readme-example NAME      print the block with this name
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<()> {
    match arguments {
        ["book"] => book::build(),
        ["book-links", "supports", _] => Ok(()),
        ["book-links"] => book::replace_links(),
        ["chart"] => chart::write(),
        ["deny"] => command("cargo", &["deny", "check", "bans", "licenses", "sources"]),
        ["inlined", program] => inlined::check(Path::new(program)),
        ["package"] => package::check(),
        ["performance"] => performance::write(),
        ["readme-commands"] => readme::print_commands(),
        ["readme-examples"] => readme::print_examples(),
        ["readme-example", name] => readme::print_example(name),
        [] | ["--help" | "-h"] => {
            print!("{HELP}");
            Ok(())
        }
        _ => Err(format!("unknown task `{}`\n\n{HELP}", arguments.join(" "))),
    }
}

/// Returns the root of the checkout.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the checkout").to_path_buf()
}

/// Returns the text of a file of the checkout.
fn read(path: &str) -> Result<String> {
    let path = root().join(path);
    std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Runs a program in the root of the checkout; fails when the program does.
fn command(program: &str, arguments: &[&str]) -> Result<()> {
    let status = Command::new(program).args(arguments).current_dir(root()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{program} {}: {status}", arguments.join(" "))),
        Err(error) => Err(format!("{program} cannot be started: {error}")),
    }
}
