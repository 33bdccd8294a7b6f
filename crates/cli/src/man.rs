//! `peloton man`: writes the manual pages.

use crate::{console, whole_command};
use clap::Args;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use peloton::{Error, Result};
use peloton_io::output::{JobFiles, write_whole};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Write the manual pages, one for each subcommand
#[derive(Args)]
#[command(
    hide = true,
    after_help = "\
Examples:
  peloton man ~/.local/share/man/man1 && man peloton-run
  peloton man pages && man pages/peloton-check.1"
)]
pub struct ManCommand {
    /// Folder for the pages, created if necessary: peloton.1, peloton-run.1, ...
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl ManCommand {
    /// Adds no files: the command writes only manual pages, into its folder.
    pub fn name_files(&self, _files: &mut JobFiles) {}

    /// Runs the command.
    pub fn execute(&self) -> Result<ExitCode> {
        std::fs::create_dir_all(&self.folder).map_err(|e| Error::io(&self.folder, e))?;
        let pages = pages()?;
        for (name, page) in &pages {
            write_whole(&self.folder.join(name), page)?;
        }
        console::print(&format!("{} pages: {}\n", pages.len(), self.folder.display()))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns all pages with their file names; the first is the page of the program.
fn pages() -> Result<Vec<(String, Vec<u8>)>> {
    let mut program = whole_command().disable_help_subcommand(true).long_version(None::<&str>);
    // Gives the subcommands their names, such as `peloton-run`.
    program.build();
    let subcommands = program.get_subcommands().cloned().collect::<Vec<_>>();
    [program].into_iter().chain(subcommands).map(page).collect()
}

fn page(command: clap::Command) -> Result<(String, Vec<u8>)> {
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let title = command.get_display_name().unwrap_or_else(|| command.get_name()).to_string();
    // `Man` would fill the text after the options as one paragraph: `sections` writes it instead. Without a date, a
    // version gives the same bytes on every day.
    let man = Man::new(command.after_help(None::<&str>));
    let man = man
        .title(title.to_uppercase())
        .source(concat!("peloton ", env!("CARGO_PKG_VERSION")))
        .date(" ")
        .manual("peloton");
    let name = format!("{title}.1");
    let mut page = Vec::new();
    man.render(&mut page)
        .and_then(|()| sections(&after).to_writer(&mut page))
        .map_err(|e| Error::io(Path::new(&name), e))?;
    Ok((name, page))
}

/// Converts the text after the options, `Heading:` and indented lines, to sections that keep their lines.
fn sections(after: &str) -> Roff {
    let mut roff = Roff::default();
    // Outside of `nf` and `fi`, roff joins lines to paragraphs.
    let mut is_filled = true;
    for line in after.lines().filter(|line| !line.trim().is_empty()) {
        match line.strip_suffix(':').filter(|_| !line.starts_with(' ')) {
            Some(heading) => {
                if !std::mem::take(&mut is_filled) {
                    roff.control("fi", []);
                }
                roff.control("SH", [heading.to_uppercase().as_str()]).control("nf", []);
            }
            None => {
                roff.text([roman(line.trim_start())]);
            }
        }
    }
    if !is_filled {
        roff.control("fi", []);
    }
    roff
}
