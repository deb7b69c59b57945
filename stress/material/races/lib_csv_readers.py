import csv
def make():
    lines = iter(["1", "2", "3", "4"])
    return csv.reader(lines), csv.reader(lines)
def first(readers):
    return next(readers[0]) + next(readers[0])
def second(readers):
    return next(readers[1]) + next(readers[1])
def check(readers, results):
    return None if sorted(results) == [["1", "2"], ["3", "4"]] else f"{results}"
THREADS = [first, second]
