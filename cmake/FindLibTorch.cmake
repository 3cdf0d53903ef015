# SPDX-License-Identifier: Apache-2.0
# Finds libtorch by its files: the Python package (CPU or CUDA build) or the C++ archive.
#
# TorchConfig.cmake of a CUDA build requires a CUDA toolkit. This project calls no CUDA functions itself, so
# linking the shared libraries of libtorch is sufficient.
#
# Input:  $LIBTORCH or the cache variable LIBTORCH_ROOT: a folder with include/ and lib/.
#         Default: build/venv, as created by scripts/bootstrap.
# Output: target LibTorch::LibTorch; LibTorch_VERSION, LibTorch_ROOT, LibTorch_CUDA (TRUE if CUDA build)

# Cached, because ninja may run CMake again without the environment of the first run.
set(LIBTORCH_ROOT "" CACHE PATH "folder with libtorch's include/ and lib/; empty: build/venv")
if(NOT "$ENV{LIBTORCH}" STREQUAL "")
  set_property(CACHE LIBTORCH_ROOT PROPERTY VALUE "$ENV{LIBTORCH}")
endif()
if(LIBTORCH_ROOT)
  get_filename_component(LibTorch_ROOT "${LIBTORCH_ROOT}" ABSOLUTE BASE_DIR "${CMAKE_SOURCE_DIR}")
else()
  file(GLOB LibTorch_ROOT "${CMAKE_SOURCE_DIR}/build/venv/lib/python3*/site-packages/torch")
endif()
foreach(_file lib/libtorch_cpu.so lib/libc10.so include/ATen/ATen.h)
  if(NOT EXISTS "${LibTorch_ROOT}/${_file}")
    message(FATAL_ERROR "libtorch not found: '${LibTorch_ROOT}' has no ${_file}. Run scripts/bootstrap, "
      "or set LIBTORCH to a folder with include/ and lib/ of libtorch.")
  endif()
endforeach()

file(GLOB _libtorch_version_header
  "${LibTorch_ROOT}/include/torch/headeronly/version.h"
  "${LibTorch_ROOT}/include/torch/csrc/api/include/torch/version.h")
foreach(_part MAJOR MINOR PATCH)
  foreach(_header ${_libtorch_version_header})
    file(STRINGS "${_header}" _line REGEX "define TORCH_VERSION_${_part} [0-9]+" LIMIT_COUNT 1)
    if(_line)
      string(REGEX REPLACE ".* ([0-9]+)$" "\\1" _libtorch_${_part} "${_line}")
    endif()
  endforeach()
endforeach()
set(LibTorch_VERSION "${_libtorch_MAJOR}.${_libtorch_MINOR}.${_libtorch_PATCH}")
set(LibTorch_LIBRARY "${LibTorch_ROOT}/lib/libtorch_cpu.so")

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch
  REQUIRED_VARS LibTorch_LIBRARY LibTorch_VERSION VERSION_VAR LibTorch_VERSION)

if(NOT TARGET LibTorch::LibTorch)
  add_library(LibTorch::LibTorch INTERFACE IMPORTED)
  target_include_directories(LibTorch::LibTorch SYSTEM INTERFACE
    "${LibTorch_ROOT}/include" "${LibTorch_ROOT}/include/torch/csrc/api/include")
  target_link_libraries(LibTorch::LibTorch INTERFACE
    "${LibTorch_ROOT}/lib/libtorch_cpu.so" "${LibTorch_ROOT}/lib/libc10.so")

  # A CUDA build registers its kernels when libtorch_cuda.so is loaded. No symbol of it is referenced, so
  # the linker must be told to keep it. Its own CUDA libraries are found by its RPATH at load time and are
  # not needed for linking.
  set(LibTorch_CUDA FALSE)
  if(EXISTS "${LibTorch_ROOT}/lib/libtorch_cuda.so")
    set(LibTorch_CUDA TRUE)
    target_link_options(LibTorch::LibTorch INTERFACE
      "LINKER:--push-state,--no-as-needed,${LibTorch_ROOT}/lib/libtorch_cuda.so,--pop-state"
      "LINKER:--allow-shlib-undefined")
  endif()

  # at::parallel_for is serial in translation units without -fopenmp. The package contains its own libgomp
  # with the plain soname; linking it keeps a single OpenMP runtime in the process. Debian's clang has
  # neither omp.h nor a runtime, so the fuzzers, which clang builds, are serial.
  target_compile_options(LibTorch::LibTorch INTERFACE $<$<CXX_COMPILER_ID:GNU>:-fopenmp>)
  file(GLOB _libtorch_gomp "${LibTorch_ROOT}/lib/libgomp*.so*")
  if(_libtorch_gomp)
    list(GET _libtorch_gomp 0 _libtorch_gomp)
    target_link_libraries(LibTorch::LibTorch INTERFACE "${_libtorch_gomp}")
  else()
    target_link_options(LibTorch::LibTorch INTERFACE -fopenmp)
  endif()
endif()
