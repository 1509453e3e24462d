"""What the command line of a server says about the arguments of its tools: values of flags, directories and files.

`--repository DIR` is where a tool finds `repo_path`; a directory that a file server may use has files to read.
"""

import os
import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Any

from mcp_conductor.suites.authoring.argument_names import words_of
from mcp_conductor.values import dataclass

_PROGRAM = re.compile(r".*\.(?:py|pyz|js|cjs|mjs|ts|mts|jar|sh|exe|rb|php|dll|wasm)", re.IGNORECASE)
_SOUNDS_SECRET = re.compile(r"key|token|secret|pass|auth|cred|private|\.pem|\.p12", re.IGNORECASE)
_PATH_WORDS = frozenset(("path", "file", "filename", "filepath", "dir", "directory", "folder", "root", "workspace"))
_PATH_WORDS |= {f"{word}s" for word in _PATH_WORDS} | {"project", "repo", "repository", "source"}
_DIRECTORY_WORDS = frozenset(("dir", "directory", "folder", "list", "ls", "tree", "search", "find", "root", "repo"))
_DIRECTORY_WORDS |= {"directories", "repository", "workspace", "project"}
_MOST_ENTRIES = 1000  # of a directory that are looked at
_MOST_FILES = 2
_LARGEST_FILE = 100_000
_SHORTEST_STEM = 4  # letters that two words must share: repo, repository


@dataclass(frozen=True, slots=True)
class CommandValues:
    """Values of flags by their words, and the directories and files that are there."""

    flags: tuple[tuple[tuple[str, ...], str], ...] = ()
    directories: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    relative: tuple[str, ...] = ()  # files below a directory, as seen from it

    def suggested(self, name: str, tool: str) -> Iterator[str]:
        """Values for the argument NAME of TOOL, those that fit best first."""
        words = words_of(name)
        yield from (value for flag, value in self.flags if any(_alike(a, b) for a in words for b in flag))
        if _PATH_WORDS & {*words, "".join(words)}:
            wants_directory = bool(_DIRECTORY_WORDS & {*words, *words_of(tool)})
            yield from (*self.directories, *self.files) if wants_directory else (*self.files, *self.directories)
            yield from (".", *self.relative) if wants_directory else self.relative


class Places:
    """Directories of the command line as variables of a suite: who has them elsewhere changes one line."""

    def __init__(self, directories: Sequence[str]) -> None:
        longest_first = sorted(directories, key=len, reverse=True)
        self._names = {path: f"directory{f'_{number}' * (number > 1)}" for number, path in enumerate(longest_first, 1)}
        self.used: dict[str, str] = {}

    def named_in(self, sent: Any) -> Any:
        """What is SENT, with variables for the directories in it."""
        if isinstance(sent, dict):
            return {key: self.named_in(member) for key, member in sent.items()}
        if isinstance(sent, list):
            return [self.named_in(item) for item in sent]
        for path, name in self._names.items() if isinstance(sent, str) else ():
            if sent == path or sent.startswith(path + os.sep):
                self.used[name] = path
                return f"{{{{ {name} }}}}{sent[len(path) :]}"
        return sent


def _alike(one: str, other: str) -> bool:
    shorter, longer = sorted((one, other), key=len)
    return one == other or (len(shorter) >= _SHORTEST_STEM and longer.startswith(shorter))


def command_values(command: Sequence[str], directory: str) -> CommandValues:
    """What COMMAND, which is started in DIRECTORY, says; the files are looked for on this machine."""
    arguments = command[1:]
    flags = [(tuple(words_of(name)), _existing(value, directory) or value) for name, value in _flags(arguments)]
    words = [value for _, value in _flags(arguments)] + [word for word in arguments if not word.startswith("-")]
    paths = list(dict.fromkeys(found for word in words if (found := _existing(word, directory))))
    directories = [path for path in paths if os.path.isdir(path)]
    if os.path.exists(os.path.join(directory, ".git")):
        flags.append((("repository", "repo"), directory))
    below = [(top, name) for top in directories for name in _files_in(top)]
    given = [path for path in paths if os.path.isfile(path) and not _PROGRAM.fullmatch(path)]
    files = [path for path in given if not os.access(path, os.X_OK)]
    return CommandValues(
        tuple(flags),
        tuple(directories),
        (*(os.path.join(top, name) for top, name in below), *files),
        tuple(name for _, name in below),
    )


def _flags(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    for word, following in pairwise((*words, "-")):
        name, sign, value = word.partition("=")
        if word.startswith("--") and (sign or not following.startswith("-")):
            yield name.lstrip("-"), value if sign else following


def _existing(word: str, directory: str) -> str | None:
    path = os.path.abspath(os.path.join(directory, word))
    return path if word and "\0" not in word and os.path.exists(path) else None


def _files_in(directory: str) -> list[str]:
    """A few files of DIRECTORY that can be read without harm: small ones, whose names do not sound secret."""
    try:
        with os.scandir(directory) as entries:
            found = [each.name for each in islice(entries, _MOST_ENTRIES) if _is_harmless(each)]
    except OSError:
        return []
    return sorted(found)[:_MOST_FILES]


def _is_harmless(entry: "os.DirEntry[str]") -> bool:
    if entry.name.startswith(".") or _SOUNDS_SECRET.search(entry.name):
        return False
    return entry.is_file(follow_symlinks=False) and entry.stat().st_size <= _LARGEST_FILE
