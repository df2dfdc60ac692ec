"""tvm.contrib.download: files that scripts fetch once."""
from __future__ import annotations

import os
import time
import urllib.request
from typing import Any, Optional

import tenon

from .. import _missing


def download(url: str, path: Any, overwrite: bool = False, size_compare: bool = False, retries: int = 3) -> None:
    """Fetch a file, whole or not at all, unless `path` is there already. tenon.Error names the file that is missing."""
    path = os.fspath(path)
    if os.path.isfile(path) and not overwrite:
        return
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    part = f"{path}.{os.getpid()}.part"
    try:
        _fetch(url, part, path, retries)
        os.replace(part, path)
    finally:
        if os.path.exists(part):
            os.unlink(part)


def _fetch(url: str, part: str, path: str, retries: int) -> None:
    for left in range(max(retries, 1) - 1, -1, -1):
        try:
            urllib.request.urlretrieve(url, part)
            return
        except OSError as e:
            if not left:
                raise tenon.Error(f"{url} cannot be fetched: {e}; put the file at {path}, and it will be taken from there") from e
            time.sleep(1)


def download_testdata(url: str, relpath: str, module: Optional[Any] = None, overwrite: bool = False) -> str:
    """Fetch a file into TEST_DATA_ROOT_PATH (~/.tvm_test_data) and return its path."""
    root = os.environ.get("TEST_DATA_ROOT_PATH") or os.path.join(os.path.expanduser("~"), ".tvm_test_data")
    parts = [module] if isinstance(module, str) else list(module or ())
    path = os.path.join(root, *parts, relpath)
    download(url, path, overwrite=overwrite)
    return path


__path__: list = []
__getattr__ = _missing.attributes(__name__)
