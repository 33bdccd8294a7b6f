//! Tables of a report, and the format of their numbers.

use maud::{Markup, html};

/// Returns a table: the first column is text, the others are numbers. A table that is wider than the page scrolls.
pub fn table(head: &[&str], rows: &[Vec<String>]) -> Markup {
    html! {
        div.scroll {
            table {
                thead {
                    tr {
                        @for (number, name) in head.iter().enumerate() {
                            @if number == 0 { th { (name) } } @else { th.number { (name) } }
                        }
                    }
                }
                tbody {
                    @for row in rows {
                        tr {
                            @for (number, cell) in row.iter().enumerate() {
                                @if number == 0 { th { (cell) } } @else { td.number { (cell) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The text of an unknown value.
pub const NOTHING: &str = "-";

/// Returns a number with about three digits.
pub fn short(value: f64) -> String {
    match value.abs() {
        size if size == 0.0 || !size.is_finite() => "0".into(),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.1 => format!("{value:.2}"),
        size if size >= 0.001 => format!("{value:.4}"),
        _ => format!("{value:.2e}"),
    }
}

/// Returns a divisor for times in ns and the resulting unit, chosen so that times up to `longest_ns` are easy to read.
pub fn time_unit(longest_ns: f64) -> (f64, &'static str) {
    match longest_ns {
        ns if ns < 1e4 => (1.0, "ns"),
        ns if ns < 1e7 => (1e3, "\u{b5}s"),
        _ => (1e6, "ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_say_something() {
        assert_eq!(
            [1234.5, 12.345, 1.0, 0.01234, 0.0, 1.5e-6].map(short),
            ["1234", "12.3", "1.00", "0.0123", "0", "1.50e-6"]
        );
        assert_eq!([900.0, 92_000.0, 3e8].map(|ns| time_unit(ns).1), ["ns", "\u{b5}s", "ms"]);
    }
}
