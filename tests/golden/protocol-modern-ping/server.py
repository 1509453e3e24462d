from raw import META, serve

SERVER = {"name": "modern", "version": "1"}
FOUND = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "_meta": {META + "serverInfo": SERVER}}
serve({"server/discover": FOUND, "tools/list": {"tools": []}})
