import re
def action(scanner, text):
    return scanner.match.string
def make():
    return re.Scanner([(r"\w", action)])
def f(s):
    return s.scan("x")[0][0]
def g(s):
    return s.scan("y")[0][0]

def check(s, r):
    return None if r == ["x", "y"] else f'wrong: {r}'

THREADS = [f, g]
