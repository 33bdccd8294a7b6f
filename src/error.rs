//! Errors: [`Error`] ends a job (bad configuration, unreadable file), [`Status`] marks one event and the job
//! continues.

use std::path::PathBuf;

/// Result of a function that can fail with an `Error`.
pub type Result<T> = std::result::Result<T, Error>;

/// An error that ends a job. A single event that fails gets a [`Status`] instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A configuration value that cannot be used, with its name and the reason.
    #[error("configuration: {0}")]
    Config(String),
    /// An unknown name.
    #[error("unknown {what} `{given}`: choose one of {}", choices.join(", "))]
    UnknownName {
        /// Kind of the named thing, in words.
        what: &'static str,
        /// The given name.
        given: String,
        /// The known names.
        choices: Vec<&'static str>,
    },
    /// An ISA or gang size that this CPU or build does not have.
    #[error("{0}")]
    Unsupported(String),
    /// A file or stream that cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file, or `-` for standard input.
        path: PathBuf,
        /// The error that the operating system reports.
        source: std::io::Error,
    },
    /// Input whose content does not follow its format.
    #[error("{place}: {message}")]
    Format {
        /// The file and, if known, the line or event.
        place: String,
        /// The fault, and the expected content.
        message: String,
    },
    /// Columns whose lengths or offsets contradict each other.
    #[error("columns: {0}")]
    Columns(String),
    /// A resource that the operating system refuses: threads, memory, signal handlers.
    #[error("system: {0}")]
    System(String),
    /// A fault (bug) of this program.
    #[error("internal error: {0}; please report it")]
    Internal(String),
    /// A failure of a device: no memory, a kernel that does not compile, a failed launch.
    #[error("device: {0}")]
    Device(String),
}

impl Error {
    /// Returns whether the cause is the request, such as a flag, name or value, and not its execution.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Config(_) | Self::UnknownName { .. } | Self::Unsupported(_))
    }

    /// Makes an I/O error for the file at `path`.
    pub fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }

    /// Makes a format error at `place`.
    pub fn format(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Format { place: place.into(), message: message.into() }
    }
}

/// Defines [`Status`] by a table, one line a status: code, name, meaning.
macro_rules! statuses {
    ($($variant:ident = $code:literal, $name:literal, $meaning:literal;)+) => {
        /// Outcome of one event. C programs and files use the codes of statuses, whose meanings never change.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
        #[serde(rename_all = "snake_case")]
        #[repr(u16)]
        #[non_exhaustive]
        pub enum Status {
            $(#[doc = $meaning] $variant = $code,)+
        }

        impl Status {
            /// All statuses, in the order of their codes.
            pub const ALL: [Status; [$($code),+].len()] = [$(Status::$variant),+];

            /// Returns the code of this status, a number that never changes.
            pub fn code(self) -> u16 {
                self as u16
            }

            /// Returns the name, which the `dropped` counts give as the reason.
            pub fn name(self) -> &'static str {
                match self {
                    $(Status::$variant => $name,)+
                }
            }

            /// Returns whether the event was reconstructed, from all or from some of its raw banks.
            pub fn is_reconstructed(self) -> bool {
                matches!(self, Self::Ok | Self::Partial)
            }

            /// Combines the statuses of two parts of an event: returns the first failure, else `Partial` if one of the
            /// parts lacks raw banks, else `Ok`.
            pub fn and(self, other: Self) -> Self {
                match (self, other) {
                    (Self::Ok, other) => other,
                    (Self::Partial, Self::Ok) => Self::Partial,
                    (Self::Partial, other) => other,
                    (failed, _) => failed,
                }
            }

            /// Returns the meaning of the status, in a sentence.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Status::$variant => $meaning,)+
                }
            }
        }
    };
}

statuses! {
    Ok = 0, "ok", "Reconstructed.";
    NotFinite = 1, "not_finite", "A coordinate is NaN or infinite.";
    BadOffsets = 2, "bad_offsets", "The module offsets decrease, or do not end at the number of hits.";
    TooManyHits = 3, "too_many_hits", "The event has more hits than the configuration allows.";
    TooManyHitsInModule = 4, "too_many_hits_in_module", "A module has more hits than the configuration allows.";
    TooManyTracks = 5, "too_many_tracks", "The event has more track candidates than the configuration allows.";
    Corrupt = 6, "corrupt", "The event's text or bytes could not be decoded.";
    OutOfRange = 7, "out_of_range", "A coordinate lies outside every detector.";
    DaqError = 8, "daq_error", "The readout reports a fault of the event: a fragment that is throttled, missing, malformed or mistimed, or an error bank of a detector.";
    BadChecksum = 9, "bad_checksum", "The stored checksum differs from the checksum of the bytes.";
    TruncatedBank = 10, "truncated_bank", "A raw bank, or the number of words stated in it, extends beyond the available bytes.";
    DuplicateBank = 11, "duplicate_bank", "Two raw banks of the same kind come from the same source.";
    OversizedBank = 12, "oversized_bank", "The raw banks have more words than a detector can send.";
    BadBank = 13, "bad_bank", "A raw bank contains values that its detector cannot send: a source, version or channel that does not exist.";
    MissingBanks = 14, "missing_banks", "The event has no raw bank of a detector that the sequence reads.";
    InternalFault = 15, "internal_fault", "The program failed on this event alone: please report the failure with the event.";
    NoTruth = 16, "no_truth", "The event has no simulated truth, but the job needs it.";
    Partial = 17, "partial", "The event was reconstructed without some of its raw banks: a source sent no bank, or a damaged bank was left out.";
    BadErrors = 18, "bad_errors", "A measurement error of a hit is 0, negative, NaN or infinite.";
}
