//! What programs that were built before count on: prototypes, constants, and where the fields of structs lie. `abi.txt` lists
//! them; where they differ, programs built with the old header would go wrong, and PELOTON_ABI must be higher. What is added
//! (a function, a constant, a struct, a field at the end of a struct that says its size) breaks nothing: then the list alone is
//! written anew.
//!
//! `PELOTON_ABI_TXT=renew cargo test --test abi` writes it, when that is allowed.

mod common;

use common::{Library, missing, package, printed, tool};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::Command;

fn header() -> String {
    std::fs::read_to_string(package().join("include/peloton.h")).expect("the header")
}

/// Words with one space between them, and none inside of brackets.
fn normal(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.replace("( ", "(").replace(" )", ")")
}

/// The structs of the header with the declarations of their fields, in order.
fn structs(header: &str) -> Vec<(String, Vec<String>)> {
    let (mut found, mut fields) = (Vec::new(), None::<Vec<String>>);
    for line in header.lines().filter(|line| !line.trim_start().starts_with("//")) {
        if line.starts_with("typedef struct") && line.ends_with('{') {
            fields = Some(Vec::new());
        } else if let Some(name) = line.strip_prefix("} ").and_then(|rest| rest.strip_suffix(';')) {
            found.extend(fields.take().map(|fields| (name.to_string(), fields)));
        } else if let (Some(fields), Some(field)) = (&mut fields, line.strip_suffix(';')) {
            fields.push(normal(field));
        }
    }
    found
}

/// The name in a declaration such as `uint64_t status[32]`.
fn name_of(declaration: &str) -> &str {
    let name = declaration.split(['[', '(']).next().unwrap_or_default();
    name.rsplit([' ', '*']).next().unwrap_or_default()
}

/// The functions' prototypes.
fn prototypes(header: &str) -> Vec<String> {
    let code: Vec<_> = header.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let (_, functions) =
        code.split_at(code.iter().position(|line| line.starts_with("extern \"C\"")).unwrap_or(0));
    let text = functions.join("\n");
    let mut found: Vec<_> =
        text.split(';').filter(|text| text.contains("peloton_") && text.contains('(')).collect();
    // Before the first one stands the block's beginning.
    found.iter_mut().for_each(|text| *text = text.rsplit("__cplusplus\n").next().unwrap_or(text));
    let mut found: Vec<_> = found.into_iter().map(normal).collect();
    found.sort_by(|a, b| name_of(a).cmp(name_of(b)));
    found
}

/// Sizes and offsets, as a C compiler lays the structs out.
fn layouts(library: &Library) -> String {
    let mut source = "#include <peloton.h>\n#include <stdio.h>\nint main(void) {\n".to_string();
    let structs = structs(&header());
    assert!(structs.len() >= 9, "{structs:?}");
    for (name, fields) in structs {
        writeln!(source, "printf(\"struct {name} %zu\\n\", sizeof({name}));").expect("text");
        for field in fields {
            let text = format!("printf(\"  {field} %zu\\n\", offsetof({name}, {}));", name_of(&field));
            writeln!(source, "{text}").expect("text");
        }
    }
    source.push_str("return 0;\n}\n");
    let (file, program) = (library.folder().join("abi.c"), library.folder().join("abi"));
    std::fs::write(&file, source).expect("a file");
    let include = format!("-I{}", package().join("include").display());
    printed(Command::new("cc").arg(include).arg(&file).arg("-o").arg(&program));
    printed(&mut Command::new(program))
}

/// What is exported, by name.
fn symbols(library: &Library) -> Vec<String> {
    let listed = printed(
        Command::new("nm").args(["-D", "--defined-only"]).arg(library.folder().join("libpeloton.so")),
    );
    let mut names: Vec<String> =
        listed.lines().filter_map(|line| line.split_whitespace().last()).map(String::from).collect();
    names.sort();
    names
}

/// The sizes that each struct has had, oldest first, as `src/structs.rs` lists them: what the library tells older headers
/// by.
fn sizes(source: &str) -> String {
    let (_, list) = source.split_once("\ncrossing!(\n").expect("the list of structs");
    let (list, _) = list.split_once("\n);").expect("its end");
    let mut lines: Vec<_> = list.lines().map(|line| line.trim().replace([':', '[', ']', ','], "")).collect();
    lines.sort();
    lines.iter().map(|line| format!("sizes {line}\n")).collect()
}

/// The interface as `abi.txt` lists it.
fn list(header: &str, sizes: &str, layouts: &str) -> String {
    let mut text = String::new();
    for line in header.lines() {
        let constant = line.strip_prefix("#define PELOTON_").and_then(|rest| rest.split_once(' '));
        match constant {
            Some(("ABI", number)) => text.insert_str(0, &format!("PELOTON_ABI {number}\n")),
            Some((name, value)) => writeln!(text, "constant PELOTON_{name} {value}").expect("text"),
            None => {}
        }
    }
    prototypes(header).iter().for_each(|function| writeln!(text, "function {function}").expect("text"));
    text + sizes + layouts + "\n"
}

/// A list, read again: the number of the interface, lines by their first words, structs with their fields.
#[derive(Default)]
struct Listed<'a> {
    number: u32,
    single: Vec<&'a str>,
    /// Sizes that structs have had.
    sizes: BTreeMap<&'a str, Vec<&'a str>>,
    structs: BTreeMap<&'a str, Layout<'a>>,
}

/// The size of a struct, its fields and where they lie, bytes.
#[derive(Default)]
struct Layout<'a> {
    size: usize,
    fields: Vec<(&'a str, usize)>,
}

impl<'a> Listed<'a> {
    fn new(text: &'a str) -> Self {
        let (mut listed, mut open) = (Self::default(), "");
        for line in text.lines() {
            let (words, last) = line.rsplit_once(' ').unwrap_or((line, ""));
            let number = last.parse().unwrap_or(0);
            if line.starts_with("PELOTON_ABI ") {
                listed.number = number as u32;
            } else if let Some(history) = line.strip_prefix("sizes ") {
                let mut words = history.split(' ');
                listed.sizes.insert(words.next().unwrap_or_default(), words.collect());
            } else if let Some(name) = words.strip_prefix("struct ") {
                open = name;
                listed.structs.insert(name, Layout { size: number, ..Layout::default() });
            } else if let (Some(field), Some(layout)) =
                (words.strip_prefix("  "), listed.structs.get_mut(open))
            {
                layout.fields.push((field, number));
            } else {
                listed.single.push(line);
            }
        }
        listed
    }

    /// What programs built with this list would stumble over in a new one.
    fn broken_by(&self, new: &Listed<'a>) -> Vec<String> {
        let gone = self.single.iter().filter(|line| !new.single.contains(line));
        let mut broken: Vec<_> = gone.map(|line| format!("gone or changed: {line}")).collect();
        for (name, sizes) in &self.sizes {
            if !new.sizes.get(name).is_some_and(|new_sizes| new_sizes.starts_with(sizes)) {
                broken.push(format!("struct {name}: sizes that headers have had changed or went away"));
            }
        }
        for (name, Layout { size, fields }) in &self.structs {
            let Some(Layout { size: new_size, fields: new_fields }) = new.structs.get(name) else {
                broken.push(format!("struct {name} is gone"));
                continue;
            };
            if !new_fields.starts_with(fields) {
                broken.push(format!("struct {name}: fields changed, moved or went away"));
            }
            // A struct within another one, or in an array, has no size of its own: it can never grow.
            let says_its_size = fields.first() == Some(&("size_t size", 0));
            if new_size != size && !(says_its_size && new_size > size) {
                broken.push(format!("struct {name} has another size"));
            }
            // An old program's `size` covers the padding at the end of its struct, whose bytes say nothing.
            let added = new_fields.get(fields.len()..).unwrap_or_default();
            broken.extend(
                added
                    .iter()
                    .filter(|(_, at)| at < size)
                    .map(|(field, _)| format!("struct {name}: `{field}` lies in what was padding")),
            );
        }
        broken
    }
}

/// Why a new list may not take the place of an old one.
fn broken(old: &str, new: &str) -> Vec<String> {
    let (old, new) = (Listed::new(old), Listed::new(new));
    if new.number > old.number { Vec::new() } else { old.broken_by(&new) }
}

#[test]
fn the_interface_is_the_one_that_is_listed() {
    if tool("nm", "--version").is_none() {
        return missing("nm");
    }
    let library = Library::new();
    let header = header();
    let declared: Vec<_> = prototypes(&header).iter().map(|text| name_of(text).to_string()).collect();
    assert_eq!(symbols(&library), declared, "exported on the left, declared on the right");
    let source = std::fs::read_to_string(package().join("src/structs.rs")).expect("structs.rs");
    let now = list(&header, &sizes(&source), &layouts(&library));
    let of_now = Listed::new(&now);
    let says_its_size = |(_, layout): &(_, &Layout<'_>)| layout.fields.first() == Some(&("size_t size", 0));
    let latest = of_now.structs.iter().filter(says_its_size).map(|(name, of)| (*name, of.size.to_string()));
    let last = |sizes: &Vec<&str>| sizes.last().map(ToString::to_string).unwrap_or_default();
    let listed_last = of_now.sizes.iter().map(|(name, sizes)| (*name, last(sizes)));
    assert!(latest.eq(listed_last), "structs with a size, and the sizes in src/structs.rs:\n{now}");
    let path = package().join("abi.txt");
    let listed = std::fs::read_to_string(&path)
        .expect("abi.txt: without it nobody knows what older programs count on");
    let broken = broken(&listed, &now);
    let words = "programs built before would go wrong: raise PELOTON_ABI in src/names.rs and peloton.hpp";
    assert!(broken.is_empty(), "{words}\n{}", broken.join("\n"));
    if std::env::var("PELOTON_ABI_TXT").is_ok_and(|what| what == "renew") {
        std::fs::write(&path, &now).expect("abi.txt");
    } else {
        assert!(listed == now, "abi.txt is old: run this test with PELOTON_ABI_TXT=renew\n{now}");
    }
}

/// A made-up interface, as it is listed.
const OLD: &str = "PELOTON_ABI 1
constant PELOTON_OK 0
function int32_t a(const uint8_t *bytes, size_t n)
function int32_t b(void)
sizes s 16 24
struct s 24
  size_t size 0
  float *x 8
  uint32_t last 16
struct inner 8
  uint64_t ns 0
";

#[test]
fn what_breaks_programs_needs_another_number() {
    for (from, to) in [
        ("function int32_t b(void)\n", ""),
        ("const uint8_t *bytes, size_t n", "size_t n, const uint8_t *bytes"),
        ("size_t n)", "uint32_t n)"),
        ("int32_t b(", "void b("),
        ("PELOTON_OK 0", "PELOTON_OK 1"),
        ("constant PELOTON_OK 0\n", ""),
        ("float *x 8", "int32_t *x 8"),
        ("float *x 8", "float *y 8"),
        ("  float *x 8\n  uint32_t last 16", "  uint32_t last 8\n  float *x 16"),
        ("  uint32_t last 16\n", ""),
        ("struct s 24", "struct s 16"),
        ("last 16\n", "last 16\n  uint32_t added 20\n"),
        ("struct inner 8\n  uint64_t ns 0\n", "struct inner 16\n  uint64_t ns 0\n  uint64_t added 8\n"),
        ("struct inner 8\n  uint64_t ns 0\n", ""),
        ("sizes s 16 24", "sizes s 24"),
        ("sizes s 16 24", "sizes s 24 32"),
        ("sizes s 16 24", "sizes s 16"),
        ("sizes s 16 24", "sizes s 16 20 24"),
        ("sizes s 16 24\n", ""),
    ] {
        let new = OLD.replace(from, to);
        assert!(new != OLD && !broken(OLD, &new).is_empty(), "`{to}` for `{from}` is no breach");
        assert!(broken(OLD, &new.replace("ABI 1", "ABI 2")).is_empty());
        assert!(!broken(&OLD.replace("ABI 1", "ABI 3"), &new).is_empty(), "a lower number");
    }
}

#[test]
fn what_is_added_needs_no_other_number() {
    for (from, to) in [
        ("function int32_t b(void)", "function int32_t b(void)\nfunction void c(void)"),
        ("constant PELOTON_OK 0", "constant PELOTON_OK 0\nconstant PELOTON_NEW -12"),
        ("struct s 24", "struct new 8\n  size_t size 0\nstruct s 24"),
        ("sizes s 16 24", "sizes new 8\nsizes s 16 24 32"),
        (
            "struct s 24\n  size_t size 0\n  float *x 8\n  uint32_t last 16\n",
            "struct s 32\n  size_t size 0\n  float *x 8\n  uint32_t last 16\n  uint64_t added 24\n",
        ),
        ("nothing", ""),
    ] {
        let new = OLD.replace(from, to);
        assert!(broken(OLD, &new).is_empty(), "{to}: {:?}", broken(OLD, &new));
    }
    assert!(broken("", OLD).is_empty());
}

#[test]
fn prototypes_are_read_whole() {
    let header = header();
    let found = prototypes(&header);
    let bank = "int32_t peloton_batch_bank(peloton_batch *batch, uint8_t type, uint8_t version, uint16_t source, \
                const uint8_t *payload, size_t bytes)";
    assert!(found.iter().any(|text| text == bank), "{found:#?}");
    assert!(found.iter().any(|text| text == "const char *peloton_version(void)"), "{found:#?}");
    assert!(
        found.iter().all(|text| text.ends_with(')') && name_of(text).starts_with("peloton_")),
        "{found:#?}"
    );
}
