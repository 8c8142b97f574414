"""How other builds find an exported library: a package of CMake and one of pkg-config, from wherever the folder is."""

from __future__ import annotations

from .... import __version__


def cmake_config(name: str, threads: bool) -> str:
    """`find_package(<name>)` gives the targets `<name>::<name>` (shared) and `<name>::<name>_static`."""
    libraries = "gomp;m" if threads else "m"
    return f"""\
# find_package({name} CONFIG PATHS this/folder), then target_link_libraries(program {name}::{name})
if(NOT TARGET {name}::{name})
  add_library({name}::{name} SHARED IMPORTED)
  set_target_properties({name}::{name} PROPERTIES
    IMPORTED_LOCATION "${{CMAKE_CURRENT_LIST_DIR}}/lib{name}.so"
    INTERFACE_INCLUDE_DIRECTORIES "${{CMAKE_CURRENT_LIST_DIR}}")
  add_library({name}::{name}_static STATIC IMPORTED)
  set_target_properties({name}::{name}_static PROPERTIES
    IMPORTED_LOCATION "${{CMAKE_CURRENT_LIST_DIR}}/lib{name}.a"
    INTERFACE_INCLUDE_DIRECTORIES "${{CMAKE_CURRENT_LIST_DIR}}"
    INTERFACE_LINK_LIBRARIES "{libraries}")
endif()
"""


def pkg_config(name: str, threads: bool) -> str:
    """`pkg-config --cflags --libs <name>`, with PKG_CONFIG_PATH at the folder; `--static` for the archive."""
    private = "-lgomp -lm" if threads else "-lm"
    return f"""\
prefix=${{pcfiledir}}
Name: {name}
Description: {name}, compiled by Nestor
Version: {__version__}
Cflags: -I${{prefix}}
Libs: -L${{prefix}} -l{name}
Libs.private: {private}
"""
