"""What a definition in a config file does before it gives its result: its `steps`, in order.

A step is one decorated function in a module of this package. Its name is the key in the file and its docstring the page
in the manual; it is given the value of the key when the file is read, refuses what cannot be, and returns what to
do for a request.

In the modern era a definition runs again for every answer of the client (see `rounds`). What others can notice must not
happen twice: a step that has an effect looks at `call.repeating`, where `Call` does not do so already.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from functools import wraps
from inspect import isawaitable

from mcp_conductor.catalog import Catalog
from mcp_conductor.errors import UsageError
from mcp_conductor.files.fields import Field
from mcp_conductor.files.mistakes import read_all
from mcp_conductor.plugins import guarded, is_ours, wrong_return
from mcp_conductor.server.definitions import AskFailed
from mcp_conductor.server.placeholders import KNOWN, Draft, Known, Scope, draft, text_draft

Step = Callable[[Scope], Awaitable[None]]
ReadStep = Callable[[Field, "Script"], Step]

STEPS: Catalog[ReadStep] = Catalog("step", __name__)


def step(read: ReadStep) -> ReadStep:
    """Register a step under the name of its function."""
    STEPS.add(read.__name__, _of_plugin(read) if not is_ours(read) else read, read)
    return read


def _of_plugin(read: ReadStep) -> ReadStep:
    """A step of a plugin, whose function may wait or not."""
    what = f"the step {read.__name__!r}"
    guarded_read = guarded(read, what, ["given", "script"])

    @wraps(read)
    def read_step(given: Field, script: "Script") -> Step:
        act = guarded_read(given, script)
        if not callable(act):
            raise wrong_return(read, what, act, "the function that runs for each request")

        async def perform(scope: Scope) -> None:
            pending: object = act(scope)
            if isawaitable(pending):
                await pending

        return perform

    return read_step


class StepFailedError(AskFailed):
    """A step ends the request, which is answered as if the client had not answered: a tool result with isError."""


class Script:
    """What is known while the steps of one definition are read: which answers there will be by then."""

    def __init__(self, known: Known | None = None) -> None:
        self._keys: list[str] = []
        self._known: dict[str, Collection[str] | None] = {**KNOWN, **(known or {}), "answers": self._keys}
        self._unnamed: Counter[str] = Counter()

    def steps(self, given: Field) -> list[Step]:
        """Read an array of steps."""
        return read_all(self._step, given.items())

    def _step(self, entry: Field) -> Step:
        """Read one step: an object with one key, or the key alone where it takes nothing."""
        if isinstance(entry.value, str):
            entry = Field(entry.document, entry.path, {entry.value: None})
        for name in entry.members():
            STEPS.find(name)  # it may be in a plugin that was not loaded so far
        named = entry.members(tuple(name for name, _ in STEPS.items()))
        if len(named) != 1:
            entry.refuse(f"must have one key, the name of a step, not {len(named)}", "each step begins with a dash")
        ((name, given),) = named.items()
        try:
            return STEPS.get(name)(given, self)
        except UsageError:
            self._known["answers"] = None  # what it would have asked is not known, and may be used later
            raise

    def draft(self, field: Field) -> Draft:
        """FIELD with its placeholders."""
        return draft(field, self._known)

    def text(self, field: Field) -> Draft:
        """FIELD, a text, with its placeholders."""
        return text_draft(field, self._known)

    def next_key(self, kind: str) -> str:
        """The key of the next question of its kind that was given none: sample_1, sample_2, and so on."""
        self._unnamed[kind] += 1
        return f"{kind}_{self._unnamed[kind]}"

    def answered(self, key: str, where: Field) -> None:
        """From here on there is an answer under KEY."""
        if key in self._keys:
            where.refuse(f"asks under the key {key!r}, which is in use already", "give each question a key of its own")
        self._keys.append(key)


async def perform(steps: list[Step], scope: Scope) -> None:
    """Do all STEPS in order."""
    for act in steps:
        await act(scope)


def one_of(given: Field, found: dict[str, Field], *names: str) -> str:
    """The one of NAMES that is among the members FOUND in GIVEN."""
    there = [name for name in names if name in found]
    if len(there) != 1:
        wanted = f"exactly one of {', '.join(names)}" if len(names) > 1 else names[0]
        given.refuse(f"needs {wanted}" + (f", not {' and '.join(there)}" if there else ""))
    return there[0]
