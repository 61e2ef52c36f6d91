"""Code of a user that chaos runs serve and start: a workflow, its input, and its activities."""

import importlib
import inspect
import json
import os
import sys
from collections.abc import Callable, Sequence
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

from temporalio.client import ScheduleActionStartWorkflow

from orchestrator.core.errors import UsageError
from orchestrator.core.record import Record
from orchestrator.runtime.devserver import ourselves


class UserWorkflow(Record):
    """A workflow of a user, and the arguments of each run."""

    target: str
    """Module and class: `trip_workflow:Trip`."""
    name: str
    """The workflow type."""
    arguments: tuple[Any, ...] = ()
    activities: tuple[str, ...] = ()
    """Module and function of each activity of its own."""

    @property
    def worker_command(self) -> tuple[str, ...]:
        """The program of workers that serve it."""
        activities = [f"--activity={one}" for one in self.activities]
        program = ourselves("orchestrator.chaos.killable_workers")
        return (*program, f"--workflow={self.target}", *activities)


def load_class(target: str) -> type:
    """Return the class that `module:Class` names; the working directory is searched too.

    Raises:
        UsageError: there is none.
    """
    module, class_name = _module("--workflow", target, "module:Class, as trip_workflow:Trip")
    found = getattr(module, class_name, None)
    if not isinstance(found, type):
        classes = [n for n, one in vars(module).items() if isinstance(one, type) and _run_of(one)]
        named = f"its workflows are {', '.join(classes)}" if classes else "it has no workflow"
        raise UsageError(f"--workflow: {module.__name__} has no class {class_name!r}; {named}")
    return found


def load_activity(target: str) -> Callable[..., Any]:
    """Return the activity that `module:function` names, or `module:object.method`.

    Raises:
        UsageError: there is nothing to call under that name.
    """
    module, name = _module("--activity", target, "module:function, as trip_workflow:send_receipt")
    try:
        found = attrgetter(name)(module)
    except AttributeError:
        found = None
    if not callable(found) or isinstance(found, type):
        raise UsageError(
            f"--activity: {module.__name__} has no function {name!r}; name one with @activity.defn"
        )
    activity: Callable[..., Any] = found
    return activity


def _module(option: str, target: str, example: str) -> tuple[ModuleType, str]:
    module_name, _, name = target.partition(":")
    if not (module_name and all(part.isidentifier() for part in name.split("."))):
        raise UsageError(f"{option} {target!r} names nothing to serve; write {example}")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(module_name), name
    except Exception as error:
        raise UsageError(
            f"{option}: {module_name} cannot be imported from {os.getcwd()} "
            f"({type(error).__name__}: {error}); run this where `import {module_name}` works"
        ) from error


def load_workflow(target: str, file: Path | None, activities: Sequence[str] = ()) -> UserWorkflow:
    """Return the workflow of `module:Class`, with the arguments of a JSON file and its activities.

    Raises:
        UsageError: the class is no workflow, the file does not fit its run method, or there is no
            such activity.
    """
    found = _run_of(load_class(target))
    if found is None:
        raise UsageError(
            f"--workflow: {target} is not a workflow; name a class with @workflow.defn and "
            "@workflow.run"
        )
    name, parameters = found
    for one in activities:
        load_activity(one)
    named = ", ".join(one.name for one in parameters)
    needed = sum(one.default is inspect.Parameter.empty for one in parameters)
    if file is None and needed:
        raise UsageError(f"{target} takes {named}; give a JSON file of them with --input")
    given: Any = []
    if file is not None:
        try:
            given = json.loads(file.read_text(encoding="utf-8"))
        except OSError as error:
            raise UsageError(f"--input {file} cannot be read: {error.strerror}") from error
        except ValueError as error:
            raise UsageError(f"--input {file} is not JSON: {error}") from error
        if len(parameters) == 1:
            given = [given]
        elif isinstance(given, dict) and set(given) <= {one.name for one in parameters}:
            given = [given[one.name] for one in parameters if one.name in given]
    if not isinstance(given, list) or not needed <= len(given) <= len(parameters):
        wanted = f"an object or a list of {named}" if parameters else "no --input"
        raise UsageError(f"--input {file} does not fit {target}, which takes {wanted}")
    return UserWorkflow(
        target=target, name=name, arguments=tuple(given), activities=tuple(activities)
    )


def _run_of(found: type) -> tuple[str, list[inspect.Parameter]] | None:
    """Return the type of a workflow and the parameters of its run method; None for others."""
    for _, method in inspect.getmembers(found, inspect.iscoroutinefunction):
        try:
            started = ScheduleActionStartWorkflow(method, args=[], id="any", task_queue="any")
        except (ValueError, TypeError):
            continue  # another method
        return started.workflow, list(inspect.signature(method).parameters.values())[1:]
    return None
