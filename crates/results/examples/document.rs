//! Prints `docs/reference/results.md`: `cargo run -p stripewise-results --example document > docs/reference/results.md`.

fn main() {
    print!("{}", stripewise_results::schema::documentation());
}
