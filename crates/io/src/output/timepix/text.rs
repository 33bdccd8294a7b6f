//! Writes clusters as text: one JSON object per line.

use super::origin::Origin;
use crate::output::SideBySide;
use crate::output::units::kev;
use peloton::event::{PixelClusters, Results, TriggerPairs, Values};
use std::fmt::Display;
use std::io::{self, Write};
use std::ops::Range;

/// Writes one JSON object per cluster: time and duration in ns, energy in keV or null without a calibration, bounds as
/// `[x, y, x, y]`, hits as `[x, y, tot, ns after the first]`, chip and energy of each hit, the features, and the input.
/// With `pairs`, an object also has the device's counter of the latest trigger before the cluster, and for each hit the
/// time in ns since the latest trigger before the hit; both are null without a trigger. Objects of clusters from frames
/// begin with the frame's number (`frame`), and all their times are null.
///
/// `texts` formats the objects in parallel.
///
/// # Errors
/// Errors of `to`.
pub fn write_cluster_ndjson(
    clusters: &PixelClusters,
    origin: &Origin,
    pairs: Option<&TriggerPairs>,
    texts: &mut SideBySide,
    to: &mut dyn Write,
) -> io::Result<()> {
    let parts = parts(0..clusters.len());
    texts.write(parts.len(), to, &|part, text| {
        lines(clusters, parts.clone().nth(part).unwrap_or_default(), origin, pairs, text)
    })
}

/// Number of clusters that are formatted at once.
const PART: usize = 1024;

/// Divides a range of clusters into parts.
pub(super) fn parts(range: Range<usize>) -> impl ExactSizeIterator<Item = Range<usize>> + Clone + Sync {
    let end = range.end;
    range.step_by(PART).map(move |from| from..end.min(from + PART))
}

fn lines(
    clusters: &PixelClusters,
    range: Range<usize>,
    origin: &Origin,
    pairs: Option<&TriggerPairs>,
    line: &mut Vec<u8>,
) -> io::Result<()> {
    let input = serde_json::to_string(&origin.input)?;
    let table = clusters.table();
    let floats = table.columns().iter().filter_map(|(info, values)| match values {
        Values::F32(values) if info.depth == 0 => Some((info.name, *values)),
        _ => None,
    });
    let time = |ticks, line: &mut Vec<u8>| match origin.is_of_frames {
        true => line.extend_from_slice(b"null"),
        false => ns(ticks, line),
    };
    for cluster in range {
        let range = clusters.of_cluster(cluster);
        let features = &clusters.features;
        let bounds = features.bounds.each_ref().map(|column| column[cluster]);
        line.push(b'{');
        if origin.is_of_frames {
            write!(line, "\"frame\":{},", features.time[cluster])?;
        }
        line.extend_from_slice(b"\"time_ns\":");
        time(features.time[cluster], line);
        line.extend_from_slice(b",\"duration_ns\":");
        time(i64::from(features.duration[cluster]), line);
        write!(
            line,
            ",\"size\":{},\"tot\":{},\"height\":{},\"energy_keV\":{},\"bounds\":{:?}",
            range.len(),
            features.tot[cluster],
            features.height[cluster],
            kev(features.energy[cluster]).map_or("null".into(), |kev| kev.to_string()),
            bounds,
        )?;
        for (name, column) in floats.clone() {
            write!(line, ",\"{name}\":{}", column[cluster])?;
        }
        line.write_all(b",\"hits\":[")?;
        for i in range.clone() {
            let (at, x, y, tot) = clusters.hits.get(i);
            line.extend_from_slice(if i == range.start { b"[" } else { b",[" });
            for value in [x, y, tot] {
                put(value, line);
                line.push(b',');
            }
            time(at - features.time[cluster], line);
            line.push(b']');
        }
        line.write_all(b"],\"hit_chip\":[")?;
        write_list(range.clone().map(|hit| origin.chip(clusters, hit)), line)?;
        line.write_all(b"],\"hit_energy_keV\":[")?;
        write_list(range.clone().map(|hit| origin.energy_kev(clusters, hit)), line)?;
        write!(line, "],\"input\":{input}")?;
        if let Some(pairs) = pairs {
            write_pairs(pairs, cluster, range, line)?;
        }
        line.write_all(b"}\n")?;
    }
    Ok(())
}

/// Appends a list of values; null for missing values.
fn write_list<T: Display>(values: impl Iterator<Item = Option<T>>, to: &mut Vec<u8>) -> io::Result<()> {
    for (number, value) in values.enumerate() {
        let comma = if number == 0 { "" } else { "," };
        match value {
            Some(value) => write!(to, "{comma}{value}")?,
            None => write!(to, "{comma}null")?,
        }
    }
    Ok(())
}

fn write_pairs(pairs: &TriggerPairs, cluster: usize, hits: Range<usize>, to: &mut Vec<u8>) -> io::Result<()> {
    match pairs.has_trigger[cluster] {
        0 => to.write_all(b",\"trigger\":null")?,
        _ => write!(to, ",\"trigger\":{}", pairs.counter[cluster])?,
    }
    to.write_all(b",\"since_trigger_ns\":[")?;
    write_list(hits.map(|hit| pairs.since_ns(hit).map(|ns| format!("{ns:.3}"))), to)?;
    to.write_all(b"]")
}

/// Appends a whole number.
pub(super) fn put(value: impl itoa::Integer, to: &mut Vec<u8>) {
    to.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Decimals of sixteenths, after the whole number.
const SIXTEENTHS: [&str; 16] = [
    "", ".0625", ".125", ".1875", ".25", ".3125", ".375", ".4375", ".5", ".5625", ".625", ".6875", ".75",
    ".8125", ".875", ".9375",
];

/// Below this limit, a number has at most 15 digits with its sixteenths, and no shorter form than all its digits.
const ALL_DIGITS: i64 = 100_000_000_000;

/// Appends ticks as ns, exactly: a tick is 25/16 ns.
pub(super) fn ns(ticks: i64, to: &mut Vec<u8>) {
    let (whole, part) = ((ticks * 25).div_euclid(16), (ticks * 25).rem_euclid(16));
    if part == 0 || (0..ALL_DIGITS).contains(&whole) {
        put(whole, to);
        to.extend_from_slice(SIXTEENTHS[part as usize].as_bytes());
    } else {
        to.extend_from_slice((whole as f64 + part as f64 / 16.0).to_string().as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use peloton::engine::ThisThread;
    use std::sync::Arc;

    fn texts() -> SideBySide {
        SideBySide::new(Arc::new(ThisThread))
    }

    fn clusters() -> PixelClusters {
        let mut clusters = PixelClusters::default();
        [(160, 3, 4, 9), (161, 3, 5, 2), (320, 0, 0, 1)]
            .into_iter()
            .for_each(|(t, x, y, tot)| clusters.hits.push(t, x, y, tot));
        clusters.hit_start.extend_from_slice(&[2, 3]);
        clusters.features.set_len(2);
        clusters.features.time.copy_from_slice(&[160, 320]);
        clusters.features.energy[0] = 12_345;
        clusters
    }

    fn origin() -> Origin {
        let layout = peloton::event::Layout::single(256, 256).unwrap();
        Origin { input: "run \"7\".t3pa".into(), layout, calibration: None, is_of_frames: false }
    }

    #[test]
    fn lines_are_clusters() {
        let mut text = Vec::new();
        let pairs = TriggerPairs {
            has_trigger: [0, 1].into_iter().collect(),
            counter: [0, 9].into_iter().collect(),
            since: [TriggerPairs::NONE, 6, 12].into_iter().collect(),
        };
        write_cluster_ndjson(&clusters(), &origin(), Some(&pairs), &mut texts(), &mut text).unwrap();
        let lines: Vec<serde_json::Value> = std::str::from_utf8(&text)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!((lines.len(), &lines[0]["time_ns"]), (2, &250.into()));
        assert_eq!(lines[0]["hits"], serde_json::json!([[3, 4, 9, 0], [3, 5, 2, 1.5625]]));
        assert_eq!((&lines[0]["trigger"], &lines[1]["trigger"]), (&serde_json::Value::Null, &9.into()));
        assert_eq!(lines[0]["since_trigger_ns"], serde_json::json!([null, 1.562]));
        assert_eq!((&lines[0]["energy_keV"], &lines[1]["size"]), (&12.345.into(), &1.into()));
        assert_eq!(lines[1]["energy_keV"], serde_json::Value::Null);
        assert_eq!(lines[0]["hit_chip"], serde_json::json!([0, 0]));
        assert_eq!(lines[0]["hit_energy_keV"], serde_json::json!([null, null]));
        assert_eq!(lines[1]["input"], "run \"7\".t3pa");
    }

    #[test]
    fn clusters_of_frames_have_the_number_of_their_frame_and_no_time() {
        let (origin, mut text) = (Origin { is_of_frames: true, ..origin() }, Vec::new());
        write_cluster_ndjson(&clusters(), &origin, None, &mut texts(), &mut text).unwrap();
        let line: serde_json::Value =
            serde_json::from_slice(text.split(|byte| *byte == b'\n').next().unwrap()).unwrap();
        assert_eq!(
            (&line["frame"], &line["time_ns"], &line["duration_ns"]),
            (&160.into(), &().into(), &().into())
        );
        assert_eq!(line["hits"], serde_json::json!([[3, 4, 9, null], [3, 5, 2, null]]));
    }

    #[test]
    fn times_are_exact_and_written_as_numbers_are() {
        let written = |ticks| {
            let mut text = Vec::new();
            ns(ticks, &mut text);
            String::from_utf8(text).unwrap()
        };
        assert_eq!(
            [16, 1, -1, 1 << 50].map(written),
            ["25", "1.5625", "-1.5625", "1759218604441600"].map(String::from)
        );
        let around = |at: i64| (at - 40..at + 40).chain([at * 3 + 1, at * 7 + 3]);
        for ticks in [0, 16_000, ALL_DIGITS / 25 * 16, 1 << 41].into_iter().flat_map(around) {
            let whole = (ticks * 25).div_euclid(16);
            assert_eq!(
                written(ticks),
                (whole as f64 + (ticks * 25).rem_euclid(16) as f64 / 16.0).to_string()
            );
        }
    }
}
