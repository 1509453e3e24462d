"""What one command line of `conductor test` means: the tests that are wanted, their variables, and their servers."""

import os
import re

from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.flags.target import load_plugins, named_server, target
from mcp_conductor.cli.flags.values import choice, number
from mcp_conductor.cli.output.terminal import Terminal, tell_all
from mcp_conductor.files.settings_file import SettingsFile, nearest_settings
from mcp_conductor.protocol.server_spec import ServerSpec
from mcp_conductor.suites.language.variables import Variables, from_command_line, of_settings
from mcp_conductor.suites.running.job import in_ci
from mcp_conductor.suites.running.plan import Planning, Wanted

_AEGIS_SETTINGS = "aegis.config.json"


class WantedTests:
    """The flags of `conductor test` that say what is run, and on what."""

    def __init__(self, given: Given, terminal: Terminal) -> None:
        self._given = given
        self._terminal = terminal
        seed = number(given, "--seed", 0, 10**9)
        self.seed = int.from_bytes(os.urandom(8)) % 10**6 if seed is None else seed
        self.lenient = choice(given, "--compat", ("aegis",)) is not None  # files of mcp-aegis are taken as they are
        self.in_ci = in_ci(terminal.environ)
        load_plugins(Given(given.after, given.values), terminal)
        self.specs: dict[str | None, ServerSpec] = {}

    def planning(self) -> Planning:
        """What finds the tests that are wanted."""
        given = self._given
        wanted = Wanted(
            directory=self._terminal.directory,
            seed=self.seed,
            patterns=given.words,
            keyword=given.one("--keyword"),
            tags=given.all("--tag"),
            not_tags=given.all("--not-tag"),
            filter=_filter(given, lenient=self.lenient),
            shard=given.one("--shard"),
            last_failed="--lf" in given,
            shuffle="--shuffle" in given,
            lenient=self.lenient,
            in_ci=self.in_ci,
            strict="--strict" in given,
            allow_only="--allow-only" in given,
            allow_outside="--allow-outside" in given,
        )
        return Planning(
            wanted,
            server=None if "--collect-only" in given else self._spec,
            refuse=lambda errors: tell_all(errors, self._terminal),
            say=self._terminal.say,
        )

    def variables(self) -> Variables:
        given = self._given
        return from_command_line(
            files=[os.path.join(self._terminal.directory, file) for file in given.all("--vars-file")],
            pairs=given.all("--var"),
            secrets=given.all("--secret"),
            environ=self._terminal.environ,
            config=self._vars_of_settings(),
            seed=self.seed,
        )

    def _vars_of_settings(self) -> dict[str, object]:
        """Those of the settings file, also where the server is another than its own."""
        file = self._given.one("--config") or nearest_settings(self._terminal.directory)
        if file is None:
            return {}
        path = os.path.join(self._terminal.directory, os.path.expanduser(file))
        shown = self._given.one("--config") or os.path.relpath(path, self._terminal.directory)
        here, environ = self._terminal.directory, self._terminal.environ
        return of_settings(SettingsFile(path, shown=shown, here=here, environ=environ))

    def _spec(self, name: str | None) -> ServerSpec:
        if name not in self.specs:
            given = Given(self._given.after, self._given.values)
            if self.lenient and not given.words and "--config" not in given:
                aegis = os.path.join(self._terminal.directory, _AEGIS_SETTINGS)
                if os.path.isfile(aegis):
                    given = Given((), {**self._given.values, "--config": [_AEGIS_SETTINGS]})
            if name is None or given.words:  # what the command line names is what is meant
                spec = target(given, self._terminal, program="conductor test")
            else:
                spec = named_server(given, self._terminal, name)
            if self.coverage_folder is not None:
                from mcp_conductor.suites.running.server_coverage import with_coverage

                spec = with_coverage(spec, self.coverage_folder)
            self.specs[name] = spec
        return self.specs[name]

    @property
    def coverage_folder(self) -> str | None:
        folder = self._given.one("--server-coverage")
        return None if folder is None else os.path.join(self._terminal.directory, folder)


def _filter(given: Given, *, lenient: bool) -> str | None:
    """What names must contain; mcp-aegis ignores upper and lower case."""
    text = given.one("--filter")
    if text is None or not lenient:
        return text
    if text.startswith("/") and text.rfind("/") > 0:
        return f"{text}i" if text.endswith("/") else text
    return f"/{re.escape(text)}/i"
