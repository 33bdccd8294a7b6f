//! Meanings of the keys of the Velo's search by links and of its fit.

/// Of `velo.link`.
pub(super) const LINK: &[(&str, &str)] = &[
    ("hit_resolution", "resolution of a hit in x and in y, mm"),
    ("scatter_constant", "variance of the scattering angle in one pair, slope-independent part, rad^2"),
    ("scatter_slope", "its part proportional to tx^2 + ty^2, rad^2"),
    ("score", "largest chi2 of a triplet of the first pass"),
    ("weak_score", "the same for a track that ends with three hits"),
    ("second_window", "second pass: half width of the window for the outer hit of a triplet, 1/256 turn"),
    ("second_doublet_doca", "second pass: largest distance of a doublet's line to the beam line, mm"),
    ("second_score", "second pass: largest chi2 plus weighted distance to the beam line of a triplet"),
    ("second_doca_weight", "weight of this distance, 1/mm"),
    ("second_weak_score", "second pass: largest score of a track that ends with three hits"),
    (
        "join_chi2",
        "largest sum of chi2 of two tracks that are joined, one beyond the end of the other; 0: none are",
    ),
    ("join_pairs", "pairs beyond, at most"),
];

/// Of `velo.fit`.
pub(super) const FIT: &[(&str, &str)] = &[
    ("weight", "weight of a hit: one over the variance of x and of y, 1/mm^2"),
    ("noise_constant", "variance of the scattering angle per hit, independent of the slope, rad^2"),
    ("noise_slope", "its part proportional to tx^2 + ty^2, rad^2"),
    ("noise_steep", "its part proportional to (tx^2 + ty^2)^1.5, rad^2"),
    ("noise_gain", "strength of the change of that variance by a hit's chi2; 0: the slopes alone decide"),
    ("noise_chi2", "the chi2 of a hit at which the variance stays unchanged"),
    (
        "noise_largest_chi2",
        "upper limit of a hit's chi2 in that change: hits of other particles are not scattering",
    ),
    ("noise_beam", "scattering between the innermost hit and the beam line, in units of that variance"),
    ("noise_end", "scattering between the last hit and the end of the Velo, in units of that variance"),
    ("end_z", "z of the state at the end of the Velo, mm"),
    ("beam_x", "x of the beam line, mm; if both are 0, raw banks take the beam line of the geometry"),
    ("beam_y", "y of the beam line, mm"),
];
