from raw import hello, serve

hello(tools={})
counted = []


def call(params):
    counted.append(params)
    return {"content": [], "structuredContent": {"count": len(counted)}}


serve({"tools/call": call})
