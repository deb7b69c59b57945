import xml.etree.ElementTree as ET
def nop():
    pass
def make():
    return ET.fromstring("<a><b>x</b><c>x</c></a>")
def writes(s):
    s[0].text = "y"
    nop()
    s[1].text = "y"
def reads(s):
    found = []
    for x in s.itertext():
        found.append(x)
    return found
def check(s, r):
    return None if r[1] in (["x", "x"], ["y", "y"]) else f"torn: {r}"
THREADS = [writes, reads]
