import heapq
def make():
    return [1, 2, 3]
def f(s):
    return list(heapq.merge(s, [9]))
def g(s):
    s[0] = 5
    s[2] = 7
def check(s, r):
    return None if r[0] in ([1, 2, 3, 9], [5, 2, 3, 9], [5, 2, 7, 9]) else f"wrong: {r}"
THREADS = [f, g]
