# One set of flags for every target.
#
# -ffp-contract=off   the source is the order of operations; an fma is written where one rounding is meant
# -march=x86-64-v3    fma and f16c in hardware; cli/cpu_check.cpp refuses older processors by name
# static libraries    a binary built here starts on another machine (libc and SQLite's libm apart)
add_library(lsecheck_options INTERFACE)
target_compile_options(lsecheck_options INTERFACE -ffp-contract=off -march=x86-64-v3)
# Warnings are g++'s matter: clang has others under the same names.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(lsecheck_options INTERFACE -Wall -Wextra -Wconversion -Wshadow -Werror)
endif()
target_include_directories(lsecheck_options INTERFACE ${CMAKE_SOURCE_DIR})

# LSECHECK_SANITIZE=address  AddressSanitizer and UndefinedBehaviorSanitizer
# LSECHECK_SANITIZE=thread   ThreadSanitizer
# LSECHECK_FUZZING=ON        coverage counters for libFuzzer, and its programs; with clang
set(LSECHECK_SANITIZE "OFF" CACHE STRING "build with sanitizers: OFF, address or thread")
set_property(CACHE LSECHECK_SANITIZE PROPERTY STRINGS OFF address thread)
option(LSECHECK_FUZZING "build the fuzz targets as libFuzzer programs (clang)" OFF)

set(sanitizers "")
if(LSECHECK_SANITIZE STREQUAL "address")
  set(sanitizers address undefined)
elseif(LSECHECK_SANITIZE STREQUAL "thread")
  set(sanitizers thread)
elseif(NOT LSECHECK_SANITIZE STREQUAL "OFF")
  message(FATAL_ERROR "LSECHECK_SANITIZE=${LSECHECK_SANITIZE} is not known: use OFF, address or thread")
endif()
if(LSECHECK_FUZZING)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "LSECHECK_FUZZING needs clang, not ${CMAKE_CXX_COMPILER_ID}: use cmake --preset fuzz")
  endif()
  list(APPEND sanitizers fuzzer-no-link)
endif()
if(sanitizers)
  list(JOIN sanitizers "," sanitizers)
  target_compile_options(lsecheck_options INTERFACE
    -fsanitize=${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer
    # g++ takes instrumented moves of std::function (std::regex makes them) for reads of what was never written.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(lsecheck_options INTERFACE -fsanitize=${sanitizers})
else()
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a .so)
  set(Boost_USE_STATIC_LIBS ON)
  target_link_options(lsecheck_options INTERFACE -static-libgcc -static-libstdc++)
endif()
