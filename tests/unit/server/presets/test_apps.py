from tests.unit.server.harness import Conversation, text_of

URI = "ui://demo/widget.html"


async def test_mcp_app_demo_names_its_page():
    talk = Conversation("mcp_app_demo")
    listed = await talk.listed()
    assert listed["_meta"] == {"ui": {"resourceUri": URI, "visibility": ["model", "app"]}}
    assert listed["inputSchema"]["required"] == ["title"]
    assert text_of(await talk.call("mcp_app_demo", {"title": "T"})) == 'mcp_app_demo rendered with title="T"'


async def test_the_page_of_mcp_app_demo_is_html_for_a_host():
    talk = Conversation("mcp_app_demo_widget")
    listed = await talk.listed("resources/list")
    assert (listed["uri"], listed["mimeType"]) == (URI, "text/html;profile=mcp-app")
    (page,) = (await talk.result("resources/read", {"uri": URI}))["contents"]
    assert page["mimeType"] == "text/html;profile=mcp-app"
    assert page["text"].startswith("<!doctype html>")
    assert "ui/initialize" in page["text"]
    assert set(page["_meta"]["ui"]) == {"csp", "permissions", "prefersBorder"}
