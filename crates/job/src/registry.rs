//! Maps the names of sequences to their systems.

use crate::sequence_name::with_all_sequences;
use crate::system::System;
use crate::systems::{
    CylinderSystem, LONG, LONG_UT, OWN, SCIFI, SCIFI_HITS, TimepixSystem, UT, VELO_UT, VeloSystem,
};
use crate::{Preset, SequenceName};

macro_rules! systems_of_names {
    ($($(#[$doc:meta])* $variant:ident = $name:literal: $system:expr,)+) => {
        impl SequenceName {
            /// Returns the system of the sequence.
            pub(crate) fn system(self) -> &'static dyn System {
                match self {
                    $(Self::$variant => &$system,)+
                }
            }
        }
    };
}
with_all_sequences!(systems_of_names);

impl SequenceName {
    /// Returns the presets of the sequence; none for a sequence with a single set of parameters.
    pub fn presets(self) -> &'static [Preset] {
        self.system().presets()
    }
}
