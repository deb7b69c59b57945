def make():
    return {"a": 1, "b": 2, "c": 3}


def turn(ranks):
    ranks.update(a=3, b=2, c=1)


def order(ranks):
    return "".join(sorted("abc", key=lambda letter: ranks[letter]))


def check(ranks, results):
    return None if results[1] in ("abc", "cba") else f"wrong: {results}"


THREADS = [turn, order]
