"""An MCP App: a tool, and the page that a host shows for it."""

from mcp_conductor.protocol import Json
from mcp_conductor.server.definitions import Resource, Tool, text_result
from mcp_conductor.server.presets import preset
from mcp_conductor.server.presets.making import string, tool

_URI = "ui://demo/widget.html"
_MIME_TYPE = "text/html;profile=mcp-app"  # by which hosts know an app (ext-apps, UI resource format)
_WIDGET = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Demo</title>
<h1 id="title">Demo</h1>
<p>Theme: <output id="theme">unknown</output></p>
<button id="greet">Send a message</button>
<script>
  let last = 0;
  const show = (id, text) => { if (text) document.getElementById(id).textContent = text; };
  const post = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
  const tell = (method, params) => post({ method, params });
  const ask = (method, params) => { post({ id: ++last, method, params }); return last; };
  const measure = () => {
    const { scrollWidth: width, scrollHeight: height } = document.documentElement;
    tell("ui/notifications/size-changed", { width, height });
  };

  const opening = ask("ui/initialize", {
    protocolVersion: "2026-01-26",
    appInfo: { name: "demo-widget", version: "1.0.0" },
    appCapabilities: {},
  });
  addEventListener("message", ({ source, data }) => {
    if (source !== parent || data?.jsonrpc !== "2.0") return;
    if (data.id === opening && data.result) {
      show("theme", data.result.hostContext?.theme);
      tell("ui/notifications/initialized", {});
      tell("notifications/message", { level: "info", logger: "demo-widget", data: "the widget is ready" });
      measure();
    } else if (data.method === "ui/notifications/tool-input") {
      show("title", data.params?.arguments?.title);
      measure();
    } else if (data.method === "ui/notifications/host-context-changed") {
      show("theme", data.params?.theme);
    }
  });
  document.getElementById("greet").addEventListener("click", () =>
    ask("ui/message", { role: "user", content: [{ type: "text", text: "Hello from the demo widget." }] }));
</script>
</html>
"""


@preset("tool")
def mcp_app_demo() -> Tool:
    """A tool with a user interface, which the resource mcp_app_demo_widget has."""
    return tool(
        "mcp_app_demo",
        "Render a minimal MCP App widget that exercises size-changed, ui/message, logging, and host-context rendering.",
        {"title": string("Heading shown in the rendered widget")},
        lambda call: text_result(f'mcp_app_demo rendered with title="{call.arguments["title"]}"'),
        _meta={"ui": {"resourceUri": _URI, "visibility": ["model", "app"]}},
    )


@preset("resource")
def mcp_app_demo_widget() -> Resource:
    """The page that a host shows for mcp_app_demo."""
    meta: Json = {
        "ui": {
            "csp": {"connectDomains": [], "resourceDomains": []},
            "permissions": {},
            "prefersBorder": True,
        }
    }
    page = {"uri": _URI, "mimeType": _MIME_TYPE, "text": _WIDGET, "_meta": meta}
    return Resource(
        listed={
            "uri": _URI,
            "name": "mcp_app_demo_widget",
            "description": "Inline HTML widget for the mcp_app_demo tool",
            "mimeType": _MIME_TYPE,
        },
        read=lambda _: {"contents": [page]},
    )
