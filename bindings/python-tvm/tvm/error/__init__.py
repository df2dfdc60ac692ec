"""tvm.error: exceptions of TVM that scripts catch, as those of tenon."""
from tenon import CompileError, Error, UnsupportedError

from .. import _missing

TVMError = Error
InternalError = Error
DiagnosticError = CompileError
OpError = CompileError
OpNotImplemented = CompileError
OpAttributeUnImplemented = CompileError
OpAttributeInvalid = CompileError
RPCError = UnsupportedError
__getattr__ = _missing.attributes(__name__)
