//! Faults that users found, by theme: each test names what was wrong.
//!
//! | fault | what was wrong | tests |
//! |---|---|---|
//! | A1 | the Velo fit lost its precision: negative variances and chi2 | `any_track_is_fitted_as_in_f64`, `tracks_of_real_events_are_fitted_as_in_f64`, `errors_of_all_particles_above_3_gev_are_right` |
//! | A2 | an output over its own input destroyed it | `an_input_is_not_an_output_under_any_name` |
//! | A3 | an output was emptied though the input could not be read | `an_output_survives_a_job_that_fails` |
//! | A4 | configurations and profiles from pipes were read twice | `configurations_may_come_through_pipes`, `profiles_may_come_through_pipes` |
//! | A5 | `display` ignored the mask | `display_masks_hot_pixels_as_run_does` |
//! | A6 | `display` read the first file alone | `display_reads_all_files_and_tells_what_is_lost` |
//! | A7 | an interrupted `tune` wrote a profile | `an_interrupted_tune_leaves_the_profile_alone` |
//! | A8 | jobs that wait for data did not hear signals | `jobs_that_wait_for_data_hear_signals` |
//! | A9 | Parquet with Snappy was refused | `parquet_of_other_programs_is_read_whatever_packs_it` |
//! | A10 | profiles of other sequences and CPUs were taken | `profiles_of_other_sequences_and_cpus_are_told` |
//! | A11 | times of -3 and nan were taken | `times_that_are_none_are_refused` |
//! | A12 | keys of JSON came twice | `no_key_comes_twice` |
//! | A13 | hashes of `throughput` differed without a word | `throughput_says_why_its_hashes_are_not_those_of_run` |
//! | A14 | `--format` of another sequence was ignored | `flags_of_another_sequence_are_refused`, `the_sequence_is_chosen_by_the_input` |
//! | A15 | general flags stood under a detector's heading | `general_flags_stand_under_a_general_heading` |
//! | A16 | a particle was its own relative | `a_particle_is_no_relative_of_its_own`, `a_particle_that_is_its_own_mother_counts_once` |
//! | B1 | exit code 0 when everything was lost; nothing said which bank or hit | `nothing_reconstructed_is_a_failure`, `so_many_events_may_be_lost`, `statuses_met_in_decoding_are_told`, `the_bank_or_hit_that_an_event_failed_by_is_named` |
//! | B2 | exit code 0 after signals | `every_command_ends_with_the_code_of_the_signal` |
//! | B3 | all files of a geometry were needed | `a_geometry_of_the_velo_is_enough_for_the_velo` |
//! | B4 | damage in the first record hid the format | `damage_in_the_first_record_costs_one_event` |
//! | B5 | anything was read as a toy file | `what_is_no_toy_file_is_refused` |
//! | B6 | any text was read as pixel hits | `text_that_is_no_hit_is_told_with_its_line`, `an_mdf_read_as_pixel_text_is_no_success` |
//! | B7 | events without truth were called corrupt | `events_without_truth_are_not_corrupt` |
//! | B8 | unknown detectors: not all were named | `the_sequence_is_chosen_by_the_input` |
//! | B9 | pixel and cylinder files needed `--sequence` | `the_sequence_is_chosen_by_the_input` |
//! | B10 | tracks belonged to events by position; unknown and repeated hits were silent | `tracks_belong_to_events_by_their_numbers`, `tracks_of_other_events_are_told`, `unknown_hits_of_raw_events_are_counted`, `hits_of_other_programs_are_known` |
//! | B11 | tracks of other banks than the truth's: no hint | `banks_of_another_kind_than_the_truth_are_told` |
//! | B12 | one bad file among many ended the job | `one_bad_file_among_many_does_not_end_the_job`, `a_pixel_file_that_breaks_off_is_told_and_the_others_are_read` |
//! | B13 | `--events` beyond the input | `events_beyond_the_input_are_told` |
//! | B14 | flags that mean nothing were ignored | `flags_without_effect_are_refused_everywhere`, `what_a_refusal_says`, `every_flag_is_in_the_table` |
//! | B15 | `--events` and what a detector says of itself | `what_a_detector_says_of_itself_counts` |
//! | B16 | formats under names of others | `outputs_are_what_their_names_say` |
//! | B17 | Parquet too large, in one row group; killed runs left empty files | `row_groups_are_small_and_do_not_depend_on_the_pieces`, `an_end_at_once_leaves_what_was_there`, `what_was_made_before_a_signal_is_put_in_place`, `a_pixel_file_that_breaks_off_is_told_and_the_others_are_read` |
//! | B18 | `tune --json` left a file; outputs over each other | `results_as_json_leave_no_file_behind`, `two_outputs_are_two_files` |
//! | C | negative numbers, TOML errors, progress, `--print-config` | `times_that_are_none_are_refused`, `mistakes_are_told_in_plain_words`, `configurations_name_their_line`, `every_command_tells_how_it_gets_on`, `every_key_is_there_once_and_says_what_it_is` |
//! | D1 | run and event numbers were lost | `outputs_tell_which_events_they_are_of`, `real_events_keep_their_numbers` |
//! | D2 | columns said nothing of themselves, files nothing of how they were made | `every_column_of_tracks_comes_back`, `the_file_says_how_it_came_to_be`, `the_documented_columns_are_those_of_the_schemas` |
//! | D3 | ut and scifi wrote no Parquet; units differed; energy 0 without a calibration; no energy of hits, chip or source file | `hits_of_ut_and_scifi_are_sequences_of_their_own`, `clusters_have_the_same_units_in_all_files`, `hits_of_clusters_tell_their_file_chip_and_energy` |
//! | D4 | no table of particles and tracks | `tables_of_the_truth_add_up_to_the_report` |
//! | E | the page of pixels explained nothing | `the_page_has_all_pictures_and_says_what_they_are`, `the_frame_with_the_most_hits_is_drawn_unless_another_is_wanted`, `labels_are_inside_of_the_picture`, `empty_frames_are_told` |

mod effects;
mod flags;
mod identity;
mod inputs;
mod losses;
mod results;
mod signals;

use crate::{common, empty_folder, json, path, peloton, said};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Few simulated events of each sequence: enough to have tracks or clusters.
const VELO: &str = "sim:velo,events=6,seed=4";
const CYLINDER: &str = "sim:cylinder,events=2,tracks=100,seed=2";
const PIXELS: &str = "sim:timepix,hits=3000,seed=2";
const RAW: &str = "sim:lhcb,events=2";

/// The one line on standard error of a job that must end with this code.
fn failure(arguments: &[&str], expected: i32) -> String {
    let (code, _, error) = said(arguments);
    assert_eq!((code, error.lines().count()), (Some(expected), 1), "{arguments:?}: {error}");
    error
}

/// A folder of one test's own.
fn folder(name: &str) -> PathBuf {
    empty_folder(&format!("faults-{name}"))
}

/// Writes a file into a folder.
fn file(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> String {
    let path = path(folder, name);
    std::fs::write(&path, bytes).expect("written");
    path
}

/// Simulated events of a detector in a file.
fn simulated(folder: &Path, name: &str, detector: &str, events: &str) -> String {
    let path = path(folder, name);
    json(&["simulate", "--detector", detector, "--events", events, "--seed", "4", "--output", &path]);
    path
}

/// The tests of a file or a folder, by their names.
fn tests_in(path: &Path, found: &mut Vec<String>) {
    if path.is_dir() {
        let entries = std::fs::read_dir(path).expect("a folder");
        return entries.for_each(|entry| tests_in(&entry.expect("an entry").path(), found));
    }
    if path.extension().is_none_or(|ending| ending != "rs") {
        return;
    }
    let text = std::fs::read_to_string(path).expect("UTF-8");
    let after = text.split("#[test]").skip(1);
    let name = |text: &str| Some(text.split_once("fn ")?.1.split('(').next()?.to_string());
    found.extend(after.filter_map(name));
}

#[test]
fn every_fault_has_a_test_that_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    ["tests", "crates", "src"].iter().for_each(|folder| tests_in(&root.join(folder), &mut found));
    let rows: Vec<Vec<&str>> = include_str!("mod.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("//! | "))
        .map(|row| row.split(" | ").collect())
        .collect();
    let number =
        |letter: &str, last: usize| (1..=last).map(|number| format!("{letter}{number}")).collect::<Vec<_>>();
    for fault in [number("A", 16), number("B", 18), number("D", 3)].concat() {
        assert_eq!(rows.iter().filter(|row| row[0] == fault).count(), 1, "{fault}");
    }
    for row in rows.iter().filter(|row| row[0] != "fault") {
        let tests: Vec<_> = row[2].split('`').skip(1).step_by(2).collect();
        assert!(!tests.is_empty(), "{row:?}");
        for test in tests {
            assert!(found.iter().any(|name| name == test), "{}: there is no test {test}", row[0]);
        }
    }
}
