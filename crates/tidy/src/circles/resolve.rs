//! Finds the file that defines what a path names.

use std::collections::BTreeMap;

use super::Arrows;
use super::parse::{self, Module, Use};
use crate::file::File;

/// Most re-exports between a path and what it names; a longer chain is followed no further.
const REEXPORTS_MAX: usize = 16;

/// The modules of a crate, by their paths, each with its file.
#[derive(Debug)]
pub(super) struct Crate<'a> {
    modules: BTreeMap<Vec<String>, (&'a str, Module)>,
}

/// What a path names.
#[derive(Clone, Debug)]
enum Named<'a> {
    /// A module of the crate.
    Module(Vec<String>),
    /// An item, by the file that defines it.
    Item(&'a str),
    /// A thing of another crate.
    Foreign,
}

impl<'a> Crate<'a> {
    /// Reads the files of the crate in the folder `owner`. Modules that only tests have are left out.
    pub(super) fn read(owner: &str, files: &[&'a File]) -> Self {
        let mut modules = BTreeMap::new();
        let name = |file: &'a File| file.path[owner.len() + "/src/".len()..].trim_end_matches(".rs");
        let has_lib = files.iter().any(|file| name(file) == "lib");
        for file in files {
            let name = name(file);
            if name.starts_with("bin/") || (name == "main" && has_lib) {
                continue;
            }
            let parts = name.trim_end_matches("/mod").split('/').map(str::to_owned);
            let path: Vec<String> = if matches!(name, "lib" | "main") { Vec::new() } else { parts.collect() };
            for module in parse::modules(&path, &file.text) {
                modules.insert(module.path.clone(), (file.path.as_str(), module));
            }
        }
        let test = |(_, module): &(&str, Module)| {
            let path = |name: &String| [module.path.as_slice(), std::slice::from_ref(name)].concat();
            module.test_modules.iter().map(path).collect::<Vec<_>>()
        };
        let tests: Vec<Vec<String>> = modules.values().flat_map(test).collect();
        modules.retain(|path, _| !tests.iter().any(|test| path.starts_with(test)));
        Self { modules }
    }

    /// The arrows between the files.
    pub(super) fn arrows(&self) -> Arrows<'a> {
        let mut arrows: Arrows<'a> = BTreeMap::new();
        for (file, module) in self.modules.values() {
            let named = arrows.entry(file).or_default();
            // What a module re-exports, and does not name itself, it does not need.
            let needs = |import: &&Use| !import.is_reexport || module.words.contains(&import.name);
            let imports = module.uses.iter().filter(needs);
            let globs = imports.clone().filter(|import| import.name == "*").map(|import| &import.path);
            let others = imports.filter(|import| import.name != "*").map(|import| &import.path);
            for path in globs {
                match self.resolve(module, path, 0) {
                    Named::Module(path) => named.extend(self.modules.get(&path).map(|(file, _)| *file)),
                    Named::Item(file) => named.extend([file]),
                    Named::Foreign => {}
                }
            }
            for path in others.chain(&module.paths) {
                if let Named::Item(file) = self.resolve(module, path, 0) {
                    named.insert(file);
                }
            }
        }
        for (file, named) in &mut arrows {
            named.remove(file);
        }
        arrows
    }

    /// What `path` names in the code of `module`.
    fn resolve(&self, module: &Module, path: &[String], depth: usize) -> Named<'a> {
        let Some((first, mut rest)) = path.split_first() else { return Named::Foreign };
        let above = |path: &[String]| path[..path.len().saturating_sub(1)].to_vec();
        let mut named = match first.as_str() {
            "crate" => Named::Module(Vec::new()),
            "self" => Named::Module(module.path.clone()),
            "super" => Named::Module(above(&module.path)),
            _ => self.child(module, first, depth).unwrap_or(Named::Foreign),
        };
        while let (Named::Module(at), Some((name, after))) = (&named, rest.split_first()) {
            let Some((file, inner)) = self.modules.get(at) else { return Named::Foreign };
            named = if name == "super" {
                Named::Module(above(at))
            } else {
                // Macros define what no keyword of an item names.
                self.child(inner, name, depth).unwrap_or(Named::Item(file))
            };
            rest = after;
        }
        named
    }

    /// What `name` means in `module`: a child, an item, or an import.
    fn child(&self, module: &Module, name: &String, depth: usize) -> Option<Named<'a>> {
        if depth > REEXPORTS_MAX {
            return None;
        }
        let path = [module.path.as_slice(), std::slice::from_ref(name)].concat();
        if self.modules.contains_key(&path) {
            return Some(Named::Module(path));
        }
        if module.items.contains(name) {
            return self.modules.get(&module.path).map(|(file, _)| Named::Item(file));
        }
        let is_import = |import: &&Use| import.name == *name && import.path.first() != Some(name);
        if let Some(import) = module.uses.iter().find(is_import) {
            return Some(self.resolve(module, &import.path, depth + 1));
        }
        let globs = module.uses.iter().filter(|import| import.name == "*");
        globs.into_iter().find_map(|import| match self.resolve(module, &import.path, depth + 1) {
            Named::Module(path) => self.child(&self.modules.get(&path)?.1, name, depth + 1),
            Named::Item(_) | Named::Foreign => None,
        })
    }
}
