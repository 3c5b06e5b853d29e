# cmake --install: the component Runtime has the libraries and the command; Development the headers,
# find_package(tessera) and pkg-config.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)

# tessera_install(FILE TARGET...): installs the libraries, and FILE, which declares them in tessera::.
function(tessera_install file)
  install(TARGETS ${ARGN} EXPORT ${file}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT Runtime NAMELINK_COMPONENT Development
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT Development)
  install(EXPORT ${file} NAMESPACE tessera:: FILE ${file}.cmake
    DESTINATION ${package_dir} COMPONENT Development)
endfunction()
# tessera_install_pc(NAME): installs NAME.pc.
function(tessera_install_pc name)
  configure_file(cmake/${name}.pc.in ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT Development)
endfunction()

tessera_install(tesseraTargets tessera tessera_c)
# gdb loads it with the library, if the folder is in its auto-load safe-path (docs/tools.md).
if(TESSERA_SHARED)
  install(FILES share/gdb/tessera.py DESTINATION ${CMAKE_INSTALL_LIBDIR}
    RENAME libtessera.so.${PROJECT_VERSION}-gdb.py COMPONENT Development)
endif()
install(TARGETS tessera_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT Runtime)
# A wheel has no links, so the library's only file has the name by which it is loaded.
if(SKBUILD)
  set_property(TARGET tessera_c PROPERTY VERSION)
  install(TARGETS tessera_c LIBRARY DESTINATION lib COMPONENT Python NAMELINK_SKIP)
  # The library loads it by name, so no tool finds that the wheel needs it (scripts/package).
  if(TESSERA_WHEEL_OPENBLAS)
    install(FILES ${TESSERA_WHEEL_OPENBLAS} DESTINATION lib COMPONENT Python RENAME libopenblas.so.0)
  endif()
endif()
tessera_install_pc(tessera)
tessera_install_pc(tessera-c)

set(headers_left_out)
if(TESSERA_MPI)
  set_target_properties(tessera_mpi PROPERTIES EXPORT_NAME mpi INSTALL_RPATH "$ORIGIN"
    INSTALL_RPATH_USE_LINK_PATH TRUE)
  set_target_properties(tessera_mpi_main PROPERTIES EXPORT_NAME mpi_main)
  tessera_install(tesseraMpiTargets tessera_mpi tessera_mpi_main)
  # The names by which the MPI libraries call themselves.
  set(mpi_pc_openmpi ompi-c)
  set(mpi_pc_mpich mpich)
  set(TESSERA_MPI_PC ${mpi_pc_${TESSERA_MPI}})
  tessera_install_pc(tessera-mpi)
  tessera_install_pc(tessera-mpi-main)
else()
  set(headers_left_out PATTERN mpi.h EXCLUDE)
endif()

install(DIRECTORY include/tessera DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT Development
  ${headers_left_out})
configure_package_config_file(cmake/tesseraConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/tesseraConfig.cmake INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may change names.
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/tesseraConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tesseraConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/tesseraConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT Development)
