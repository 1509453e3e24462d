"""The way through a proxy: what it is asked, what it may say, and TLS behind it."""

import asyncio

import pytest
from tests.servers.http_talk import Talk, request

from mcp_conductor.errors import TransportError, UsageError
from mcp_conductor.transport.http_client import HttpClient


async def through(proxy: str, url: str, **options):
    client = HttpClient(environ={"http_proxy": proxy, "https_proxy": proxy}, **options)
    try:
        return await client.fetch("GET", url)
    finally:
        await client.aclose()


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_gets_the_credentials_of_its_url_and_no_one_else_does(scheme):
    heads = []

    async def proxy(reader, writer):
        heads.append(await request(reader))
        writer.write(b"HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno")

    async with Talk(proxy) as server:
        place = server.url.removesuffix("/mcp").replace("//", "//user:p%40ss@")
        if scheme == "http":
            assert (await through(place, "http://mcp.invalid/x"))[0].status == 403
        else:
            with pytest.raises(TransportError, match="the proxy refused: 403 No"):
                await through(place, "https://mcp.invalid/x")
    assert heads[0].startswith({"http": b"GET http://mcp.invalid/x ", "https": b"CONNECT mcp.invalid:443 "}[scheme])
    assert b"\r\nProxy-Authorization: Basic dXNlcjpwQHNz\r\n" in heads[0]
    assert b"user" not in heads[0]


async def test_a_proxy_that_wants_a_password_is_explained():
    async def proxy(reader, writer):
        await request(reader)
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 1000\r\n\r\nhalf of a body")

    async with Talk(proxy) as server:
        with pytest.raises(TransportError, match="the proxy refused: 407") as raised:
            await through(server.url, "https://mcp.invalid/x")
    assert "NAME:PASSWORD" in (raised.value.hint or "")


@pytest.mark.parametrize(
    ("said", "words"),
    [(b"", "closed the connection before"), (b"SSH-2.0\r\n", "cannot be read: illegal status line 'SSH-2.0'")],
)
async def test_a_proxy_that_does_not_answer_is_named(said, words):
    async def proxy(reader, writer):
        await request(reader)
        writer.write(said)
        writer.close()

    async with Talk(proxy) as server:
        with pytest.raises(TransportError, match=words) as raised:
            await through(server.url, "https://mcp.invalid/x")
    assert "the proxy at 127.0.0.1:" in raised.value.message


def tunnelling(port: int):
    """A proxy that connects everyone with PORT."""

    async def proxy(reader, writer):
        assert (await request(reader)).startswith(b"CONNECT mcp.localhost:443 ")
        inner_reader, inner = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"HTTP/1.0 200 Connection established\r\n\r\n")

        async def pump(source, sink):
            while data := await source.read(65536):
                sink.write(data)
            sink.close()

        await asyncio.gather(pump(reader, inner), pump(inner_reader, writer))

    return proxy


async def test_a_tunnel_through_a_proxy_carries_tls(http, tls, certificate):
    async with Talk(tunnelling(http(tls=tls).port)) as server:
        response, _ = await through(server.url, "https://mcp.localhost/mcp", verify=False)
        assert response.status == 405
        with pytest.raises(TransportError, match=r"TLS with mcp\.localhost: "):
            await through(server.url, "https://mcp.localhost/mcp", cafile=certificate)


async def test_the_way_to_a_proxy_may_be_tls_with_a_certificate_that_the_system_trusts(
    http, tls, certificate, monkeypatch
):
    async with Talk(tunnelling(http(tls=tls).port), tls=tls) as server:
        with pytest.raises(TransportError, match=r"TLS with 127\.0\.0\.1: "):
            await through(server.url, "https://mcp.localhost/mcp", verify=False)
        monkeypatch.setenv("SSL_CERT_FILE", certificate)
        response, _ = await through(server.url, "https://mcp.localhost/mcp", verify=False)
        assert response.status == 405


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "http://", "http://[::1", "http://127.0.0.1:99999"])
async def test_a_proxy_that_cannot_be_used_is_a_mistake_of_the_environment(proxy):
    with pytest.raises(UsageError, match="the environment names a proxy"):
        await through(proxy, "http://mcp.invalid/x")
