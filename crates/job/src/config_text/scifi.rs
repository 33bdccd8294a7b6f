//! Meanings of the keys of the SciFi.

/// Of `scifi`.
pub(super) const TOP: &[(&str, &str)] = &[
    ("preset", "preset that gives the defaults of the other parameters"),
    ("resolution", "resolution of a hit across its fibre, used in covariances, mm"),
    ("origin_z", "standard deviation of z of the particles' origin, mm, used in errors of momenta"),
    (
        "scattering",
        "factor on the variance of scattering in the SciFi in the covariances of states, for elastic scattering off nuclei",
    ),
    ("momentum_error", "relative error of the formula for the momentum of a track in the SciFi alone"),
    (
        "compact",
        "for preset hlt1: whether x of the hits is copied to one block, half by half, for the search, or read in the order of decoding; both find the same",
    ),
];

/// Of `scifi.limits`.
pub(super) const LIMITS: &[(&str, &str)] = &[
    ("hits", "largest number of hits of an event; larger events are refused and counted"),
    (
        "hits_in_zone",
        "largest number of hits of a zone, a half of a layer; events with more are refused and counted",
    ),
    ("coordinate", "largest |x| of a hit, mm"),
    (
        "triplets",
        "largest number of triplets of one kind in a half, runs of bits of a pivot in a half, or lines in y; further ones are counted as dropped",
    ),
    (
        "candidates",
        "largest number of candidates in x of a half, or of both with rows; further ones are counted as dropped",
    ),
];

/// Of `scifi.hlt1`.
pub(super) const HLT1: &[(&str, &str)] = &[
    (
        "triplets",
        "x layers, 0 to 5 by z, of a triplet's first, middle and last hit, for each kind of triplets",
    ),
    ("min_momentum", "smallest momentum that the windows cover, MeV/c"),
    ("x_tolerance", "largest distance of a hit in another x layer from the parabola through a triplet, mm"),
    ("min_x_hits", "fewest hits in x"),
    ("uv_tolerance", "largest distance of a hit in a u or v layer from its expected place, mm"),
    ("min_hits", "fewest hits of a track"),
    ("min_uv_hits", "fewest of them in u and v layers"),
    ("min_own_hits", "number of hits for which a track in x must be the best track; otherwise it is a clone"),
    ("min_own_of_six", "the same for tracks with six hits"),
];

/// Of `scifi.rows`.
pub(super) const ROWS: &[(&str, &str)] = &[
    ("pivots", "x layers of the middle station, 2 and 3 by z, in the order in which their hits are pivots"),
    (
        "reach",
        "half width of the mark of a hit in its row: a constant, mm, and a factor on the spread of fixed tracks",
    ),
    ("outer", "beyond this |x| hits mark one bit more at both ends, mm"),
];

/// Of `scifi.rows.passes`.
pub(super) const PASSES: &[(&str, &str)] = &[
    ("shift", "largest shift of a track, mm: 307 is a particle of about 4 GeV/c, 540 one of 2.3 GeV/c"),
    ("width", "factor on the half width"),
    ("min_x_hits", "fewest hits in x, 5 or 4"),
    ("four_hit_shift", "tracks with four hits in x have smaller shifts than this, mm"),
    ("x_tolerance", "largest distance of a hit in x from the parabola through three others, mm"),
    ("uv_tolerance", "largest distance of a hit in a u or v layer from its expected place, mm"),
    ("line_tolerance", "and from the line in y through such hits, for the final choice of hits, mm"),
    ("min_hits", "fewest hits of a track"),
    ("min_uv_hits", "fewest of them in u and v layers"),
    ("min_own_hits", "number of hits for which a track in x must be the best track; otherwise it is a clone"),
    ("min_own_of_six", "the same for tracks with six hits"),
];

/// Of `scifi.rows.passes.choice`.
pub(super) const CHOICE: &[(&str, &str)] = &[
    (
        "weights",
        "weights of a track's numbers: a constant; missing hits in x, and in u and v; logarithms of the chi2 in x and y; y at the origin; products of these, the bend and its products; the logarithm of the number of tracks to choose from",
    ),
    ("min_score", "smallest weighted sum, the logarithm of the odds that a track is true"),
    ("shared_hits", "hits that a track may share with better ones"),
];
