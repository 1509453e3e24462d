"""The head of a request: what it may be, before anyone looks at what it asks for.

What another program on the way could take for two requests, or for one to another host, is refused here or by the
parser.
"""

from urllib.parse import unquote

import httptools

from mcp_conductor.server.http_admission import name_in
from mcp_conductor.server.http_exchange import HttpRefused


def check_head(version: str, headers: dict[str, list[str]], target: bytes) -> None:
    """Refuse a head that could be understood in two ways (RFC 9112); what is left of that, the parser refuses."""
    if version not in ("1.1", "1.0"):
        raise HttpRefused(505, f"this is HTTP/1.1, not HTTP/{version}")
    hosts = headers.get("host", [])
    if len(hosts) > 1 or (not hosts and version == "1.1"):
        raise HttpRefused(400, f"there must be one Host header, not {len(hosts)}")
    if hosts and name_in(hosts[0]) is None:
        raise HttpRefused(400, f"Host {hosts[0]!r} is not a host")
    codings = headers.get("transfer-encoding")
    if codings is not None and version == "1.0":
        raise HttpRefused(400, "HTTP/1.0 has no Transfer-Encoding")
    if codings is not None and [each.strip().lower() for each in codings] != ["chunked"]:
        raise HttpRefused(501, f"Transfer-Encoding can only be chunked, not {', '.join(codings)}")
    if not target.startswith(b"/") and b"://" in target:
        authority = target.partition(b"://")[2].partition(b"/")[0].partition(b"?")[0].decode("latin-1").lower()
        if [authority] != [host.lower() for host in hosts]:
            raise HttpRefused(400, f"the target of the request is not at its Host: {authority!r}")


def parts_of(target: bytes) -> tuple[str, bytes]:
    """The path, without its escapes, and the query."""
    if not target.startswith(b"/"):  # all of a URL, as proxies are asked
        try:
            url = httptools.parse_url(target)
        except httptools.HttpParserInvalidURLError:
            return target.decode("latin-1"), b""
        return unquote((url.path or b"/").decode("latin-1")), url.query or b""
    path, _, query = target.partition(b"?")
    return unquote(path.decode("latin-1")), query
