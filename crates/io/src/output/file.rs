//! [`OutputFile`]: a file that gets its name only at the end, when it is complete or the job has failed.
//!
//! ```text
//! create    tracks.parquet: unchanged, or absent      .peloton-x1Y2z3.part: the output
//! finish    tracks.parquet: the output        <------ renamed
//! dropped   tracks.parquet: unchanged, or absent      removed
//! ```
//! Devices, pipes and standard output are written directly, because renaming cannot replace them.

use crate::input::is_pipe;
use peloton::{Error, Result};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tempfile::{Builder, NamedTempFile};

/// Largest number of symbolic links that are followed, as in Linux.
const MAX_LINKS: usize = 40;

/// How complete the output of a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// Complete, or with all results up to a requested early end.
    All,
    /// Complete and synced to the disk.
    Durable,
    /// Incomplete, because of an error.
    Part,
    /// Empty, because of an error.
    Nothing,
}

/// An output file of a job, which has a temporary name in the same folder until it is finished. If it is dropped
/// unfinished, the temporary file is removed, and an older file with the final name is unchanged.
pub struct OutputFile {
    path: PathBuf,
    to: Target,
    /// Whether a write failed: then the file has a hole, also after further writes.
    is_broken: bool,
}

enum Target {
    Temporary(Box<Temporary>),
    /// An output that is written directly.
    Stream(Box<dyn Write + Send>),
}

struct Temporary {
    file: NamedTempFile,
    /// The final name of the file.
    place: PathBuf,
    _unfinished: Unfinished,
}

impl OutputFile {
    /// Begins the file. If `path` is a symbolic link, the link stays and its target is replaced. A replaced file's
    /// permissions are kept. `-` is standard output.
    ///
    /// # Errors
    /// [`Error::Io`] when `path` cannot be written; an older file is left unchanged.
    pub fn create(path: &Path) -> Result<Self> {
        let to = target(path).map_err(|e| Error::io(path, e))?;
        Ok(Self { path: path.into(), to, is_broken: false })
    }

    /// Uses a stream as the output; errors name it by `path`.
    pub fn stream(path: &Path, stream: Box<dyn Write + Send>) -> Self {
        Self { path: path.into(), to: Target::Stream(stream), is_broken: false }
    }

    /// Gives the complete file its final name, and replaces an older file.
    ///
    /// # Errors
    /// [`Error::Io`] when this or an earlier write failed. Then the temporary file is removed.
    pub fn finish(self) -> Result<()> {
        let (path, to) = self.flush()?;
        match to {
            Target::Stream(_) => Ok(()),
            Target::Temporary(temporary) => {
                let Temporary { file, place, .. } = *temporary;
                file.persist(place).map(drop).map_err(|e| Error::io(path, e.error))
            }
        }
    }

    /// Syncs the complete file to the disk, gives it its final name, and syncs the directory.
    ///
    /// # Errors
    /// Errors of [`finish`](Self::finish).
    pub fn finish_durably(self) -> Result<()> {
        let (path, to) = self.flush()?;
        let Target::Temporary(temporary) = to else { return Ok(()) };
        let Temporary { file, place, .. } = *temporary;
        let failed = |e| Error::io(&path, e);
        file.as_file().sync_all().map_err(failed)?;
        file.persist(&place).map_err(|e| failed(e.error))?;
        // Syncs the folder if the system can do that; the file is already complete under its name.
        let folder = place.parent().and_then(|folder| File::open(folder).ok());
        match folder.map_or(Ok(()), |folder| folder.sync_all()) {
            Err(e) if !matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Err(failed(e)),
            _ => Ok(()),
        }
    }

    /// Gives the incomplete output of a failed job its final name. If an older file has that name, the older file is
    /// kept, since it may be complete; then the output is removed, and `false` is returned.
    ///
    /// # Errors
    /// Errors of [`finish`](Self::finish).
    pub fn keep_part(self) -> Result<bool> {
        let (path, to) = self.flush()?;
        let Target::Temporary(temporary) = to else { return Ok(true) };
        let Temporary { file, place, .. } = *temporary;
        match file.persist_noclobber(place) {
            Ok(_) => Ok(true),
            Err(e) if e.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(e) => Err(Error::io(path, e.error)),
        }
    }

    /// Ends the file as `done` requires. Returns `false` if the file is incomplete and an older file with its name was
    /// kept.
    ///
    /// # Errors
    /// Errors of [`finish`](Self::finish).
    pub fn end(self, done: Done) -> Result<bool> {
        match done {
            Done::All => self.finish().map(|()| true),
            Done::Durable => self.finish_durably().map(|()| true),
            Done::Part => self.keep_part(),
            Done::Nothing => Ok(true),
        }
    }

    fn flush(mut self) -> Result<(PathBuf, Target)> {
        let flushed = Write::flush(&mut self);
        let Self { path, to, is_broken } = self;
        match flushed {
            Ok(()) if is_broken => Err(Error::io(path, io::Error::other("an earlier write failed"))),
            Ok(()) => Ok((path, to)),
            Err(e) => Err(Error::io(path, e)),
        }
    }

    fn note<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        self.is_broken |= result.as_ref().is_err_and(|e| e.kind() != io::ErrorKind::Interrupted);
        result
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match &mut self.to {
            Target::Temporary(temporary) => temporary.file.write(bytes),
            Target::Stream(stream) => stream.write(bytes),
        };
        self.note(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = match &mut self.to {
            Target::Temporary(temporary) => temporary.file.flush(),
            Target::Stream(stream) => stream.flush(),
        };
        self.note(flushed)
    }
}

/// Temporary files of this process.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Keeps the name of a temporary file in [`UNFINISHED`], for [`remove_unfinished`].
struct Unfinished(PathBuf);

impl Unfinished {
    fn new(path: &Path) -> Self {
        UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).push(path.into());
        Self(path.into())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).retain(|path| *path != self.0);
    }
}

/// Removes the temporary files of all unfinished outputs, for a process that ends without dropping them.
pub fn remove_unfinished() {
    for path in &*UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner) {
        // Files that were finished meanwhile no longer exist.
        let _ = fs::remove_file(path);
    }
}

/// Writes a whole file at once through an [`OutputFile`].
///
/// # Errors
/// Errors of [`OutputFile`].
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = OutputFile::create(path)?;
    file.write_all(bytes).map_err(|e| Error::io(path, e))?;
    file.finish()
}

/// Writes a whole file at once and returns when it is synced to the disk.
///
/// # Errors
/// Errors of [`OutputFile`].
pub fn write_durably(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = OutputFile::create(path)?;
    file.write_all(bytes).map_err(|e| Error::io(path, e))?;
    file.finish_durably()
}

/// Whether `path` is standard output: `-`, or one of the system's names for it, such as `/dev/stdout`.
pub fn is_standard_output(path: &Path) -> bool {
    matches!(place_of(path), Ok(Place::StandardOutput))
}

/// Whether `path` is standard output, a pipe or a device: such a name does not determine the format of the output.
pub fn is_no_file(path: &Path) -> bool {
    is_standard_output(path) || is_pipe(path)
}

/// The destination of a name.
#[derive(PartialEq)]
pub(super) enum Place {
    StandardOutput,
    /// An open file of this process, which must be written through this name.
    Descriptor,
    /// The name after following symbolic links, in an existing folder.
    Named(PathBuf),
}

pub(super) fn place_of(path: &Path) -> io::Result<Place> {
    if path == Path::new("-") {
        return Ok(Place::StandardOutput);
    }
    let mut at = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        let parent = at.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
        let folder = parent.canonicalize().map_err(|e| {
            let folder = parent.display();
            let message = match e.kind() {
                io::ErrorKind::NotFound => format!("there is no folder {folder}"),
                kind => format!("the folder {folder}: {kind}"),
            };
            io::Error::new(e.kind(), message)
        })?;
        let Some(name) = at.file_name() else { return Ok(Place::Named(at)) };
        if folder.starts_with("/proc") || folder.starts_with("/dev/fd") {
            return Ok(if name == "1" { Place::StandardOutput } else { Place::Descriptor });
        }
        match fs::read_link(&at) {
            Ok(to) => at = folder.join(to),
            Err(_) => return Ok(Place::Named(folder.join(name))),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

fn target(path: &Path) -> io::Result<Target> {
    let stream = |file: File| Target::Stream(Box::new(file));
    let place = match place_of(path)? {
        Place::StandardOutput => return Ok(Target::Stream(Box::new(io::stdout()))),
        Place::Descriptor => return OpenOptions::new().append(true).open(path).map(stream),
        Place::Named(place) => place,
    };
    let existing = match fs::metadata(&place) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => None,
        kind => Some(kind?),
    };
    if existing.is_some() {
        // Opens the file, because renaming would replace a write-protected file.
        let file = OpenOptions::new().write(true).open(&place)?;
        if existing.as_ref().is_some_and(|kind| !kind.is_file()) {
            return Ok(stream(file));
        }
    }
    let permissions = existing.map(|kind| kind.permissions());
    let file = temporary(&place, permissions)?;
    let _unfinished = Unfinished::new(file.path());
    Ok(Target::Temporary(Box::new(Temporary { file, place, _unfinished })))
}

/// A temporary file in the folder of `place`; it is hidden, so that readers of the folder skip it.
fn temporary(place: &Path, permissions: Option<fs::Permissions>) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(".peloton-").suffix(".part");
    #[cfg(unix)]
    builder.permissions(permissions.clone().unwrap_or_else(|| {
        // The permissions of any new file, from which the system removes the user's mask.
        std::os::unix::fs::PermissionsExt::from_mode(0o666)
    }));
    let folder = place.parent().unwrap_or(Path::new("."));
    let file = builder.tempfile_in(folder).map_err(|e| {
        let message = format!("cannot make a temporary file in the output's folder: {}", e.kind());
        io::Error::new(e.kind(), message)
    })?;
    if let Some(permissions) = permissions {
        // Some file systems refuse permissions; the permissions set above are then at most narrower.
        let _ = file.as_file().set_permissions(permissions);
    }
    Ok(file)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use bytes::Bytes;
    use std::sync::Arc;

    /// The content of an output in memory.
    #[derive(Clone, Default)]
    pub struct Written(Arc<Mutex<Vec<u8>>>);

    impl Written {
        pub fn take(&self) -> Bytes {
            std::mem::take(&mut *self.0.lock().unwrap()).into()
        }
    }

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// An output in memory, and its content.
    pub fn in_memory() -> (OutputFile, Written) {
        let written = Written::default();
        (OutputFile::stream(Path::new("memory"), Box::new(written.clone())), written)
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn begin(path: &Path) -> OutputFile {
        let mut file = OutputFile::create(path).unwrap();
        file.write_all(b"new").unwrap();
        file
    }

    #[test]
    fn only_what_is_finished_has_the_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        let file = begin(&path);
        assert!(!path.exists());
        file.finish().unwrap();
        assert_eq!((fs::read(&path).unwrap(), names(folder.path())), (b"new".into(), vec!["a.json".into()]));
        write_whole(&path, b"newer").unwrap();
        drop(begin(&path));
        assert!(!begin(&path).keep_part().unwrap());
        assert_eq!(
            (fs::read(&path).unwrap(), names(folder.path())),
            (b"newer".into(), vec!["a.json".into()])
        );
        let other = folder.path().join("b.json");
        assert!(begin(&other).keep_part().unwrap());
        assert_eq!(fs::read(other).unwrap(), b"new");
        assert_eq!(names(folder.path()), ["a.json", "b.json"]);
    }

    #[test]
    fn a_file_with_a_hole_is_not_kept() {
        struct Failing(u32);
        impl Write for Failing {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0 += 1;
                if self.0 == 2 { Err(io::Error::other("full")) } else { Ok(bytes.len()) }
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut file = OutputFile::stream(Path::new("a"), Box::new(Failing(0)));
        file.write_all(b"1").unwrap();
        assert!(file.write_all(b"2").is_err());
        file.write_all(b"3").unwrap();
        assert!(matches!(file.finish(), Err(Error::Io { .. })));
    }

    #[test]
    fn what_cannot_be_made_is_an_error_that_names_the_output() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path().to_path_buf(), folder.path().join("no/such/folder.json")] {
            let Err(Error::Io { path: named, .. }) = OutputFile::create(&path) else { panic!("{path:?}") };
            assert_eq!(named, path);
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let [file, link, dangling] = ["a", "link", "dangling"].map(|name| folder.path().join(name));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        fs::write(&file, "old").unwrap();
        let usual = mode(&file);
        symlink("a", &link).unwrap();
        symlink("new", &dangling).unwrap();
        for wanted in [0o600, 0o666, 0o640] {
            fs::set_permissions(&file, fs::Permissions::from_mode(wanted)).unwrap();
            begin(&link).finish().unwrap();
            assert_eq!((mode(&file), fs::read(&file).unwrap()), (wanted, b"new".into()));
        }
        begin(&dangling).finish().unwrap();
        assert_eq!(mode(&folder.path().join("new")), usual);
        assert!([link, dangling].iter().all(|link| link.is_symlink()));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn devices_are_written_as_they_are() {
        write_whole(Path::new("/dev/null"), b"gone").unwrap();
        let full = write_whole(Path::new("/dev/full"), b"no room").unwrap_err().to_string();
        assert!(full.starts_with("/dev/full: "), "{full}");
        for name in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
            assert!(is_standard_output(Path::new(name)), "{name}");
        }
        assert!(!["/dev/null", "/dev/stderr", "1"].iter().any(|name| is_standard_output(Path::new(name))));
    }
}
