"""What a client caches: a cached result answers the same request only."""

from collections.abc import Iterator

from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.harness.client_record import ClientRecord
from mcp_conductor.checks.harness.scenario import MODERNS, scenario, watched
from mcp_conductor.checks.harness.scripted_server import ScriptCall, ServerScript
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.paging import LIST_MEMBERS
from mcp_conductor.report.model import Finding


@scenario("kept", revisions=MODERNS, together="offers")
class Kept(ServerScript):
    """All results may be cached for an hour."""

    async def _result(self, call: ScriptCall) -> Json:
        result = await super()._result(call)
        if "ttlMs" in result:
            self.did("kept")
            result.update(ttlMs=3_600_000, cacheScope="public")
        return result


@watched("caching-client-key", scenario="kept")
def other_questions_are_asked(record: ClientRecord) -> Iterator[Finding]:
    """Let everything be cached for an hour: the client still asks for other pages and other resources."""
    assert record.plain is not None
    if "kept" not in record.moments:
        raise NotSeen("the client asked for nothing that can be cached")
    several = False
    for method, member in {**dict.fromkeys(LIST_MEMBERS, "cursor"), "resources/read": "uri"}.items():
        usual = {str(each.params.get(member)) for each in record.plain.requests(method)}
        asked = {str(each.params.get(member)) for each in record.requests(method)}
        several = several or len(usual) > 1
        if asked and usual - asked:
            yield fault(
                f"{method} was not sent for {', '.join(sorted(usual - asked))}: another result was used instead"
            )
    if not several:
        raise NotSeen("the client asked for one page of each list, and for one resource, at most")
