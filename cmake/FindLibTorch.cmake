# SPDX-License-Identifier: Apache-2.0
# Finds libtorch by its files: the Python package (CPU or CUDA build) or the C++ archive.
#
# The stock TorchConfig.cmake of a CUDA build insists on a CUDA toolkit. This project calls no CUDA
# function itself, it only hands tensors to libtorch, so linking the shared libraries is enough.
#
# Input:  LIBTORCH_ROOT  folder with include/ and lib/ (cache variable; default: $LIBTORCH, else
#                        build/venv as made by scripts/bootstrap)
# Output: target LibTorch::LibTorch; LibTorch_VERSION, LibTorch_ROOT, LibTorch_CUDA (TRUE if CUDA build)

if(NOT LIBTORCH_ROOT)
  if(DEFINED ENV{LIBTORCH})
    set(LIBTORCH_ROOT "$ENV{LIBTORCH}")
  else()
    file(GLOB LIBTORCH_ROOT "${CMAKE_SOURCE_DIR}/build/venv/lib/python3*/site-packages/torch")
  endif()
endif()
set(LIBTORCH_ROOT "${LIBTORCH_ROOT}" CACHE PATH "folder with libtorch's include/ and lib/")
if(NOT EXISTS "${LIBTORCH_ROOT}/lib/libtorch_cpu.so")
  message(FATAL_ERROR "libtorch not found in '${LIBTORCH_ROOT}': run scripts/bootstrap, "
    "or set LIBTORCH to a folder that holds include/ and lib/ of libtorch")
endif()

file(GLOB _libtorch_version_header
  "${LIBTORCH_ROOT}/include/torch/headeronly/version.h"
  "${LIBTORCH_ROOT}/include/torch/csrc/api/include/torch/version.h")
foreach(_part MAJOR MINOR PATCH)
  foreach(_header ${_libtorch_version_header})
    file(STRINGS "${_header}" _line REGEX "define TORCH_VERSION_${_part} [0-9]+" LIMIT_COUNT 1)
    if(_line)
      string(REGEX REPLACE ".* ([0-9]+)$" "\\1" _libtorch_${_part} "${_line}")
    endif()
  endforeach()
endforeach()
set(LibTorch_VERSION "${_libtorch_MAJOR}.${_libtorch_MINOR}.${_libtorch_PATCH}")
set(LibTorch_ROOT "${LIBTORCH_ROOT}")
set(LibTorch_LIBRARY "${LIBTORCH_ROOT}/lib/libtorch_cpu.so")

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch
  REQUIRED_VARS LibTorch_LIBRARY LibTorch_VERSION VERSION_VAR LibTorch_VERSION)

if(NOT TARGET LibTorch::LibTorch)
  add_library(LibTorch::LibTorch INTERFACE IMPORTED)
  target_include_directories(LibTorch::LibTorch SYSTEM INTERFACE
    "${LIBTORCH_ROOT}/include" "${LIBTORCH_ROOT}/include/torch/csrc/api/include")
  target_link_libraries(LibTorch::LibTorch INTERFACE
    "${LIBTORCH_ROOT}/lib/libtorch_cpu.so" "${LIBTORCH_ROOT}/lib/libc10.so")

  # A CUDA build registers its kernels when libtorch_cuda.so is loaded: nothing of ours refers to
  # it, so the linker must be told to keep it. Its own CUDA libraries are found by its RPATH.
  set(LibTorch_CUDA FALSE)
  if(EXISTS "${LIBTORCH_ROOT}/lib/libtorch_cuda.so")
    set(LibTorch_CUDA TRUE)
    target_link_libraries(LibTorch::LibTorch INTERFACE
      "-Wl,--no-as-needed" "${LIBTORCH_ROOT}/lib/libtorch_cuda.so"
      "${LIBTORCH_ROOT}/lib/libc10_cuda.so" "-Wl,--as-needed")
    target_link_options(LibTorch::LibTorch INTERFACE "-Wl,--allow-shlib-undefined")
  endif()

  # at::parallel_for is serial in translation units without -fopenmp. The package brings its own
  # libgomp under the plain soname; linking that one keeps a single OpenMP runtime in the process.
  target_compile_options(LibTorch::LibTorch INTERFACE -fopenmp)
  file(GLOB _libtorch_gomp "${LIBTORCH_ROOT}/lib/libgomp*.so*")
  if(_libtorch_gomp)
    list(GET _libtorch_gomp 0 _libtorch_gomp)
    target_link_libraries(LibTorch::LibTorch INTERFACE "${_libtorch_gomp}")
  else()
    target_link_options(LibTorch::LibTorch INTERFACE -fopenmp)
  endif()
endif()
