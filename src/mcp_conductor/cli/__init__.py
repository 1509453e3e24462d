"""The programs. Each can be interrupted at any moment, also while it is imported, without a traceback."""

import gc
import os
import sys

TYPE_CHECKING = False  # as type checkers understand it: `typing` takes long to import
if TYPE_CHECKING:
    from collections.abc import Callable

# New objects before Python looks for garbage. By its own number it looks fifty times while our modules are loaded, and
# finds none; more than this are not made before the work begins, unless a file is very long.
_GARBAGE_AT_START = 200_000
_GARBAGE_AT_WORK = 20_000


def mcp_cli() -> int:
    """Program `mcp-cli`."""
    return _program("mcp_cli.run", "mcp-cli")


def conductor() -> int:
    """Program `conductor`, also installed as `mcp-conductor`, the name of the package; `call` has mcp-cli's codes."""
    return _program("dispatch", "mcp-cli" if sys.argv[1:2] == ["call"] else "conductor")


def server_composable() -> int:
    """Program `server-composable`: `conductor serve` by the name and with the exit code of the Inspector's."""
    return _program("serve.run", "server-composable", program="server-composable")


def mcp_cli_script() -> None:
    """`mcp-cli` as it is installed: the program, and the end of its process."""
    _run_script(mcp_cli)


def conductor_script() -> None:
    """`conductor` as it is installed."""
    _run_script(conductor)


def server_composable_script() -> None:
    """`server-composable` as it is installed."""
    _run_script(server_composable)


def _program(module: str, name: str, **options: object) -> int:
    """Run the program that is in MODULE, with the exit codes of the program NAME."""
    gc.set_threshold(_GARBAGE_AT_START)
    try:
        # Nothing of ours is imported before this: until signals are handled, an interrupt is a KeyboardInterrupt.
        from mcp_conductor.cli.process.deferred import defer_modules, defer_no_more

        defer_modules()
        try:
            return _run(module, name, options)
        finally:
            defer_no_more()
    except KeyboardInterrupt:
        return 130  # the table of exit codes may not be there yet


def _run(module: str, name: str, options: "dict[str, object]") -> int:
    from mcp_conductor.cli.process.ending import end_for_shortage, exit_at_once_on_signals
    from mcp_conductor.cli.process.exit_codes import PROGRAMS

    exit_at_once_on_signals()
    try:
        from importlib import import_module

        from mcp_conductor.cli.output.terminal import Terminal

        main = import_module(f"mcp_conductor.cli.commands.{module}").main
        code: int = main(sys.argv[1:], Terminal.of_process(bad=PROGRAMS[name].usage), **options)
        # Python looks for garbage once more when it ends: a tenth of the time of a short run.
        gc.freeze()
        return _end_with(code)
    except (MemoryError, OSError) as error:
        end_for_shortage(error, PROGRAMS[name].usage)
        raise


def collect_garbage_of_work() -> None:
    """Look for garbage from now on, among what is made from now on: the work begins."""
    gc.freeze()
    gc.set_threshold(_GARBAGE_AT_WORK)


def _end_with(code: int) -> int:
    """End at once where a thread still hangs, such as the look-up of a name: Python would wait for it."""
    threading = sys.modules.get("threading")
    if threading is not None and sum(not thread.daemon for thread in threading.enumerate()) > 1:
        if (worker := sys.modules.get("mcp_conductor.bounded.worker")) is not None:
            worker.kill_worker()
        os._exit(code)  # `Terminal` has flushed all that was written
    return code


def _run_script(program: "Callable[[], int]") -> None:
    try:
        sys.exit(program())
    except KeyboardInterrupt:  # a second one, where the first came before signals were handled
        os._exit(130)
