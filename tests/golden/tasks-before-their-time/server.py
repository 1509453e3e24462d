from raw import hello, serve

hello()
serve({})
