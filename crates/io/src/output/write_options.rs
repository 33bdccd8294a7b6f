//! [`WriteOptions`]: the columns of a Parquet table that are written, and their compression.

use arrow_schema::{Schema, SchemaRef};
use parquet::basic::{Compression, ZstdLevel};
use peloton::engine::{Spread, ThisThread};
use peloton::event::no_column;
use peloton::{Error, Result};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Options for writing tables.
#[derive(Debug, Clone)]
pub struct WriteOptions {
    /// Names of the columns to write; all columns if the list is empty.
    pub columns: Vec<String>,
    /// Names of the columns for which the results have no values; these columns are null.
    pub missing: &'static [&'static str],
    /// Compression of the columns.
    pub compression: TableCompression,
    /// Threads that encode columns in parallel. The bytes do not depend on the number of threads.
    pub threads: Arc<dyn Spread>,
}

impl Default for WriteOptions {
    fn default() -> Self {
        let (columns, compression) = (Vec::new(), TableCompression::default());
        Self { columns, missing: &[], compression, threads: Arc::new(ThisThread) }
    }
}

impl WriteOptions {
    /// The fields of a table that are written, in the table's order.
    ///
    /// # Errors
    /// [`Error::Config`] for a column that the table does not have.
    pub(super) fn chosen(&self, schema: &SchemaRef) -> Result<SchemaRef> {
        if self.columns.is_empty() {
            return Ok(schema.clone());
        }
        if let Some(unknown) = self.columns.iter().find(|name| schema.field_with_name(name).is_err()) {
            let names: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
            return Err(Error::Config(format!("--columns: {}", no_column(unknown, &names))));
        }
        let is_chosen = |name: &String| self.columns.contains(name);
        let fields = schema.fields().iter().filter(|field| is_chosen(field.name())).cloned();
        Ok(Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone())))
    }
}

/// Compression of the columns of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableCompression {
    /// zstd with this compression level, 1 to 22.
    Zstd(i32),
    /// LZ4.
    Lz4,
    /// No compression.
    None,
}

impl Default for TableCompression {
    fn default() -> Self {
        Self::Zstd(1)
    }
}

impl TableCompression {
    pub(super) fn codec(self) -> Compression {
        match self {
            Self::Zstd(level) => Compression::ZSTD(ZstdLevel::try_new(level).unwrap_or_default()),
            Self::Lz4 => Compression::LZ4_RAW,
            Self::None => Compression::UNCOMPRESSED,
        }
    }
}

impl fmt::Display for TableCompression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zstd(1) => f.pad("zstd"),
            Self::Zstd(level) => f.pad(&format!("zstd:{level}")),
            Self::Lz4 => f.pad("lz4"),
            Self::None => f.pad("none"),
        }
    }
}

impl FromStr for TableCompression {
    type Err = Error;

    /// # Errors
    /// [`Error::Config`] that lists the compressions.
    fn from_str(text: &str) -> Result<Self> {
        let level = |level: &str| level.parse().ok().filter(|level| ZstdLevel::try_new(*level).is_ok());
        match text {
            "zstd" => Some(Self::default()),
            "lz4" => Some(Self::Lz4),
            "none" => Some(Self::None),
            other => other.strip_prefix("zstd:").and_then(level).map(Self::Zstd),
        }
        .ok_or_else(|| {
            let choices = "zstd, zstd:N with N from 1 to 22, lz4 or none";
            Error::Config(format!("unknown compression `{text}`: choose {choices}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::arrow_schema;
    use peloton::event::{Product, VeloUtTracks};

    #[test]
    fn an_old_name_of_a_column_leads_to_the_new_one() {
        let schema = arrow_schema(VeloUtTracks::SCHEMA, &[]);
        let chosen = |name: &str| {
            WriteOptions { columns: vec![name.into()], ..WriteOptions::default() }.chosen(&schema)
        };
        assert_eq!(chosen("qop").unwrap().field(0).name(), "qop");
        let error = chosen("q_over_p").unwrap_err().to_string();
        assert!(error.contains("--columns: there is no column `q_over_p`: write `qop`"), "{error}");
        // Tracks of this sequence have no state at the beam line.
        let error = chosen("beam_cov_xt").unwrap_err().to_string();
        assert!(error.contains("no column `beam_cov_xt`: choose one of event_id, "), "{error}");
    }

    #[test]
    fn compressions_have_names() {
        for (text, compression) in [
            ("zstd", TableCompression::Zstd(1)),
            ("zstd:19", TableCompression::Zstd(19)),
            ("lz4", TableCompression::Lz4),
            ("none", TableCompression::None),
        ] {
            assert_eq!(text.parse::<TableCompression>().unwrap(), compression);
            assert_eq!(compression.to_string(), text);
        }
        for wrong in ["", "zstd:", "zstd:0", "zstd:23", "gzip", "zstd:x"] {
            assert!(
                wrong.parse::<TableCompression>().unwrap_err().to_string().contains("lz4 or none"),
                "{wrong}"
            );
        }
    }
}
