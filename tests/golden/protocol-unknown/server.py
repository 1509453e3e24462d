from raw import hear, hello

hello("1999-12-31")
hear()
