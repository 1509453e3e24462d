"""What a recording of the modern era says of its server, where it has no `server/discover`.

A client may ask for that in another process, as the TypeScript SDK does on stdio: the recording of the process that it
talks with then begins behind it.
"""

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import META, named_in
from mcp_conductor.protocol.message import parse
from mcp_conductor.replaying.matching import Pool
from mcp_conductor.replaying.recorded_calls import LISTEN

_CAPABILITIES = {"tools": "tools", "resources": "resources", "prompts": "prompts", "completion": "completions"}
_INFO = f"{META}serverInfo"


def discovered(pool: Pool) -> Json:
    """A result of `server/discover` that promises what POOL has results for."""
    versions: dict[str, None] = {}
    capabilities: Json = {}
    info: Json | None = None
    for method, named in pool.about.items():
        for call in (each for alike in named.values() for each in alike if each.succeeded):
            spoken = named_in(parse(call.text).params)
            if spoken is None:
                continue
            versions[spoken.version] = None
            if (capability := _CAPABILITIES.get(method.partition("/")[0])) is not None:
                capabilities.setdefault(capability, {})
            if info is None and call.replied:
                info = _info_in(next(step.text for step in call.steps if step.kind == "reply"))
    if LISTEN in pool.about:
        for capability in capabilities.keys() - {"completions"}:
            capabilities[capability]["listChanged"] = True
        if "resources" in capabilities:
            capabilities["resources"]["subscribe"] = True
    return {
        "resultType": "complete",
        "supportedVersions": sorted(versions, reverse=True),
        "capabilities": capabilities,
        "ttlMs": 0,
        "cacheScope": "private",
        **({} if info is None else {"_meta": {_INFO: info}}),
    }


def _info_in(reply: str) -> Json | None:
    result = parse(reply).result
    meta = result.get("_meta") if isinstance(result, dict) else None
    info = meta.get(_INFO) if isinstance(meta, dict) else None
    return info if isinstance(info, dict) else None
