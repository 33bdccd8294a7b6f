//! What is looked for in pages.

use roxmltree::Node;

/// The drawing with this heading.
pub fn figure<'a>(page: &'a str, title: &str) -> &'a str {
    let svg = drawings(page).find(|svg| {
        let told = svg.split("-title\">").nth(1).and_then(|rest| rest.split('<').next());
        told == Some(title)
    });
    svg.unwrap_or_else(|| panic!("there is no figure {title}"))
}

/// All drawings of a page.
pub fn drawings(page: &str) -> impl Iterator<Item = &str> {
    page.split("<svg ").skip(1).map(move |rest| {
        let start = rest.as_ptr() as usize - page.as_ptr() as usize - "<svg ".len();
        let end = start + "<svg ".len() + rest.find("</svg>").expect("an end") + "</svg>".len();
        &page[start..end]
    })
}

/// An attribute that is a number.
pub fn number(node: &Node<'_, '_>, name: &str) -> f64 {
    let text = node.attribute(name).unwrap_or_else(|| panic!("{name} is missing: {node:?}"));
    text.parse().unwrap_or_else(|_| panic!("{name} is {text}"))
}
