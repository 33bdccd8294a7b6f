//! Names of columns: one name for each quantity of a state, and the names of schemas before version 5 in the same order.

use peloton::event::{
    CylinderFits, CylinderTracks, Kind, LongTracks, PixelClusters, Product, STATE_COLUMNS, SciFiBatch,
    SciFiTracks, StateColumn, UtBatch, VeloTracks, VeloUtTracks, no_column, renamed_column,
};

fn names<R: Product>() -> Vec<&'static str> {
    R::SCHEMA.columns.iter().map(|info| info.name).collect()
}

/// Compares the names before version 5, each replaced by its present name, with the present names.
fn follow<R: Product>(before: &str) {
    let before = before.split_whitespace();
    let renamed = before.map(|name| renamed_column(name).unwrap_or_else(|| name.into()));
    assert_eq!(renamed.collect::<Vec<_>>(), names::<R>());
}

#[test]
fn old_names_become_present_names_one_to_one_and_in_order() {
    follow::<VeloTracks>(
        "status track_start hit_start hits chi2 backward beam_x beam_y beam_z beam_tx beam_ty beam_cov_xx \
         beam_cov_xt beam_cov_tt end_x end_y end_z end_tx end_ty end_cov_xx end_cov_xt end_cov_tt",
    );
    follow::<VeloUtTracks>(
        "status track_start hit_start ut_hits velo_track hits q_over_p var_q_over_p chi2 x y tx ty cov_xx cov_xtx \
         cov_txtx cov_yy cov_yty cov_tyty",
    );
    follow::<UtBatch>("status group_start id x z y_begin y_end weight");
    follow::<SciFiBatch>("status zone_start id width x z y_end");
    follow::<SciFiTracks>(
        "status track_start hit_start hits x y tx ty qop var_qop cov_xx cov_xt cov_tt cov_yy cov_yu cov_uu \
         searched_x searched_y searched_tx searched_ty chi2_x chi2_y",
    );
    follow::<LongTracks>(
        "status track_start hit_start hits qop var_qop chi2 beam_x beam_y beam_z beam_tx beam_ty beam_cov_xx \
         beam_cov_xt beam_cov_tt scifi_x scifi_y scifi_tx scifi_ty scifi_cov_xx scifi_cov_xt scifi_cov_tt \
         scifi_cov_yy scifi_cov_yu scifi_cov_uu",
    );
    follow::<CylinderTracks>(
        "status track_start hit_start hits seed chi2 fit radius azimuth z qpt phi theta cov_rphi_rphi cov_z_rphi \
         cov_z_z cov_qpt_rphi cov_qpt_z cov_qpt_qpt cov_phi_rphi cov_phi_z cov_phi_qpt cov_phi_phi cov_theta_rphi \
         cov_theta_z cov_theta_qpt cov_theta_phi cov_theta_theta",
    );
    follow::<CylinderFits>(
        "status track_start hit_start hits track chi2 fit chi2_filtered chi2_smoothed radius azimuth z qpt phi \
         theta cov_rphi_rphi cov_z_rphi cov_z_z cov_qpt_rphi cov_qpt_z cov_qpt_qpt cov_phi_rphi cov_phi_z \
         cov_phi_qpt cov_phi_phi cov_theta_rphi cov_theta_z cov_theta_qpt cov_theta_phi cov_theta_theta",
    );
    follow::<PixelClusters>(
        "hit_start hit_time hit_x hit_y hit_tot time duration tot height energy x_min y_min x_max y_max \
         centroid_x centroid_y mean_x mean_y length breadth linearity roundness",
    );
}

/// Every number of a track along the beam is a quantity of the table, or a chi2.
fn has_quantities_of_the_table<R: Product>() {
    for info in R::SCHEMA.columns.iter().filter(|info| info.kind == Kind::F32) {
        match StateColumn::of(info.name) {
            Some(StateColumn { unit, meaning, .. }) => {
                assert_eq!(&info.unit, unit, "{}", info.name);
                assert!(info.meaning.starts_with(meaning), "{}: {}", info.name, info.meaning);
            }
            None => assert!(info.name.starts_with("chi2"), "{} is missing in STATE_COLUMNS", info.name),
        }
    }
}

#[test]
fn states_have_the_names_units_and_meanings_of_the_table() {
    has_quantities_of_the_table::<VeloTracks>();
    has_quantities_of_the_table::<VeloUtTracks>();
    has_quantities_of_the_table::<SciFiTracks>();
    has_quantities_of_the_table::<LongTracks>();
    for column in &STATE_COLUMNS {
        assert_eq!(StateColumn::of(column.name), Some(column));
        assert_eq!(column.old_name.and_then(StateColumn::of), None, "{}", column.name);
        assert_eq!(renamed_column(column.name), None);
    }
}

#[test]
fn an_old_name_gets_the_new_one_only_where_results_have_it() {
    let long = names::<LongTracks>();
    for (old, new) in [("var_q_over_p", "var_qop"), ("beam_cov_tt", "beam_cov_txtx")] {
        let words = no_column(old, &long);
        assert!(words.contains(&format!("no column `{old}`: write `{new}`")), "{words}");
    }
    for (old, names) in [("q_over_p", names::<VeloTracks>()), ("end_cov_tt", long)] {
        let words = no_column(old, &names);
        assert!(words.contains(&format!("no column `{old}`: choose one of status, ")), "{words}");
    }
}
