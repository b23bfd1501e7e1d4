# `cpack` in the build folder makes a Debian package of what is installed: the program with its manual and
# completions, the libraries, the headers. It finds the packages of the libraries by itself (dpkg-shlibdeps).
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME backdrop)
set(CPACK_PACKAGE_CONTACT "The developers of Backdrop")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Separate what moves from what stays in films and live cameras")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION video)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS fonts-dejavu-core)
include(CPack)
