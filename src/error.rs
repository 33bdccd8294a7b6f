//! What can go wrong: [`Error`] ends a job (bad configuration, unreadable file), [`Status`] marks one event
//! and the job goes on.

use std::path::PathBuf;

/// Result of everything that can end a job.
pub type Result<T> = std::result::Result<T, Error>;

/// An error that ends a job. Per-event trouble is a [`Status`] instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A configuration value that cannot be used; says which and why.
    #[error("configuration: {0}")]
    Config(String),
    /// A name that nothing has.
    #[error("unknown {what} `{given}`: choose one of {}", choices.join(", "))]
    UnknownName {
        /// What the name should be of.
        what: &'static str,
        /// What was given.
        given: String,
        /// The names that there are.
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
        /// What the system said.
        source: std::io::Error,
    },
    /// Input whose content is not what its format promises.
    #[error("{place}: {message}")]
    Format {
        /// File and, where known, line or event.
        place: String,
        /// What is wrong and what was expected.
        message: String,
    },
    /// Columns whose lengths or offsets do not belong together.
    #[error("columns: {0}")]
    Columns(String),
    /// What the operating system does not give: threads, memory, signal handlers.
    #[error("system: {0}")]
    System(String),
    /// A fault of this program.
    #[error("internal error: {0}; please report it")]
    Internal(String),
    /// A device that cannot do its work: no memory, a kernel that does not compile, a failed launch.
    #[error("device: {0}")]
    Device(String),
}

impl Error {
    /// Whether the user asked for something that cannot be: a flag, name or value, and not the work, is at fault.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Config(_) | Self::UnknownName { .. } | Self::Unsupported(_))
    }

    /// Wraps an I/O error with the path it happened on.
    pub fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }

    /// A format error at `place`.
    pub fn format(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Format { place: place.into(), message: message.into() }
    }
}

/// What became of one event. The numbers are part of the interface (C, files) and never change meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u16)]
#[non_exhaustive]
pub enum Status {
    /// Reconstructed.
    Ok = 0,
    /// A coordinate is NaN or infinite.
    NotFinite = 1,
    /// Module offsets fall or do not end at the number of hits.
    BadOffsets = 2,
    /// More hits in the event than the configuration allows.
    TooManyHits = 3,
    /// More hits in one module than the configuration allows.
    TooManyHitsInModule = 4,
    /// More track candidates than the configuration allows.
    TooManyTracks = 5,
    /// The event's text or bytes could not be decoded.
    Corrupt = 6,
    /// A coordinate lies outside every detector (its size is absurd).
    OutOfRange = 7,
    /// The readout itself reports a fault of the event: a throttled, missing, truncated or mistimed fragment.
    DaqError = 8,
    /// The checksum is not that of the bytes.
    BadChecksum = 9,
    /// A raw bank, or its own count of words, reaches beyond the bytes that there are.
    TruncatedBank = 10,
    /// Two raw banks of one kind come from one source.
    DuplicateBank = 11,
    /// More words in raw banks than a detector can send.
    OversizedBank = 12,
    /// A raw bank holds what its detector cannot send: a source, version or channel that does not exist.
    BadBank = 13,
    /// No raw bank of a detector that is to be reconstructed.
    MissingBanks = 14,
    /// The program itself failed on this event, and only on this one: please report it with the event.
    InternalFault = 15,
}

impl Status {
    /// All statuses, in the order of their codes.
    pub const ALL: [Status; 16] = [
        Status::Ok,
        Status::NotFinite,
        Status::BadOffsets,
        Status::TooManyHits,
        Status::TooManyHitsInModule,
        Status::TooManyTracks,
        Status::Corrupt,
        Status::OutOfRange,
        Status::DaqError,
        Status::BadChecksum,
        Status::TruncatedBank,
        Status::DuplicateBank,
        Status::OversizedBank,
        Status::BadBank,
        Status::MissingBanks,
        Status::InternalFault,
    ];

    /// The stable number of this status.
    pub fn code(self) -> u16 {
        self as u16
    }

    /// The name used as the reason in `dropped` counts.
    pub fn name(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::NotFinite => "not_finite",
            Status::BadOffsets => "bad_offsets",
            Status::TooManyHits => "too_many_hits",
            Status::TooManyHitsInModule => "too_many_hits_in_module",
            Status::TooManyTracks => "too_many_tracks",
            Status::Corrupt => "corrupt",
            Status::OutOfRange => "out_of_range",
            Status::DaqError => "daq_error",
            Status::BadChecksum => "bad_checksum",
            Status::TruncatedBank => "truncated_bank",
            Status::DuplicateBank => "duplicate_bank",
            Status::OversizedBank => "oversized_bank",
            Status::BadBank => "bad_bank",
            Status::MissingBanks => "missing_banks",
            Status::InternalFault => "internal_fault",
        }
    }
}
