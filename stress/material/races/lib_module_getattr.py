import types
def nop():
    pass
def make():
    module = types.ModuleType("lazy")
    made = []
    def missing(name):
        made.append(name)
        module.__dict__[name] = len(made)
        return len(made)
    module.__getattr__ = missing
    module.made = made
    return module
def f(s):
    return s.value
def check(s, r):
    return None if s.made == ["value"] else f"made {s.made}"
THREADS = [f, f]
