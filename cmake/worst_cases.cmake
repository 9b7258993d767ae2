# The hunter's finds (fuzz/worst/*.txt) as text in the program, so that every run replays them wherever it runs.
file(GLOB worst_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/fuzz/worst/*.txt)
set(WORST_FILE_LITERALS "")
foreach(file IN LISTS worst_files)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  string(APPEND WORST_FILE_LITERALS "    R\"worst(${text})worst\"sv,\n")
endforeach()
configure_file(${CMAKE_SOURCE_DIR}/cmake/committed_worst_files.cpp.in
  ${CMAKE_BINARY_DIR}/generated/committed_worst_files.cpp @ONLY)
target_sources(lsecheck_fuzz PRIVATE ${CMAKE_BINARY_DIR}/generated/committed_worst_files.cpp)
