//! Finds the files of a crate from which a source file takes names, by its `use` lines. A name that a module passes on
//! (`pub use`) belongs to the file that defines it.

use super::house::File;
use std::collections::{BTreeMap, BTreeSet};

/// A module: the folder of its crate, then its path in the crate.
type Module = Vec<String>;

/// The modules of all crates.
struct Modules<'a> {
    files: BTreeMap<Module, &'a File>,
    /// Names that a module passes on, and the paths of their definitions.
    passed_on: BTreeMap<(Module, String), Module>,
}

/// Groups of files: each file takes names from every other file of its group, directly or through others; largest first.
pub fn circles(files: &[File]) -> Vec<Vec<String>> {
    let arrows = arrows(files);
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        arrows.keys().map(|from| (from.as_str(), reached(from, &arrows))).collect();
    let mut circles: Vec<Vec<String>> = Vec::new();
    for (from, to) in &reached {
        let both_ways = to.iter().filter(|to| reached.get(*to).is_some_and(|back| back.contains(from)));
        let circle: Vec<String> = both_ways.map(|file| file.to_string()).collect();
        if circle.len() > 1 && !circles.contains(&circle) {
            circles.push(circle);
        }
    }
    circles.sort_by_key(|circle| usize::MAX - circle.len());
    circles
}

fn reached<'a>(from: &'a str, arrows: &'a BTreeMap<String, BTreeSet<String>>) -> BTreeSet<&'a str> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(file) = open.pop() {
        let next = arrows.get(file).into_iter().flatten();
        open.extend(next.map(String::as_str).filter(|to| reached.insert(*to)));
    }
    reached
}

fn arrows(files: &[File]) -> BTreeMap<String, BTreeSet<String>> {
    let mut modules = Modules { files: BTreeMap::new(), passed_on: BTreeMap::new() };
    modules.files.extend(files.iter().filter_map(|file| Some((module_of(&file.path)?, file))));
    for (module, file) in modules.files.clone() {
        for (path, name) in uses(file, true) {
            if let Some(from) = modules.start(&module, &path) {
                modules.passed_on.insert((module.clone(), name), from);
            }
        }
    }
    let of = |(module, file): (&Module, &&File)| {
        let used = uses(file, false).into_iter().filter_map(|(path, _)| {
            let used = modules.start(module, &path)?;
            let beside = |path: &&str| *path != file.path && folder(path) == folder(&file.path);
            modules.defining(used).filter(beside).map(str::to_string)
        });
        (file.path.clone(), used.collect())
    };
    modules.files.iter().map(of).collect()
}

impl Modules<'_> {
    /// The whole path of a name that a module uses; none for a name of another crate.
    fn start(&self, module: &Module, path: &[String]) -> Option<Module> {
        let mut whole = module.clone();
        let mut rest = path;
        match path[0].as_str() {
            "crate" => whole.truncate(1),
            "self" => {}
            "super" => {
                while rest[0] == "super" {
                    whole.pop();
                    rest = &rest[1..];
                }
                whole.extend_from_slice(rest);
                return Some(whole);
            }
            child => {
                whole.push(child.into());
                if !self.files.contains_key(&whole) {
                    return None;
                }
            }
        }
        whole.extend_from_slice(&rest[1..]);
        Some(whole)
    }

    /// The file that defines a name.
    fn defining(&self, path: Module) -> Option<&str> {
        let depth = (1..=path.len()).rev().find(|depth| self.files.contains_key(&path[..*depth]))?;
        let module = path[..depth].to_vec();
        let passed_on = path.get(depth).and_then(|name| self.passed_on.get(&(module.clone(), name.clone())));
        match passed_on {
            Some(from) => self.defining(from.iter().chain(&path[depth + 1..]).cloned().collect()),
            None => Some(&self.files[&module].path),
        }
    }
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The module of a source file; none for tests and programs of one file.
fn module_of(path: &str) -> Option<Module> {
    let (folder, below) = path.strip_suffix(".rs")?.rsplit_once("src/")?;
    let parts = below.split('/').filter(|part| !["mod", "lib", "main"].contains(part));
    Some(std::iter::once(folder).chain(parts).map(str::to_string).collect())
}

/// Names of the `use` lines of a file that pass names on, or of all others: path, and the name in this file.
fn uses(file: &File, passed_on: bool) -> Vec<(Vec<String>, String)> {
    let (mut statement, mut all) = (String::new(), Vec::new());
    for (_, line) in file.code_but_tests() {
        let begins = ["use ", "pub use ", "pub("].iter().any(|start| line.starts_with(start));
        if begins && line.contains("use ") || !statement.is_empty() {
            statement.push_str(line.trim());
        }
        if statement.ends_with(';') {
            let (before, path) = statement.split_once("use ").unwrap_or_default();
            if before.is_empty() != passed_on {
                expand(&[], path.trim_end_matches(';'), &mut all);
            }
            statement.clear();
        }
    }
    all
}

/// `a::{b, c::d}` as `a::b` and `a::c::d`.
fn expand(prefix: &[String], path: &str, all: &mut Vec<(Vec<String>, String)>) {
    if let Some((head, group)) = path.split_once("::{") {
        let prefix: Vec<String> =
            prefix.iter().cloned().chain(head.split("::").map(str::to_string)).collect();
        let (mut depth, mut start) = (0, 0);
        let group = group.trim_end().strip_suffix('}').unwrap_or(group);
        for (at, c) in group.char_indices().chain([(group.len(), ',')]) {
            depth += i32::from(c == '{') - i32::from(c == '}');
            if c == ',' && depth == 0 {
                expand(&prefix, group[start..at].trim(), all);
                start = at + 1;
            }
        }
    } else if !path.is_empty() {
        let (path, alias) = path.split_once(" as ").map_or((path, None), |(path, alias)| (path, Some(alias)));
        let mut whole: Vec<String> =
            prefix.iter().cloned().chain(path.split("::").map(str::to_string)).collect();
        if whole.last().is_some_and(|last| last == "self") && whole.len() > 1 {
            whole.pop();
        }
        let name = alias.map(str::to_string).or(whole.last().cloned()).unwrap_or_default();
        all.push((whole, name));
    }
}
