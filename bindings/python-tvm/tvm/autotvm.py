"""tvm.autotvm: records of tuning for relay.build. tvm.driver.tvmc.tune makes them."""
from . import _missing
from ._records import ApplyHistoryBest

apply_history_best = ApplyHistoryBest
__path__: list = []
__getattr__ = _missing.attributes(__name__)
