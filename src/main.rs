//! The command line: parses and calls.
use std::process::ExitCode;

fn main() -> ExitCode {
    peloton::cli::main()
}
