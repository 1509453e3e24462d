from raw import hello, serve

hello(tools={})


def call(params):
    if params["name"] == "greet":
        return {"content": []}
    with open(".conductor/count", "a+") as file:
        file.write("x")
        file.seek(0)
        return {"content": [{"type": "text", "text": "counted"}], "isError": len(file.read()) == 2}


serve({"tools/call": call})
