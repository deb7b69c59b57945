class Registry(type):
    pass
