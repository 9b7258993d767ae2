# The CUDA kernels: one fat binary inside lsecheck_kernels, built by calling nvcc, so that no CUDA language has to be
# enabled and a machine without the toolkit builds everything else. Included after lsecheck_kernels exists.
#
#   LSECHECK_CUDA=AUTO   when nvcc 12.8 or newer is found (PATH, CUDA_HOME, /usr/local/cuda/bin)
#   LSECHECK_CUDA=ON     an error where it is not
#   LSECHECK_CUDA=OFF    never
set(LSECHECK_CUDA "AUTO" CACHE STRING "build the CUDA kernels: AUTO, ON or OFF")
set_property(CACHE LSECHECK_CUDA PROPERTY STRINGS AUTO ON OFF)

file(GLOB cuda_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/kernels/cuda/*.cpp)
list(FILTER cuda_sources EXCLUDE REGEX "_test\\.cpp$")
set(cuda_stub ${CMAKE_SOURCE_DIR}/kernels/cuda/cuda_backend_stub.cpp)
# What every build holds, with or without nvcc.
list(REMOVE_ITEM cuda_sources ${cuda_stub} ${CMAKE_SOURCE_DIR}/kernels/cuda/describe_device.cpp
  ${CMAKE_SOURCE_DIR}/kernels/cuda/launch_deadline.cpp)

# Sets nvcc, nvcc_version and cuda_root in the caller, or why_not.
function(lsecheck_find_nvcc)
  find_program(LSECHECK_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES bin)
  mark_as_advanced(LSECHECK_NVCC)
  if(NOT LSECHECK_NVCC)
    set(why_not "no nvcc on PATH or in /usr/local/cuda/bin" PARENT_SCOPE)
    return()
  endif()
  execute_process(COMMAND ${LSECHECK_NVCC} --version OUTPUT_VARIABLE text ERROR_QUIET)
  if(NOT text MATCHES "release ([0-9]+\\.[0-9]+)")
    set(why_not "${LSECHECK_NVCC} does not tell its version" PARENT_SCOPE)
    return()
  endif()
  set(version ${CMAKE_MATCH_1})
  if(version VERSION_LESS 12.8)
    set(why_not "${LSECHECK_NVCC} is ${version}; sm_100a needs 12.8" PARENT_SCOPE)
    return()
  endif()
  get_filename_component(real ${LSECHECK_NVCC} REALPATH)
  get_filename_component(bin ${real} DIRECTORY)
  if(NOT EXISTS ${bin}/../include/cuda_runtime_api.h OR NOT EXISTS ${bin}/../lib64/libcudart_static.a)
    set(why_not "${bin}/.. lacks include/cuda_runtime_api.h or lib64/libcudart_static.a" PARENT_SCOPE)
    return()
  endif()
  set(nvcc ${LSECHECK_NVCC} PARENT_SCOPE)
  set(nvcc_version ${version} PARENT_SCOPE)
  get_filename_component(root ${bin}/.. ABSOLUTE)
  set(cuda_root ${root} PARENT_SCOPE)
endfunction()

# lsecheck_nvcc_object(NAME SOURCE [DEFINES...]): compiles SOURCE to NAME.o and appends it to cuda_objects in the
# caller. What ptxas says of registers and local memory goes to NAME.log, which a test reads.
function(lsecheck_nvcc_object name source)
  # Relative names, so that a compiler cache serves every build folder.
  set(object cuda/${name}.o)
  set(log cuda/${name}.log)
  add_custom_command(
    OUTPUT ${CMAKE_BINARY_DIR}/${object}
    BYPRODUCTS ${CMAKE_BINARY_DIR}/${log}
    COMMAND sh ${CMAKE_SOURCE_DIR}/cmake/logged.sh ${log} ${cuda_launcher} ${nvcc} ${cuda_flags} ${ARGN}
      -MD -MF ${object}.d -MT ${object} -c ${source} -o ${object}
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR}
    DEPENDS ${source} ${CMAKE_SOURCE_DIR}/cmake/logged.sh
    DEPFILE ${CMAKE_BINARY_DIR}/${object}.d
    COMMENT "nvcc ${name}"
    VERBATIM)
  set(cuda_objects ${cuda_objects} ${CMAKE_BINARY_DIR}/${object} PARENT_SCOPE)
endfunction()

# lsecheck_cuda_kernel(NAME SHARDS): kernels/cuda/NAME_shard.cu, compiled once per shard of its instantiation table
# (kernels/cuda/compiled_kernels.h); the host learns their number as LSECHECK_<NAME>_SHARDS. Also the PTX of the whole
# table for one chip, which a test reads: it takes seconds, and tells most of what the machine code would.
function(lsecheck_cuda_kernel name shards)
  set(source ${CMAKE_SOURCE_DIR}/kernels/cuda/${name}_shard.cu)
  math(EXPR last "${shards} - 1")
  foreach(shard RANGE ${last})
    lsecheck_nvcc_object(${name}_shard_${shard} ${source} -DLSECHECK_SHARD=${shard} -DLSECHECK_SHARDS=${shards})
  endforeach()
  set(ptx cuda/${name}.ptx)
  add_custom_command(
    OUTPUT ${CMAKE_BINARY_DIR}/${ptx}
    COMMAND ${nvcc} ${cuda_common_flags} -arch=compute_90 -DLSECHECK_SHARD=0 -DLSECHECK_SHARDS=1
      -MD -MF ${ptx}.d -MT ${ptx} -ptx ${source} -o ${ptx}
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR}
    DEPENDS ${source}
    DEPFILE ${CMAKE_BINARY_DIR}/${ptx}.d
    COMMENT "nvcc ${name}.ptx"
    VERBATIM)
  string(TOUPPER ${name} upper)
  set(cuda_objects ${cuda_objects} PARENT_SCOPE)
  set(cuda_ptx ${cuda_ptx} ${CMAKE_BINARY_DIR}/${ptx} PARENT_SCOPE)
  set(cuda_shard_definitions ${cuda_shard_definitions} LSECHECK_${upper}_SHARDS=${shards} PARENT_SCOPE)
endfunction()

if(NOT LSECHECK_CUDA STREQUAL "OFF")
  lsecheck_find_nvcc()
  if(why_not AND LSECHECK_CUDA STREQUAL "ON")
    message(FATAL_ERROR "LSECHECK_CUDA=ON: ${why_not}; install the CUDA toolkit 12.8 or newer, or set CUDA_HOME")
  endif()
else()
  set(why_not "LSECHECK_CUDA=OFF")
endif()

if(why_not)
  message(STATUS "CUDA kernels: not built (${why_not}); --backend cuda will say so")
  set_source_files_properties(${cuda_sources} ${CMAKE_SOURCE_DIR}/kernels/cuda/device_test.cpp PROPERTIES
    HEADER_FILE_ONLY ON)
  return()
endif()

set_source_files_properties(${cuda_stub} PROPERTIES HEADER_FILE_ONLY ON)
set(cuda_archs 90 100a)
if(nvcc_version VERSION_GREATER_EQUAL 12.9)
  list(APPEND cuda_archs 103a)
endif()
list(JOIN cuda_archs ", sm_" arch_text)
message(STATUS "CUDA kernels: nvcc ${nvcc_version}, sm_${arch_text}")

# -fmad=false -ftz=false -prec-div=true: the source is the order of operations, as for the host (compile_options.cmake).
set(cuda_common_flags -std=c++20 -O3 -fmad=false -ftz=false -prec-div=true -prec-sqrt=true --expt-relaxed-constexpr
  -Werror all-warnings -Xcompiler=-Wall,-Wextra,-ffp-contract=off,-march=x86-64-v3 -I${CMAKE_SOURCE_DIR})
set(cuda_flags ${cuda_common_flags} --resource-usage --compress-mode=size)
foreach(arch IN LISTS cuda_archs)
  list(APPEND cuda_flags -gencode arch=compute_${arch},code=sm_${arch})
endforeach()

# The kernels take minutes of compiler time. ccache's other modes look at the preprocessed text, and for several chips
# at once nvcc prints that of the first alone: a change for sm_100a only would be missed. In depend mode it looks at
# the files.
set(cuda_launcher "")
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
  set(cuda_launcher ${CMAKE_COMMAND} -E env CCACHE_DEPEND=1 ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/cuda)
set(cuda_objects "")
lsecheck_nvcc_object(sfu_sweep ${CMAKE_SOURCE_DIR}/kernels/cuda/sfu_sweep.cu)
lsecheck_nvcc_object(two_partition_device ${CMAKE_SOURCE_DIR}/kernels/cuda/two_partition_device.cu)
set(cuda_ptx "")
set(cuda_shard_definitions "")
lsecheck_cuda_kernel(fa4 16)
lsecheck_cuda_kernel(fa4_fast 2)
lsecheck_cuda_kernel(mla 4)

set_source_files_properties(${cuda_objects} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
target_sources(lsecheck_kernels PRIVATE ${cuda_objects})
set_source_files_properties(${cuda_sources} PROPERTIES
  COMPILE_DEFINITIONS "${cuda_shard_definitions};LSECHECK_CUDA_ARCHS=\"sm_${arch_text}\"")
target_include_directories(lsecheck_kernels SYSTEM PRIVATE ${cuda_root}/include)
target_link_libraries(lsecheck_kernels PUBLIC ${cuda_root}/lib64/libcudart_static.a ${CMAKE_DL_LIBS} rt)

# For the tests that look at what nvcc made.
get_filename_component(nvcc_folder ${nvcc} DIRECTORY)
find_program(LSECHECK_CUOBJDUMP cuobjdump HINTS ${nvcc_folder})
mark_as_advanced(LSECHECK_CUOBJDUMP)
set(audit_definitions LSECHECK_CUDA_REPORTS="${CMAKE_BINARY_DIR}/cuda")
if(LSECHECK_CUOBJDUMP)
  list(APPEND audit_definitions LSECHECK_CUOBJDUMP="${LSECHECK_CUOBJDUMP}")
endif()
set_source_files_properties(${CMAKE_SOURCE_DIR}/kernels/cuda/cuda_audit_test.cpp PROPERTIES
  COMPILE_DEFINITIONS "${audit_definitions}")
set(cuda_objects "")
lsecheck_nvcc_object(device_probes ${CMAKE_SOURCE_DIR}/kernels/cuda/device_probes.cu)
set_source_files_properties(${cuda_objects} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
target_sources(kernels_test PRIVATE ${cuda_objects})
target_sources(kernels_test PRIVATE ${cuda_ptx})
