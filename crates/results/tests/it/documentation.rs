//! The page of the documentation that is generated from the code.

use std::fs;
use std::path::Path;
use stripewise_results::schema::documentation;

#[test]
fn the_page_of_results_is_what_the_code_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/results.md");
    let page = fs::read_to_string(path).expect("docs/reference/results.md is there");
    assert!(
        page == documentation(),
        "docs/reference/results.md is out of date: cargo run -p stripewise-results --example document > docs/reference/results.md"
    );
}
