"""Accesses that a call makes itself, where no instrumented code runs: it reads an attribute, or its method is in C.

The driver is no code under test, so what it reads is not reported by instrumentation. Without an event, such a call
would depend on nothing: it would count as made before, or after, whatever other threads do.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any, Final

from kcache_model.foreign import class_attribute, is_any
from kcache_model.object_types.method_call import Form, MethodCall

from ..engine.events import READ, WHOLE, WRITE
from ..engine.granularity import Granularity

if TYPE_CHECKING:
    from ..modules.sandbox import Sandbox

_IN_C: Final = (
    types.BuiltinFunctionType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
)


def direct_access(made: object, operation: Any) -> tuple[object, int] | None:
    """The slot of an object that a call reads (0) or writes (1) without any code in Python; ``None`` if it runs some.

    Args:
        made: the object under test.
        operation: the call; of types with other calls than methods, nothing is known.
    """
    if not isinstance(operation, MethodCall) or operation.form is Form.RESULTS:
        return None
    declared = class_attribute(type(made), _method(operation))
    if operation.form is Form.READ and (declared is None or is_any(declared, (types.MemberDescriptorType,))):
        return operation.attribute, READ
    if declared is not None and is_any(declared, _IN_C):
        return WHOLE, WRITE if operation.is_write else READ
    return None


def report_direct_access(made: object, operation: Any, sandbox: Sandbox) -> None:
    """Report what a call accesses without any code in Python: it is about to be made."""
    direct = direct_access(made, operation)
    if direct is not None:
        scheduler = sandbox.scheduler
        report = scheduler.access if sandbox.granularity is Granularity.FREE else scheduler.note
        report(made, *direct)


def _method(operation: MethodCall) -> str:
    """The name of the method that the call begins with."""
    if operation.form is Form.EXIT and operation.attribute == "__enter__":
        return "__exit__"
    return operation.attribute
