"""The stub says what the module has, and the package is typed."""

import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import stripewise
from stripewise import _stripewise

pytest.importorskip("mypy")
# Frames of others are named in types; they need not be installed, and are not looked into.
SKIPPED = "polars pandas pyarrow altair IPython distributed dask dask_jobqueue optuna".split()
FRAMES = f"ignore_missing_imports = True\n[mypy-{','.join(f'{name}.*' for name in SKIPPED)}]\nfollow_imports = skip\n"
HERE = Path(stripewise.__file__).parent


@pytest.fixture
def checker(tmp_path):
    """Runs a checker of types over a copy of the package: mypy does not look into what is installed."""
    shutil.copytree(HERE, tmp_path / "stripewise", ignore=shutil.ignore_patterns("__pycache__"))

    def check(module, *line, strict=False):
        (tmp_path / "mypy.ini").write_text(f"[mypy]\nstrict = {strict}\n{FRAMES}")
        paths = os.pathsep.join(path for path in sys.path if path)
        ended = subprocess.run(
            [sys.executable, "-m", module, *line],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": paths, "MYPYPATH": str(tmp_path)},
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr

    return check


def test_the_stub_is_that_of_the_module(checker):
    checker("mypy.stubtest", "stripewise._stripewise", "--mypy-config-file", "mypy.ini")


def test_the_package_is_typed(checker):
    checker("mypy", "--config-file", "mypy.ini", "--package", "stripewise", strict=True)
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
