from mcp_conductor import check


@check("acme-titles", level="WANT", text="Every tool has a title.")
def titles(record):
    yield "no"
