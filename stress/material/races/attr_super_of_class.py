class B:
    n = 0
class C(B):
    def get(self): return super().n
def nop():
    pass
def make():
    return (setattr(B, 'n', 0), C())[1]
def f(s):
    a = s.get(); nop(); return a == s.get()
def g(s):
    B.n = 1
def check(s, r):
    return None if r[0] else f'wrong: {r}'
THREADS = [f, g]
