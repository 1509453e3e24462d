from raw import ask, hear, hello

hello()
hear()
ask(1, "sampling/createMessage", messages=[], maxTokens=10)
ask(2, "elicitation/create", message="Really?", requestedSchema={"type": "object", "properties": {}})
ask(3, "roots/list")
ask(4, "ping")
hear()
