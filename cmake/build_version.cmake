# build_version.h: the commit this build was configured at, for `lsecheck --version` and the result store.
find_package(Git QUIET)
set(LSECHECK_COMMIT "unknown")
if(GIT_FOUND)
  execute_process(
    COMMAND ${GIT_EXECUTABLE} describe --always --dirty --abbrev=12
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
    RESULT_VARIABLE failed)
  if(failed EQUAL 0 AND described)
    set(LSECHECK_COMMIT "${described}")
  endif()
endif()
string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type_upper)
set(LSECHECK_FLAGS "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${build_type_upper}}")
string(STRIP "${LSECHECK_FLAGS}" LSECHECK_FLAGS)
configure_file(${CMAKE_SOURCE_DIR}/cmake/build_version.h.in ${CMAKE_BINARY_DIR}/generated/build_version.h @ONLY)
