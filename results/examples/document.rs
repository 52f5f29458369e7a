//! Prints `docs/results.md`: `cargo run -p stripewise-results --example document > docs/results.md`.

fn main() {
    print!("{}", stripewise_results::schema::documentation());
}
