//! The page: one file of HTML with the pictures inside it.

use super::{Histogram, PixelDisplay, TICKS_PER_US};
use peloton::event::NS_PER_TICK;
use peloton::{Error, Result};
use plotters::prelude::*;

/// Size of a distribution, pixels of the screen.
const CHART: (u32, u32) = (620, 320);
/// Longer side of the frame, pixels of the screen.
const FRAME: u32 = 900;
const BAR: RGBColor = RGBColor(38, 84, 124);
const PAPER: RGBColor = RGBColor(18, 18, 24);

/// How a distribution is labelled.
struct Labels<'a> {
    title: &'a str,
    x: &'a str,
    y: &'a str,
    /// What one unit of the histogram is on the axis.
    scale: f64,
    /// Whether counts are drawn as powers of ten.
    is_log: bool,
}

impl PixelDisplay {
    /// The page as HTML; `title` says what was read.
    ///
    /// # Errors
    /// [`Error::Columns`] when the drawing library refuses.
    pub fn html(&self, title: &str) -> Result<String> {
        let ms = 1e-6 * NS_PER_TICK;
        let charts = [
            (
                &self.toa,
                Labels {
                    title: "Time of arrival",
                    x: "ms since the first hit",
                    y: "hits",
                    scale: ms,
                    is_log: false,
                },
            ),
            (
                &self.tot,
                Labels {
                    title: "Time over threshold",
                    x: "clocks of 25 ns",
                    y: "hits",
                    scale: 1.0,
                    is_log: true,
                },
            ),
            (
                &self.size,
                Labels { title: "Cluster size", x: "hits", y: "clusters", scale: 1.0, is_log: true },
            ),
            (
                &self.energy,
                Labels { title: "Energy of clusters", x: "keV", y: "clusters", scale: 1e-3, is_log: true },
            ),
        ];
        let mut pictures = vec![self.frame_picture()?];
        for (histogram, labels) in &charts {
            // Without a calibration there are no energies.
            if histogram.bins().skip(1).any(|(_, count)| count > 0) {
                pictures.push(chart(histogram, labels)?);
            }
        }
        let figures: String =
            pictures.iter().map(|picture| format!("<figure>{picture}</figure>\n")).collect();
        let title = title.replace('&', "&amp;").replace('<', "&lt;");
        Ok(format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\n<style>\
             body{{font-family:sans-serif;margin:1em}}main{{display:flex;flex-wrap:wrap;gap:1em}}\
             figure{{margin:0}}</style></head>\n<body><h1>{title}</h1>\n<main>\n{figures}</main></body></html>\n"
        ))
    }

    /// The hits of the frame, the brighter the longer over threshold; where a pixel was hit twice the last counts.
    fn frame_picture(&self) -> Result<String> {
        let [width, height] = self.sensor;
        let scale = (FRAME / width.max(height) as u32).max(1);
        let size = (scale * width as u32 + 70, scale * height as u32 + 90);
        let start = self.frame as f64 * self.frame_ticks as f64 / TICKS_PER_US as f64;
        let length = self.frame_ticks as f64 / TICKS_PER_US as f64;
        let [hits, clusters] = self.frame();
        let mut title = format!(
            "Frame {}: {start:.0} to {:.0} us, {hits} hits, {clusters} clusters",
            self.frame,
            start + length
        );
        if self.left_out > 0 {
            title.push_str(&format!(", {} hits left out", self.left_out));
        }
        let most = self.hits.iter().map(|hit| hit.2).max().unwrap_or(1).max(1);
        let mut svg = String::new();
        {
            let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
            let mut chart = ChartBuilder::on(&root)
                .caption(title, ("sans-serif", 18))
                .margin(8)
                .x_label_area_size(32)
                .y_label_area_size(44)
                .build_cartesian_2d(0..width as i32, 0..height as i32)
                .map_err(failed)?;
            chart.plotting_area().fill(&PAPER).map_err(failed)?;
            let mesh = &mut chart.configure_mesh();
            mesh.disable_mesh().x_desc("x, pixel").y_desc("y, pixel").draw().map_err(failed)?;
            let pixels = self.hits.iter().map(|&(x, y, tot, _)| {
                let (x, y) = (i32::from(x), i32::from(y));
                Rectangle::new([(x, y), (x + 1, y + 1)], heat(f64::from(tot) / f64::from(most)).filled())
            });
            chart.draw_series(pixels).map_err(failed)?;
            root.present().map_err(failed)?;
        }
        Ok(svg)
    }
}

/// From dark red over orange to white.
fn heat(share: f64) -> RGBColor {
    let part = |from: f64| (255.0 * ((share.sqrt() - from) * 2.5).clamp(0.0, 1.0)) as u8;
    RGBColor(part(-0.25), part(0.2), part(0.6))
}

fn chart(histogram: &Histogram, labels: &Labels<'_>) -> Result<String> {
    let bins: Vec<_> = histogram.bins().collect();
    let place = |value: i64| value as f64 * labels.scale;
    let end = bins.last().map_or(0, |bin| bin.0).saturating_add(histogram.width());
    let range = place(bins[0].0)..place(end);
    let most = bins.iter().map(|bin| bin.1).max().unwrap_or(1).max(1) as f64;
    let height = |count: u64| {
        // Half a count is where the axis of powers of ten begins.
        if labels.is_log { (count as f64).max(0.5).log10() } else { count as f64 }
    };
    let (bottom, top) = if labels.is_log { (-0.3, most.log10() + 0.2) } else { (0.0, 1.05 * most) };
    let mut title = format!("{}: {} {}", labels.title, histogram.total(), labels.y);
    if histogram.below() > 0 {
        title.push_str(&format!(", {} below the axis", histogram.below()));
    }
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, CHART).into_drawing_area();
        let mut chart = ChartBuilder::on(&root)
            .caption(title, ("sans-serif", 18))
            .margin(8)
            .x_label_area_size(36)
            .y_label_area_size(64)
            .build_cartesian_2d(range, bottom..top)
            .map_err(failed)?;
        let power = |value: &f64| {
            if labels.is_log { format!("{:.0}", 10f64.powf(*value)) } else { format!("{value:.0}") }
        };
        let mesh = &mut chart.configure_mesh();
        let mesh = mesh.disable_x_mesh().light_line_style(WHITE).x_desc(labels.x).y_desc(labels.y);
        mesh.y_label_formatter(&power).draw().map_err(failed)?;
        let bars = bins.iter().filter(|(_, count)| *count > 0).map(|&(from, count)| {
            let corners =
                [(place(from), bottom), (place(from.saturating_add(histogram.width())), height(count))];
            Rectangle::new(corners, BAR.filled())
        });
        chart.draw_series(bars).map_err(failed)?;
        root.present().map_err(failed)?;
    }
    Ok(svg)
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Columns(format!("drawing: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use peloton::event::PixelClusters;

    /// Two clusters, the second one in the second frame of a microsecond.
    fn display(frame: u64) -> PixelDisplay {
        let mut clusters = PixelClusters::default();
        [(0, 3, 4, 9), (1, 3, 5, 200), (700, 0, 0, 1)]
            .into_iter()
            .for_each(|(t, x, y, tot)| clusters.hits.push(t, x, y, tot));
        clusters.hit_start.extend_from_slice(&[2, 3]);
        clusters.features.set_len(2);
        clusters.features.time.copy_from_slice(&[0, 700]);
        clusters.features.energy.copy_from_slice(&[59_600, 1000]);
        let mut display = PixelDisplay::new([16, 16], frame, 1.0);
        display.add(&clusters);
        display
    }

    #[test]
    fn the_page_has_the_frame_and_all_distributions() {
        let page = display(0).html("a & b").unwrap();
        assert_eq!(page.matches("<svg").count(), 5);
        assert!(page.contains("<title>a &amp; b</title>"));
        assert!(page.contains("Frame 0: 0 to 1 us, 2 hits, 1 clusters"), "{page}");
        assert_eq!(display(1).frame(), [1, 1]);
        assert_eq!(display(2).frame(), [0, 0]);
        // A pixel is a filled rectangle: one more hit, one more of them.
        let pixels = |page: &str| page.split("</svg>").next().unwrap().matches("<rect").count();
        assert_eq!(pixels(&page), pixels(&display(2).html("").unwrap()) + 2);
    }

    #[test]
    fn brighter_is_longer() {
        let light = |share: f64| {
            let RGBColor(r, g, b) = heat(share);
            u32::from(r) + u32::from(g) + u32::from(b)
        };
        assert!((0..100).all(|i| light(f64::from(i) / 100.0) <= light(f64::from(i + 1) / 100.0)));
        assert!(light(0.001) > 100 && light(1.0) == 765);
    }
}
