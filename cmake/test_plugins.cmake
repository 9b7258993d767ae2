# Plugins for the tests, and the example that users copy: build/<preset>/plugins/NAME.so. Without the sanitizers of the
# program, as foreign code comes; with the options that the example's first lines name.
enable_language(C)

add_custom_target(test_plugins)
function(lsecheck_test_plugin name source)
  add_library(plugin_${name} MODULE ${CMAKE_SOURCE_DIR}/properties/plugin/${source})
  set_target_properties(plugin_${name} PROPERTIES
    PREFIX "" OUTPUT_NAME ${name} LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/plugins
    C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
  target_include_directories(plugin_${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_options(plugin_${name} PRIVATE -O2 -Wall -Wextra -pedantic -Werror ${ARGN})
  target_link_libraries(plugin_${name} PRIVATE m)
  add_dependencies(test_plugins plugin_${name})
endfunction()

lsecheck_test_plugin(example_combine example_combine.c)
lsecheck_test_plugin(no_symbol example_combine.c -Dlsecheck_plugin_v1=another_name)
lsecheck_test_plugin(online_natural test_plugins/online_natural.cpp -march=x86-64-v3)
lsecheck_test_plugin(pairwise_unordered test_plugins/pairwise_unordered.cpp)
set(faults
  last_forgotten log2_as_natural garbage_multiplied past_output input_changed place_dependent crash hang own_error other_abi
  exit exit_at_load crash_at_load prints)
set(number 0)
foreach(fault IN LISTS faults)
  math(EXPR number "${number} + 1")
  lsecheck_test_plugin(${fault} test_plugins/faulty_combine.c -DFAULT=${number})
endforeach()

foreach(test IN ITEMS properties_test cli_test)
  add_dependencies(${test} test_plugins)
  target_compile_definitions(${test} PRIVATE LSECHECK_TEST_PLUGINS="${CMAKE_BINARY_DIR}/plugins")
endforeach()

# The example that runs on a GPU: where nvcc is, it has to compile.
if(nvcc AND NOT why_not)
  set(source ${CMAKE_SOURCE_DIR}/properties/plugin/example_combine.cu)
  set(object ${CMAKE_BINARY_DIR}/plugins/example_cuda.so)
  add_custom_command(OUTPUT ${object}
    COMMAND ${nvcc} -O2 -arch=sm_90 -Werror all-warnings -shared -Xcompiler=-fPIC,-Wall,-Wextra -o ${object} ${source}
    DEPENDS ${source} ${CMAKE_SOURCE_DIR}/properties/plugin/lsecheck_plugin.h
    COMMENT "nvcc example_cuda.so"
    VERBATIM)
  add_custom_target(plugin_example_cuda ALL DEPENDS ${object})
endif()
