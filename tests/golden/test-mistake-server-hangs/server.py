from raw import hear, hello

hello(tools={})
hear()
hear()
