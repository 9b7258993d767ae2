# The fuzz targets: a library of its own, because they look at all folders, a program that replays their kept inputs in
# any build, and with LSECHECK_FUZZING a libFuzzer program for each, build/fuzz/fuzz_TARGET.
set(fuzz_target_names combine_case token case_file text_files dispatch result_store)

file(GLOB fuzz_target_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/fuzz/targets/*.cpp)
list(FILTER fuzz_target_sources EXCLUDE REGEX "(_test|_main)\\.cpp$")
add_library(lsecheck_fuzz_targets STATIC ${fuzz_target_sources})
target_link_libraries(lsecheck_fuzz_targets PUBLIC lsecheck_fuzz lsecheck_reports PRIVATE lsecheck_options)
target_include_directories(lsecheck_fuzz_targets PUBLIC ${CMAKE_SOURCE_DIR})

add_executable(fuzz_replay ${CMAKE_SOURCE_DIR}/fuzz/targets/replay_main.cpp)
target_link_libraries(fuzz_replay PRIVATE lsecheck_fuzz_targets lsecheck_options)
foreach(name IN LISTS fuzz_target_names)
  add_test(NAME fuzz_corpus.${name} COMMAND fuzz_replay ${name} ${CMAKE_SOURCE_DIR}/fuzz/corpus/${name})
endforeach()

add_executable(fuzz_targets_test ${CMAKE_SOURCE_DIR}/fuzz/targets/fuzz_targets_test.cpp)
target_link_libraries(fuzz_targets_test PRIVATE
  lsecheck_fuzz_targets lsecheck_options GTest::gmock GTest::gtest_main)
target_compile_definitions(fuzz_targets_test PRIVATE LSECHECK_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
gtest_discover_tests(fuzz_targets_test NO_PRETTY_VALUES TEST_FILTER "-*NightlyTest*" DISCOVERY_TIMEOUT 60)

if(LSECHECK_FUZZING)
  foreach(name IN LISTS fuzz_target_names)
    add_executable(fuzz_${name} ${CMAKE_SOURCE_DIR}/fuzz/targets/libfuzzer_main.cpp)
    target_compile_definitions(fuzz_${name} PRIVATE LSECHECK_FUZZ_TARGET="${name}")
    target_link_libraries(fuzz_${name} PRIVATE lsecheck_fuzz_targets lsecheck_options)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  endforeach()
endif()
