# Another kind of machine, for CMake: ML_TARGET in the environment names it. aarch64-linux-gnu, arm-linux-gnueabihf, riscv64-linux-gnu and
# s390x-linux-gnu are compiled for by Debian's cross compilers, all others by zig (PyPI: ziglang), whose names these then are.
set(target $ENV{ML_TARGET})
string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR ${target})
if(target MATCHES "windows")
  set(CMAKE_SYSTEM_NAME Windows)
elseif(target MATCHES "macos")
  set(CMAKE_SYSTEM_NAME Darwin)
else()
  set(CMAKE_SYSTEM_NAME Linux)
endif()
find_program(ML_CROSS_GCC ${target}-gcc NO_CACHE)
if(ML_CROSS_GCC)
  set(CMAKE_C_COMPILER ${ML_CROSS_GCC})
else()
  set(CMAKE_C_COMPILER ${CMAKE_CURRENT_LIST_DIR}/zig-cc)
  # CMake asks for these on Windows and macOS; nothing here needs them.
  set(CMAKE_RC_COMPILER ${CMAKE_C_COMPILER})
  set(CMAKE_INSTALL_NAME_TOOL ${CMAKE_C_COMPILER})
endif()
# Tries of the compiler are not linked: zig would build a C library for that.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
# Programs are this machine's; nothing of this machine is linked.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
