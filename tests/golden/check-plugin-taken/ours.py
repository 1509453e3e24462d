from mcp_conductor import check


@check("base-response-once-server", level="MUST", text="Every request is answered once.")
def once(record):
    yield "no"
