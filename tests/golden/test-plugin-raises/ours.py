from mcp_conductor import matcher

LIMITS: dict[str, int] = {}


def largest():
    return LIMITS["books"]


@matcher("small")
def small(actual):
    return None if actual < largest() else "is too large"


largest()
