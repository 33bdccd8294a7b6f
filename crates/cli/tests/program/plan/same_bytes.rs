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
fn parts_know_a_calibration_by_its_content() {
    let folder = folder("calibration");
    let (plan, _) = plan(&folder, &["sim:timepix,hits=2000,seed=1"], 1000);
    let calibration = |name: &str, a: &str| {
        let folder = folder.join(name);
        std::fs::create_dir(&folder).unwrap();
        for (name, value) in [("a.txt", a), ("b.txt", "20"), ("c.txt", "30"), ("t.txt", "1")] {
            let row = vec![value; 256].join(" ");
            std::fs::write(folder.join(name), vec![row; 256].join("\n")).unwrap();
        }
        folder.to_str().unwrap().to_string()
    };
    let [here, there, other] =
        [("here", "1.5"), ("there", "1.5"), ("other", "1.6")].map(|(name, a)| calibration(name, a));
    let run_how = |to: &str, calibration: &str, more: &[&str]| {
        let to = path(&folder, to);
        let how = ["--plan", &plan, "--part", "0", "--output", &to, "--calibration", calibration];
        (json(&[&["run"], &how[..], more].concat()), results(&to))
    };
    let run = |to: &str, calibration: &str| run_how(to, calibration, &[]);
    let (first, bytes) = run("parts", &here);
    // Where it lies is in no file: another machine has it elsewhere, and what is done is left alone.
    assert_eq!(run("parts", &there), (first.clone(), bytes.clone()));
    assert!(run("elsewhere", &there).1 == bytes, "the path of the calibration is in the part");
    let (changed, _) = run_how("parts", &other, &["--force"]);
    assert_eq!((&changed["runs"], &changed["config_hash"]), (&2.into(), &first["config_hash"]));
    assert_ne!(changed["geometry_hash"], first["geometry_hash"]);
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
