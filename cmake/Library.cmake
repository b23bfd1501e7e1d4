# libbackdrop: base/, linalg/, separation/, gpu/ and backends/ as one library for other programs,
# shared and static, with its headers, a CMake package and a pkg-config file. The program backdrop
# and the tests are linked with the parts themselves.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

find_package(BLAS REQUIRED)
pkg_check_modules(LAPACKE REQUIRED IMPORTED_TARGET lapacke)
get_property(parts GLOBAL PROPERTY BD_LIBRARY_PARTS)
set(objects ${parts})
list(TRANSFORM objects REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")

# What the parts call: their users must link it too where the library is static.
set(dependencies PkgConfig::LAPACKE BLAS::BLAS Threads::Threads m)
if(BD_HAVE_CUDA)
  list(APPEND dependencies CUDA::cudart_static stdc++)
endif()

add_library(backdrop_static STATIC ${objects})
add_library(backdrop_shared SHARED ${objects})
foreach(kind static shared)
  set_target_properties(backdrop_${kind} PROPERTIES OUTPUT_NAME backdrop EXPORT_NAME ${kind}
    LINKER_LANGUAGE C)
  target_link_libraries(backdrop_${kind} PRIVATE ${dependencies})
  target_include_directories(backdrop_${kind} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()

# Before 1.0 each minor version may change the interface.
set_target_properties(backdrop_shared PROPERTIES VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

# What is exported is marked BD_API in the headers; calls inside the library go straight there.
target_link_options(backdrop_shared PRIVATE
  -Wl,-Bsymbolic-functions -Wl,-z,defs -Wl,--exclude-libs,ALL)

install(TARGETS backdrop_shared EXPORT BackdropShared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS backdrop_static EXPORT BackdropStatic ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${BD_PUBLIC_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/backdrop)

# find_package(Backdrop)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Backdrop)
foreach(kind Shared Static)
  install(EXPORT Backdrop${kind} FILE Backdrop${kind}.cmake NAMESPACE Backdrop::
    DESTINATION ${package})
endforeach()
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/BackdropConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/BackdropConfig.cmake INSTALL_DESTINATION ${package}
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/BackdropConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/BackdropConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/BackdropConfigVersion.cmake DESTINATION ${package})

# pkg-config: paths from the place of the .pc file, so that what is installed can be moved.
foreach(place PREFIX FULL_LIBDIR FULL_INCLUDEDIR)
  file(RELATIVE_PATH to_${place} ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_${place}})
  string(REGEX REPLACE "/$" "" to_${place} "${to_${place}}")
endforeach()
set(libs_private "")
foreach(library IN LISTS BLAS_LIBRARIES)
  get_filename_component(folder ${library} DIRECTORY)
  if(folder AND NOT folder IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
    string(APPEND libs_private " -L${folder}")
  endif()
  get_filename_component(name ${library} NAME_WE)
  string(REGEX REPLACE "^lib" "-l" name ${name})
  string(APPEND libs_private " ${name}")
endforeach()
string(APPEND libs_private " ${CMAKE_THREAD_LIBS_INIT} -lm")
if(BD_HAVE_CUDA)
  string(APPEND libs_private " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -ldl -lrt -lstdc++")
endif()
string(REGEX REPLACE " +" " " libs_private "${libs_private}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/backdrop.pc.in ${CMAKE_CURRENT_BINARY_DIR}/backdrop.pc
  @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/backdrop.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The drop-in for programs that call LAPACK.
if(TARGET backdrop_lapack)
  install(TARGETS backdrop_lapack LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
