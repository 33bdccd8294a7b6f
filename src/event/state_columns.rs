//! [`STATE_COLUMNS`]: the quantities of track states. Each quantity has the same name in all results.

/// A quantity of a track state. The name of its column is one of [`STATE_PREFIXES`], then its own name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateColumn {
    /// Name without the prefix (no unit).
    pub name: &'static str,
    /// Unit of the values, `1` for none (no unit).
    pub unit: &'static str,
    /// Meaning of the values (no unit). The meaning of a column begins with this text and may add where the state is.
    pub meaning: &'static str,
    /// Old name: some results used it for the quantity before version 5 of the schemas (no unit).
    pub old_name: Option<&'static str>,
}

/// Prefixes of the column names, one for each place where states are given. The only state of a table has no prefix.
pub const STATE_PREFIXES: [&str; 5] = ["", "beam_", "end_", "scifi_", "searched_"];

/// The quantities of states: first the quantities of states at a given z, in the detectors along the beam; then the
/// quantities that only states in the cylinder detector have.
pub const STATE_COLUMNS: [StateColumn; 14] = {
    const fn column(name: &'static str, unit: &'static str, meaning: &'static str) -> StateColumn {
        StateColumn { name, unit, meaning, old_name: None }
    }
    [
        column("x", "mm", "x"),
        column("y", "mm", "y"),
        column("z", "mm", "z"),
        column("tx", "1", "slope dx/dz"),
        column("ty", "1", "slope dy/dz"),
        column("qop", "c/GeV", "charge over momentum").before("q_over_p"),
        column("var_qop", "c^2/GeV^2", "variance of charge over momentum").before("var_q_over_p"),
        column("cov_xx", "mm^2", "variance of x"),
        column("cov_xtx", "mm", "covariance of x and tx").before("cov_xt"),
        column("cov_txtx", "1", "variance of tx").before("cov_tt"),
        column("cov_yy", "mm^2", "variance of y"),
        column("cov_yty", "mm", "covariance of y and ty").before("cov_yu"),
        column("cov_tyty", "1", "variance of ty").before("cov_uu"),
        column("qpt", "c/GeV", "charge over pT"),
    ]
};

impl StateColumn {
    const fn before(self, old_name: &'static str) -> Self {
        Self { old_name: Some(old_name), ..self }
    }

    /// Returns the quantity of the column with this name; `None` if the column belongs to no state.
    pub fn of(name: &str) -> Option<&'static Self> {
        found(name, |column, rest| column.name == rest).map(|(_, column)| column)
    }
}

fn found(
    name: &str,
    is: impl Fn(&StateColumn, &str) -> bool,
) -> Option<(&'static str, &'static StateColumn)> {
    STATE_PREFIXES.into_iter().find_map(|prefix| {
        let rest = name.strip_prefix(prefix)?;
        Some((prefix, STATE_COLUMNS.iter().find(|column| is(column, rest))?))
    })
}

/// Returns the present name of a column whose name was `old` before version 5 of the schemas; `None` for other names.
///
/// ```
/// use peloton::event::renamed_column;
///
/// assert_eq!(renamed_column("scifi_cov_yu").as_deref(), Some("scifi_cov_yty"));
/// assert_eq!(renamed_column("scifi_cov_yy"), None);
/// ```
pub fn renamed_column(old: &str) -> Option<String> {
    let (prefix, column) = found(old, |column, rest| column.old_name == Some(rest))?;
    Some(format!("{prefix}{}", column.name))
}

/// Returns the message for a column that is not in `names`: the new name if `given` is an old name, else all names.
///
/// ```
/// use peloton::event::no_column;
///
/// let message = no_column("q_over_p", &["hits", "qop"]);
/// assert_eq!(message, "there is no column `q_over_p`: write `qop`, the present name of this column");
/// assert_eq!(no_column("q", &["hits", "qop"]), "there is no column `q`: choose one of hits, qop");
/// ```
pub fn no_column(given: &str, names: &[&str]) -> String {
    match renamed_column(given).filter(|name| names.contains(&name.as_str())) {
        Some(name) => {
            format!("there is no column `{given}`: write `{name}`, the present name of this column")
        }
        None => format!("there is no column `{given}`: choose one of {}", names.join(", ")),
    }
}
