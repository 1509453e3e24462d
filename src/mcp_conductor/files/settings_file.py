"""The settings file of a project: where it is, and its only reader, for every program and the library.

What is in it is understood by `settings`, which is imported when a file is read and not before.
"""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_conductor.errors import ConfigError
    from mcp_conductor.files.fields import Field
    from mcp_conductor.files.source import Document
    from mcp_conductor.protocol.server_spec import ServerSpec

SETTINGS = "conductor.config.json"


def nearest_settings(directory: str) -> str | None:
    """The settings file of the nearest directory, from here upwards."""
    while True:
        file = os.path.join(directory, SETTINGS)
        if os.path.isfile(file):
            return file
        parent = os.path.dirname(directory)
        if parent == directory:
            return None
        directory = parent


class SettingsFile:
    """The settings file at PATH, which messages call SHOWN.

    HERE is where the program was started, and ENVIRON fills in `${NAME}`. LENIENT reads it as mcp-aegis does.
    """

    def __init__(
        self, path: str, *, shown: str | None = None, here: str, environ: Mapping[str, str], lenient: bool = False
    ) -> None:
        from mcp_conductor.files.settings import Surroundings

        self._document: Document = _without_secrets(path, shown)
        self._environ = environ
        self._ours = os.path.basename(path) == SETTINGS
        self._around = Surroundings(
            file=shown or path,
            directory=os.path.dirname(os.path.abspath(path)),
            invocation=here,
            environ=environ,
            exists=os.path.exists,
            locate=self._document.locate,
            lenient=lenient,
        )

    def server(self, name: str | None = None) -> "ServerSpec":
        """The server called NAME; a file with one server needs no name."""
        from mcp_conductor.files.settings import from_settings

        return from_settings(self._document.data, self._around, name)

    def servers(self) -> "dict[str, ServerSpec | ConfigError]":
        """All servers by their names; one that is described wrongly is its mistake."""
        from mcp_conductor.files.settings import every_server

        return every_server(self._document.data, self._around)

    @property
    def directory(self) -> str:
        """Where it is; what it names is seen from there."""
        return self._around.directory

    def plugins(self) -> "Field | None":
        """The plugins that it names.

        A table of servers may be a file of another program, where this key could mean anything: only a file that is
        ours by its name, or by its flat form, is read for it.
        """
        from mcp_conductor.files.settings import TABLES

        has_table = any(table in (self._document.data or {}) for table in TABLES)
        return self.member("plugins") if self._ours or not has_table else None

    def member(self, key: str) -> "Field | None":
        """What stands under KEY, if it is there; what servers need of the environment is not looked at."""
        from dataclasses import replace

        from mcp_conductor.files.fields import Field

        data = self._document.data
        if not isinstance(data, dict) or key not in data:
            return None
        return Field.root(replace(self._document, data={key: data[key]}), self._environ).members()[key]

    def of_servers(self, key: str) -> "dict[str, Field]":
        """What stands under KEY in each server of a table; all else of the servers is not looked at."""
        from dataclasses import replace

        from mcp_conductor.files.fields import Field
        from mcp_conductor.files.settings import TABLES

        data = self._document.data if isinstance(self._document.data, dict) else {}
        found = {}
        for table in TABLES:
            entries = data.get(table)
            for name, entry in (entries if isinstance(entries, dict) else {}).items():
                if isinstance(entry, dict) and key in entry:
                    alone = {table: {name: {key: entry[key]}}}
                    field = Field.root(replace(self._document, data=alone), self._environ)
                    for step in (table, name, key):
                        field = field.members()[step]
                    found[name] = field
        return found


def _without_secrets(path: str, shown: str | None) -> "Document":
    """The file at PATH; messages that show a line of it show no secret of a server."""
    from dataclasses import replace

    from mcp_conductor.errors import UsageError
    from mcp_conductor.files.source import load
    from mcp_conductor.text.redaction import masked, masked_by_name

    try:
        document = load(path, shown)
    except UsageError as error:
        for each in (error, *error.more):
            if each.where is not None:
                each.where = replace(each.where, source=masked_by_name(each.where.source))
        raise
    return replace(document, text=masked(document.text, _secrets_in(document.data)))


def _secrets_in(data: object) -> "list[str]":
    """What must not be shown of settings, also of those that are not as they should be."""
    from mcp_conductor.text.redaction import secrets_of_environment, secrets_of_headers

    found: list[str] = []
    waiting = [data]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        if isinstance(part, dict):
            waiting += part.values()
            for key, secrets_of in (("env", secrets_of_environment), ("headers", secrets_of_headers)):
                given = part.get(key)
                pairs = given.items() if isinstance(given, dict) else ()
                # What refers to the environment is no secret itself.
                texts = {str(name): each for name, each in pairs if isinstance(each, str) and "${" not in each}
                found += secrets_of(texts)
    return found
