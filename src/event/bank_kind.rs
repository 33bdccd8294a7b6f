//! [`BankKind`] and [`BadBanks`]: kinds of raw banks, and policies for events with damaged raw banks.

/// Kind of raw banks from which hits are decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(usize)]
pub enum BankKind {
    /// Velo superpixels (bank type 63).
    VeloSuperpixel = 0,
    /// Velo clusters made in the readout (bank type 73).
    VeloRetina = 1,
    /// UT (bank type 66).
    Ut = 2,
    /// SciFi (bank type 64).
    SciFi = 3,
}

impl BankKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [BankKind; 4] =
        [BankKind::VeloSuperpixel, BankKind::VeloRetina, BankKind::Ut, BankKind::SciFi];

    /// Returns the bank type: the number of this kind in raw bank headers.
    pub const fn code(self) -> u8 {
        match self {
            Self::VeloSuperpixel => 63,
            Self::VeloRetina => 73,
            Self::Ut => 66,
            Self::SciFi => 64,
        }
    }

    /// Returns the kind with this bank type; `None` if banks of this type are not decoded.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }

    /// Returns the name of the detector in summaries.
    pub const fn detector(self) -> &'static str {
        match self {
            Self::VeloSuperpixel | Self::VeloRetina => "velo",
            Self::Ut => "ut",
            Self::SciFi => "scifi",
        }
    }

    /// Returns the number of the readout board with this source ID. An event's banks of one kind are sorted by board.
    pub const fn board(self, version: u8, source: u16) -> u16 {
        match (self, version) {
            // The upper bits say on which side of the beam the sensors stand.
            (Self::VeloRetina, 4) => source & 0x1FF,
            // Several numbers stand for one board. An impossible board gets the largest number, so that it comes last.
            (Self::Ut, 4) if source >> 11 != 0 => (2 * (source & 0xFF) + (source >> 10 & 1)).wrapping_sub(2),
            _ => source,
        }
    }

    /// Sort key of a bank within an event: by kind, then by board.
    pub(super) fn key(self, version: u8, source: u16) -> u32 {
        (self as u32) << 16 | u32::from(self.board(version, source))
    }
}

/// Policy for an event with a damaged raw bank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BadBanks {
    /// The event is lost, and its status names the damage.
    #[default]
    Event,
    /// The event is reconstructed from its other banks, with [`Status::Partial`](crate::Status::Partial).
    Bank,
}

crate::names!(BadBanks, "policy for damaged banks", { Event => "event", Bank => "bank" });
