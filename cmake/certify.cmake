# The certifying kernels, built by nvcc into lsecheck_properties where cuda.cmake found one. Included after that library
# exists.
set(certify_stub ${CMAKE_SOURCE_DIR}/properties/certify/cuda_certifier_stub.cpp)
if(why_not)
  return()
endif()
set(cuda_objects "")
lsecheck_nvcc_object(cuda_certifier ${CMAKE_SOURCE_DIR}/properties/certify/cuda_certifier.cu)
set_source_files_properties(${cuda_objects} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
set_source_files_properties(${certify_stub} PROPERTIES HEADER_FILE_ONLY ON)
target_sources(lsecheck_properties PRIVATE ${cuda_objects})
