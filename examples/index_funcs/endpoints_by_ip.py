"""Endpoints by the IP of their ready addresses; a subset which has only `notReadyAddresses` has no `addresses`."""


def index_func(obj):
    values = []
    for subset in obj.get("subsets") or []:
        for address in subset["addresses"]:
            if address["ip"] not in values:
                values.append(address["ip"])
    return values


def _endpoints(name, *subsets):
    return {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {"name": name, "namespace": "shop"},
        "subsets": list(subsets),
    }


def witness():
    ready = {"addresses": [{"ip": "10.0.0.7"}, {"ip": "10.0.0.8"}], "ports": [{"port": 8080}]}
    starting = {"notReadyAddresses": [{"ip": "10.0.0.9"}], "ports": [{"port": 8080}]}
    return [_endpoints("cart", ready), _endpoints("checkout", ready, starting)]
