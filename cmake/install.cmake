# cmake --install: the public headers, a static library per layer, and find_package(tessera).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# What a user links. The layers below stay visible as tessera::api and so on, but are no promise.
add_library(tessera INTERFACE)
add_library(tessera::tessera ALIAS tessera)
target_compile_features(tessera INTERFACE cxx_std_20)
target_link_libraries(tessera INTERFACE tessera_api fmt::fmt)

get_property(layers GLOBAL PROPERTY tessera_layers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
install(DIRECTORY include/tessera DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS tessera ${layers} EXPORT tessera_targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS tessera_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(EXPORT tessera_targets NAMESPACE tessera:: FILE tesseraTargets.cmake
  DESTINATION ${package_dir})

configure_package_config_file(cmake/tesseraConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/tesseraConfig.cmake INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may change names.
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/tesseraConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tesseraConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/tesseraConfigVersion.cmake DESTINATION ${package_dir})
