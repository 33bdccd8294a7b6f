//! [`Page`]: the style that all HTML pages share. A page is one self-contained file, makes no network requests, and is
//! readable on a phone, on a dark screen and on paper.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde::Serialize;

/// Text, tables, figures and colours; pages add their own styles.
const CSS: &str = include_str!("look.css");
/// Content security policies of a page: without a script, and with one.
const POLICIES: &str = include_str!("policy.txt");

/// Number of colours for data series: the classes `s1` to `s8` of the style sheet.
pub const SERIES: usize = 8;

/// Returns the CSS class with the colour of a data series; series 8 has the class of series 0 again.
pub fn series_class(number: usize) -> String {
    format!("s{}", number % SERIES + 1)
}

/// A self-contained page.
pub struct Page<'a> {
    /// Title of the page in the browser.
    pub title: &'a str,
    /// CSS of this page, added to the common style.
    pub css: &'a str,
    /// Content of the page.
    pub body: Markup,
    /// Script of the page, if any.
    pub script: Option<&'a str>,
}

impl Page<'_> {
    /// Returns the page as HTML. The page's content security policy always forbids browsers to load other resources.
    pub fn html(&self) -> String {
        let Self { title, css, body, script } = self;
        let policy = POLICIES.lines().nth(usize::from(script.is_some())).unwrap_or_default();
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta http-equiv="Content-Security-Policy" content=(policy);
                    link rel="icon" href="data:,";
                    title { (title) }
                    style { (PreEscaped(CSS)) (PreEscaped(css)) }
                }
                body {
                    (body)
                    @if let Some(script) = script { script { (PreEscaped(script)) } }
                }
            }
        };
        page.into_string()
    }
}

/// Returns data as JSON for an HTML script element; no text in the data can end the element.
pub fn script_data(data: &impl Serialize) -> String {
    let text = serde_json::to_string(data).unwrap_or_else(|_| "null".into());
    text.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_page_is_taken_for_html() {
        let body = html! { p { ("<script>alert(1)</script>") } };
        let page = Page { title: "a < b", css: "", body, script: None }.html();
        assert!(page.contains("<title>a &lt; b</title>") && !page.contains("<script"));
        assert!(page.contains("default-src 'none'") && !page.contains("script-src"));
        let with_script = Page { title: "", css: "", body: html! {}, script: Some("let a = 1;") }.html();
        assert!(with_script.contains("<script>let a = 1;</script>") && with_script.contains("script-src"));
        assert_eq!(script_data(&["</script>"]), "[\"\\u003c/script>\"]");
    }

    #[test]
    fn series_have_colours_and_begin_again() {
        assert_eq!([0, 7, 8].map(series_class), ["s1", "s8", "s1"]);
        assert!(
            (1..=SERIES).all(|number| CSS.contains(&format!(".s{number} {{ --series: var(--s{number})")))
        );
    }
}
