# SPDX-License-Identifier: Apache-2.0
# Installation rules of `make install` and `make package`. Component `program`: the program with its run-time
# dependencies. Component `development`: headers and libraries for other CMake projects. The installed tree is
# relocatable.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Includes libtorch, because Debian has no package of this version.
set(_private "${CMAKE_INSTALL_LIBDIR}/loci")
get_property(_libtorch_libraries TARGET LibTorch::LibTorch PROPERTY INTERFACE_LINK_LIBRARIES)
install(PROGRAMS ${_libtorch_libraries} DESTINATION "${_private}" COMPONENT program)
file(RELATIVE_PATH _to_private "/${CMAKE_INSTALL_BINDIR}" "/${_private}")
set_target_properties(loci PROPERTIES INSTALL_RPATH "$ORIGIN/${_to_private}")
install(TARGETS loci RUNTIME COMPONENT program)
set_target_properties(loci_ops PROPERTIES INSTALL_RPATH "$ORIGIN")
install(TARGETS loci_ops LIBRARY DESTINATION "${_private}" COMPONENT program)

# The program prints its manual page and completion script.
set(_made "${CMAKE_BINARY_DIR}/installed")
install(CODE "
  file(MAKE_DIRECTORY \"${_made}\")
  foreach(_page \"manual;loci.1\" \"completion;bash;loci\")
    list(POP_BACK _page _file)
    execute_process(COMMAND \"$<TARGET_FILE:loci>\" \${_page} OUTPUT_FILE \"${_made}/\${_file}\"
      COMMAND_ERROR_IS_FATAL ANY)
  endforeach()" COMPONENT program)
install(FILES "${_made}/loci.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT program)
install(FILES "${_made}/loci" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions"
  COMPONENT program)
install(DIRECTORY configs DESTINATION "${CMAKE_INSTALL_DATADIR}/loci" COMPONENT program)
install(DIRECTORY models DESTINATION "${CMAKE_INSTALL_DATADIR}/loci" COMPONENT program OPTIONAL)
install(FILES README.md LICENSE CHANGELOG.md DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT program)
install(DIRECTORY docs DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT program)

# For find_package(loci): libraries, headers and their dependencies.
set(_layers)
foreach(_layer common base io camera kernels memory model sample world train eval serve app page)
  if(TARGET loci_${_layer})
    set_target_properties(loci_${_layer} PROPERTIES EXPORT_NAME ${_layer})
    list(APPEND _layers loci_${_layer})
  endif()
endforeach()
install(TARGETS ${_layers} EXPORT loci ARCHIVE COMPONENT development)
set(_package "${CMAKE_INSTALL_LIBDIR}/cmake/loci")
install(EXPORT loci NAMESPACE loci:: FILE lociTargets.cmake DESTINATION "${_package}"
  COMPONENT development)
install(DIRECTORY src/ DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/loci" COMPONENT development
  FILES_MATCHING PATTERN "*.h" PATTERN gloo_headers EXCLUDE)
configure_package_config_file(cmake/lociConfig.cmake.in "${CMAKE_BINARY_DIR}/lociConfig.cmake"
  INSTALL_DESTINATION "${_package}")
write_basic_package_version_file("${CMAKE_BINARY_DIR}/lociConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/lociConfig.cmake" "${CMAKE_BINARY_DIR}/lociConfigVersion.cmake"
  cmake/FindLibTorch.cmake DESTINATION "${_package}" COMPONENT development)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "the loci authors <loci@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL program development)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME loci)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME loci-dev)
# dpkg-shlibdeps finds the Debian packages that the program depends on.
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${LibTorch_ROOT}/lib")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "loci (= ${PROJECT_VERSION}), libavformat-dev, libavcodec-dev, libswscale-dev, libavutil-dev, libturbojpeg0-dev, libpng-dev, zlib1g-dev, libboost-dev, nlohmann-json3-dev, libcli11-dev, libfmt-dev, libspdlog-dev")
include(CPack)
