//! Papers as data: the language, the errors, and each shipped paper over measurements that are made up.

mod default_scheme;
mod errors;
mod explain;
mod figures;
mod language;
mod maps;
#[path = "000.rs"]
mod p000;
#[path = "001.rs"]
mod p001;
#[path = "002.rs"]
mod p002;
#[path = "003.rs"]
mod p003;
#[path = "004.rs"]
mod p004;
mod pages;
mod seeds;
mod shipped;
mod support;
