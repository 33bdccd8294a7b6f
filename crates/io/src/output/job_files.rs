//! [`JobFiles`]: checks the inputs and outputs of a job before any file is opened.

use super::file::{Place, place_of};
use peloton::{Error, Result};
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

/// Depth of nested folders that are searched: the depth to which inputs are read.
const DEPTH: usize = 2;

/// The input and output files of a job, by the names that the user gave.
#[derive(Debug, Default)]
pub struct JobFiles {
    read: Vec<Named>,
    written: Vec<Named>,
}

/// A name, and the option that gave it, such as `--output`.
#[derive(Debug)]
struct Named {
    what: &'static str,
    path: PathBuf,
}

impl Named {
    fn text(&self) -> String {
        format!("{} {}", self.what, self.path.display())
    }
}

impl JobFiles {
    /// Adds files or folders that the job reads. `-` is standard input; other inputs, such as `sim:velo`, are skipped.
    pub fn read<P: AsRef<Path>>(&mut self, what: &'static str, paths: impl IntoIterator<Item = P>) {
        self.read.extend(paths.into_iter().map(|path| Named { what, path: path.as_ref().into() }));
    }

    /// Adds files that the job writes; `-` is standard output.
    pub fn written<P: AsRef<Path>>(&mut self, what: &'static str, paths: impl IntoIterator<Item = P>) {
        self.written.extend(paths.into_iter().map(|path| Named { what, path: path.as_ref().into() }));
    }

    /// Checks that the job writes no file twice, and no file that it reads, even under different names.
    ///
    /// # Errors
    /// [`Error::Config`] that gives both names of the file.
    pub fn check(&self) -> Result<()> {
        for (i, one) in self.written.iter().enumerate() {
            if let Some(other) = self.written[..i].iter().find(|other| is_same_output(&other.path, &one.path))
            {
                let (one, other) = (one.text(), other.text());
                let message =
                    format!("{other} and {one} are the same file: give each output a separate name");
                return Err(Error::Config(message));
            }
        }

        let written: Vec<(&Named, Identity)> =
            self.written.iter().filter_map(|one| Some((one, written_identity(&one.path)?))).collect();
        // An output that does not exist yet cannot be an input.
        if written.is_empty() {
            return Ok(());
        }
        self.read.iter().try_for_each(|named| {
            let mut found = None;
            visit(&named.path, DEPTH, &mut |identity| {
                found = found.or(written.iter().find(|(_, output)| *output == identity).map(|(one, _)| *one));
            });
            found.map_or(Ok(()), |output| {
                let (output, input) = (output.text(), named.text());
                let message = format!("{output} would overwrite {input}: give the output another name");
                Err(Error::Config(message))
            })
        })
    }
}

/// Numbers that identify a file.
#[cfg(unix)]
type Identity = (u64, u64);
#[cfg(not(unix))]
type Identity = PathBuf;

/// The identity of a file or a named pipe. None for devices and sockets: a job that writes to a terminal or a null
/// device does not overwrite its input.
fn identity(path: &Path) -> Option<(Identity, Metadata)> {
    let kind = fs::metadata(path).ok()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::{FileTypeExt, MetadataExt};
        (kind.is_file() || kind.file_type().is_fifo()).then(|| ((kind.dev(), kind.ino()), kind))
    }
    #[cfg(not(unix))]
    {
        kind.is_file().then(|| path.canonicalize().ok()).flatten().map(|path| (path, kind))
    }
}

/// The identity of the file to which a shell redirected a standard stream; none for pipes and sockets, which input
/// and output may share.
fn redirected(stream: &str) -> Option<Identity> {
    identity(Path::new(stream)).filter(|(_, kind)| kind.is_file()).map(|(identity, _)| identity)
}

fn written_identity(path: &Path) -> Option<Identity> {
    match place_of(path).ok()? {
        Place::StandardOutput => redirected("/dev/stdout"),
        Place::Descriptor | Place::Named(_) => identity(path).map(|(identity, _)| identity),
    }
}

fn is_same_output(one: &Path, other: &Path) -> bool {
    let (Ok(place), Ok(other_place)) = (place_of(one), place_of(other)) else { return one == other };
    if let (Some(one), Some(other)) = (written_identity(one), written_identity(other)) {
        return one == other;
    }
    place == other_place
        && match place {
            Place::StandardOutput => true,
            Place::Descriptor => one == other,
            Place::Named(place) => !place.exists(),
        }
}

/// Calls `seen` with every file of a name: the file itself, or the files in a folder.
fn visit(path: &Path, depth: usize, seen: &mut impl FnMut(Identity)) {
    if path == Path::new("-") {
        redirected("/dev/stdin").into_iter().for_each(seen);
    } else if let Some((identity, _)) = identity(path) {
        seen(identity);
    } else if let Ok(entries) = fs::read_dir(path)
        && depth > 0
    {
        entries.flatten().for_each(|entry| visit(&entry.path(), depth - 1, seen));
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// The error of a job that reads and writes these files.
    fn wrong(read: &[&Path], written: &[&Path]) -> Option<String> {
        let mut files = JobFiles::default();
        files.read("input", read);
        files.written("--output", written);
        files.check().err().map(|error| {
            assert!(matches!(error, Error::Config(_)));
            error.to_string()
        })
    }

    #[test]
    fn one_file_under_many_names_is_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let sub = root.join("sub");
        fs::create_dir(&sub).unwrap();
        let [file, other, link, hard, absent] = ["a", "b", "link", "hard", "c"].map(|name| root.join(name));
        fs::write(&file, "a").unwrap();
        fs::write(&other, "b").unwrap();
        symlink(&file, &link).unwrap();
        fs::hard_link(&file, &hard).unwrap();
        let winding = sub.join("..").join("a");
        for name in [&file, &link, &hard, &winding] {
            for (read, written) in [(name, &file), (&file, name), (&root.to_path_buf(), name)] {
                let message = wrong(&[read], &[written]).expect("one file");
                assert!(message.contains("--output") && message.contains("input"), "{message}");
            }
            assert!(wrong(&[], &[&file, name]).is_some());
            assert_eq!(wrong(&[name], &[&other, &absent]), None);
        }
        let inner = sub.join("d");
        fs::write(&inner, "d").unwrap();
        assert!(wrong(&[root], &[&inner]).is_some());
        assert_eq!(wrong(&[root], &[&absent]), None);
        // Names of files that do not exist yet.
        let winding = sub.join("../c");
        symlink("c", sub.join("link")).unwrap();
        assert!(wrong(&[], &[&absent, &winding]).is_some());
        assert!(wrong(&[], &[&sub.join("c"), &sub.join("link")]).is_some());
        assert_eq!(wrong(&[], &[&absent, &sub.join("c")]), None);
    }

    #[test]
    fn devices_may_be_shared_and_standard_output_may_not() {
        let [null, minus] = ["/dev/null", "-"].map(Path::new);
        assert_eq!(wrong(&[null], &[null, null, minus]), None);
        assert!(wrong(&[], &[minus, minus]).is_some());
        assert_eq!(wrong(&[Path::new("sim:velo,events=1"), Path::new("no such file")], &[minus]), None);
    }
}
