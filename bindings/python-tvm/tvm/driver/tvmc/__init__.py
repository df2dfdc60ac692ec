"""tvm.driver.tvmc: the Python interface of tvmc, which is tenon.tvmc."""
from tenon.tvmc import TVMCModel, TVMCPackage, TVMCResult, compile, load, run, tune

from ... import _missing

__getattr__ = _missing.attributes(__name__)
