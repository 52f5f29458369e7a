//! The tree follows its rules.

use stripewise_tidy::tree;

#[test]
fn the_tree_keeps_its_rules() {
    let root = tree::root();
    let files = tree::files(&root).expect("the tree can be read");
    for expected in ["README.md", ".ci/run", "crates/base/src/lib.rs", "crates/tidy/src/layers.rs"] {
        assert!(files.iter().any(|file| file.path == expected), "{expected} was not looked at");
    }
    let complaints = tree::check(&root, &files);
    let list: Vec<String> = complaints.iter().map(ToString::to_string).collect();
    assert!(list.is_empty(), "{} complaints:\n{}", list.len(), list.join("\n"));
}
