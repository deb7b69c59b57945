def nop():
    pass
LOW = {}
HIGH = []
def make():
    reset()
    return object()
def reset():
    global LOW, HIGH
    match {}:
        case {**LOW}:
            pass
    match []:
        case [*HIGH]:
            pass
def f(s):
    global LOW, HIGH
    match {"a": 1}:
        case {**LOW}:
            nop()
    match [1]:
        case [*HIGH]:
            pass
def g(s):
    a = len(LOW)
    nop()
    return a, len(HIGH)

def check(s, r):
    return None if r[1] in ((0, 0), (1, 1)) else f'wrong: {r}'

THREADS = [f, g]
