//! A cache of compiled kernels in files, by the hash of all their inputs.

use crate::{Error, Result};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_128;

/// Returns the folder of the cache, and creates it if necessary: `PELOTON_CACHE` if that is set, otherwise `peloton` in
/// the user's cache folder.
///
/// # Errors
/// [`Error::Io`] when the folder cannot be created.
pub(super) fn folder() -> Result<PathBuf> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let of_user = || named("XDG_CACHE_HOME").or_else(|| Some(named("HOME")?.join(".cache")));
    let folder = named("PELOTON_CACHE")
        .or_else(|| Some(of_user()?.join("peloton")))
        .unwrap_or_else(|| std::env::temp_dir().join("peloton"));
    std::fs::create_dir_all(&folder).map_err(|e| Error::io(&folder, e))?;
    Ok(folder)
}

/// Returns the file that `make` makes from `inputs`. If the cache does not have it, calls `make` with the name of a
/// new file. Programs may make the same file at the same time.
///
/// # Errors
/// Errors of `make`, and [`Error::Io`].
pub(super) fn get(
    inputs: &[&str],
    extension: &str,
    make: impl FnOnce(&Path) -> Result<()>,
) -> Result<PathBuf> {
    let mut all = Vec::new();
    for input in inputs {
        all.extend_from_slice(&(input.len() as u64).to_le_bytes());
        all.extend_from_slice(input.as_bytes());
    }
    let folder = folder()?;
    let file = folder.join(format!("{:032x}.{extension}", xxh3_128(&all)));
    if !file.exists() {
        let thread = std::thread::current().id();
        let new = folder.join(format!("new-{}-{thread:?}.{extension}", std::process::id()));
        let made = make(&new).and_then(|()| std::fs::rename(&new, &file).map_err(|e| Error::io(&file, e)));
        if made.is_err() {
            let _ = std::fs::remove_file(&new);
        }
        made?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_not_made_again_and_what_failed_is() {
        let own = format!("a test, process {}", std::process::id());
        let get = |make: &dyn Fn(&Path) -> Result<()>| get(&[&own, "x"], "txt", make);
        assert!(get(&|_| Err(Error::Device("no".into()))).is_err());
        let write = |path: &Path| std::fs::write(path, "made").map_err(|e| Error::io(path, e));
        let file = get(&write).unwrap();
        assert_eq!(get(&|_| panic!("made twice")).unwrap(), file);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "made");
        std::fs::remove_file(file).unwrap();
    }
}
