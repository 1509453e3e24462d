from mcp_conductor import matcher


@matcher("contains")
def contains(actual, part):
    return None
