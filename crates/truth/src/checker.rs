//! [`Checker`]: compares tracks with the truth by one set of rules, and sums the results of events.

use super::efficiency::{Counter, Sum, ratio};
use super::matching::{Association, Category, EventCategory, Fate, Match, Matcher, PartCounts};
use super::momentum::{Measured, Momenta};
use super::report::{CategoryReport, CheckReport, FastGhosts};
use super::rows::{EventMatches, ParticleMatch, TrackMatch};
use super::tables::{ParticleCounts, TrackCounts};
use super::{Rules, json_rules, lhcb_rules, lhcb_tracks};
use peloton::event::{Particle, TruthEvent};
use peloton::{Error, Result};
use std::collections::HashSet;

/// Compares tracks with the truth, event by event.
///
/// [`merge`](Self::merge) combines checkers of different threads. Sums are in fixed point, so that the result does not
/// depend on how events are divided among checkers.
pub struct Checker {
    rules: Rules,
    events: u64,
    tracks: u64,
    ghosts: u64,
    repeated: u64,
    ghost_rates: Sum,
    /// Tracks with measured momenta above [`FAST`], and the ghosts among them.
    fast: [u64; 2],
    momenta: Momenta,
    totals: Vec<Totals>,
    track_counts: TrackCounts,
    // Memory that is used again for each event.
    matcher: Matcher,
    associations: Vec<Association>,
    /// Number of hits of each track of the event, and the track's number; none for a track that the rules skip.
    lengths: Vec<(u32, Option<u32>)>,
    selected: Vec<bool>,
    fates: Vec<Fate>,
}

/// A track is fast when its measured momentum and transverse momentum exceed these, GeV/c.
const FAST: [f64; 2] = [3.0, 0.5];

/// Returns the particles that a track with hits in one part matches: `accepts` gets the number of common hits.
fn single(shares: &[(u32, PartCounts)], accepts: impl Fn(u32) -> bool) -> Vec<Match> {
    shares.iter().copied().filter(|(_, common)| accepts(common[0])).collect()
}

/// Sums for one category.
#[derive(Default)]
struct Totals {
    counter: Counter,
    matched: u64,
    purity: Sum,
    hit_efficiency: Sum,
    /// Events with a particle of the category, and the sum of the efficiencies of these events.
    events: u64,
    event_efficiency: Sum,
    /// Events with a matched track, and the sums of the means of these events.
    matched_events: u64,
    event_purity: Sum,
    event_hit_efficiency: Sum,
    /// json: (reconstructed, reconstructible) of each event, for the mean of the running efficiencies.
    course: Vec<[u32; 2]>,
    counts: ParticleCounts,
}

impl Rules {
    /// Returns whether a particle belongs to the category with this name in reports; none for an unknown name.
    pub fn holds(self, category: &str, particle: &Particle) -> Option<bool> {
        let category = self.categories().iter().find(|one| one.name == category)?;
        Some((category.holds)(particle))
    }

    /// Returns the names of the categories, in the order of reports. A category whose name begins with dashes is part
    /// of the category above it; its name may occur twice.
    pub fn category_names(self) -> impl Iterator<Item = &'static str> {
        self.categories().iter().map(|category| category.name)
    }

    /// Returns a test for each category: whether a particle belongs to it.
    pub(super) fn tests(self) -> impl Iterator<Item = fn(&Particle) -> bool> {
        self.categories().iter().map(|category| category.holds)
    }

    fn categories(self) -> &'static [Category] {
        match self {
            Rules::Json => &json_rules::CATEGORIES,
            Rules::Lhcb => &lhcb_rules::VELO,
            Rules::LhcbUt => &lhcb_rules::UT,
            Rules::LhcbSeed => &lhcb_rules::SEED,
            Rules::LhcbLong => &lhcb_rules::LONG,
        }
    }

    /// Creates a matcher that counts hits in the parts of the detector that these rules distinguish.
    pub(super) fn matcher(self) -> Matcher {
        Matcher::new(match self {
            Rules::Json | Rules::Lhcb => |_| 0,
            Rules::LhcbUt | Rules::LhcbSeed | Rules::LhcbLong => lhcb_tracks::part_of,
        })
    }

    /// Returns the particles that a track matches, each with its number of the track's hits in each part.
    pub(super) fn associate(
        self,
        shares: &[(u32, PartCounts)],
        track: PartCounts,
        truth: &TruthEvent,
    ) -> Vec<Match> {
        match self {
            Rules::Json => single(shares, |common| json_rules::accepts(common, track[0])),
            Rules::Lhcb => single(shares, |common| lhcb_rules::accepts(common, track[0])),
            Rules::LhcbUt | Rules::LhcbSeed | Rules::LhcbLong => lhcb_tracks::associate(shares, track, truth),
        }
    }

    /// Returns the part of the detector whose hits count for the hit efficiency.
    fn part(self) -> usize {
        match self {
            Rules::Json | Rules::Lhcb => 0,
            Rules::LhcbUt => lhcb_tracks::UT,
            Rules::LhcbSeed | Rules::LhcbLong => lhcb_tracks::SCIFI,
        }
    }

    fn clone_rate(self) -> fn(&Counter) -> Option<f64> {
        match self {
            Rules::Json => |counter| ratio(counter.clones as f64, counter.reconstructed as f64),
            Rules::Lhcb | Rules::LhcbUt | Rules::LhcbSeed | Rules::LhcbLong => {
                |counter| ratio(counter.clones as f64, (counter.reconstructed + counter.clones) as f64)
            }
        }
    }
}

impl Checker {
    /// Creates a checker without events.
    pub fn new(rules: Rules) -> Self {
        let totals = || Totals { counts: ParticleCounts::new(), ..Totals::default() };
        Self {
            rules,
            events: 0,
            tracks: 0,
            ghosts: 0,
            repeated: 0,
            ghost_rates: Sum::default(),
            fast: [0; 2],
            momenta: Momenta::default(),
            totals: rules.categories().iter().map(|_| totals()).collect(),
            track_counts: TrackCounts::new(),
            matcher: rules.matcher(),
            associations: Vec::new(),
            lengths: Vec::new(),
            selected: Vec::new(),
            fates: Vec::new(),
        }
    }

    /// Adds one event: its truth, and its tracks as lists of hit identifiers (as in [`Particle::hits`]).
    ///
    /// [`Particle::hits`]: peloton::event::Particle::hits
    pub fn event<'a>(&mut self, truth: &TruthEvent, tracks: impl Iterator<Item = &'a [u32]>) {
        self.measured_event(truth, tracks.map(|track| (track, None)));
    }

    /// Adds one event: its truth, and its tracks as lists of hit identifiers, each with the measured momentum if known.
    pub fn measured_event<'a>(
        &mut self,
        truth: &TruthEvent,
        mut tracks: impl Iterator<Item = (&'a [u32], Option<Measured>)>,
    ) {
        self.matcher.index(truth);
        self.match_tracks(truth, &mut tracks);
        for number in 0..self.totals.len() {
            self.category(number, truth);
        }
        self.events += 1;
    }

    /// Finds the ghosts, and the particles of the other tracks. Compiled only once, for all types of iterators.
    fn match_tracks(
        &mut self,
        truth: &TruthEvent,
        tracks: &mut dyn Iterator<Item = (&[u32], Option<Measured>)>,
    ) {
        let (particles, part) = (truth.particles.len(), self.rules.part());
        self.associations.clear();
        self.lengths.clear();
        let mut seen = HashSet::new();
        let (mut kept, mut ghosts) = (0u32, 0u32);
        for (track, measured) in tracks {
            self.tracks += 1;
            if !seen.insert(track) {
                self.repeated += 1;
                if self.rules == Rules::Json {
                    self.lengths.push((track.len() as u32, None));
                    continue;
                }
            }
            self.lengths.push((track.len() as u32, Some(kept)));
            let before = self.associations.len();
            let parts = self.matcher.parts_of(track);
            let matches = self.rules.associate(self.matcher.shares(track), parts, truth);
            self.associations.extend(matches.into_iter().map(|(particle, common)| Association {
                track: kept,
                particle,
                common: common.iter().sum(),
                track_hits: track.len() as u32,
                found: common[part],
                left: self.matcher.hits_of(particle)[part],
            }));
            let ghost = self.associations.len() == before;
            self.track_counts.add((track.len(), particles), ghost);
            if let Some(measured) = measured {
                self.add_measured(measured, before, truth);
            }
            ghosts += u32::from(ghost);
            kept += 1;
        }
        self.ghosts += u64::from(ghosts);
        self.ghost_rates.add(ratio(f64::from(ghosts), f64::from(kept)).unwrap_or(0.0));
    }

    /// Returns the results for each particle and track of the last event; `truth` is the truth of this event.
    pub fn last_event(&self, truth: &TruthEvent) -> EventMatches {
        let part = self.rules.part();
        let categories = |particle: &Particle| {
            let all = self.rules.categories().iter().filter(|category| (category.holds)(particle));
            all.map(|category| category.name).collect()
        };
        let particles = truth.particles.iter().zip(0..).map(|(particle, number)| ParticleMatch {
            categories: categories(particle),
            hits: self.matcher.hits_of(number)[part],
            ..ParticleMatch::default()
        });
        let mut matches = EventMatches { particles: particles.collect(), tracks: Vec::new() };
        let mut of_track = self.associations.chunk_by(|a, b| a.track == b.track).peekable();
        for (track, &(hits, kept)) in (0..).zip(&self.lengths) {
            let mut one = TrackMatch { hits, is_repeated: kept.is_none(), ..TrackMatch::default() };
            let associations = of_track.next_if(|all| Some(all[0].track) == kept).unwrap_or_default();
            // The first of several with the same number of hits.
            let best = associations.iter().rev().max_by_key(|association| association.common);
            one.particles = associations.len() as u32;
            if let Some(best) = best {
                one.particle = Some((best.particle, best.purity()));
                one.is_clone = matches.particles[best.particle as usize].tracks > 0;
            }
            for association in associations {
                let particle = &mut matches.particles[association.particle as usize];
                particle.tracks += 1;
                let share = association.hit_efficiency();
                if particle.best.is_none_or(|(_, most)| share > most) {
                    particle.best = Some((track, share));
                }
            }
            matches.tracks.push(one);
        }
        matches
    }

    /// Adds the measured momentum of a track, whose particles are in the associations from `first` on.
    fn add_measured(&mut self, measured: Measured, first: usize, truth: &TruthEvent) {
        // Of several particles, the first that left the most hits.
        let best = self.associations[first..].iter().rev().max_by_key(|association| association.common);
        if let Some(best) = best {
            self.momenta.add(&truth.particles[best.particle as usize], measured);
        }
        if measured.p > FAST[0] && measured.pt > FAST[1] {
            self.fast[0] += 1;
            self.fast[1] += u64::from(best.is_none());
        }
    }

    /// Returns the indices of the tracks of the last event that match a particle, rising, as labels for training
    /// classifiers. The index of a track that matches several particles is repeated. Indices do not count tracks that
    /// the rules skip.
    pub fn true_tracks(&self) -> impl Iterator<Item = usize> + '_ {
        self.associations.iter().map(|association| association.track as usize)
    }

    /// Returns the index of the matched particle for each pair of a track and a matched particle in the last event.
    pub fn found(&self) -> impl Iterator<Item = usize> + '_ {
        self.associations.iter().map(|association| association.particle as usize)
    }

    fn category(&mut self, number: usize, truth: &TruthEvent) {
        let holds = self.rules.categories()[number].holds;
        self.selected.clear();
        self.selected.extend(truth.particles.iter().map(holds));
        self.fates.clear();
        self.fates.resize(truth.particles.len(), Fate::default());
        let evaluate = match self.rules {
            Rules::Json => json_rules::evaluate,
            _ => lhcb_rules::evaluate,
        };
        let event = evaluate(&self.selected, &self.associations, &mut self.fates);
        let totals = &mut self.totals[number];
        let mut counter = Counter::default();
        let asked = truth.particles.iter().zip(&self.fates).zip(&self.selected);
        for ((particle, fate), _) in asked.filter(|(_, selected)| **selected) {
            let one = Counter {
                reconstructible: 1,
                reconstructed: u64::from(fate.reconstructed),
                clones: u64::from(fate.tracks.saturating_sub(1)),
            };
            totals.counts.add((particle, truth.particles.len()), one);
            counter.add(one);
        }
        totals.add(counter, event, self.rules);
    }

    /// Adds the counts of another checker, whose events follow the events of this checker.
    ///
    /// # Errors
    /// [`Error::Config`] when the rules differ.
    pub fn merge(&mut self, later: &Checker) -> Result<()> {
        if self.rules != later.rules {
            return Err(Error::Config(format!(
                "checks by rules {} and {} cannot be merged",
                self.rules, later.rules
            )));
        }
        self.events += later.events;
        self.tracks += later.tracks;
        self.ghosts += later.ghosts;
        self.repeated += later.repeated;
        self.ghost_rates.merge(later.ghost_rates);
        self.track_counts.merge(&later.track_counts);
        self.momenta.merge(&later.momenta);
        (0..2).for_each(|at| self.fast[at] += later.fast[at]);
        for (totals, later) in self.totals.iter_mut().zip(&later.totals) {
            totals.merge(later);
        }
        Ok(())
    }

    /// Returns the results for all events so far.
    pub fn report(&self) -> CheckReport {
        let named = || self.rules.categories().iter().zip(&self.totals);
        let clone_rate = self.rules.clone_rate();
        let momentum = self.momenta.report();
        let [tracks, ghosts] = self.fast;
        let fast = FastGhosts { tracks, ghosts, ghost_rate: ratio(ghosts as f64, tracks as f64) };
        CheckReport {
            tracks: self.tracks,
            ghosts: self.ghosts,
            ghost_rate: ratio(self.ghosts as f64, self.tracks as f64),
            categories: named().map(|(category, totals)| totals.report(category.name, self.rules)).collect(),
            rules: self.rules,
            events: self.events,
            ghost_rate_event_average: ratio(self.ghost_rates.value(), self.events as f64),
            repeated_tracks: self.repeated,
            tables: named()
                .flat_map(|(category, totals)| totals.counts.tables(category.name, clone_rate))
                .collect(),
            ghost_tables: self.track_counts.tables(),
            fast: (tracks > 0 || momentum.is_some()).then_some(fast),
            momentum,
        }
    }
}

impl Totals {
    /// Adds one event. An event without particles of the category does not count.
    fn add(&mut self, counter: Counter, event: EventCategory, rules: Rules) {
        let Some(efficiency) = counter.efficiency() else { return };
        self.counter.add(counter);
        self.matched += event.matched;
        self.purity.add(event.purity);
        self.hit_efficiency.add(event.hit_efficiency);
        self.events += 1;
        self.event_efficiency.add(efficiency);
        if event.matched > 0 {
            self.matched_events += 1;
            self.event_purity.add(event.purity / event.matched as f64);
            self.event_hit_efficiency.add(event.hit_efficiency / event.matched as f64);
        }
        if rules == Rules::Json {
            self.course.push([counter.reconstructed as u32, counter.reconstructible as u32]);
        }
    }

    fn merge(&mut self, later: &Totals) {
        self.counter.add(later.counter);
        self.matched += later.matched;
        self.purity.merge(later.purity);
        self.hit_efficiency.merge(later.hit_efficiency);
        self.events += later.events;
        self.event_efficiency.merge(later.event_efficiency);
        self.matched_events += later.matched_events;
        self.event_purity.merge(later.event_purity);
        self.event_hit_efficiency.merge(later.event_hit_efficiency);
        self.course.extend_from_slice(&later.course);
        self.counts.merge(&later.counts);
    }

    /// Returns the mean of the efficiencies over all events so far, taken after each event.
    fn running_efficiency(&self) -> Option<f64> {
        let mut so_far = Counter::default();
        let mut sum = 0.0;
        for &[reconstructed, reconstructible] in &self.course {
            so_far.add(Counter {
                reconstructed: reconstructed.into(),
                reconstructible: reconstructible.into(),
                clones: 0,
            });
            sum += so_far.efficiency().unwrap_or(0.0);
        }
        ratio(sum, self.course.len() as f64)
    }

    fn report(&self, name: &str, rules: Rules) -> CategoryReport {
        let Counter { reconstructible, reconstructed, clones } = self.counter;
        let interval = self.counter.interval();
        let matched = self.matched as f64;
        let (purity_of, average) = match rules {
            Rules::Json => ((reconstructed + clones) as f64, self.running_efficiency()),
            _ => (matched, ratio(self.event_efficiency.value(), self.events as f64)),
        };
        let matched_events = self.matched_events as f64;
        CategoryReport {
            name: name.into(),
            reconstructible,
            reconstructed,
            efficiency: self.counter.efficiency(),
            efficiency_low: interval.map(|(low, _)| low),
            efficiency_high: interval.map(|(_, high)| high),
            clones,
            clone_rate: (rules.clone_rate())(&self.counter),
            purity: ratio(self.purity.value(), purity_of),
            hit_efficiency: ratio(self.hit_efficiency.value(), matched),
            efficiency_event_average: average,
            purity_event_average: ratio(self.event_purity.value(), matched_events),
            hit_efficiency_event_average: ratio(self.event_hit_efficiency.value(), matched_events),
            matched_tracks: self.matched,
            sum_purity: self.purity.value(),
            sum_hit_efficiency: self.hit_efficiency.value(),
        }
    }
}
