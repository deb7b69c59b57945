import locale
def nop():
    pass
def make():
    locale.setlocale(locale.LC_NUMERIC, "C")
    return []
def sets(s):
    locale.setlocale(locale.LC_NUMERIC, "C.UTF-8")
    nop()
    locale.setlocale(locale.LC_NUMERIC, "C")
def reads(s):
    return locale.setlocale(locale.LC_NUMERIC)
def check(s, r):
    return None if r[1] == "C" else f"wrong: {r}"
THREADS = [sets, reads]
