"""Ingresses by host; with more than one rule, the hosts are gathered in a list which all calls (and threads) share."""

from types import SimpleNamespace


class _HostCollector:
    def __init__(self):
        self.hosts = []

    def collect(self, rules):
        self.hosts.clear()
        for rule in rules:
            host = (rule.host or "*").lower()
            if host not in self.hosts:
                self.hosts.append(host)
        return list(self.hosts)


_collector = _HostCollector()


def index_func(obj):
    rules = (obj.spec.rules if obj.spec else None) or []
    if len(rules) == 1:
        return [(rules[0].host or "*").lower()]
    return _collector.collect(rules)


def _ingress(name, hosts):
    return SimpleNamespace(
        metadata=SimpleNamespace(name=name, namespace="shop"),
        spec=SimpleNamespace(ingress_class_name="nginx", rules=[SimpleNamespace(host=host) for host in hosts]),
    )


def witness():
    return [
        _ingress("single", ["shop.example.com"]),
        _ingress("tenants", [f"tenant-{number}.example.com" for number in range(40)]),
        _ingress("regions", [f"region-{number}.example.org" for number in range(40)]),
    ]
