# lsecheck_folder_library(NAME LINK libs... [EXCLUDE subfolder])
#
# A top-level folder is one static library; a test stands beside the file it tests. Every *.cpp in the folder
# belongs to the library lsecheck_NAME, every *_test.cpp to the GoogleTest program NAME_test.
# Tests named *NightlyTest.* are long: ctest does not see them; `./dev nightly-tests` runs them.
function(lsecheck_folder_library name)
  cmake_parse_arguments(arg "" "EXCLUDE" "LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${name}/*.cpp)
  if(arg_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "/${arg_EXCLUDE}")
  endif()
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  if(sources)
    add_library(lsecheck_${name} STATIC ${sources})
    target_link_libraries(lsecheck_${name} PUBLIC ${arg_LINK} PRIVATE lsecheck_options)
    target_include_directories(lsecheck_${name} PUBLIC ${CMAKE_SOURCE_DIR})
    set(link lsecheck_${name})
  else()
    set(link ${arg_LINK})
  endif()
  if(tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE
      ${link} lsecheck_options rapidcheck GTest::gmock GTest::gtest_main)
    target_compile_definitions(${name}_test PRIVATE LSECHECK_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    # RapidCheck properties draw the same cases in every run.
    gtest_discover_tests(${name}_test NO_PRETTY_VALUES TEST_FILTER "-*NightlyTest*" DISCOVERY_TIMEOUT 60
      PROPERTIES ENVIRONMENT "RC_PARAMS=seed=20261130")
  endif()
endfunction()
