//! Plain English for everything that a user reads: pages, documentation of public items, `--help` texts, messages, and the
//! comments and docstrings of the Python package and of `peloton.hpp`.
//! `DRAW=1 cargo test --test house_words -- --ignored --nocapture` draws 40 sentences at random.

#[path = "common/house.rs"]
mod house;
#[path = "common/prose.rs"]
mod prose;

use house::{File, files, has_word};
use prose::{Sentence, sentences};

/// Banned words and phrases, with better ones (docs/glossary.md has the words of the field).
const BANNED: [(&str, &str); 10] = [
    ("what is", "the noun"),
    ("that of", "the noun"),
    ("those of", "the noun"),
    ("as it was", "unchanged"),
    ("told", "reported, given"),
    ("tells", "reports, says"),
    ("whatever", "any"),
    ("as you like", "any"),
    ("nobody", "the reader"),
    ("whom", "the noun"),
];

/// All sentences for users, in a fixed order.
fn text_for_users() -> Vec<Sentence> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = house::pages(root);
    let test = |file: &File| {
        file.path.contains("tests/") || file.path.starts_with("benches/") || file.path.contains("/tests.rs")
    };
    all.extend(files().into_iter().filter(|file| (file.is_rust() && !test(file)) || file.is_binding()));
    all.iter().flat_map(sentences).collect()
}

fn breaches(sentence: &Sentence) -> Vec<String> {
    let text = sentence.text.to_lowercase();
    let found = BANNED.iter().filter(|(banned, _)| has_word(&text, banned));
    let Sentence { path, line, text } = sentence;
    found.map(|(banned, better)| format!("{path}:{line}: `{banned}` (better: {better}): {text}")).collect()
}

#[test]
fn no_sentence_has_a_banned_word() {
    let planted =
        File::planted("a.md", "One line.\nWhatever; those of the\nfiles. The untold story of whatsoever.");
    assert_eq!(sentences(&planted).iter().flat_map(breaches).count(), 2);
    let planted = File::planted(
        "src/a.rs",
        "//! A module.\n\n/// Whatever it be.\npub fn f() {}\nfail(\"nobody told so to us\");",
    );
    assert_eq!(sentences(&planted).iter().flat_map(breaches).count(), 3);
    let breached = |path, text| -> Vec<usize> {
        let all = sentences(&File::planted(path, text)).into_iter();
        all.filter(|sentence| !breaches(sentence).is_empty()).map(|sentence| sentence.line).collect()
    };
    let python = "\"\"\"Nobody told us.\n\n    >>> whatever()\n    'what is'\n\n    Those of the\n    files.\n    \"\"\"\n\
                  x = \"by whom it was\"  # that of others\n#: It\n#: tells all.\n";
    assert_eq!(breached("a.py", python), [1, 6, 9, 10]);
    let cpp = "// Nobody\n// needs it.\nf(\"for whatever it is\");\n/// As you like it.\nint told; // whatever it be\n";
    assert_eq!(breached("a.hpp", cpp), [1, 4, 5]);
    let all = text_for_users();
    for path in ["crates/python/peloton/engine.py", "crates/capi/include/peloton.hpp"] {
        assert!(all.iter().any(|sentence| sentence.path == path), "{path} is not looked at");
    }
    let found: Vec<_> = all.iter().flat_map(breaches).collect();
    assert!(found.is_empty(), "{} breaches:\n{}", found.len(), found.join("\n"));
}

/// Prints 40 sentences at random, to be read by someone who has not seen the project; `SEED` chooses others.
#[test]
#[ignore = "prints sentences to read"]
fn draw() {
    let all = text_for_users();
    let mut state: u64 = std::env::var("SEED").map_or(1, |seed| seed.parse().expect("a number"));
    for number in 1..=40 {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let Sentence { path, line, text } = &all[((mixed ^ (mixed >> 31)) % all.len() as u64) as usize];
        println!("{number}. {path}:{line}: {text}");
    }
    println!("of {} sentences", all.len());
}
