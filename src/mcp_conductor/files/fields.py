"""A value in a file that a person wrote: what it must be, and an error that points at it when it is not.

Every format of ours is read through this, so that all of them refuse in the same words: file, line, column, what is
wrong, and the nearest name.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NoReturn

from mcp_conductor.errors import UsageError, nearest
from mcp_conductor.files.mistakes import MOST, Mistakes
from mcp_conductor.files.source import Document, Path
from mcp_conductor.protocol.duration import seconds
from mcp_conductor.protocol.environment_variables import filled
from mcp_conductor.protocol.message import kind_of, render
from mcp_conductor.values import dataclass

FREE = "x-"  # what a key begins with that means nothing to us: a place for anchors

_keys = cache(frozenset[str])  # of the few tuples of keys that there are


@dataclass(frozen=True, slots=True)
class Field:
    """One value and its place in the document."""

    document: Document
    path: Path
    value: Any

    @classmethod
    def root(cls, document: Document, environ: Mapping[str, str], mistakes: Mistakes | None = None) -> "Field":
        """The whole document, with ${VAR} filled in from ENVIRON; what is missing is noted in MISTAKES, or refused."""
        missing = Mistakes() if mistakes is None else mistakes

        def refuse(at: Path, problem: str, hint: str) -> None:
            if missing.enough:
                missing.leave_out(1)
            else:
                missing.add(cls(document, at, None).mistake(problem, hint))

        root = cls(document, (), filled(document.data, environ, refuse))
        if mistakes is None:
            missing.tell()
        return root

    def refuse(self, problem: str, hint: str | None = None) -> NoReturn:
        """This value is not what it should be."""
        raise self.mistake(problem, hint)

    def mistake(self, problem: str, hint: str | None = None) -> UsageError:
        """What to say of this value, which is not what it should be."""
        spelled = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path).lstrip(".")
        what = f": {spelled} {problem}" if spelled else f" {problem}"
        return UsageError(f"{self.document.file}{what}", hint=hint, where=self.document.locate(self.path))

    def member(self, key: str | int, value: Any) -> "Field":
        return Field(self.document, (*self.path, key), value)

    def members(
        self,
        known: tuple[str, ...] | None = None,
        *,
        advice: Callable[[str], str | None] = lambda _: None,
        mistakes: Mistakes | None = None,
    ) -> "dict[str, Field]":
        """The members of an object; those that are not KNOWN are refused, but for those that are free (x-…).

        ADVICE knows better than we what to do about some keys. With MISTAKES, they are noted there, and left out.
        """
        if not isinstance(self.value, dict):
            self.refuse(f"must be an object, not {kind_of(self.value)}")
        if known is None:
            return {key: self.member(key, value) for key, value in self.value.items()}
        keys = _keys(known)
        if self.value.keys() <= keys:
            document, path = self.document, self.path
            return {key: Field(document, (*path, key), value) for key, value in self.value.items()}
        unknown = [key for key in self.value if key not in keys and not key.startswith(FREE)]
        if unknown:
            found = Mistakes() if mistakes is None else mistakes
            for key in unknown[:MOST]:
                hint = advice(key) or _which(key, known)
                mistake = self.member(key, None).mistake("is not a known key", hint)
                mistake.where = mistake.where and mistake.where.of_key(key)
                found.add(mistake)
            found.leave_out(len(unknown[MOST:]))
            if mistakes is None:
                found.tell()
        return {key: self.member(key, value) for key, value in self.value.items() if key in keys}

    def items(self) -> "list[Field]":
        if not isinstance(self.value, list):
            self.refuse(f"must be an array, not {kind_of(self.value)}")
        return [self.member(index, value) for index, value in enumerate(self.value)]

    def text(self) -> str:
        if not isinstance(self.value, str):
            self.refuse(f"must be a string, not {kind_of(self.value)}")
        return self.value

    def boolean(self) -> bool:
        if not isinstance(self.value, bool):
            self.refuse(f"must be true or false, not {kind_of(self.value)}")
        return self.value

    def integer(self, least: int = 0, most: int | None = None) -> int:
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            self.refuse(f"must be an integer, not {kind_of(self.value)}")
        if self.value < least or (most is not None and self.value > most):
            limits = f"at least {least}" if most is None else f"from {least} to {most}"
            self.refuse(f"must be {limits}, not {self.value}")
        return self.value

    def number(self, least: float = 0.0, most: float | None = None) -> float:
        if not isinstance(self.value, (int, float)) or isinstance(self.value, bool):
            self.refuse(f"must be a number, not {kind_of(self.value)}")
        if self.value < least or (most is not None and self.value > most):
            limits = f"at least {least:g}" if most is None else f"from {least:g} to {most:g}"
            self.refuse(f"must be {limits}, not {self.value:g}")
        return self.value

    def seconds(self) -> float:
        """A time, in seconds; 0 is none."""
        if self.value == 0 and not isinstance(self.value, bool):
            return 0.0
        found = seconds(self.value)
        if found is None:
            self.refuse(f"must be a time such as 500 (milliseconds), 500ms or 2s, not {render(self.value)}")
        return found

    def one_of(self, choices: tuple[str, ...]) -> str:
        if self.value not in choices or not isinstance(self.value, str):
            near = nearest(self.value, choices) if isinstance(self.value, str) else None
            hint = f"did you mean {near!r}?" if near else None
            self.refuse(f"must be one of {', '.join(choices)}, not {render(self.value)}", hint)
        return self.value


def _which(key: str, known: tuple[str, ...]) -> str:
    """Which of the KNOWN keys was meant, or which there are."""
    near = nearest(key, known)
    if near:
        return f"did you mean {near!r}?"
    return f"known here: {', '.join(known)}" if known else "no keys are allowed here"
