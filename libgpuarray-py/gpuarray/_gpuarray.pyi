"""The cffi binding, built from the public headers."""

from typing import Any

ffi: Any
lib: Any
