import csv
def nop():
    pass
class Box:
    def __init__(self):
        for name in csv.list_dialects():
            if name == "own":
                csv.unregister_dialect("own")
        self.made = []
def make():
    return Box()
def f(s):
    if "own" not in csv.list_dialects():
        nop()
        csv.register_dialect("own", delimiter=";")
        s.made.append(1)
def check(s, r):
    return None if len(s.made) == 1 else f"registered {len(s.made)} times"
THREADS = [f, f]
