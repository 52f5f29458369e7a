# Every command that developers need; each is a plain call of cargo. `make help` lists them.

CARGO ?= cargo
# Cases of each property test under `make fuzz`.
CASES ?= 20000
# Length of `make storm`, of `make compose`, and of each target of `make fuzz-readers`; first seed of `make storm`.
MINUTES ?= 5
FROM ?= 1000000

.PHONY: site help setup build compare test test-doc test-digest test-slurm test-objects test-azure test-kills test-python python storm compose lint fmt frozen freeze instructions speed speed-ir bench bench-codes bench-caches bench-durable bench-engine bench-serve bench-elastic bench-hotness bench-reads validate fuzz fuzz-readers fuzz-short deny advisories doc dist dist-check dist-test clean

help: ## List the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 16

setup: ## Fetch what a build needs, so that the rest works without a network
	$(CARGO) --version
	cc --version | head -n 1
	$(CARGO) fetch --locked

build: ## Build the `stripewise` command, optimised: target/release/stripewise
	$(CARGO) build --release --locked

compare: ## Compare eight schemes on the built-in workload, with a report
	$(CARGO) run --release --locked -- compare

# Not `$(MAKE)` itself in the recipe: `make --dry-run` runs lines that contain it.
BESIDE := $(MAKE) --keep-going

# Many tests of the command wait: for servers, for timeouts, for members that are slow. What comes after the Rust tests runs
# beside them, and shows its output when they end.
test: ## Run all tests
	$(CARGO) test --workspace --tests --locked --no-run
	@log="$$(mktemp)"; status=0; \
	$(BESIDE) test-doc test-digest test-python >"$$log" 2>&1 & others=$$!; \
	echo "beside the Rust tests: doc tests, the digest test, the Python tests; their output follows"; \
	$(CARGO) test --workspace --tests --locked --no-fail-fast || status=1; \
	wait "$$others" || status=1; \
	cat "$$log"; rm "$$log"; exit "$$status"

test-doc:
	$(CARGO) test --workspace --doc --locked --no-fail-fast

test-digest:
	$(CARGO) test --workspace --config crates/sim/tests/no_assertions.toml --locked --test same_digest

# The Python that makes target/venv, where the package and what its tests need are installed.
PYTHON ?= python3
TARGET := $(or $(CARGO_TARGET_DIR),target)
VENV := $(TARGET)/venv

$(VENV)/ready: python/requirements-test.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --requirement python/requirements-test.txt
	touch $@

python: $(VENV)/ready ## Build the Python package as the tests use it, and install it into target/venv
	rm -rf $(TARGET)/wheels
	VIRTUAL_ENV=$(abspath $(VENV)) $(VENV)/bin/maturin build --quiet --profile dev --features as-tested --locked --out $(TARGET)/wheels
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --no-deps --force-reinstall $(TARGET)/wheels/stripewise-*.whl

test-slurm: python ## Run the tests of studies by SSH and by a Slurm of this machine
	$(VENV)/bin/python -m pytest -rs python/tests/test_places.py

# What plays S3 in the tests of studies in buckets.
MOTO := $(TARGET)/moto

$(MOTO)/ready:
	$(PYTHON) -m venv $(MOTO)
	$(MOTO)/bin/pip install --quiet --disable-pip-version-check 'moto[server]==5.2.5'
	touch $@

# Seeds of `make test-objects`.
SEEDS ?= 3

test-objects: $(MOTO)/ready ## Run the tests of studies in a bucket, behind a proxy that fails (SEEDS=3)
	STRIPEWISE_MOTO=$(abspath $(MOTO))/bin/python STRIPEWISE_OBJECT_SEEDS=$(SEEDS) \
	    $(CARGO) test -p stripewise --features object-stores --test objects --locked -- --nocapture

# What plays Azure in the same tests (needs Node.js).
AZURITE := $(TARGET)/azurite

$(AZURITE)/ready:
	npm install --silent --no-audit --no-fund --prefix $(AZURITE) azurite@3.35.0
	touch $@

test-azure: $(AZURITE)/ready ## Run the same tests against a server of Azure for tests (SEEDS=3; needs npm)
	STRIPEWISE_AZURITE=$(abspath $(AZURITE))/node_modules/.bin/azurite-blob STRIPEWISE_OBJECT_SEEDS=$(SEEDS) \
	    $(CARGO) test -p stripewise --features object-stores --test objects --locked -- --nocapture

# Rounds of each test of `make test-kills`.
KILLS ?= 3

test-kills: python ## Kill workers, schedulers and coordinators of studies at random moments (KILLS=3)
	STRIPEWISE_KILLS=$(KILLS) $(VENV)/bin/python -m pytest -rs python/tests/test_study.py

test-python: python ## Run the tests of the Python package
	$(CARGO) build --workspace --bin stripewise --locked
	$(VENV)/bin/python -m pytest

# What builds the documentation site.
SITE_VENV := $(TARGET)/site-venv

$(SITE_VENV)/ready: docs/requirements.txt
	$(PYTHON) -m venv $(SITE_VENV)
	$(SITE_VENV)/bin/pip install --quiet --disable-pip-version-check --requirement docs/requirements.txt
	touch $@

site: $(SITE_VENV)/ready ## Build the documentation site: target/site/index.html
	$(SITE_VENV)/bin/sphinx-build --quiet --fresh-env --nitpicky --fail-on-warning --doctree-dir $(TARGET)/site-doctrees docs $(TARGET)/site
	$(SITE_VENV)/bin/python docs/check_site.py $(TARGET)/site

storm: ## Run new seeds through the checking simulation (MINUTES=5 FROM=1000000)
	$(CARGO) run --release --locked -p stripewise-check -- --minutes $(MINUTES) --from $(FROM)

compose: ## Run combinations of choices on all axes through the checking simulation (MINUTES=5 ROWS=0..10000000)
	$(CARGO) run --release --locked -p stripewise-check -- compose --all --minutes $(MINUTES) --rows $(or $(ROWS),0..10000000)

lint: ## Check the format and the lints
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) clippy -p stripewise-serve --locked -- -D warnings

fmt: ## Format all sources
	$(CARGO) fmt --all

frozen: ## Compare the digests of short runs of every scheme, in simulation and in the engine, with those of the tree
	$(CARGO) run --locked -p stripewise-bench --bin stripewise-bench-frozen

freeze: ## Write these digests again, after a change of behaviour that is meant
	$(CARGO) run --locked -p stripewise-bench --bin stripewise-bench-frozen -- --accept

instructions: ## Count the simulator's instructions a request, and compare them with those accepted last (needs valgrind)
	$(PYTHON) crates/bench/instructions.py

speed-ir: ## Count the simulator's instructions a request in nine longer cases, and time them (needs valgrind)
	$(PYTHON) crates/bench/instructions.py --speed

speed: ## Measure the simulator's speed beside a bare yardstick; close other programs first
	$(CARGO) run --release --locked -p stripewise-bench

bench-codes: ## Measure the parity codes beside ISA-L, a crate and memcpy (ISA-L: apt install libisal2)
	$(CARGO) run --release --locked -p stripewise-bench --bin stripewise-bench-codes

bench-hotness: ## Measure time and memory of hot data identification beside an exact LRU and a hash map
	$(CARGO) run --release --locked -p stripewise-bench --bin stripewise-bench-hotness

bench-durable: ## Measure metadata's share of writes, recovery and checkpoints of arrays with metadata
	$(CARGO) run --release --locked -p stripewise-bench --bin stripewise-bench-durable

bench-engine: ## Measure the engine over files in memory beside plain io_uring
	$(CARGO) run --release --locked -p stripewise-bench --bin stripewise-bench-engine

bench-serve: ## Measure served arrays through sockets and virtqueues beside nbdkit's file export
	$(CARGO) build --release --locked
	$(CARGO) run --release --locked -p stripewise-bench --bin stripewise-bench-serve

bench-elastic: ## Measure eSAP and WAS beside RAID-5 in place, over arrays of many sizes
	$(CARGO) run --release --locked -p stripewise-sim --example elastic

bench-reads: ## Measure PIQ, BRR and the other read policies beside asynchronous FIFO, over 64 chips
	$(CARGO) run --release --locked -p stripewise-sim --example reads

bench-caches: ## Measure the cost of write caches in the simulator, compared with none, over the SSDs of paper 003
	$(CARGO) run --release --locked -p stripewise-sim --example caches

bench: ## Run the benchmarks of single parts; close other programs first
	$(CARGO) bench --workspace --locked

validate: ## Compare the simulator with theory and other simulators (docs/evidence/validation.md)
	$(CARGO) run --release --locked -p stripewise-validate

fuzz: ## Run the tests with many more cases of each property (CASES=20000)
	PROPTEST_CASES=$(CASES) $(CARGO) test --release --workspace --locked

fuzz-readers: ## Fuzz everything that reads files, each target MINUTES=5 long (needs cargo-fuzz; docs/evidence/fuzzing.md)
	fuzz/all.sh $(MINUTES)

# How long each target of `make fuzz-short` runs.
FUZZ_SECONDS ?= 20

fuzz-short: ## Run changed inputs through everything that reads files, each target FUZZ_SECONDS=20 long, without cargo-fuzz
	CARGO=$(CARGO) fuzz/short.sh $(FUZZ_SECONDS)

deny: ## Check licences and origins of dependencies (needs cargo-deny)
	$(CARGO) deny check bans licenses sources

advisories: ## Look for known faults of dependencies (needs cargo-deny, pip-audit and a network; docs/evidence/advisories.md)
	$(CARGO) deny check advisories
	$(CARGO) deny --manifest-path fuzz/Cargo.toml check --config deny.toml advisories
	pip-audit --no-deps --disable-pip --requirement python/requirements-test.txt
	pip-audit --no-deps --disable-pip --requirement docs/requirements.txt

doc: ## Build the reference of all crates: target/doc
	$(CARGO) doc --workspace --no-deps --locked

# Where packages go, and where they are made; docs/develop/releases.md.
DIST := $(TARGET)/dist
DIST_WORK := $(TARGET)/dist-work

dist: ## Build the packages of the commit into target/dist: wheel, static program, Debian package
	packaging/dist.sh $(DIST) $(DIST_WORK)

dist-check: ## Build the packages of target/dist a second time elsewhere, and compare them byte by byte
	DIST_TOOLS=$(abspath $(DIST_WORK))/tools packaging/dist-check.sh $(DIST)

dist-test: ## Install and use the packages of target/dist on an empty Debian system (as root; needs mmdebstrap)
	packaging/dist-test.sh $(DIST) $(TARGET)/dist-test

clean: ## Remove everything that was built
	$(CARGO) clean
