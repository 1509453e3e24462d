from raw import hear, hello

hello(
    tools={"listChanged": True},
    resources={"subscribe": True, "listChanged": True},
    prompts={"listChanged": True},
    logging={},
    tasks={},
)
hear()
