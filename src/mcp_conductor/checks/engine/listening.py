"""What the judges of `conductor check` say of a server that is heard in a run of tests."""

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_conductor.client.session import Session
    from mcp_conductor.protocol.server_spec import ServerSpec
    from mcp_conductor.protocol.transcript import Frame
    from mcp_conductor.report.model import Remark


class ListeningJudges:
    """A judge for `Options`.

    Judges are many modules: these are imported while the first server starts, when there is nothing else to do.
    """

    def __init__(self) -> None:
        # No daemon: an interpreter that ends in the middle of an import may crash.
        self._loading = threading.Thread(target=_load_judges)

    def load(self) -> None:
        if self._loading.ident is None:
            self._loading.start()

    def __call__(self, session: "Session", said: "list[Frame]", spec: "ServerSpec") -> "list[Remark]":
        self._loading.join()
        from mcp_conductor.checks.engine.judging import remarks

        return remarks(session, said, spec)


def _load_judges() -> None:
    from mcp_conductor.checks.engine.judging import load_judges

    load_judges()
