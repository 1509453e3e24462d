from raw import hear, hello

hello("2024-11-05")
hear()
