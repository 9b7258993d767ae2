# The digests of the frozen cases (properties/frozen/cpu.txt) as text in the program, so that every run compares.
set(frozen_file ${CMAKE_SOURCE_DIR}/properties/frozen/cpu.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${frozen_file})
file(READ ${frozen_file} FROZEN_TEXT)
configure_file(${CMAKE_SOURCE_DIR}/cmake/recorded_frozen.cpp.in ${CMAKE_BINARY_DIR}/generated/recorded_frozen.cpp @ONLY)
target_sources(lsecheck_properties PRIVATE ${CMAKE_BINARY_DIR}/generated/recorded_frozen.cpp)
