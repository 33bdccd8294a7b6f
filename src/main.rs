//! The command line: parses and calls.
fn main() {}
