from raw import hello, serve, shout

shout("Server listening on stdio\n")
hello()
serve({"ping": {}})
