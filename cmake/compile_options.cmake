# One set of flags for every target.
#
# -ffp-contract=off   the source is the order of operations; an fma is written where one rounding is meant
# -march=x86-64-v3    fma and f16c in hardware; cli/cpu_check.cpp refuses older processors by name
# static libraries    a binary built here starts on another machine (libc and SQLite's libm apart)
add_library(lsecheck_options INTERFACE)
target_compile_options(lsecheck_options INTERFACE
  -Wall -Wextra -Wconversion -Wshadow -Werror -ffp-contract=off -march=x86-64-v3)
target_include_directories(lsecheck_options INTERFACE ${CMAKE_SOURCE_DIR})

option(LSECHECK_SANITIZE "build with AddressSanitizer and UndefinedBehaviorSanitizer" OFF)
if(LSECHECK_SANITIZE)
  target_compile_options(lsecheck_options INTERFACE
    -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(lsecheck_options INTERFACE -fsanitize=address,undefined)
endif()

if(NOT LSECHECK_SANITIZE)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a .so)
  set(Boost_USE_STATIC_LIBS ON)
  target_link_options(lsecheck_options INTERFACE -static-libgcc -static-libstdc++)
endif()
