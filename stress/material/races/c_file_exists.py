import os
import tempfile
def nop():
    pass
class Box:
    def __init__(self):
        self.folder = tempfile.mkdtemp()
        self.path = os.path.join(self.folder, "made")
        self.made = []
def make():
    return Box()
def f(s):
    if not os.path.exists(s.path):
        nop()
        with open(s.path, "w") as file:
            file.write("x")
        s.made.append(1)
def check(s, r):
    made = len(s.made)
    os.remove(s.path)
    os.rmdir(s.folder)
    return None if made == 1 else f"made {made} times"
THREADS = [f, f]
