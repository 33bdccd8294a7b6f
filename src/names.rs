//! [`names!`](crate::names): one list of names for an enum, with printing and parsing.

/// Names the variants of an enum: defines `ALL`, `name`, `Display`, and a `FromStr` whose error lists the names.
///
/// ```
/// #[derive(Debug, Clone, Copy, PartialEq)]
/// pub enum Edge { Rising, Falling }
/// peloton::names!(Edge, "edge", { Rising => "rising", Falling => "falling" });
///
/// assert_eq!("falling".parse::<Edge>().unwrap(), Edge::Falling);
/// assert_eq!(Edge::Rising.to_string(), "rising");
/// assert_eq!("up".parse::<Edge>().unwrap_err().to_string(), "unknown edge `up`: choose one of rising, falling");
/// ```
#[macro_export]
macro_rules! names {
    ($type:ty, $what:literal, { $($variant:ident => $name:literal),+ $(,)? }) => {
        impl $type {
            /// All variants, in the order in which messages list their names.
            pub const ALL: [Self; [$(stringify!($variant)),+].len()] = [$(Self::$variant),+];

            /// Returns the name used on the command line, in files and in results.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }
        }

        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl ::std::str::FromStr for $type {
            type Err = $crate::Error;

            /// # Errors
            /// [`Error::UnknownName`]($crate::Error::UnknownName) lists the names.
            fn from_str(given: &str) -> ::std::result::Result<Self, $crate::Error> {
                Self::ALL.into_iter().find(|one| one.name() == given).ok_or_else(|| {
                    $crate::Error::UnknownName {
                        what: $what,
                        given: given.into(),
                        choices: Self::ALL.map(Self::name).to_vec(),
                    }
                })
            }
        }
    };
}
