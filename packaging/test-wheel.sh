#!/usr/bin/env bash
# Run by dist-test.sh inside an empty Debian: installs the wheel into a new virtual environment, and uses it.
set -euxo pipefail
cd "$(mktemp -d)"
python3 -m venv venv
before="$(ls venv/bin)"
# Nothing is fetched and nothing compiled: the package index is not asked, and there is no compiler.
venv/bin/pip install --no-index /packages/stripewise-*.whl
# One compiled file, and no program.
[ "$(ls venv/bin)" = "$before" ]
[ "$(find venv/lib/python3*/site-packages/stripewise* -type f -name '*.so' | wc -l)" = 1 ]
[ -z "$(find venv/lib/python3*/site-packages/stripewise* -type f -executable ! -name '*.so')" ]
ls venv/lib/python3*/site-packages/stripewise-*.dist-info/licenses
venv/bin/python - <<'PYTHON'
import stripewise

workload = stripewise.workload("paper000/hm_0", requests=10_000)
comparison = stripewise.compare(["raid0", "stripewise"], workload)
print(comparison)
assert comparison["raid0"].totals["response_mean_ns"] > 0
PYTHON
cat stripewise-results/*/run.toml | grep '^results_digest' | sort >/wheel-digests
