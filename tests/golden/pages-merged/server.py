from raw import hello, serve

PAGES = {
    None: {"tools": [{"name": "one"}], "nextCursor": "p2", "_meta": {"total": 3}},
    "p2": {"tools": [{"name": "two"}], "nextCursor": "p3"},
    "p3": {"tools": [{"name": "three"}]},
}
hello(tools={})
serve({"tools/list": lambda params: PAGES[params.get("cursor")]})
