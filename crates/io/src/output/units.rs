//! Converts values from the kernels' units to the units in files.

use arrow_array::{ArrayRef, Float64Array};
use arrow_schema::DataType;
use peloton::event::{ColumnInfo, Kind, NS_PER_TICK, Values};
use std::sync::Arc;

/// Number of eV in a keV.
const EV_PER_KEV: f64 = 1000.0;

/// The form in which a column of a results schema is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Unchanged.
    Plain,
    /// Ticks of 1.5625 ns as ns.
    Nanoseconds,
    /// eV as keV; 0 becomes null, because a measured energy is never 0.
    KiloElectronVolts,
}

impl Form {
    /// The form in which a column is written to files.
    pub fn of(info: &ColumnInfo) -> Self {
        match info.unit {
            "1.5625 ns" => Self::Nanoseconds,
            "eV" => Self::KiloElectronVolts,
            _ => Self::Plain,
        }
    }

    /// Type of the values in files.
    pub fn data_type(self, kind: Kind) -> DataType {
        match (self, kind) {
            (Self::Nanoseconds | Self::KiloElectronVolts, _) => DataType::Float64,
            (Self::Plain, Kind::Status | Kind::U16) => DataType::UInt16,
            (Self::Plain, Kind::Starts | Kind::U32) => DataType::UInt32,
            (Self::Plain, Kind::U8) => DataType::UInt8,
            (Self::Plain, Kind::U64) => DataType::UInt64,
            (Self::Plain, Kind::I64) => DataType::Int64,
            (Self::Plain, Kind::F32) => DataType::Float32,
        }
    }

    /// Unit of the values in files; `unit` is the unit of the values in memory.
    pub fn unit(self, unit: &'static str) -> &'static str {
        match self {
            Self::Plain => unit,
            Self::Nanoseconds => "ns",
            Self::KiloElectronVolts => "keV",
        }
    }

    /// Whether values in files may be null.
    pub fn is_nullable(self) -> bool {
        self == Self::KiloElectronVolts
    }

    /// The values, converted to the unit in files; none for a form that needs no conversion.
    pub fn convert(self, values: Values<'_>) -> Option<ArrayRef> {
        match (self, values) {
            (Self::Nanoseconds, Values::I64(ticks)) => Some(times(ticks.iter().copied())),
            (Self::Nanoseconds, Values::U32(ticks)) => Some(times(ticks.iter().map(|&tick| tick.into()))),
            (Self::KiloElectronVolts, Values::U64(energies)) => {
                Some(Arc::new(energies.iter().copied().map(kev).collect::<Float64Array>()))
            }
            _ => None,
        }
    }
}

fn times(ticks: impl Iterator<Item = i64>) -> ArrayRef {
    Arc::new(Float64Array::from_iter_values(ticks.map(ns)))
}

/// Converts ticks to ns, exactly below six days: a tick is 25/16 ns.
pub(super) fn ns(ticks: i64) -> f64 {
    // 25 times the number of ticks fits in the digits of a float, so that the product is exact.
    if ticks.unsigned_abs() < 1 << 48 {
        return ticks as f64 * NS_PER_TICK;
    }
    let sixteenths = i128::from(ticks) * 25;
    sixteenths.div_euclid(16) as f64 + sixteenths.rem_euclid(16) as f64 / 16.0
}

/// Converts an energy to keV; none without a calibration.
pub(super) fn kev(ev: u64) -> Option<f64> {
    (ev > 0).then(|| ev as f64 / EV_PER_KEV)
}

#[cfg(test)]
mod tests {
    use super::*;
    use peloton::event::{PixelClusters, Results};

    #[test]
    fn times_and_energies_have_the_units_of_people() {
        assert_eq!([ns(16), ns(1), ns(-1), ns(1 << 50)], [25.0, 1.5625, -1.5625, 1759218604441600.0]);
        let by_integers = |ticks: i64| {
            let sixteenths = i128::from(ticks) * 25;
            sixteenths.div_euclid(16) as f64 + sixteenths.rem_euclid(16) as f64 / 16.0
        };
        for ticks in [1 << 48, 1 << 47, 1 << 20, 1 << 55].into_iter().flat_map(|at: i64| at - 40..at + 40) {
            assert_eq!([ns(ticks), ns(-ticks)], [by_integers(ticks), by_integers(-ticks)]);
        }
        assert_eq!([kev(0), kev(12_345)], [None, Some(12.345)]);
    }

    #[test]
    fn what_has_a_form_can_be_converted() {
        // A column of another type would be written in the kernels' unit, but labelled with the files' unit.
        let clusters = PixelClusters::default();
        let mut converted = 0;
        for (info, values) in clusters.table().columns() {
            let form = Form::of(info);
            assert_eq!(form.convert(*values).is_some(), form != Form::Plain, "{}", info.name);
            converted += usize::from(form != Form::Plain);
        }
        assert_eq!(converted, 4);
    }
}
