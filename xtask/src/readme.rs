//! Prints the runnable code blocks of the README.

use crate::{Result, read};

/// Returns the lines of all blocks that begin with this fence.
fn blocks(text: &str, fence: &str) -> Vec<String> {
    let (mut inside, mut fenced, mut lines) = (false, false, Vec::new());
    for line in text.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
            inside = fenced && line == fence;
        } else if inside {
            lines.push(line.to_string());
        }
    }
    lines
}

/// Prints the lines of the `sh` blocks.
pub fn print_commands() -> Result<()> {
    blocks(&read("README.md")?, "```sh").iter().for_each(|line| println!("{line}"));
    Ok(())
}

/// Prints the names of the blocks that begin with ```bash NAME.
pub fn print_examples() -> Result<()> {
    let text = read("README.md")?;
    text.lines().filter_map(|line| line.strip_prefix("```bash ")).for_each(|name| println!("{name}"));
    Ok(())
}

/// Prints the lines of the block with this name.
pub fn print_example(name: &str) -> Result<()> {
    let lines = blocks(&read("README.md")?, &format!("```bash {name}"));
    if lines.is_empty() {
        return Err(format!("README.md has no block `{name}`"));
    }
    lines.iter().for_each(|line| println!("{line}"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_told_apart() {
        let text = "```sh\none\n```\n```text\n```\n```bash a\ntwo\nthree\n```\n```sh\nfour\n```\n";
        assert_eq!(blocks(text, "```sh"), ["one", "four"]);
        assert_eq!(blocks(text, "```bash a"), ["two", "three"]);
    }
}
