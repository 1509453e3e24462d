"""The pytest plugin: test files are collected like Python's, and Python tests get servers to talk to.

Only this file is read when pytest starts. It imports nothing of ours, and nothing that pytest has not imported already.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from mcp_conductor.pytest_plugin.cassettes import Cassettes
    from mcp_conductor.pytest_plugin.hosting import HostedSession, Hosting
    from mcp_conductor.replaying.replay_spec import ReplaySpec

Scope = Literal["function", "class", "module", "package", "session"]
SUFFIXES = (".test.mcp.yml", ".test.mcp.yaml")
_MARKER = (
    "conductor_server(*words, name=None, config=None, **options): the server of the fixture mcp_server: "
    "a command or a URL, or an entry of a settings file"
)


def __getattr__(name: str) -> Any:
    """`SuiteWarning`, for a filter of warnings that names it."""
    if name != "SuiteWarning":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mcp_conductor.pytest_plugin.suite_warning import SuiteWarning

    return SuiteWarning


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("mcp", "MCP servers and *.test.mcp.yml")
    group.addoption(
        "--conductor-config", metavar="FILE", help="settings file with the servers; else conductor.config.json"
    )
    group.addoption("--conductor-server", metavar="NAME", help="which server of the settings file")
    group.addoption("--conductor-command", metavar="WORDS", help="the server itself: a command, or a URL")
    group.addoption(
        "--conductor-var", metavar="NAME=VALUE", action="append", default=[], help="a variable for test files"
    )
    group.addoption(
        "--conductor-secret", metavar="NAME=VALUE", action="append", default=[], help="one that is never shown"
    )
    group.addoption("--conductor-vars-file", metavar="FILE", action="append", default=[], help="variables from a file")
    group.addoption(
        "--conductor-timeout", metavar="TIME", help="for each request of a test file: 500ms, 2s; default 10s"
    )
    group.addoption(
        "--conductor-update-snapshots", action="store_true", help="replace the snapshots by what the server answers now"
    )
    group.addoption("--conductor-allow-only", action="store_true", help="allow `only: true` where CI is set")
    outside = "let test files name files outside their directories"
    group.addoption("--conductor-allow-outside", action="store_true", help=outside)
    group.addoption(
        "--conductor-no-judge", action="store_true", help="do not warn when a server breaks the specification"
    )
    parser.addini("conductor_config", "the same as --conductor-config, from the root directory")
    parser.addini("conductor_server", "the same as --conductor-server")
    parser.addini("conductor_command", "the same as --conductor-command; it is started in the root directory")
    parser.addini("conductor_timeout", "the same as --conductor-timeout")
    parser.addini("conductor_scope", "how long mcp_server lasts: function (default), class, module, package, session")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if not file_path.name.endswith(SUFFIXES):
        return None
    from mcp_conductor.pytest_plugin.collecting import SuiteFile

    return SuiteFile.from_parent(parent, path=file_path)


@pytest.hookimpl(trylast=True)  # of what the others have left
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "mcp_conductor.pytest_plugin.collecting" in sys.modules:
        from mcp_conductor.pytest_plugin.collecting import keep_only

        keep_only(config, items)


def pytest_assertrepr_compare(config: pytest.Config, op: str, left: object, right: object) -> list[str] | None:
    # like() cannot have been called before its module was imported.
    if "mcp_conductor.suites.python_matchers" not in sys.modules:
        return None
    from mcp_conductor.pytest_plugin.texts import comparison_lines

    return comparison_lines(config, op, left, right)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """What a test with a server shows when it fails may be what that server said."""
    made: Any = yield
    hostings = [hosting for node in item.listchain() for hosting in node.stash.get(_HOSTINGS, ())]
    if hostings:
        from mcp_conductor.pytest_plugin.hosting import safe_with
        from mcp_conductor.pytest_plugin.texts import made_safe

        report = made.get_result()
        report.longrepr = made_safe(report.longrepr, safe_with(hostings))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """A request that is not in the recording fails the test, also if the test did not notice the error."""
    called: Any = yield
    cassettes = item.stash.get(_CASSETTES, None)
    if cassettes is None:
        return
    missed = cassettes.misses()
    if missed is not None and called.excinfo is None:
        called.force_exception(pytest.fail.Exception(missed, pytrace=False))
    if called.excinfo is not None:
        cassettes.discard_new()


# Fixtures.

_CASSETTES: pytest.StashKey["Cassettes"] = pytest.StashKey()  # of an item
_HOSTINGS = pytest.StashKey["list[Hosting]"]()  # of an item, a module or the session: what was opened for it


@contextmanager
def _hosting(request: pytest.FixtureRequest) -> "Iterator[Hosting]":
    """What is opened for a fixture, closed when its scope ends."""
    from mcp_conductor.pytest_plugin.hosting import Hosting, loop_of

    hosting = Hosting(loop_of(request.config))
    request.node.stash.setdefault(_HOSTINGS, []).append(hosting)
    yield hosting
    hosting.close()


def server_fixture(target: Any, *, scope: Scope = "function", name: str | None = None, **options: Any) -> Any:
    """A fixture with a session with the server that TARGET means, for as long as SCOPE lasts: anything that
    `mcp_conductor.connect` takes, such as a FastMCP or an MCPServer. OPTIONS are those of `connect`.

    `greeter = server_fixture("conductor serve greeter.json", scope="module")`. Commands start in the root directory.
    """

    @pytest.fixture(scope=scope, name=name)
    def server(request: pytest.FixtureRequest) -> "Iterator[HostedSession]":
        with _hosting(request) as hosting:
            yield _connected(request, hosting, target, options)

    return server


def _connected(
    request: pytest.FixtureRequest, hosting: "Hosting", target: Any, options: dict[str, Any]
) -> "HostedSession":
    from mcp_conductor.errors import ConductorError
    from mcp_conductor.pytest_plugin.servers import server_in_root
    from mcp_conductor.pytest_plugin.texts import error_text

    try:
        spec, rest = server_in_root(request.config, target, options)
        return hosting.connect(spec, **rest)
    except ConductorError as error:
        raise pytest.fail.Exception(error_text(error), pytrace=False) from None


def _scope_of_server(fixture_name: str, config: pytest.Config) -> Scope:  # noqa: ARG001  # pytest gives both by name
    scope: Scope = config.getini("conductor_scope") or "function"
    return scope


@pytest.fixture
def _mcp_hosting(request: pytest.FixtureRequest) -> "Iterator[Hosting]":
    """What this test has opened, closed at its end."""
    with _hosting(request) as hosting:
        yield hosting


@pytest.fixture
def mcp_connect(_mcp_hosting: "Hosting") -> "Callable[..., HostedSession]":
    """Connect to a server: `mcp_connect(target, **options)`, as `mcp_conductor.connect`. It ends with the test.

    What comes back has the methods of a Session. In a test that is not async they return what the server answered; in
    one that is, they are awaited.
    """
    return _mcp_hosting.connect


@pytest.fixture(scope=_scope_of_server)
def mcp_server(request: pytest.FixtureRequest) -> "Iterator[HostedSession]":
    """The server that is tested: of the marker `conductor_server`, of `conductor_command`, or of the settings file.

    It lasts as long as the ini value `conductor_scope` says: function, class, module, package or session.
    """
    from mcp_conductor.errors import ConductorError
    from mcp_conductor.pytest_plugin.servers import marked_server
    from mcp_conductor.pytest_plugin.texts import error_text

    with _hosting(request) as hosting:
        try:
            target, options = marked_server(request)
            session = hosting.connect(target, **options)
        except ConductorError as error:
            raise pytest.fail.Exception(error_text(error), pytrace=False) from None
        yield session


@pytest.fixture
def composed_server(
    _mcp_hosting: "Hosting", tmp_path_factory: pytest.TempPathFactory
) -> "Callable[..., HostedSession]":
    """A server made for the test: `composed_server({"tools": […]})`, with what a file of `conductor serve` may have.

    What comes back is a session with it; its `spec` is for others who want to connect.
    """
    from mcp_conductor.pytest_plugin.servers import compose

    def connect(config: dict[str, Any], **options: Any) -> "HostedSession":
        __tracebackhide__ = True
        return compose(_mcp_hosting, config, tmp_path_factory.mktemp("composed"), options)

    return connect


@pytest.fixture
def cassette(request: pytest.FixtureRequest) -> "Iterator[Callable[..., ReplaySpec]]":
    """A recording in place of a server: `cassette("books.jsonl", server="python books.py")`, for `connect()`.

    The file stands beside the test. `record="once"` (default) makes it if it is not there; then it is played, and a
    request that is not in it fails the test. "new" asks the server for that, and adds it; "none" never asks it.
    """
    from mcp_conductor.pytest_plugin.cassettes import Cassettes

    cassettes = request.node.stash[_CASSETTES] = Cassettes(request)
    yield cassettes.open
    cassettes.close()
