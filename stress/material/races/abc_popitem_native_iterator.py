from collections.abc import MutableMapping
class Box(MutableMapping):
    def __init__(self):
        self.found = {"a": 1, "b": 1}
    def __getitem__(self, key):
        return self.found[key]
    def __setitem__(self, key, value):
        self.found[key] = value
    def __delitem__(self, key):
        del self.found[key]
    def __iter__(self):
        return iter(self.found)
    def __len__(self):
        return len(self.found)
def make():
    return Box()
def put(box):
    box["c"] = 1
def pop(box):
    box.popitem()
def check(box, results):
    return None if len(box) == 2 else f"wrong: {results}"
THREADS = [put, pop]
