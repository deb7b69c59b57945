"""Routes by host and each parent domain, and by class of port.

Correct: it expands the host and returns a tuple, but at most eight domains, all of different lengths.
"""

from dataclasses import dataclass

MAX_DOMAINS = 8


@dataclass
class Route:
    host: str
    path: str | None
    ports: list[int]


def _domains(host):
    labels = host[:253].strip(".").split(".")[-MAX_DOMAINS:]
    while labels and labels != [""]:
        yield ".".join(labels)
        del labels[0]


def index_func(obj: Route):
    domains = (f"domain/{domain}" for domain in _domains(obj.host))
    classes = {"privileged" if port < 1024 else "ordinary" for port in obj.ports if 0 < port < 65536}
    root = ("root",) if obj.path in (None, "", "/") else ()
    return (*domains, *(f"port/{name}" for name in sorted(classes)), *root)


def witness():
    return [
        Route("cart.shop.example.com", "/", [443, 8443, 80]),
        Route("", None, []),
        Route("...", "/x", [-1, 0, 10**5000]),
        Route("a.a.a..a." * 400, "", [65535] * 50),
    ]
