//! A folder of parts belongs to one plan and one configuration.

use super::{folder, json, names, path, plan, results, said};
use std::path::Path;

/// The parts of another job are refused, and every file is as it was.
#[test]
fn finished_parts_are_not_written_over() {
    let folder = folder("owner");
    let (first, _) = plan(&folder, &["sim:velo,events=4,seed=1"], 2);
    let to = path(&folder, "parts");
    let all = ["--part", ":", "--output", &to];
    json(&[&["run", "--plan", &first], &all[..]].concat());
    let (second, _) = plan(&folder, &["sim:velo,events=4,seed=2"], 1);
    let state =
        || (results(&to), names(&to).len(), std::fs::read(Path::new(&to).join("_owner.json")).unwrap());
    let before = state();
    for (plan, more, words) in [
        (&second, &["--part", "0"][..], "of another plan"),
        (&second, &["--part", ":"], "of another plan"),
        (&first, &["--part", "1", "--preset", "paper"], "of other options"),
        (&first, &["--part", "1", "--strict"], "of other options"),
    ] {
        let job = [&["run", "--plan", plan, "--output", &to, "--quiet"], more].concat();
        let (code, _, error) = said(&job);
        assert_eq!((code, error.lines().count()), (Some(2), 1), "{job:?}: {error}");
        assert!(error.contains(words) && error.contains("--force"), "{error}");
        assert!(state() == before, "{job:?} changed the folder");
    }
    // Forced, the folder is that of the other job from then on.
    json(&["run", "--plan", &second, "--part", "0", "--output", &to, "--force"]);
    json(&["run", "--plan", &second, "--part", "3", "--output", &to]);
    assert_eq!(said(&["run", "--plan", &first, "--part", "0", "--output", &to]).0, Some(2));
}

#[test]
fn files_of_others_are_not_written_over() {
    let folder = folder("foreign");
    let (plan, _) = plan(&folder, &["sim:velo,events=4"], 2);
    let to = path(&folder, "parts");
    std::fs::create_dir(&to).unwrap();
    let foreign = Path::new(&to).join("part-00000.parquet");
    std::fs::write(&foreign, "mine").unwrap();
    let job = ["run", "--plan", &plan, "--part", "0", "--output", &to];
    let (code, _, error) = said(&job);
    assert!(code == Some(2) && error.contains("part-00000.parquet does not belong to this job"), "{error}");
    assert_eq!((std::fs::read(&foreign).unwrap(), names(&to).len()), (b"mine".to_vec(), 1));
    json(&[&job[..], &["--force"]].concat());
    // Parts that were made before folders had owners are known by their reports.
    std::fs::remove_file(Path::new(&to).join("_owner.json")).unwrap();
    json(&["run", "--plan", &plan, "--part", "1", "--output", &to]);
    assert_eq!(json(&["manifest", &to, "--plan", &plan])["parts_done"], 2);
}

#[test]
fn a_flipped_byte_is_found() {
    let folder = folder("flipped");
    let (plan, _) = plan(&folder, &["sim:velo,events=4"], 2);
    let to = path(&folder, "parts");
    json(&["run", "--plan", &plan, "--part", ":", "--output", &to]);
    let part = Path::new(&to).join("part-00001.parquet");
    let whole = std::fs::read(&part).unwrap();
    for at in [4, whole.len() / 2, whole.len() - 9] {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        std::fs::write(&part, bytes).unwrap();
        let (code, _, error) = said(&["manifest", &to, "--plan", &plan, "--quiet"]);
        assert!(
            code == Some(1) && error.contains("part-00001.parquet: it has changed since it was written"),
            "{error}"
        );
    }
}
