"""Which server the command line means: words or a URL, or an entry of a settings file; flags override the file."""

import os
from dataclasses import replace

from mcp_conductor.cli.flags import Flag, Given
from mcp_conductor.cli.flags.secrets import secrets_of_flags
from mcp_conductor.cli.flags.shared import PLUGIN_FLAG, budgets_of, load_named_plugins, load_plugins_of_file
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.errors import ConfigError, UsageError
from mcp_conductor.files.settings_file import SETTINGS, SettingsFile, nearest_settings
from mcp_conductor.protocol.dialect import PROTOCOL_CHOICES
from mcp_conductor.protocol.server_spec import (
    TRANSPORTS,
    HttpSpec,
    ServerSpec,
    StdioSpec,
    from_words,
    is_url,
    scheme_of,
    url_without_scheme,
)

URL_FLAGS = ("--header", "--token", "--cacert", "--insecure", "--oauth")
COMMAND_FLAGS = ("--env", "--cwd")
TARGET_FLAGS = (
    Flag("--config", "settings file: conductor.config.json, mcpServers or servers", "FILE", common=True),
    Flag("--server", "which server of the settings file", "NAME", common=True),
    Flag("--transport", "stdio, sse or http; by default, the URL or the command decides", "NAME", choices=TRANSPORTS),
    Flag(
        "--protocol",
        f"{', '.join(PROTOCOL_CHOICES[:3])} or a version; default handshake",
        "CHOICE",
        choices=PROTOCOL_CHOICES,
    ),
    Flag(
        "--header",
        "HTTP header of a server at a URL; VALUE may be @FILE or env:NAME (repeatable)",
        "'NAME: VALUE'",
        many=True,
    ),
    Flag(
        "--token",
        "the same as --header 'Authorization: Bearer TOKEN'; TOKEN may be @FILE or env:NAME",
        "TOKEN",
        common=True,
    ),
    Flag("--cacert", "certificate authorities to trust for TLS, instead of the system's", "FILE"),
    Flag("--insecure", "trust any certificate"),
    Flag("--env", "environment variable of the server (repeatable)", "KEY=VALUE", many=True, short="-e", common=True),
    Flag("--cwd", "directory to start the server in", "DIR"),
    PLUGIN_FLAG,
)


def target(given: Given, terminal: Terminal, *, program: str = "mcp-cli") -> ServerSpec:
    """The server that is meant, with every flag applied."""
    return _with_flags(_named_target(given, terminal, program), given, terminal)


def load_plugins(given: Given, terminal: Terminal) -> None:
    """Load the plugins that the command line names, and those of the settings file where that names the server.

    It must be called where a signal still ends the program at once: a plugin may take any time.
    """
    load_named_plugins(given, terminal)
    if given.words:
        _find_transport(given.words[0])
    file = given.one("--config") or nearest_settings(terminal.directory)
    if given.words or file is None or "--compat" in given:
        return
    load_plugins_of_file(file if "--config" in given else os.path.relpath(file, terminal.directory), terminal)


def _find_transport(word: str) -> None:
    """Refuse WORD, which names a server, if it is a URL that no transport knows, also none of an installed plugin."""
    scheme = scheme_of(word)
    if not scheme or is_url(word) or os.path.exists(word):
        return
    from mcp_conductor.plugins import load_packages, with_plugins

    load_packages()
    if not is_url(word):
        hint = "a server is at http:// or https://, or a plugin knows how to reach it: --plugin FILE"
        raise UsageError(f"no transport for {scheme}:// is known", hint=with_plugins(hint))


def source_file(given: Given, directory: str) -> str | None:
    """The file that findings about a server or client belong to: its settings, or what is started; as in DIRECTORY."""
    named = [*given.all("--config"), *given.all("--transcript"), *given.words]
    if "--client" in given:
        import shlex

        named = shlex.split(given.need("--client"))
    elif not named:
        found = nearest_settings(directory)
        named = [os.path.relpath(found, directory)] if found else []
    for word in named:
        if not os.path.isabs(word) and os.path.isfile(os.path.join(directory, word)):
            return word
    return None


def _with_flags(spec: ServerSpec, given: Given, terminal: Terminal) -> ServerSpec:
    terminal.learn([*secrets_of_flags(given), *spec.secrets()])
    if (protocol := given.one("--protocol")) is not None:
        spec = replace(spec, protocol=protocol)
    spec = replace(spec, budgets=budgets_of(given))
    if (process := spec.as_process()) is not None:
        return _with_command_flags(process, given, terminal)
    if (at_url := spec.as_http()) is not None:
        return _with_url_flags(at_url, given)
    given.refuse((*URL_FLAGS, *COMMAND_FLAGS), f"has no meaning for a server that is reached by {spec.kind}")
    return spec


def _named_target(given: Given, terminal: Terminal, program: str) -> ServerSpec:
    file, transport = given.one("--config"), given.one("--transport")
    if given.words:
        if file is not None:
            raise UsageError(f"both a server ({given.words[0]!r}) and --config are given", hint=_named_once(given))
        if "--server" in given:
            raise UsageError("--server names an entry of a settings file", hint="give --config, and no other words")
        return from_words(_with_scheme(given.words, transport, terminal), transport=transport)
    if file is None:
        found = nearest_settings(terminal.directory)
        file = found and os.path.relpath(found, terminal.directory)
    if file is None:
        raise UsageError(
            "no server is given: name its command or URL, or a settings file",
            hint=f"{_ways(program)}; no {SETTINGS} was found here or above",
        )
    spec = _settings(file, given, terminal).server(given.one("--server"))
    at_url = spec.as_http()
    if transport in ("sse", "http") and at_url is not None:
        return replace(at_url, sse=transport == "sse", fall_back=False)
    if transport not in (None, spec.kind):
        raise UsageError(f"--transport {transport} does not fit the server {spec.name!r} of {file}")
    return spec


def _with_scheme(words: tuple[str, ...], transport: str | None, terminal: Terminal) -> tuple[str, ...]:
    """WORDS with http:// before the first, if that begins with a host and a port, and no file has its name."""
    url = url_without_scheme(words[0]) if transport != "stdio" else None
    if url is None or os.path.exists(os.path.join(terminal.directory, words[0])):
        return words
    if "/" not in words[0]:
        folders = terminal.environ.get("PATH", "").split(os.pathsep)
        if any(os.path.exists(os.path.join(folder, words[0])) for folder in folders):
            return words
    return (url, *words[1:])


def _ways(program: str) -> str:
    if program in ("mcp-cli", "conductor call"):
        return f"{program} COMMAND … or {program} URL or {program} --config FILE"
    return f"{program} … -- COMMAND …, or -- URL, or --config FILE"


def _named_once(given: Given) -> str:
    if "://" in given.words[0]:
        return "name the server once"
    from shlex import join

    server = join([*given.words, "--config", given.need("--config")])
    return f"name the server once; if --config is a flag of the server: {given.program} -- {server} -- …"


def servers_of_file(given: Given, terminal: Terminal) -> "dict[str, ServerSpec | ConfigError]":
    """All servers of the settings file; one that is described wrongly is its mistake."""
    file = given.one("--config") or nearest_settings(terminal.directory)
    if file is None:
        raise UsageError("--server all: no settings file was found", hint="--config FILE")
    return _settings(file, given, terminal).servers()


def named_server(given: Given, terminal: Terminal, name: str) -> ServerSpec:
    """The server called NAME in the settings file."""
    file = given.one("--config") or nearest_settings(terminal.directory)
    if file is None:
        raise UsageError(f"--server {name}: no settings file was found", hint="--config FILE")
    return _with_flags(_settings(file, given, terminal).server(name), given, terminal)


def _settings(file: str, given: Given, terminal: Terminal) -> SettingsFile:
    path = os.path.join(terminal.directory, os.path.expanduser(file))
    lenient = "--compat" in given
    return SettingsFile(path, shown=file, here=terminal.directory, environ=terminal.environ, lenient=lenient)


def _with_command_flags(spec: StdioSpec, given: Given, terminal: Terminal) -> StdioSpec:
    given.refuse(URL_FLAGS, "is for a server at a URL, not for a command")
    cwd = given.one("--cwd")
    return replace(
        spec,
        env={**spec.env, **dict(given.pairs("--env"))},
        cwd=spec.cwd if cwd is None else os.path.join(terminal.directory, os.path.expanduser(cwd)),
    )


def _with_url_flags(spec: HttpSpec, given: Given) -> HttpSpec:
    given.refuse(COMMAND_FLAGS, "is for a server that is started, not for one at a URL")
    headers = dict(spec.headers)
    for text in given.all("--header"):
        name, colon, value = text.partition(":")
        if not colon or not name.strip() or "\n" in text or "\r" in text:
            raise UsageError("--header takes 'NAME: VALUE', on one line")
        headers = _with_header(headers, name.strip(), value.strip())
    token = given.one("--token")
    return replace(
        spec,
        headers=headers if token is None else _with_header(headers, "Authorization", f"Bearer {token}"),
        cafile=given.one("--cacert"),
        insecure="--insecure" in given,
    )


def _with_header(headers: dict[str, str], name: str, value: str) -> dict[str, str]:
    """The later value counts; upper and lower case of the name do not matter."""
    return {**{key: known for key, known in headers.items() if key.lower() != name.lower()}, name: value}
