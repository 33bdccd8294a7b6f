//! What the keys of the SciFi mean.

/// Of `scifi`.
pub(super) const TOP: &[(&str, &str)] = &[
    ("preset", "where the other parameters come from"),
    ("resolution", "resolution of a hit across its fibre, which covariances go by, mm"),
    ("origin_z", "standard deviation of z where particles begin, mm: errors of momenta go by it"),
    (
        "scattering",
        "what the variance of scattering in the SciFi is multiplied by in the covariances of states: some particles bounce off nuclei, too",
    ),
    ("momentum_error", "relative error of the formula that makes a momentum of a track in the SciFi alone"),
    (
        "compact",
        "of preset hlt1: whether x of the hits is copied to one block, half by half, for the search, or read where decoding \
         put it; both find the same",
    ),
];

/// Of `scifi.limits`.
pub(super) const LIMITS: &[(&str, &str)] = &[
    ("hits", "hits of an event; one with more is refused and counted"),
    ("hits_in_zone", "hits of a zone, a half of a layer; an event with more is refused and counted"),
    ("coordinate", "largest |x| of a hit, mm"),
    (
        "triplets",
        "triplets of one kind in a half, runs of bits of a pivot in a half, or lines in y; what lies beyond is counted as dropped",
    ),
    ("candidates", "candidates in x of a half, or of both with rows; what lies beyond is counted as dropped"),
];

/// Of `scifi.hlt1`.
pub(super) const HLT1: &[(&str, &str)] = &[
    (
        "triplets",
        "x layers, 0 to 5 by z, of a triplet's first, middle and last hit, for each kind of triplets",
    ),
    ("min_momentum", "smallest momentum that windows are made for, MeV/c"),
    ("x_tolerance", "distance of a hit in another x layer from the parabola through a triplet, mm"),
    ("min_x_hits", "fewest hits in x"),
    ("uv_tolerance", "distance of a hit in a u or v layer from where it is expected, mm"),
    ("min_hits", "fewest hits of a track"),
    ("min_uv_hits", "fewest of them in u and v layers"),
    ("min_own_hits", "of how many of its hits a track in x must be the best, lest it is a clone"),
    ("min_own_of_six", "the same for tracks with six hits"),
];

/// Of `scifi.rows`.
pub(super) const ROWS: &[(&str, &str)] = &[
    ("pivots", "x layers of the middle station, 2 and 3 by z, in the order in which their hits are pivots"),
    (
        "reach",
        "how far a hit marks its row to each side: a constant, mm, and what the spread of fixed tracks is multiplied with",
    ),
    ("outer", "beyond this |x| hits mark one bit more at both ends, mm"),
];

/// Of `scifi.rows.passes`.
pub(super) const PASSES: &[(&str, &str)] = &[
    ("shift", "largest shift of a track, mm: 307 is a particle of about 4 GeV/c, 540 one of 2.3 GeV/c"),
    ("width", "what the reach is multiplied with"),
    ("min_x_hits", "fewest hits in x, 5 or 4"),
    ("four_hit_shift", "tracks with four hits in x have smaller shifts than this, mm"),
    ("x_tolerance", "distance of a hit in x from the parabola through three others, mm"),
    ("uv_tolerance", "distance of a hit in a u or v layer from where it is expected, mm"),
    ("line_tolerance", "and from the line in y through such hits, which decides what hits the track has, mm"),
    ("min_hits", "fewest hits of a track"),
    ("min_uv_hits", "fewest of them in u and v layers"),
    ("min_own_hits", "of how many of its hits a track in x must be the best, lest it is a clone"),
    ("min_own_of_six", "the same for tracks with six hits"),
];

/// Of `scifi.rows.passes.choice`.
pub(super) const CHOICE: &[(&str, &str)] = &[
    (
        "weights",
        "what a track's numbers are weighted with: a constant; missing hits in x, and in u and v; logarithms of \
         the chi2 in x and y; y at the origin; products of these, the bend and its products; the logarithm of how many \
         tracks there are to choose from",
    ),
    ("min_score", "smallest weighted sum, the logarithm of the odds that a track is a particle's"),
    ("shared_hits", "hits that a track may share with better ones"),
];
