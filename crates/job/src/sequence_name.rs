//! [`SequenceName`]: the names of all sequences.

use peloton_io::input::{Format, Kind, kind_of, kind_of_standard_input};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Passes the list of all sequences to a macro. A line has the variant of [`SequenceName`], the name on the command
/// line, and the [`System`](crate::System), a name that only the registry resolves. A new sequence needs one line here.
macro_rules! with_all_sequences {
    ($macro:ident) => {
        $macro! {
            /// Finds tracks in the Velo from raw banks or hits.
            #[default]
            Velo = "velo": VeloSystem,
            /// Decodes Velo and UT banks and adds hits in the UT to Velo tracks.
            VeloUt = "velo-ut": VELO_UT,
            /// Decodes UT banks to hits.
            Ut = "ut": UT,
            /// Decodes SciFi banks to hits.
            SciFiHits = "scifi-hits": SCIFI_HITS,
            /// Decodes SciFi banks and finds tracks in the SciFi.
            SciFi = "scifi": SCIFI,
            /// Decodes Velo and SciFi banks and finds tracks through both detectors.
            Long = "long": LONG,
            /// Decodes Velo, UT and SciFi banks and finds tracks through all three detectors.
            LongUt = "long-ut": LONG_UT,
            /// Runs the algorithms that the configuration lists on raw banks of LHCb.
            Own = "own": OWN,
            /// Clusters pixel hits from an endless stream.
            Timepix = "timepix": TimepixSystem,
            /// Finds tracks and their states from hits of the cylinder detector.
            Cylinder = "cylinder": CylinderSystem::Find,
            /// Fits given tracks of the cylinder detector and smooths their states.
            CylinderFit = "cylinder-fit": CylinderSystem::Fit,
        }
    };
}
pub(crate) use with_all_sequences;

macro_rules! names_of_sequences {
    ($($(#[$doc:meta])* $variant:ident = $name:literal: $system:expr,)+) => {
        /// Name of a sequence to run.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub enum SequenceName {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)+
        }

        peloton::names!(SequenceName, "sequence", { $($variant => $name),+ });
    };
}
with_all_sequences!(names_of_sequences);

impl SequenceName {
    /// Returns the sequence that fits the inputs, by their names, their format or the content of the first input.
    /// Returns none if the content cannot be identified without reading it, as for a named pipe, or if several
    /// sequences read it, as for raw banks. Waits for the first bytes of standard input.
    pub fn of_inputs(inputs: &[String], format: Format) -> Option<Self> {
        match format {
            Format::Pixels(_) => return Some(Self::Timepix),
            Format::Cylinder => return Some(Self::Cylinder),
            Format::Auto => {}
            _ => return None,
        }
        let first = inputs.first()?;
        let starts = |words: &[&str]| words.iter().any(|word| first.starts_with(word));
        if starts(&["sim:timepix", "tcp://", "udp://"]) {
            return Some(Self::Timepix);
        }
        if starts(&["sim:cylinder"]) {
            return Some(Self::Cylinder);
        }
        if starts(&["sim:"]) {
            return None;
        }
        let kind = if first == "-" { kind_of_standard_input() } else { kind_of(Path::new(first)) };
        match kind? {
            Kind::Pixels => Some(Self::Timepix),
            Kind::Cylinder => Some(Self::Cylinder),
            Kind::Velo | Kind::Raw => None,
        }
    }
}
