import decimal
def nop():
    pass
def make():
    decimal.DefaultContext.prec = 28
def f(s):
    decimal.DefaultContext.prec = 5
    nop()
    decimal.DefaultContext.prec = 28
def g(s):
    return str(decimal.Decimal(1) / decimal.Decimal(3))
def check(s, r):
    decimal.DefaultContext.prec = 28
    return None if len(r[1]) == 30 else f"wrong: {r}"
THREADS = [f, g]
