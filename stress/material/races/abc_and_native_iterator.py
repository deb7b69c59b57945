from collections.abc import Set
class Names(Set):
    def __init__(self, names):
        self.names = set(names)
    def __contains__(self, name):
        return name in self.names
    def __iter__(self):
        return iter(self.names)
    def __len__(self):
        return len(self.names)
    def add(self, name):
        self.names.add(name)
def make():
    return Names("ab")
def add(names):
    names.add("c")
def meet(names):
    return len(names & "ab")
def check(names, results):
    return None
THREADS = [add, meet]
