from raw import hello, serve

hello(prompts={})
serve({"prompts/list": {"prompts": [], "nextCursor": 2}})
