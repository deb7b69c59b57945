"""Pods, and what makes them."""

from __future__ import annotations

from .kubernetes import (
    COUNT,
    FREE,
    GENERATION,
    INT32,
    LABEL,
    LABELS,
    NAME,
    PORT,
    QUANTITIES,
    Manner,
    conditions,
    metadata,
    selector,
    with_spec,
)
from .schema import Array, Boolean, Choice, Field, Format, Record, Text


def _container(manner: Manner) -> Record:
    """A Container."""
    f = manner.field
    reference = manner.record("Reference", f("name", NAME))
    key_reference = manner.record("KeySelector", f("name", NAME), f("key", Text(Format.LABEL_KEY), required=True))
    source = manner.record("EnvVarSource", f("secretKeyRef", key_reference), f("configMapKeyRef", key_reference))
    return manner.record(
        "Container",
        f("name", LABEL, required=True),
        f("image", Text(examples=("nginx", "nginx:1.25", "registry.example/team/app:v1", "app@sha256:0a1b"))),
        f("command", Array(FREE)),
        f("args", Array(FREE)),
        f(
            "env",
            Array(manner.record("EnvVar", f("name", FREE, required=True), f("value", FREE), f("valueFrom", source))),
        ),
        f(
            "envFrom",
            Array(manner.record("EnvFromSource", f("configMapRef", reference), f("secretRef", reference))),
        ),
        f(
            "ports",
            Array(
                manner.record(
                    "ContainerPort",
                    f("containerPort", PORT, required=True),
                    f("hostPort", PORT),
                    f("name", LABEL),
                    f("protocol", Choice(("TCP", "UDP", "SCTP"))),
                )
            ),
        ),
        f(
            "resources",
            manner.record("ResourceRequirements", f("requests", QUANTITIES), f("limits", QUANTITIES)),
        ),
    )


def _pod_spec_fields(manner: Manner) -> tuple[Field, ...]:
    f = manner.field
    claim = manner.record("ClaimSource", f("claimName", NAME, required=True), f("readOnly", Boolean()))
    volume = manner.record(
        "Volume",
        f("name", LABEL, required=True),
        f("persistentVolumeClaim", claim),
        f("configMap", manner.record("ConfigMapSource", f("name", NAME))),
        f("secret", manner.record("SecretSource", f("secretName", NAME))),
    )
    toleration = manner.record(
        "Toleration",
        f("key", Text(Format.LABEL_KEY)),
        f("operator", Choice(("Exists", "Equal"))),
        f("value", Text(Format.LABEL_VALUE, most=63)),
        f("effect", Choice(("NoSchedule", "PreferNoSchedule", "NoExecute"))),
        f("tolerationSeconds", GENERATION),
    )
    return (
        f("containers", Array(_container(manner), most=8), required=True),
        f("initContainers", Array(_container(manner), most=8)),
        f("nodeName", NAME),
        f("nodeSelector", LABELS),
        f("priority", INT32),
        f("priorityClassName", NAME),
        f("serviceAccountName", NAME),
        f("schedulerName", FREE),
        f("hostname", LABEL),
        f("hostNetwork", Boolean()),
        f("restartPolicy", Choice(("Always", "OnFailure", "Never"))),
        f("runtimeClassName", NAME),
        f("terminationGracePeriodSeconds", GENERATION),
        f("tolerations", Array(toleration, most=20)),
        f("imagePullSecrets", Array(manner.record("LocalReference", f("name", NAME)), most=8)),
        f("volumes", Array(volume, most=20)),
    )


def pod(manner: Manner) -> Record:
    """A Pod."""
    f = manner.field
    phase = Choice(("Pending", "Running", "Succeeded", "Failed", "Unknown"))
    statuses = Array(
        manner.record(
            "ContainerStatus",
            f("name", LABEL, required=True),
            f("image", FREE, required=True),
            f("imageID", FREE, required=True),
            f("ready", Boolean(), required=True),
            f("restartCount", COUNT, required=True),
            f("containerID", FREE),
        ),
        most=8,
    )
    status = (
        f("phase", phase),
        f("podIP", Text(examples=("10.0.0.7", "fd00::7"))),
        f("podIPs", Array(manner.record("PodIP", f("ip", Text(examples=("10.0.0.7", "fd00::7")))), most=2)),
        f("hostIP", Text(examples=("10.0.0.1",))),
        f("reason", FREE),
        f("message", FREE),
        f("qosClass", Choice(("Guaranteed", "Burstable", "BestEffort"))),
        f("startTime", manner.moment),
        f("containerStatuses", statuses),
        conditions(manner),
    )
    return with_spec("Pod", manner, _pod_spec_fields(manner), status)


def _template(manner: Manner) -> Record:
    """A Template."""
    f = manner.field
    return manner.record(
        "PodTemplate",
        f("metadata", metadata(manner)),
        f("spec", manner.record("PodSpec", *_pod_spec_fields(manner))),
    )


def deployment(manner: Manner) -> Record:
    """A Deployment."""
    f = manner.field
    spec = (
        f("replicas", COUNT),
        f("selector", selector(manner), required=True),
        f("template", _template(manner), required=True),
        f("paused", Boolean()),
        f("minReadySeconds", COUNT),
    )
    counts = ("replicas", "readyReplicas", "availableReplicas", "updatedReplicas", "observedGeneration")
    return with_spec("Deployment", manner, spec, (*(f(name, COUNT) for name in counts), conditions(manner)))


def job(manner: Manner) -> Record:
    """A Job."""
    f = manner.field
    spec = (
        f("template", _template(manner), required=True),
        f("parallelism", COUNT),
        f("completions", COUNT),
        f("activeDeadlineSeconds", GENERATION),
        f("backoffLimit", COUNT),
        f("ttlSecondsAfterFinished", COUNT),
        f("suspend", Boolean()),
    )
    status = (
        *(f(name, COUNT) for name in ("active", "succeeded", "failed")),
        f("startTime", manner.moment),
        f("completionTime", manner.moment),
        conditions(manner),
    )
    return with_spec("Job", manner, spec, status)
