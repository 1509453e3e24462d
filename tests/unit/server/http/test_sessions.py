"""Sessions over HTTP."""

import gc
import weakref

from mcp_conductor.server.config import TransportConfig
from mcp_conductor.server.http.sessions import HttpSession


def test_a_session_that_is_over_leaves_no_garbage_to_be_looked_for():
    gc.disable()
    try:
        session = HttpSession(TransportConfig(type="streamable-http"))
        known = weakref.ref(session)
        session.client.close()
        del session
        assert known() is None
    finally:
        gc.enable()
