"""The stub says what the module has, and the package is typed."""

import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest
import stripewise
from stripewise import _stripewise

pytest.importorskip("mypy")
# Frames of others are named in types; they need not be installed, and are not looked into.
FRAMES = "ignore_missing_imports = True\n[mypy-polars.*,pandas.*,pyarrow.*,altair.*,IPython.*]\nfollow_imports = skip\n"
HERE = Path(stripewise.__file__).parent


def test_the_stub_is_that_of_the_module(tmp_path):
    pytest.importorskip("mypy.stubtest")
    line = [sys.executable, "-m", "mypy.stubtest", "stripewise._stripewise"]
    config = tmp_path / "mypy.ini"
    config.write_text(f"[mypy]\n{FRAMES}")
    paths = os.pathsep.join(path for path in sys.path if path)
    ended = subprocess.run(
        [*line, "--mypy-config-file", config],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": paths, "MYPYPATH": str(HERE.parent)},
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_package_is_typed(tmp_path):
    config = tmp_path / "mypy.ini"
    config.write_text(f"[mypy]\nstrict = True\n{FRAMES}")
    line = [sys.executable, "-m", "mypy", "--config-file", config, "--cache-dir", str(tmp_path / "cache")]
    ended = subprocess.run([*line, str(HERE)], capture_output=True, text=True, cwd=tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert (HERE / "py.typed").exists()


def test_everything_public_says_what_it_is():
    silent = []
    for name in stripewise.__all__:
        thing = getattr(stripewise, name)
        if callable(thing) and not inspect.getdoc(thing):
            silent.append(name)
        if inspect.isclass(thing) and thing.__module__.startswith("stripewise"):
            members = [(key, getattr(thing, key)) for key in vars(thing) if not key.startswith("_")]
            members = [(key, value) for key, value in members if callable(value) or inspect.isdatadescriptor(value)]
            silent.extend(f"{name}.{key}" for key, value in members if not inspect.getdoc(value))
    assert silent == []


def test_the_stub_repeats_the_docstrings():
    text = " ".join((HERE / "_stripewise.pyi").read_text().split())
    for name, thing in vars(_stripewise).items():
        if inspect.isclass(thing):
            for key in ["__doc__", *(key for key in vars(thing) if not key.startswith("_"))]:
                doc = inspect.getdoc(thing if key == "__doc__" else getattr(thing, key))
                assert doc is None or " ".join(doc.split()) in text, f"{name}.{key}"
