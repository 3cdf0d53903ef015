# SPDX-License-Identifier: Apache-2.0
# Dependencies, common flags, and functions that declare a layer and its tests.

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # ccache caches compilations that use a precompiled header only with this sloppiness.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime;${CCACHE}")
endif()

# scripts/versions.sh is the only place that states versions.
file(STRINGS "${CMAKE_SOURCE_DIR}/scripts/versions.sh" _torch_version REGEX "^TORCH_VERSION=")
string(REPLACE "TORCH_VERSION=" "" _torch_version "${_torch_version}")
find_package(LibTorch ${_torch_version} REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(AV REQUIRED IMPORTED_TARGET libavformat libavcodec libswscale libavutil)
pkg_check_modules(TURBOJPEG REQUIRED IMPORTED_TARGET libturbojpeg)
find_package(PNG REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Boost 1.74 REQUIRED)  # headers only
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Threads REQUIRED)

# libtorch contains headers of fmt 12, which would shadow the system's fmt 9 that spdlog was built with. A
# folder that contains only a link to the system's headers is therefore searched first.
find_path(FMT_INCLUDE_DIR fmt/format.h REQUIRED PATHS /usr/include NO_DEFAULT_PATH)
file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/fmt_first")
file(CREATE_LINK "${FMT_INCLUDE_DIR}/fmt" "${CMAKE_BINARY_DIR}/fmt_first/fmt" SYMBOLIC)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)

# Headers are included as "loci/<layer>/<file>.h", in the tree and when installed.
file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/include")
file(CREATE_LINK "${CMAKE_SOURCE_DIR}/src" "${CMAKE_BINARY_DIR}/include/loci" SYMBOLIC)

add_library(loci_common INTERFACE)
target_compile_features(loci_common INTERFACE cxx_std_20)
target_include_directories(loci_common INTERFACE
  $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/include> $<INSTALL_INTERFACE:include>)
target_include_directories(loci_common SYSTEM BEFORE INTERFACE $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/fmt_first>)
# -Wrestrict has false positives for std::string in GCC 12.
target_compile_options(loci_common INTERFACE
  $<BUILD_INTERFACE:-Wall;-Wextra;-Wno-missing-field-initializers;-Wno-restrict>)
if(LOCI_WERROR)
  target_compile_options(loci_common INTERFACE $<BUILD_INTERFACE:-Werror>)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(loci_common INTERFACE -Wno-unknown-warning-option -Wno-unknown-pragmas)
endif()
if(LOCI_SANITIZE)
  # With sanitizers, GCC 12 reports members of empty std::optional and std::regex as uninitialised, and fences
  # in libtorch's reference counts, which ThreadSanitizer does not support.
  target_compile_options(loci_common INTERFACE -fsanitize=${LOCI_SANITIZE} -fno-omit-frame-pointer -O1
    $<BUILD_INTERFACE:-Wno-maybe-uninitialized;-Wno-tsan>)
  if(LOCI_SANITIZE MATCHES "undefined")
    # Undefined behaviour ends the program, so that the test fails. The check of virtual tables needs type
    # information that libtorch does not export.
    target_compile_options(loci_common INTERFACE -fno-sanitize-recover=undefined -fno-sanitize=vptr)
  endif()
  target_link_options(loci_common INTERFACE -fsanitize=${LOCI_SANITIZE})
  # The suppression files explain each suppression. Tests cover failed allocations, so these must fail
  # instead of ending the program.
  set(LOCI_SANITIZER_OPTIONS "ASAN_OPTIONS=allocator_may_return_null=1"
    "LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/sanitizers/leaks.txt:print_suppressions=0"
    "UBSAN_OPTIONS=print_stacktrace=1"
    "TSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/sanitizers/threads.txt:allocator_may_return_null=1")
endif()
target_link_libraries(loci_common INTERFACE fmt::fmt nlohmann_json::nlohmann_json Threads::Threads)

# All layers above base share one precompiled header: a file that uses tensors compiles in about 4 s instead
# of 9 s.
add_library(loci_pch OBJECT cmake/pch.cpp)
target_link_libraries(loci_pch PUBLIC loci_common LibTorch::LibTorch)
# For ccache with GCC.
set(LOCI_PCH_OPTIONS "$<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>")
target_compile_options(loci_pch PRIVATE ${LOCI_PCH_OPTIONS})
target_precompile_headers(loci_pch PRIVATE cmake/pch.h)

# Presets for complete builds are unity builds (CMAKE_UNITY_BUILD), because loading the precompiled header
# takes 4 s per compilation. Files with equal names in their unnamed namespaces are compiled separately (ALONE).

# loci_layer(<name> SOURCES <files> [ALONE <files>] [LINK <targets>] [NO_TORCH])
# Declares the library loci_<name> of the folder src/<name>. LINK lists lower layers and libraries.
function(loci_layer name)
  cmake_parse_arguments(ARG "NO_TORCH" "" "SOURCES;ALONE;LINK" ${ARGN})
  set_source_files_properties(${ARG_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  add_library(loci_${name} STATIC ${ARG_SOURCES} ${ARG_ALONE})
  add_library(loci::${name} ALIAS loci_${name})
  target_link_libraries(loci_${name} PUBLIC loci_common ${ARG_LINK})
  if(NOT ARG_NO_TORCH)
    target_link_libraries(loci_${name} PUBLIC LibTorch::LibTorch)
    loci_use_pch(loci_${name})
  endif()
endfunction()

function(loci_use_pch target)
  target_compile_options(${target} PRIVATE ${LOCI_PCH_OPTIONS})
  target_precompile_headers(${target} REUSE_FROM loci_pch)
endfunction()

# loci_tests(<name> SOURCES <files> [ALONE <files>] [LINK <targets>] [NO_TORCH])
# Declares the test program loci_<name>_tests. Every case is one ctest test "<name>/Suite.Case".
# LOCI_TEST_DATA is the folder of committed test data.
function(loci_tests name)
  cmake_parse_arguments(ARG "NO_TORCH" "" "SOURCES;ALONE;LINK" ${ARGN})
  set_source_files_properties(${ARG_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  add_executable(loci_${name}_tests ${ARG_SOURCES} ${ARG_ALONE})
  target_link_libraries(loci_${name}_tests PRIVATE loci::${name} ${ARG_LINK} GTest::gmock GTest::gtest_main)
  target_include_directories(loci_${name}_tests PRIVATE "${CMAKE_SOURCE_DIR}")  # "tests/base/…"
  target_compile_definitions(loci_${name}_tests PRIVATE LOCI_TEST_DATA="${CMAKE_SOURCE_DIR}/tests/data")
  if(NOT ARG_NO_TORCH)
    target_link_libraries(loci_${name}_tests PRIVATE LibTorch::LibTorch)
    # The precompiled header is compiled with -fPIC, which must override CMake's -fPIE for executables.
    target_compile_options(loci_${name}_tests PRIVATE -fPIC)
    loci_use_pch(loci_${name}_tests)
  endif()
  # Tests are discovered when ctest runs, so that the build does not run programs. Several test processes run
  # at once, so each has one OpenMP thread.
  set(_environment OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 "LOCI_CACHE=${CMAKE_BINARY_DIR}/cache"
    ${LOCI_SANITIZER_OPTIONS})
  gtest_discover_tests(loci_${name}_tests TEST_PREFIX "${name}/" DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 120 PROPERTIES ENVIRONMENT "${_environment}" TIMEOUT 600)
endfunction()
