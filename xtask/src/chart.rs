//! Draws the README's chart: times of peloton and of other programs.

use crate::{Result, read, root};
use std::fmt::Write;

/// The numbers, which docs/performance/programs.md describes.
const NUMBERS: &str = "docs/performance/programs.csv";
const PICTURE: &str = "docs/programs.svg";
/// Sizes in units of the picture.
const WIDTH: f64 = 760.0;
const BARS: f64 = 430.0;
const LEFT: f64 = 250.0;
const ROW: f64 = 46.0;

/// Writes the chart as SVG.
pub fn write() -> Result<()> {
    let path = root().join(PICTURE);
    std::fs::write(&path, picture(&read(NUMBERS)?)?).map_err(|error| format!("{}: {error}", path.display()))
}

/// One comparison.
struct Row {
    work: String,
    unit: String,
    ours: f64,
    program: String,
    other: f64,
}

fn rows(text: &str) -> Result<Vec<Row>> {
    let row = |line: &str| -> Option<Row> {
        let cells = cells(line);
        let [work, unit, ours, program, other] = cells.as_slice() else { return None };
        let number = |text: &String| text.parse().ok().filter(|number: &f64| *number > 0.0);
        let (ours, other) = (number(ours)?, number(other)?);
        Some(Row { work: work.clone(), unit: unit.clone(), ours, program: program.clone(), other })
    };
    let rows = text.lines().skip(1).enumerate();
    rows.map(|(i, line)| row(line).ok_or(format!("{NUMBERS}: line {} is not a comparison", i + 2))).collect()
}

/// Returns the cells of a line of CSV.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cells.last_mut().expect("never empty").push(c),
        }
    }
    cells
}

/// Returns the picture: for each comparison the bar of the other program, and our bar as a share of it.
fn picture(text: &str) -> Result<String> {
    let rows = rows(text)?;
    let height = ROW * rows.len() as f64 + 34.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <title>Times of peloton beside other programs</title>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    for (number, row) in rows.iter().enumerate() {
        let y = ROW * number as f64 + 12.0;
        let ours = BARS * row.ours / row.other;
        let line = |svg: &mut String, y: f64, width: f64, colour: &str, label: &str| {
            let text = (LEFT + width + 6.0).min(WIDTH - 6.0);
            let (text, anchor, fill) = if text + 7.0 * label.chars().count() as f64 > WIDTH {
                (LEFT + width - 6.0, "end", "#ffffff")
            } else {
                (text, "start", "#222222")
            };
            writeln!(
                svg,
                "<rect x=\"{LEFT}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"16\" fill=\"{colour}\"/>\
                 <text x=\"{text:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" fill=\"{fill}\">{label}</text>",
                y + 12.5
            )
            .expect("writing to a string cannot fail");
        };
        writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#222222\">{}</text>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#666666\">{}</text>",
            LEFT - 10.0,
            y + 12.5,
            escaped(&row.work),
            LEFT - 10.0,
            y + 29.5,
            escaped(&row.program)
        )
        .expect("writing to a string cannot fail");
        let factor = row.other / row.ours;
        let label = format!("{} {}, {factor:.1} times as fast", row.ours, row.unit);
        line(&mut svg, y, ours, "#0072b2", &label);
        line(&mut svg, y + 18.0, BARS, "#8c8c8c", &format!("{} {}", row.other, row.unit));
    }
    writeln!(
        svg,
        "<text x=\"{LEFT}\" y=\"{:.1}\" fill=\"#666666\">Blue: peloton. Grey: the other program. Shorter is faster.</text>\n</svg>",
        height - 10.0
    )
    .expect("writing to a string cannot fail");
    Ok(svg)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_shows_the_numbers() {
        let made = picture(&read(NUMBERS).unwrap()).unwrap();
        assert!(made == read(PICTURE).unwrap(), "{PICTURE} is out of date: cargo xtask chart");
    }

    #[test]
    fn a_line_without_numbers_is_refused() {
        assert!(rows("head\n\"a, b\",s,1,c,2").is_ok());
        assert!(rows("head\na,s,1,c").is_err());
        assert!(rows("head\na,s,0,c,2").is_err());
    }
}
