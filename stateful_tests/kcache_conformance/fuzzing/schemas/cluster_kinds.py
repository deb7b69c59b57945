"""Nodes, services, storage: what pods run on, are reached by, and keep their data in."""

from __future__ import annotations

from .kubernetes import (
    COUNT,
    FREE,
    LABEL,
    LABELS,
    NAME,
    PORT,
    QUANTITIES,
    Manner,
    conditions,
    object_reference,
    plain,
    selector,
    with_spec,
)
from .schema import Array, Boolean, Choice, Format, Map, Record, Text

_ACCESS_MODES = Array(Choice(("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")), most=4)


def persistent_volume(manner: Manner) -> Record:
    """A PersistentVolume."""
    f = manner.field
    spec = (
        f("capacity", QUANTITIES),
        f("accessModes", _ACCESS_MODES),
        f("storageClassName", NAME),
        f("claimRef", object_reference(manner, "ClaimReference")),
        f("persistentVolumeReclaimPolicy", Choice(("Retain", "Delete", "Recycle"))),
        f("volumeMode", Choice(("Filesystem", "Block"))),
        f("csi", manner.record("CSI", f("driver", FREE, required=True), f("volumeHandle", FREE, required=True))),
    )
    phase = Choice(("Pending", "Available", "Bound", "Released", "Failed"))
    return with_spec("PersistentVolume", manner, spec, (f("phase", phase), f("message", FREE)))


def persistent_volume_claim(manner: Manner) -> Record:
    """A PersistentVolumeClaim."""
    f = manner.field
    spec = (
        f("accessModes", _ACCESS_MODES),
        f("storageClassName", NAME),
        f("volumeName", NAME),
        f("volumeMode", Choice(("Filesystem", "Block"))),
        f("resources", manner.record("VolumeRequirements", f("requests", QUANTITIES), f("limits", QUANTITIES))),
        f("selector", selector(manner)),
    )
    status = (f("phase", Choice(("Pending", "Bound", "Lost"))), f("capacity", QUANTITIES))
    return with_spec("PersistentVolumeClaim", manner, spec, status)


def service(manner: Manner) -> Record:
    """A Service."""
    f = manner.field
    port = manner.record(
        "ServicePort",
        f("port", PORT, required=True),
        f("targetPort", PORT),
        f("nodePort", PORT),
        f("name", LABEL),
        f("protocol", Choice(("TCP", "UDP", "SCTP"))),
    )
    address = manner.record("LoadBalancerIngress", f("ip", Text(examples=("10.1.0.1",))), f("hostname", NAME))
    spec = (
        f("selector", LABELS),
        f("ports", Array(port, most=10)),
        f("type", Choice(("ClusterIP", "NodePort", "LoadBalancer", "ExternalName"))),
        f("clusterIP", Text(examples=("10.1.0.1", "None", ""))),
        f("clusterIPs", Array(Text(examples=("10.1.0.1", "None", "fd00::1")), most=2)),
        f("externalIPs", Array(Text(examples=("192.0.2.1",)), most=4)),
        f("externalName", NAME),
        f("sessionAffinity", Choice(("None", "ClientIP"))),
    )
    balancer = manner.record("LoadBalancerStatus", f("ingress", Array(address, most=4)))
    return with_spec("Service", manner, spec, (f("loadBalancer", balancer),))


def node(manner: Manner) -> Record:
    """A Node."""
    f = manner.field
    taint = manner.record(
        "Taint",
        f("key", Text(Format.LABEL_KEY), required=True),
        f("value", Text(Format.LABEL_VALUE, most=63)),
        f("effect", Choice(("NoSchedule", "PreferNoSchedule", "NoExecute")), required=True),
        f("timeAdded", manner.moment),
    )
    address = manner.record(
        "NodeAddress",
        f("type", Choice(("InternalIP", "ExternalIP", "Hostname", "InternalDNS", "ExternalDNS")), required=True),
        f("address", Text(examples=("10.0.0.1", "node-1")), required=True),
    )
    spec = (
        f("providerID", Text(examples=("aws:///eu-west-1a/i-0123",))),
        f("unschedulable", Boolean()),
        f("podCIDR", Text(examples=("10.244.0.0/24",))),
        f("podCIDRs", Array(Text(examples=("10.244.0.0/24",)), most=2)),
        f("taints", Array(taint, most=10)),
    )
    info = manner.record(
        "NodeInfo",
        f("kubeletVersion", Text(examples=("v1.30.2", "v1.29.0-eks-1")), required=True),
        f("osImage", FREE, required=True),
        f("architecture", Text(examples=("amd64", "arm64")), required=True),
        f("operatingSystem", Text(examples=("linux", "windows")), required=True),
    )
    status = (
        f("addresses", Array(address, most=8)),
        f("capacity", QUANTITIES),
        f("allocatable", QUANTITIES),
        f("nodeInfo", info),
        conditions(manner),
    )
    return with_spec("Node", manner, spec, status)


def event(manner: Manner) -> Record:
    """A Event."""
    f = manner.field
    return plain(
        "Event",
        manner,
        f("involvedObject", object_reference(manner, "InvolvedObject"), required=True),
        f("type", Choice(("Normal", "Warning"))),
        f("reason", FREE),
        f("message", FREE),
        f("count", COUNT),
        f("firstTimestamp", manner.moment),
        f("lastTimestamp", manner.moment),
        f("eventTime", manner.moment),
        f("reportingComponent", FREE),
        f("source", manner.record("EventSource", f("component", FREE), f("host", NAME))),
    )


def ingress(manner: Manner) -> Record:
    """A Ingress."""
    f = manner.field
    port = manner.record("BackendPort", f("number", PORT), f("name", LABEL))
    service = manner.record("BackendService", f("name", NAME, required=True), f("port", port))
    backend = manner.record("Backend", f("service", service))
    path = manner.record(
        "Path",
        f("path", Text(examples=("/", "/api"))),
        f("pathType", Choice(("Exact", "Prefix", "ImplementationSpecific")), required=True),
        f("backend", backend, required=True),
    )
    rule = manner.record(
        "Rule",
        f("host", Text(Format.NAME, most=253)),
        f("http", manner.record("HTTP", f("paths", Array(path, most=8), required=True))),
    )
    tls = manner.record("TLS", f("hosts", Array(NAME, most=8)), f("secretName", NAME))
    spec = (
        f("rules", Array(rule, most=8)),
        f("tls", Array(tls, most=8)),
        f("ingressClassName", NAME),
        f("defaultBackend", backend),
    )
    return with_spec("Ingress", manner, spec)


def endpoints(manner: Manner) -> Record:
    """A Endpoints."""
    f = manner.field
    address = manner.record(
        "EndpointAddress",
        f("ip", Text(examples=("10.0.0.7", "10.0.0.8")), required=True),
        f("hostname", LABEL),
        f("nodeName", NAME),
        f("targetRef", object_reference(manner, "TargetReference")),
    )
    port = manner.record("EndpointPort", f("port", PORT, required=True), f("name", LABEL))
    subset = manner.record(
        "EndpointSubset",
        f("addresses", Array(address, most=8)),
        f("notReadyAddresses", Array(address, most=8)),
        f("ports", Array(port, most=8)),
    )
    return plain("Endpoints", manner, f("subsets", Array(subset, most=8)))


def secret(manner: Manner) -> Record:
    """A Secret."""
    f = manner.field
    return plain(
        "Secret",
        manner,
        f("type", Text(examples=("Opaque", "kubernetes.io/tls", "kubernetes.io/dockerconfigjson"))),
        f("data", Map(Text(Format.LABEL_KEY), Text(examples=("", "YWRtaW4=")))),
        f("immutable", Boolean()),
    )
