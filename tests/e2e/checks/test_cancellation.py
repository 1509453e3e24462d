"""Work that is cancelled on its way: a server that ends it, and one that goes on."""

import pytest
from tests.e2e.checks.plain_servers import broken

# The tool reports its progress from a thread, so that the server hears of a cancellation meanwhile.
DIGS = """
        cancelled = set()

        def take(self, message):
            if isinstance(message, dict) and message.get("method") == "tools/call":
                import threading
                threading.Thread(target=self.dig, args=(message,)).start()
            elif isinstance(message, dict) and message.get("method") == "notifications/cancelled":
                self.cancelled.add(str(message["params"].get("requestId")))
            else:
                super().take(message)

        def dig(self, message):
            import time
            token = message["params"].get("_meta", {{}}).get("progressToken")
            for progress in range(1, 9):
                time.sleep(0.05)
                if str(message["id"]) in self.cancelled and {ends}:
                    return
                params = {{"progressToken": token, "progress": progress}}
                token is None or self.say({{"jsonrpc": "2.0", "method": "notifications/progress", "params": params}})
            if str(message["id"]) not in self.cancelled:
                self.say(self.reply(message))
        """


@pytest.mark.parametrize(("ends", "reported"), [(True, set()), (False, {"cancel-stops-work-server"})])
async def test_work_that_goes_on_after_it_was_cancelled_is_reported(tmp_path, verdicts_of, failed, ends, reported):
    server = broken(tmp_path, "Plain", DIGS.format(ends=ends))
    outcomes = await verdicts_of(server, only=("cancellation",))
    assert failed(outcomes, "failed", "warned") == reported
    assert outcomes["cancel-stops-work-server"].status == ("warned" if reported else "passed")


async def test_a_server_that_does_all_that_was_cancelled_first_is_busy_not_broken(tmp_path, verdicts_of):
    slow = """
        def list_tools(self, params):
            __import__("time").sleep(0.05)
            return super().list_tools(params)
        """
    only = "cancel-race-server"
    outcomes = await verdicts_of(broken(tmp_path, "Plain", slow), only=[only], timeout=0.4)
    assert outcomes[only].status == "passed"
