"""Python's headers for other kinds of machines, made of this Python's: python_headers.py FOLDER.

Writes FOLDER/include, whose pyconfig.h asks the compiler for sizes and knows Windows, and FOLDER/python3.def, the names
that Windows' python3.dll may be asked for. Enough to compile and link an extension of the limited API, not to run it:
wheels of those systems are built there, with the headers of their own.
"""

from __future__ import annotations

import pathlib
import re
import shutil
import sys
import sysconfig

SIZES = """
/* Sizes are the compiler's, and not those of the machine that this file was made on. */
#undef SIZEOF_INT
#undef SIZEOF_LONG
#undef SIZEOF_LONG_LONG
#undef SIZEOF_PTHREAD_T
#undef SIZEOF_SHORT
#undef SIZEOF_SIZE_T
#undef SIZEOF_TIME_T
#undef SIZEOF_UINTPTR_T
#undef SIZEOF_VOID_P
#undef SIZEOF_WCHAR_T
#undef ALIGNOF_LONG
#undef ALIGNOF_SIZE_T
#define SIZEOF_INT __SIZEOF_INT__
#define SIZEOF_LONG __SIZEOF_LONG__
#define SIZEOF_LONG_LONG __SIZEOF_LONG_LONG__
#define SIZEOF_PTHREAD_T __SIZEOF_POINTER__
#define SIZEOF_SHORT __SIZEOF_SHORT__
#define SIZEOF_SIZE_T __SIZEOF_SIZE_T__
#define SIZEOF_TIME_T 8
#define SIZEOF_UINTPTR_T __SIZEOF_POINTER__
#define SIZEOF_VOID_P __SIZEOF_POINTER__
#define SIZEOF_WCHAR_T __SIZEOF_WCHAR_T__
#define ALIGNOF_LONG __SIZEOF_LONG__
#define ALIGNOF_SIZE_T __SIZEOF_SIZE_T__
#ifdef _WIN32
#define MS_WINDOWS 1
#define MS_WIN32 1
#ifdef _WIN64
#define MS_WIN64 1
#endif
#define Py_ENABLE_SHARED 1
#define HAVE_DECLSPEC_DLL 1
#undef HAVE_CRYPT_H
#undef HAVE_SYS_SELECT_H
#undef HAVE_SYS_TIMES_H
#undef HAVE_SSIZE_T
#undef HAVE_GCC_UINT128_T
#endif
"""


def main() -> None:
    """The command."""
    folder = pathlib.Path(sys.argv[1])
    include = folder / "include"
    shutil.rmtree(include, ignore_errors=True)
    shutil.copytree(sysconfig.get_path("include"), include)
    config = pathlib.Path(sysconfig.get_config_h_filename()).read_text()
    if "#define SIZEOF_LONG" not in config:  # Debian's only includes that of the architecture
        (found,) = re.findall(r"# *if.*__x86_64__.*\n(?:.*\n){0,3}? *# *include <(.*?)>", config)
        config = (pathlib.Path("/usr/include") / found).read_text()
    (include / "pyconfig.h").write_text(config + SIZES)
    names = set()
    for header in [*include.glob("*.h"), *include.glob("cpython/*.h")]:
        text = header.read_text()
        names |= {(name, "") for name in re.findall(r"PyAPI_FUNC\([^)]*\)\s*(\w+)\s*\(", text)}
        names |= {(name, " DATA") for name in re.findall(r"PyAPI_DATA\([^)]*\)\s*\*?\s*(\w+)\s*;", text)}
    lines = ["LIBRARY python3.dll", "EXPORTS", *(name + kind for name, kind in sorted(names))]
    (folder / "python3.def").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
