from raw import error, hear

error(hear(), -32000, "no licence", data={"contact": "sales"})
hear()
