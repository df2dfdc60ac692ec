"""tvm.contrib.utils: temporary folders."""
import os
import tempfile
from typing import Any, List, Optional

from .. import _missing


class TempDirectory:
    """A folder that goes with the object."""

    def __init__(self, custom_path: Optional[str] = None, keep_for_debug: bool = False):
        if custom_path:
            os.makedirs(custom_path, exist_ok=True)
            self._folder, self.temp_dir = None, custom_path
        elif keep_for_debug:
            self._folder, self.temp_dir = None, tempfile.mkdtemp(prefix="tvm-")
        else:
            self._folder = tempfile.TemporaryDirectory(prefix="tvm-")
            self.temp_dir = self._folder.name

    @property
    def path(self) -> str:
        return self.temp_dir

    def relpath(self, name: str) -> str:
        """The path of a file in it."""
        return os.path.join(self.temp_dir, name)

    def listdir(self) -> List[str]:
        return os.listdir(self.temp_dir)

    def remove(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def __truediv__(self, name: Any) -> str:
        return self.relpath(str(name))

    def __enter__(self) -> "TempDirectory":
        return self

    def __exit__(self, *error: Any) -> None:
        self.remove()


def tempdir(custom_path: Optional[str] = None, keep_for_debug: bool = False) -> TempDirectory:
    return TempDirectory(custom_path, keep_for_debug)


__path__: list = []
__getattr__ = _missing.attributes(__name__)
