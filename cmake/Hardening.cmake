# What makes a fault of memory end the program rather than serve an intruder: canaries on the stack, checked
# calls of the C library, a program at a random address, and tables of functions that are read-only before
# main. tests/hardening.sh reads the built files. Not in sanitizer builds, which look closer and wrap the same
# functions.
if(BD_SANITIZE OR NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
  return()
endif()
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)

# The checked calls need optimisation. A compiler may define the macro itself.
target_compile_options(bd_flags INTERFACE
  $<$<COMPILE_LANGUAGE:C,CXX>:-fstack-protector-strong>
  "$<$<AND:$<COMPILE_LANGUAGE:C,CXX>,$<NOT:$<CONFIG:Debug>>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>"
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-fstack-protector-strong>
  "$<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<NOT:$<CONFIG:Debug>>>:SHELL:-Xcompiler=-U_FORTIFY_SOURCE,-D_FORTIFY_SOURCE=2>")
add_link_options(LINKER:-z,relro LINKER:-z,now)
