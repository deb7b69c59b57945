class Range:
    def __init__(self):
        self.low, self.high = 0, 10


class Holder:
    def __init__(self):
        self.range = Range()


def make():
    return Holder()


def move(holder):
    holder.range.low = 20
    holder.range.high = 30


def size(holder):
    match holder:
        case Holder(range=Range(low=low, high=high)):
            return high - low


def check(holder, results):
    return None if results[1] == 10 else f"wrong: {results}"


THREADS = [move, size]
