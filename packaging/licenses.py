"""Print the licences of the crates that a program of this workspace links, with their texts.

    python3 packaging/licenses.py --package stripewise --target x86_64-unknown-linux-gnu

Permissive licences ask that their text goes with every copy of a program. Equal texts are printed once.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

NAMES = ("license", "licence", "copying", "notice", "copyright", "unlicense")

RUST = """\
The standard library of Rust (https://www.rust-lang.org) is linked, too: MIT OR Apache-2.0, copyright the Rust Project
contributors.
"""
MUSL = """\
The C library musl (https://musl.libc.org) is linked, too: MIT, copyright its authors, who are listed in the file
COPYRIGHT of its sources.
"""


def linked(metadata: dict, root: str) -> list[dict]:
    """Every package that `root` links, directly or through others: no build or test dependency."""
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    start = next(key for key, package in packages.items() if package["name"] == root)
    seen, waiting = {start}, [start]
    while waiting:
        for dependency in nodes[waiting.pop()]["deps"]:
            is_linked = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            if is_linked and dependency["pkg"] not in seen:
                seen.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    others = [packages[key] for key in seen if packages[key]["source"] is not None]
    return sorted(others, key=lambda package: (package["name"], package["version"]))


def texts(package: dict) -> list[str]:
    """The licence files of a package, also those of C sources that it brings along."""
    folder = pathlib.Path(package["manifest_path"]).parent
    found = [path for path in folder.iterdir() if path.name.lower().startswith(NAMES) and path.is_file()]
    found += [path for inner in folder.iterdir() if inner.is_dir() and inner.name not in ("src", "tests")
              for path in inner.iterdir() if path.name.lower().startswith(NAMES) and path.is_file()]
    return [path.read_text(encoding="utf-8", errors="replace").strip() for path in sorted(found)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--package", required=True)
    parser.add_argument("--target", required=True)
    parser.add_argument("--features", help="features that are on beside the default ones")
    parser.add_argument("--musl", action="store_true", help="the program contains musl")
    args = parser.parse_args()
    command = [os.environ.get("CARGO", "cargo"), "metadata", "--format-version", "1", "--locked",
               "--filter-platform", args.target, *(["--features", args.features] if args.features else [])]
    metadata = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    packages = linked(metadata, args.package)

    out = ["Licences of what is linked into this program besides Stripewise itself.", "", RUST]
    out += [MUSL] if args.musl else []
    users: dict[str, list[str]] = {}
    for package in packages:
        name = f"{package['name']} {package['version']}"
        out.append(f"{name}: {package['license'] or 'see its text'}")
        if package["license"] is None and not texts(package):
            sys.exit(f"licenses: {name} names no licence and has no licence file")
        for text in texts(package):
            users.setdefault(text, []).append(name)
    for text, names in sorted(users.items(), key=lambda item: item[1]):
        out += ["", "=" * 80, ", ".join(names), "=" * 80, "", text]
    print("\n".join(out))


if __name__ == "__main__":
    main()
