//! Sentences that a user of the project reads: pages, documentation of public items, `--help` texts, messages, and the
//! comments of the Python package and of `peloton.hpp`.
use super::house::File;

/// A sentence, with the line where it begins.
pub struct Sentence {
    pub path: String,
    pub line: usize,
    pub text: String,
}

/// The sentences of a page or a source file.
pub fn sentences(file: &File) -> Vec<Sentence> {
    let blocks = if file.path.ends_with(".md") {
        paragraphs(&file.text)
    } else if file.path.ends_with(".py") {
        comments(&file.text, "#")
    } else if file.path.ends_with(".hpp") {
        comments(&file.text, "//")
    } else {
        let mut blocks = documentation(&file.text, file.path.starts_with("crates/cli/src/"));
        blocks.extend(messages(&file.text));
        blocks
    };
    let in_file = |(line, text)| Sentence { path: file.path.clone(), line, text };
    blocks.into_iter().flat_map(|lines| split(&lines)).map(in_file).collect()
}

/// Consecutive lines with their numbers.
type Block = Vec<(usize, String)>;

/// The paragraphs, list items and table rows of a page; blocks of code are left out.
fn paragraphs(text: &str) -> Vec<Block> {
    let (mut blocks, mut fenced) = (vec![Block::new()], false);
    for (number, line) in text.lines().enumerate().map(|(i, line)| (i + 1, line.trim())) {
        let fence = line.starts_with("```");
        fenced ^= fence;
        let alone = line.starts_with('#') || line.starts_with('|');
        if fence || fenced || line.is_empty() || alone || line.starts_with("- ") || line.starts_with("* ") {
            blocks.push(Block::new());
        }
        let rule = line.chars().all(|c| "|-: ".contains(c));
        if !(fence || fenced || rule) {
            blocks.last_mut().expect("never empty").push((number, line.into()));
        }
    }
    blocks
}

/// Documentation comments of modules and public items; with `help`, of all items but functions, which clap shows.
fn documentation(text: &str, help: bool) -> Vec<Block> {
    let (mut blocks, mut pending, mut open, mut fenced) = (Vec::new(), vec![Block::new()], false, false);
    for (number, full) in text.lines().enumerate().map(|(i, line)| (i + 1, line)) {
        let line = full.trim();
        if line == "mod tests {" {
            break;
        }
        if let Some(comment) = line.strip_prefix("//!").or_else(|| line.strip_prefix("///")) {
            let comment = comment.trim();
            let fence = comment.starts_with("```");
            fenced ^= fence;
            if fence || fenced || comment.is_empty() || comment.starts_with(['#', '-', '|']) {
                pending.push(Block::new());
            }
            if !(fence || fenced || comment.is_empty() || comment.starts_with('#')) {
                pending.last_mut().expect("never empty").push((number, comment.into()));
            }
            if line.starts_with("//!") {
                let last = pending.pop().expect("never empty");
                blocks.append(&mut pending);
                pending.push(last);
            }
            continue;
        }
        if line.starts_with("#[") || line.starts_with("//") {
            continue;
        }
        // Variants of public enums and functions of public traits have no `pub` of their own.
        if full.starts_with(|c: char| c.is_alphabetic()) {
            open = full.starts_with("pub enum") || full.starts_with("pub trait");
        }
        let documented = std::mem::replace(&mut pending, vec![Block::new()]);
        let of_module = documented.iter().flatten().next().is_some_and(|_| line.is_empty());
        let function = line.contains("fn ") || line.starts_with("impl");
        if (help && !function) || open || of_module || line.starts_with("pub ") {
            blocks.extend(documented);
        }
    }
    blocks
}

/// All comments of Python or C++, which `mark` begins, and the docstrings of Python without their examples.
fn comments(text: &str, mark: &str) -> Vec<Block> {
    let (mut blocks, mut quoted, mut example, mut joined) = (vec![Block::new()], false, false, false);
    for (number, line) in text.lines().enumerate().map(|(i, line)| (i + 1, line.trim())) {
        let docstring = quoted || line.starts_with("\"\"\"");
        quoted ^= line.matches("\"\"\"").count() % 2 == 1;
        example = docstring && !line.is_empty() && (example || line.starts_with(">>>"));
        // A mark within a line of code comes after a space.
        let spaced = format!(" {line}");
        let behind = spaced.split_once(&format!(" {mark}")).map_or("", |(_, behind)| behind);
        let comment = if docstring { line } else { behind }.trim_matches(['"', '#', '/', ':', ' ']);
        let whole = docstring || line.starts_with(mark);
        if example || comment.is_empty() || !(whole && joined) {
            blocks.push(Block::new());
        }
        if !example {
            blocks.last_mut().expect("never empty").push((number, comment.into()));
        }
        joined = whole;
    }
    blocks
}

/// String literals of at least four words outside of tests, placeholders included.
fn messages(text: &str) -> Vec<Block> {
    let (mut blocks, mut line) = (Vec::new(), 1);
    let text = text.split("\nmod tests {").next().unwrap_or_default();
    let mut rest = text;
    while let Some(at) = rest.find(['"', '/', '\'']) {
        line += rest[..at].matches('\n').count();
        let (before, found) = rest.split_at(at);
        let raw = before.ends_with('r') || before.ends_with('#');
        if found.starts_with("//") {
            rest = &found[found.find('\n').unwrap_or(found.len())..];
        } else if found.starts_with("'\"'") || found.starts_with("'\\") {
            rest = &found[3..];
        } else if let Some(behind) = found.strip_prefix('"') {
            let end = if raw { behind.find('"').map(|end| end + 1) } else { closing(found) };
            let Some(end) = end else { break };
            let literal = found[1..end].replace("\\\n", " ").replace("\\n", " ");
            if literal.split_whitespace().filter(|word| word.chars().all(char::is_alphabetic)).count() >= 4 {
                let words: Vec<_> = literal.split_whitespace().collect();
                blocks.push(vec![(line, words.join(" "))]);
            }
            line += found[..end].matches('\n').count();
            rest = &found[end + 1..];
        } else {
            rest = &found[1..];
        }
    }
    blocks
}

/// Where a string literal that begins at 0 ends.
fn closing(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if c == '"' && !escaped {
            return Some(at);
        }
        escaped = c == '\\' && !escaped;
    }
    None
}

/// A block as sentences of at least three words.
fn split(block: &Block) -> Vec<(usize, String)> {
    let (mut sentences, mut text, mut first) = (Vec::new(), String::new(), 0);
    for (number, line) in block {
        for word in line.split_whitespace() {
            if text.is_empty() {
                first = *number;
            } else {
                text.push(' ');
            }
            text.push_str(word);
            let end = word.trim_end_matches(['*', ')', '`', '"']);
            let abbreviated = ["al.", "Conf.", "e.g."].contains(&end);
            if end.ends_with(['.', '!', '?']) && !abbreviated && end.len() > 2 {
                sentences.push((first, std::mem::take(&mut text)));
            }
        }
    }
    sentences.push((first, text));
    sentences.retain(|(_, text)| text.split_whitespace().count() >= 3);
    sentences
}
