//! [`SequenceName`]: the sequences.

use peloton_io::input::{Format, Kind, kind_of, kind_of_standard_input};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Hands the list of all sequences to a macro: the variant of [`SequenceName`], the name on the command line, and the
/// [`System`](crate::System), which is known where the registry uses it. A new sequence is a line here.
macro_rules! with_all_sequences {
    ($macro:ident) => {
        $macro! {
            /// Velo banks or hits to Velo tracks.
            #[default]
            Velo = "velo": VeloSystem,
            /// Velo and UT banks to Velo tracks with hits in the UT.
            VeloUt = "velo-ut": VELO_UT,
            /// UT banks to UT hits.
            Ut = "ut": UT,
            /// SciFi banks to SciFi hits.
            SciFiHits = "scifi-hits": SCIFI_HITS,
            /// SciFi banks to tracks in the SciFi.
            SciFi = "scifi": SCIFI,
            /// Velo and SciFi banks to tracks through both.
            Long = "long": LONG,
            /// Velo, UT and SciFi banks to tracks through all of them.
            LongUt = "long-ut": LONG_UT,
            /// Banks of LHCb to products of the algorithms that the configuration lists.
            Own = "own": OWN,
            /// Pixel hits to clusters; an endless stream.
            Timepix = "timepix": TimepixSystem,
            /// Hits of the cylinder detector to tracks with states.
            Cylinder = "cylinder": CylinderSystem,
            /// Given tracks of the cylinder detector to smoothed states.
            CylinderFit = "cylinder-fit": CylinderFitSystem,
        }
    };
}
pub(crate) use with_all_sequences;

macro_rules! names_of_sequences {
    ($($(#[$doc:meta])* $variant:ident = $name:literal: $system:expr,)+) => {
        /// Which sequence runs.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub enum SequenceName {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)+
        }

        peloton::names!(SequenceName, "sequence", { $($variant => $name),+ });
    };
}
with_all_sequences!(names_of_sequences);

impl SequenceName {
    /// The sequence that fits inputs of this kind, by their names, their format or the content of the first of them;
    /// none where only its reader can tell, as for a named pipe, or where several sequences read it, as for raw
    /// banks. Reads the first bytes of standard input, and waits for them.
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
