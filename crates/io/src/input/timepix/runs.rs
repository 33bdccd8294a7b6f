//! Finds the files of one run, which a readout cuts into files with consecutive numbers.

use std::path::Path;

/// Whether `next` is the file after `path` in a run: in the same folder, with the same name except that the number
/// before the ending is one higher.
pub fn follows(next: &Path, path: &Path) -> bool {
    let (Some(now), Some(then)) = (numbered(path), numbered(next)) else { return false };
    let number = |digits: &str| digits.parse::<u64>().ok();
    let goes_on = number(now[1]).and_then(|n| n.checked_add(1)).is_some_and(|n| number(then[1]) == Some(n));
    next.parent() == path.parent() && [now[0], now[2]] == [then[0], then[2]] && goes_on
}

/// The parts of a file's name: the text before its number, the digits of the number, and the ending.
fn numbered(path: &Path) -> Option<[&str; 3]> {
    let name = path.file_name()?.to_str()?;
    let end = [".tpx3", ".tpx4"].iter().filter_map(|ending| name.rfind(ending)).max()?;
    let start = name[..end].trim_end_matches(|c: char| c.is_ascii_digit()).len();
    (start < end).then(|| [&name[..start], &name[start..end], &name[end..]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_one_run_when_their_numbers_go_on() {
        let follows = |next: &str, path: &str| follows(Path::new(next), Path::new(path));
        assert!(follows("a/run_000001.tpx3", "a/run_000000.tpx3"));
        assert!(follows("run10.tpx4", "run9.tpx4"));
        assert!(follows("2.tpx3.zst", "1.tpx3.zst"));
        for (next, path) in [
            ("a/run_1.tpx3", "b/run_0.tpx3"),
            ("run_2.tpx3", "run_0.tpx3"),
            ("run_0.tpx3", "run_0.tpx3"),
            ("run_1.tpx3", "walk_0.tpx3"),
            ("run_1.tpx3", "run_0.tpx4"),
            ("run_1.txt", "run_0.txt"),
            ("run.tpx3", "run.tpx3"),
            ("1.tpx3", "18446744073709551615.tpx3"),
        ] {
            assert!(!follows(next, path), "{next} after {path}");
        }
    }
}
