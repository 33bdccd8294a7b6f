//! A part is the same bytes whoever makes it.

use super::{folder, json, path, peloton, plan, results, simulated};
use peloton::simd::Isa;
use std::collections::BTreeSet;

#[test]
fn parts_are_the_same_bytes_on_every_instruction_set_and_number_of_threads() {
    let folder = folder("same-bytes");
    let files = ["a.mdf", "b.mdf", "c.mdf"].map(|name| simulated(&folder, name, "lhcb", 8));
    let files = files.each_ref().map(|file| &file[..]);
    let (plan, _) = plan(&folder, &files, 2);
    let part = |part: &str, to: &str, how: &[&str]| {
        json(
            &[&["run", "--plan", &plan, "--part", part, "--output", to, "--geometry", "nominal"], how]
                .concat(),
        )
    };
    let one = path(&folder, "one");
    part(":", &one, &[]);
    let expected = results(&one);
    assert_eq!(expected.len(), 12);
    let mixed = path(&folder, "mixed");
    let isas: Vec<_> = Isa::supported().into_iter().map(Isa::name).collect();
    let mut levels = BTreeSet::new();
    for number in (0..12).rev() {
        let isa = isas[number % isas.len()];
        let threads = (1 + number % 3).to_string();
        let how = ["--isa", isa, "--threads", &threads, "--slice", "1"];
        let made = part(&number.to_string(), &mixed, &how);
        levels.insert(made["level"].as_str().unwrap().split(' ').next().unwrap().to_string());
    }
    assert_eq!(levels.len(), isas.len());
    assert!(results(&mixed) == expected, "some part has other bytes");
    let hash = |to: &str| json(&["manifest", to, "--plan", &plan])["hash_events"].clone();
    assert_eq!(hash(&mixed), hash(&one));
}

#[test]
fn the_environment_names_the_instruction_set_of_a_part() {
    let folder = folder("environment");
    let (plan, _) = plan(&folder, &["sim:velo,events=2"], 1);
    let to = path(&folder, "parts");
    let mut command =
        peloton(&["run", "--plan", &plan, "--part", "1", "--output", &to, "--quiet", "--json", "-"]);
    let made = command.env(Isa::VARIABLE, "scalar").output().unwrap();
    let made: serde_json::Value = serde_json::from_slice(&made.stdout).unwrap();
    assert_eq!(made["level"], "scalar x 1");
    // What another machine made is not made again.
    let again = json(&["run", "--plan", &plan, "--part", "1", "--output", &to]);
    assert_eq!(again, made);
}
