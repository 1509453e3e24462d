from raw import hear, hello, say

hello(tools={})
say({"id": hear()["id"], "error": "it did not work"})
hear()
