"""Direct accesses of calls that run no instrumented code: the call reads an attribute, or its method is written in C.

The driver is not instrumented, so the accesses of the driver itself create no events. A call without an event would
conflict with nothing: the explorer would not try it before and after the accesses of other threads.
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
    """Return the slot that a call reads or writes without running Python code, and READ or WRITE.

    ``None`` means that the call runs Python code, as calls on results do, or that no access is known.

    Args:
        made: the object under test.
        operation: the call; if it is no :class:`MethodCall`, the result is ``None``.
    """
    if not isinstance(operation, MethodCall) or operation.form is Form.RESULTS or operation.of is not None:
        return None
    declared = class_attribute(type(made), _method(operation))
    if operation.form is Form.READ and (declared is None or is_any(declared, (types.MemberDescriptorType,))):
        return operation.attribute, READ
    if declared is not None and is_any(declared, _IN_C):
        return WHOLE, WRITE if operation.is_write else READ
    return None


def report_direct_access(made: object, operation: Any, sandbox: Sandbox) -> None:
    """Report the access of a call that runs no Python code to the scheduler, just before the call."""
    direct = direct_access(made, operation)
    if direct is not None:
        scheduler = sandbox.scheduler
        report = scheduler.access if sandbox.granularity is Granularity.FREE else scheduler.note
        report(made, *direct)


def report_foreign_method(method: object, sandbox: Sandbox) -> None:
    """Report the call of a method that is neither instrumented nor known as one step that accesses all it reaches."""
    foreign_code = sandbox.foreign_code
    if not foreign_code.is_understood(method):
        sandbox.scheduler.pause()
        foreign_code.enter(None, f"calls {method!r}, which is not instrumented", (method,))


def _method(operation: MethodCall) -> str:
    """The name of the method that the call runs (``__exit__`` for the end of a ``with`` block)."""
    if operation.form is Form.EXIT and operation.attribute == "__enter__":
        return "__exit__"
    return operation.attribute
