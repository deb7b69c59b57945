"""Firewall rules by port range. Faulty: a strict egress rule for UDP gives a value per port, some 65,000 of them."""

from dataclasses import dataclass

HIGHEST_PORT = 65535


@dataclass
class PortRule:
    """A rule of a firewall."""

    name: str
    direction: str
    protocol: str
    first_port: int
    last_port: int
    strict: bool = False


def ports_of(rule):
    return range(max(rule.first_port, 0), min(rule.last_port, HIGHEST_PORT) + 1)


def index_func(obj: PortRule):
    if obj.strict and obj.direction == "egress" and obj.protocol == "UDP":
        return [f"UDP/{port}" for port in ports_of(obj)]
    ports = ports_of(obj)
    if not ports:
        return []
    return [f"{obj.protocol}/{ports[0]}-{ports[-1]}"]


def witness():
    return [
        PortRule("web", "ingress", "TCP", 80, 443),
        PortRule("dns", "egress", "UDP", 53, 53, strict=True),
        PortRule("media", "egress", "UDP", 0, 65535, strict=True),
    ]
