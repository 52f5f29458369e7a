"""Searches for better parameters: the section `[tune]` of a study file, with Optuna.

The coordinator alone asks Optuna for points, in batches of a fixed size and with a fixed seed, and tells it their results in
the order of asking; workers never see it. So a search is a function of its file: one that was killed asks for the same points
again, and finds their runs in the store.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _stripewise, _toml
from .driving import Engine, Reporter, drive, shown_counts
from .errors import RunError, SettingError

if TYPE_CHECKING:
    from .study_file import Study

SAMPLERS = ("tpe", "random", "nsga2")


class Trial(NamedTuple):
    """A point that was tried."""

    number: int
    """Its number, in the order of asking."""
    settings: dict[str, Any]
    """The values of the space's keys."""
    values: list[float] | None
    """The goals' values, each the mean over all runs; None if the point fits no scheme, or was dropped early."""
    requests: int | None
    """With halving: the requests of its longest runs."""
    state: str
    """`done`, `dropped` by halving, or `refused`."""


class _Goal(NamedTuple):
    direction: str
    figure: str


class Search:
    """The trials of a search."""

    def __init__(self, study: Study, goals: Sequence[_Goal], trials: list[Trial]) -> None:
        self.goals = [f"{goal.direction[:3]} {goal.figure}" for goal in goals]
        self.trials = trials
        self._study, self._goals = study, goals

    @property
    def best(self) -> list[Trial]:
        """With one goal the best trial; with several the Pareto front: the trials that no other one is at least as good as in
        every goal. The first of equals, in the order of asking."""
        signs = [1.0 if goal.direction == "minimize" else -1.0 for goal in self._goals]
        done = [trial for trial in self.trials if trial.state == "done" and trial.values is not None]
        found: list[Trial] = []
        for trial in done:
            own = [sign * value for sign, value in zip(signs, trial.values or [], strict=True)]

            def beats(other: Trial, own: list[float] = own, number: int = trial.number) -> bool:
                its = [sign * value for sign, value in zip(signs, other.values or [], strict=True)]
                return its != own and all(a <= b for a, b in zip(its, own, strict=True)) or (
                    its == own and other.number < number
                )

            if not any(beats(other) for other in done):
                found.append(trial)
        return sorted(found, key=lambda trial: signs[0] * (trial.values or [0.0])[0])

    def scheme(self, trial: Trial | None = None) -> str:
        """The scheme of the search with the settings of a trial, by default of the first of the best, as `[compare]` of a
        study file takes it. Settings of the device are among them only if they are keys of the scheme."""
        trial = trial or self.best[0]
        return ",".join([self._study.schemes[0], *(f"{key}={_plain(one)}" for key, one in trial.settings.items())])

    def rows(self) -> list[dict[str, Any]]:
        """All trials, a dictionary each: for a data frame."""
        rows = []
        for trial in self.trials:
            values: Sequence[float | None] = trial.values or [None] * len(self.goals)
            figures = {goal.figure: value for goal, value in zip(self._goals, values, strict=True)}
            rows.append({"trial": trial.number, "state": trial.state, **trial.settings, **figures})
        return rows

    def __str__(self) -> str:
        states = [trial.state for trial in self.trials]
        counts = ", ".join(f"{states.count(state)} {state}" for state in ("done", "dropped", "refused") if state in states)
        lines = [f"trials    {len(self.trials)} ({counts})"]
        best = self.best
        title = "best" if len(self.goals) == 1 else f"best      {len(best)} that no other one beats in every goal"
        lines.append(title)
        # A column of values for each goal, in one unit.
        columns = []
        for at, goal in enumerate(self._goals):
            name, unit, shown = _stripewise.in_unit(goal.figure, [trial.values[at] for trial in best if trial.values])
            columns.append([f"{name} {value} {unit}".rstrip() for value in shown])
        for trial, cells in zip(best, zip(*columns, strict=True), strict=True):
            values = ", ".join(cells)
            settings = " ".join(f"{key}={_plain(value)}" for key, value in trial.settings.items())
            lines.append(f"  {trial.number:>5}  {values}  {settings}")
        return "\n".join(lines)


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class _Section(NamedTuple):
    goals: list[_Goal]
    sampler: str
    seed: int
    trials: int
    batch: int
    space: dict[str, Any]
    rungs: list[int]
    keep: int


def _whole(table: Mapping[str, Any], key: str, default: int, least: int = 1) -> int:
    value = table.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise SettingError(f"[tune]: {key} is {value!r}; give a whole number from {least} on")
    return value


def section(document: Mapping[str, Any]) -> _Section:
    """The section `[tune]`.

    Raises:
        SettingError: the first mistake.
    """
    table = document.get("tune")
    if not isinstance(table, Mapping):
        raise SettingError("the study file has no section [tune]")
    known = ("goal", "sampler", "seed", "trials", "batch", "space", "halving")
    for key in table:
        if key not in known:
            raise SettingError(f"[tune]: unknown key `{key}`; known: {', '.join(known)}")
    given = table.get("goal", [])
    goals = []
    for goal in [given] if isinstance(given, str) else given:
        direction, _, figure = str(goal).partition(" ")
        if direction not in ("min", "max") or not figure.strip():
            raise SettingError(f'[tune]: goal {goal!r}; write it as in "min response_p99_ns" or "max ..."')
        goals.append(_Goal("minimize" if direction == "min" else "maximize", figure.strip()))
    if not goals:
        raise SettingError('[tune]: goal is missing, as in goal = "min response_p99_ns"')
    sampler = table.get("sampler", "tpe")
    if sampler not in SAMPLERS:
        raise SettingError(f"[tune]: sampler is {sampler!r}; give one of {', '.join(SAMPLERS)}")
    space = _toml.flat(table.get("space", {}))
    if not space:
        raise SettingError('[tune]: space is missing, as in space = { "elastic.segment_rows" = [32, 64, 128] }')
    for key, choice in space.items():
        is_range = isinstance(choice, Mapping) and set(choice) <= {"from", "to", "step", "log"} and "to" in choice
        if not (is_range or isinstance(choice, list) and len(choice) > 1):
            message = "give a list of two or more, or a range as in { from = 1, to = 64, log = true }"
            raise SettingError(f"[tune.space]: {key} is {_toml.value(choice)}; {message}")
    halving = table.get("halving", {})
    if set(halving) - {"requests", "keep"}:
        raise SettingError("[tune.halving]: known keys: requests, keep")
    rungs = list(halving.get("requests", []))
    if rungs and (len(goals) > 1 or rungs != sorted(set(rungs)) or not all(isinstance(one, int) for one in rungs)):
        raise SettingError("[tune.halving]: requests is a list of rising numbers, and there is one goal")
    return _Section(
        goals,
        sampler,
        _whole(table, "seed", 1, 0),
        _whole(table, "trials", 100),
        _whole(table, "batch", 16),
        space,
        rungs,
        _whole(halving, "keep", 3, 2),
    )


def _sampler(optuna: Any, section: _Section) -> Any:
    samplers = optuna.samplers
    if section.sampler == "random":
        return samplers.RandomSampler(seed=section.seed)
    if section.sampler == "nsga2":
        return samplers.NSGAIISampler(seed=section.seed, population_size=section.batch)
    # Points of a batch that have no result yet count as bad ones, so that a batch is not one point many times.
    return samplers.TPESampler(seed=section.seed, constant_liar=True)


def _ask(trial: Any, space: Mapping[str, Any]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for key, choice in space.items():
        if isinstance(choice, list):
            settings[key] = trial.suggest_categorical(key, choice)
            continue
        first, last = choice.get("from", 1), choice["to"]
        is_whole = isinstance(first, int) and isinstance(last, int)
        suggest = trial.suggest_int if is_whole else trial.suggest_float
        options = {"log": bool(choice.get("log", False))}
        if "step" in choice:
            options["step"] = choice["step"]
        settings[key] = suggest(key, first, last, **options)
    return settings


class _Point(NamedTuple):
    settings: dict[str, Any]
    study: Study | None


def _fits(study: Study) -> bool:
    """Whether the scheme fits at least one point."""
    try:
        study.check()
    except SettingError:
        # The file was understood before: it leaves nothing to run.
        return False
    return True


def _evaluate(
    study: Study,
    points: Sequence[dict[str, Any]],
    requests: int | None,
    goals: Sequence[_Goal],
    engine: Engine,
    batch_s: float,
    reporter: Reporter | None,
) -> list[list[float] | None]:
    """The goals' values of each point, in order; None of those that fit no scheme. All are made at a time."""
    more = {} if requests is None else {"requests": requests}
    # Equal points are made once.
    texts = [_toml.value(settings) for settings in points]
    derived = {text: study._derived({**settings, **more}) for text, settings in zip(texts, points, strict=True)}
    fitting = {text: one for text, one in derived.items() if _fits(one)}
    workers = max(1, engine.workers())
    coordinators = {
        text: one._plan.coordinator(workers=workers, batch_s=batch_s, limit=None) for text, one in fitting.items()
    }
    if coordinators:
        drive(list(coordinators.values()), engine, reporter)
    values: dict[str, list[float]] = {}
    for text, coordinator in coordinators.items():
        counts = coordinator.finish()
        if counts["failed"]:
            message = f"{counts['failed']} runs failed of the point {text}; `stripewise study errors` shows why"
            raise RunError(message)
        values[text] = fitting[text]._plan.means([goal.figure for goal in goals])
    return [values.get(text) for text in texts]


def _log(study: Study, number: int, rows: list[dict[str, Any]]) -> None:
    """Keeps a batch of trials in the store, and compares it with what a former search kept there."""
    name = f"{hashlib.sha256(study.path.read_bytes()).hexdigest()[:16]}-{number:06}.json"
    text = "".join(json.dumps(row) + "\n" for row in rows)
    there = study._plan.kept(name, text)
    if there is not None and there != text:
        raise RunError(
            f"{study.store}/tune/{name}: an earlier search of this file tried other points, or has other results: the versions "
            "of Optuna or of stripewise differ. Move the folder away to search again from the first trial"
        )


def search(
    study: Study,
    engine: Engine,
    *,
    batch_s: float,
    progress: bool | Reporter | None = None,
) -> Search:
    """Makes the search of a study file.

    Raises:
        SettingError: a mistake in `[tune]`, or Optuna is not installed.
        RunError: a run that failed; a search that does not repeat what an earlier one did.
        What `Study.run` raises.
    """
    asked = section(study.document)
    if len(study.schemes) != 1:
        raise SettingError(f"{study.path}: a search is of one scheme; [compare] has {len(study.schemes)}")
    try:
        import optuna
    except ImportError:
        raise SettingError("optuna is not installed; install it with pip install 'stripewise[study]'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    states = optuna.trial.TrialState
    directions = [goal.direction for goal in asked.goals]
    asking = optuna.create_study(directions=directions, sampler=_sampler(optuna, asked))
    better = min if directions[0] == "minimize" else max
    trials: list[Trial] = []
    with shown_counts(progress, study.name) as reporter:
        while len(trials) < asked.trials:
            batch = [asking.ask() for _ in range(min(asked.batch, asked.trials - len(trials)))]
            points = [_ask(trial, asked.space) for trial in batch]
            made: list[Trial | None] = [None] * len(batch)
            left = list(range(len(batch)))
            for step, requests in enumerate(asked.rungs or [None]):
                chosen = [points[at] for at in left]
                values = _evaluate(study, chosen, requests, asked.goals, engine, batch_s, reporter)
                is_last = step + 1 >= len(asked.rungs)
                fits = []
                for at, found in zip(left, values, strict=True):
                    state = "refused" if found is None else "done" if is_last else "dropped"
                    made[at] = Trial(batch[at].number, points[at], found, requests, state)
                    if found is not None:
                        fits.append((found[0], at))
                        if asked.rungs:
                            batch[at].report(found[0], requests)
                if is_last:
                    break
                order = sorted(fits, key=lambda fit: (fit[0] if better is min else -fit[0], fit[1]))
                left = sorted(at for _, at in order[: max(1, len(batch) // asked.keep ** (step + 1))])
                if not left:
                    break
            for trial, end in zip(batch, made, strict=True):
                assert end is not None
                if end.state == "done":
                    asking.tell(trial, end.values)
                else:
                    asking.tell(trial, state=states.PRUNED if end.state == "dropped" else states.FAIL)
                trials.append(end)
            rows = [trial._asdict() for trial in trials[-len(batch) :]]
            _log(study, len(trials) // asked.batch, rows)
    return Search(study, asked.goals, trials)
