"""Runs a program in Windows' Python under Wine, with four functions of C that Wine does not have.

Run by that Python as `python wine_start.py PROGRAM ...`. NumPy's import asks for the parts of
complex numbers, which Wine 10 leaves unimplemented; a call would end the process.
"""

from __future__ import annotations

import ctypes
import runpy
import sys
from pathlib import Path
from typing import Any

_CODE = {
    "crealf": "66 0f 6e c1 c3",  # movd xmm0, ecx; ret
    "cimagf": "48 c1 e9 20 66 0f 6e c1 c3",  # shr rcx, 32; movd xmm0, ecx; ret
    "creal": "f2 0f 10 01 c3",  # movsd xmm0, [rcx]; ret
    "cimag": "f2 0f 10 41 08 c3",  # movsd xmm0, [rcx + 8]; ret
}
_EXECUTE_READ_WRITE = 0x40


def mend() -> None:
    """Write the code of the functions where Wine's library has stubs."""
    kernel: Any = vars(ctypes)["WinDLL"]("kernel32")
    kernel.GetModuleHandleW.restype = kernel.GetProcAddress.restype = ctypes.c_void_p
    library = ctypes.c_void_p(kernel.GetModuleHandleW("ucrtbase.dll"))
    before = ctypes.c_uint32()
    for name, digits in _CODE.items():
        code = bytes.fromhex(digits)
        address = ctypes.c_void_p(kernel.GetProcAddress(library, name.encode()))
        size = ctypes.c_size_t(len(code))
        if not kernel.VirtualProtect(address, size, _EXECUTE_READ_WRITE, ctypes.byref(before)):
            raise OSError(f"{name} cannot be written")
        ctypes.memmove(address, code, len(code))


def main() -> None:
    """Mend, then run the program as if it was started itself."""
    mend()
    sys.argv = sys.argv[1:]
    sys.path.insert(0, str(Path(sys.argv[0]).parent))
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
