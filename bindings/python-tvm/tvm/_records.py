"""The PassContext of a build with tuning records."""
from __future__ import annotations

from tenon._applied import applied
from tenon.transform import PassContext

# what such records are the answer to
_SAID = ("relay.backend.use_auto_scheduler", "relay.backend.use_meta_schedule", "relay.backend.use_meta_schedule_dispatch")


def context() -> PassContext:
    """The innermost PassContext, as it is for a build with records: that they are to be used is said."""
    c = PassContext.current()
    config = {key: value for key, value in c.config.items() if key not in _SAID or applied.current is None}
    return PassContext(c.opt_level, c.required_pass, c.disabled_pass, config=config)
