//! The drawn line of a track: straight along fitted states, with smooth curves between states where the magnet bends.

use super::{Hit, Part, Point};
use peloton_truth::{FittedState, Place};

/// Number of steps in a join between two straight pieces.
const STEPS: usize = 16;

/// The kind of a piece of a track's line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// A straight line that extrapolates a fitted state.
    State,
    /// A smooth curve that joins two states, and is not fitted.
    Join,
}

/// A piece of the line of a track.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    /// Kind of the piece.
    pub line: Line,
    /// Points of the piece, at least two.
    pub points: Vec<Point>,
}

/// A straight piece: x, y and their slopes at a z, and the range in z.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Straight {
    at: Point,
    slope: [f64; 2],
    from: f64,
    to: f64,
}

impl Straight {
    fn point(&self, z: f64) -> Point {
        let dz = z - self.at[2];
        [self.at[0] + dz * self.slope[0], self.at[1] + dz * self.slope[1], z]
    }

    /// Returns the cubic that leaves the end of this piece and enters the next one along their slopes.
    fn join(&self, next: &Straight) -> Vec<Point> {
        let (a, b) = (self.point(self.to), next.point(next.from));
        let dz = b[2] - a[2];
        let cubic = |axis: usize, t: f64| {
            let (t2, t3) = (t * t, t * t * t);
            (2.0 * t3 - 3.0 * t2 + 1.0) * a[axis]
                + (t3 - 2.0 * t2 + t) * dz * self.slope[axis]
                + (3.0 * t2 - 2.0 * t3) * b[axis]
                + (t3 - t2) * dz * next.slope[axis]
        };
        let step = |number: usize| number as f64 / STEPS as f64;
        (0..=STEPS).map(|n| [cubic(0, step(n)), cubic(1, step(n)), a[2] + dz * step(n)]).collect()
    }
}

/// Returns the part of the detector that provides a state.
fn part(place: Place) -> Part {
    match place {
        Place::Beam | Place::VeloEnd => Part::Velo,
        Place::Ut => Part::Ut,
        Place::SciFi => Part::SciFi,
    }
}

/// Returns whether a track flies towards smaller z: its hits have smaller z than its state at the beam.
pub fn is_backward(hits: &[Hit], states: &[FittedState]) -> bool {
    let beam = states.iter().find(|state| state.place == Place::Beam);
    let ahead: f64 = beam.map_or(0.0, |beam| hits.iter().map(|hit| hit.middle()[2] - beam.at.z).sum());
    ahead < 0.0
}

/// Returns the pieces of the line of a track with these hits and states. If no state is in the Velo, the piece in the
/// Velo is a straight line fitted to the Velo hits.
pub fn of_states(hits: &[Hit], states: &[FittedState]) -> Vec<Piece> {
    let pieces: Vec<_> =
        [Part::Velo, Part::Ut, Part::SciFi].into_iter().filter_map(|of| straight(of, hits, states)).collect();
    let mut line = Vec::new();
    for (number, piece) in pieces.iter().enumerate() {
        if let Some(before) = number.checked_sub(1).map(|at| pieces[at])
            && before.to < piece.from
        {
            line.push(Piece { line: Line::Join, points: before.join(piece) });
        }
        let points = vec![piece.point(piece.from), piece.point(piece.to)];
        line.push(Piece { line: Line::State, points });
    }
    line.retain(|piece| piece.points.iter().flatten().all(|value| value.is_finite()));
    line
}

fn straight(of: Part, hits: &[Hit], states: &[FittedState]) -> Option<Straight> {
    let z = || hits.iter().filter(|hit| hit.part == of).map(|hit| hit.middle()[2]);
    let (low, high) = (z().fold(f64::INFINITY, f64::min), z().fold(f64::NEG_INFINITY, f64::max));
    let mut own = states.iter().filter(|state| part(state.place) == of);
    let Some(state) = own.next() else {
        let points: Vec<_> =
            hits.iter().filter(|hit| hit.part == of && of == Part::Velo).map(Hit::middle).collect();
        return least_squares(&points);
    };
    let at = [state.at.x, state.at.y, state.at.z];
    let piece = Straight { at, slope: [state.at.tx, state.at.ty], from: low.min(at[2]), to: high.max(at[2]) };
    let end = own.next().map(|state| state.at);
    let backward = is_backward(hits, states);
    Some(match end {
        _ if state.place == Place::Beam && backward => Straight { to: at[2], ..piece },
        // From the beam to the last hit, along the line through both states.
        Some(end) => {
            let dz = end.z - at[2];
            let slope = [(end.x - at[0]) / dz, (end.y - at[1]) / dz];
            Straight { slope, from: at[2], ..piece }
        }
        None if state.place == Place::Beam => Straight { from: at[2], ..piece },
        None => piece,
    })
}

/// Returns the straight line through the points, by least squares.
fn least_squares(points: &[Point]) -> Option<Straight> {
    if points.len() < 2 {
        return None;
    }
    let count = points.len() as f64;
    let mean: Point = std::array::from_fn(|axis| points.iter().map(|point| point[axis]).sum::<f64>() / count);
    let about = |axis: usize| points.iter().map(|p| (p[axis] - mean[axis]) * (p[2] - mean[2])).sum::<f64>();
    let spread = about(2);
    let slope = [about(0) / spread, about(1) / spread];
    let z = || points.iter().map(|point| point[2]);
    let (from, to) = (z().fold(f64::INFINITY, f64::min), z().fold(f64::NEG_INFINITY, f64::max));
    (spread > 0.0).then_some(Straight { at: mean, slope, from, to })
}

/// Returns the point of a line at this z; the first and the last piece extend without limit.
pub fn at_z(line: &[Piece], z: f64) -> Option<Point> {
    let points: Vec<_> = line.iter().flat_map(|piece| &piece.points).collect();
    let spans = points.windows(2).filter(|pair| pair[0][2] < pair[1][2]);
    let distance = |pair: &&[&Point]| (pair[0][2] - z).max(z - pair[1][2]).max(0.0);
    let pair = spans.min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    let share = (z - pair[0][2]) / (pair[1][2] - pair[0][2]);
    Some([0, 1, 2].map(|axis| pair[0][axis] + share * (pair[1][axis] - pair[0][axis])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use peloton::event::TrueState;

    fn state(place: Place, [x, y, z]: Point, [tx, ty]: [f64; 2]) -> FittedState {
        FittedState { place, at: TrueState { x, y, z, tx, ty }, sigma: [0.0; 4], qop: None }
    }

    #[test]
    fn states_are_straight_and_joins_meet_them_smoothly() {
        let hits = [(Part::Velo, 100.0), (Part::Velo, 700.0), (Part::SciFi, 7900.0), (Part::SciFi, 9400.0)]
            .map(|(part, z)| Hit::point(part, 0, [0.0, 0.0, z]));
        let states = [
            state(Place::Beam, [0.0, 0.0, 10.0], [0.1, 0.02]),
            state(Place::SciFi, [1500.0, 190.0, 9410.0], [0.3, 0.02]),
        ];
        let line = of_states(&hits, &states);
        assert_eq!(
            line.iter().map(|piece| piece.line).collect::<Vec<_>>(),
            [Line::State, Line::Join, Line::State]
        );
        assert_eq!(line[0].points, [[0.0, 0.0, 10.0], [69.0, 13.8, 700.0]]);
        let [first, last] = [line[2].points[0], line[2].points[1]];
        assert!((first[0] - (1500.0 - 0.3 * 1510.0)).abs() < 1e-9 && last == [1500.0, 190.0, 9410.0]);
        let join = &line[1].points;
        assert_eq!((join[0], join[STEPS][2]), (line[0].points[1], 7900.0));
        let slope = |a: Point, b: Point| (b[0] - a[0]) / (b[2] - a[2]);
        assert!((slope(join[0], join[1]) - 0.1).abs() < 0.02);
        assert!((slope(join[STEPS - 1], join[STEPS]) - 0.3).abs() < 0.02);
        assert_eq!(at_z(&line, 355.0).unwrap()[0], 34.5);
        assert!((at_z(&line, 9510.0).unwrap()[0] - 1530.0).abs() < 1e-9);
    }

    #[test]
    fn tracks_that_fly_backwards_end_at_the_beam() {
        let hits = [-200.0, -100.0].map(|z| Hit::point(Part::Velo, 0, [0.0, 0.0, z]));
        let states = [
            state(Place::Beam, [0.1, 0.0, 20.0], [0.1, 0.0]),
            state(Place::VeloEnd, [75.1, 0.0, 770.0], [0.1, 0.0]),
        ];
        let line = of_states(&hits, &states);
        assert_eq!(line.len(), 1);
        assert_eq!([line[0].points[0][2], line[0].points[1][2]], [-200.0, 20.0]);
    }

    #[test]
    fn what_is_no_number_is_not_drawn() {
        let hits = [Hit::point(Part::Velo, 0, [0.0, 0.0, 5.0])];
        assert!(of_states(&hits, &[state(Place::Beam, [f64::NAN, 0.0, 0.0], [0.0; 2])]).is_empty());
        assert!(of_states(&[], &[]).is_empty() && at_z(&[], 1.0).is_none());
    }
}
