# bd_kernel_build(TARGET PREFIX SOURCE...) compiles the sources once for each instruction set and makes
# the objects a part of TARGET. BD_ISA is the name of the instruction set (linalg/shared/isa.h);
# which one runs is decided at run time (linalg/shared/dispatch.h).
#
# -ffp-contract=fast: fused multiply-adds, which -std=c11 turns off. -Wno-psabi: vectors wider than
# the machine's registers are never passed between functions that are not inlined.
set(BD_ISAS baseline)
set(BD_ISA_OPTIONS_baseline "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  list(APPEND BD_ISAS avx2 avx512)
  set(BD_ISA_OPTIONS_avx2 -march=x86-64-v3)
  set(BD_ISA_OPTIONS_avx512 -march=x86-64-v4)
  set(BD_KERNELS_X86 BD_KERNELS_X86)
endif()

# AddressSanitizer keeps the frames of functions that have returned in memory of its own, where GCC 12
# does not align the arrays of a function to 64 bytes, though its vectors ask for that (GCC bug 110027).
set(BD_KERNEL_SANITIZE)
if(BD_SANITIZE AND CMAKE_C_COMPILER_ID STREQUAL GNU)
  set(BD_KERNEL_SANITIZE --param=asan-use-after-return=0)
endif()

function(bd_kernel_build target prefix)
  foreach(isa IN LISTS BD_ISAS)
    set(objects ${prefix}_${isa})
    add_library(${objects} OBJECT ${ARGN})
    target_link_libraries(${objects} PRIVATE bd_flags)
    target_compile_definitions(${objects} PRIVATE BD_ISA=${isa})
    target_compile_options(${objects} PRIVATE
      -O3 -ffp-contract=fast -Wno-psabi ${BD_ISA_OPTIONS_${isa}} ${BD_KERNEL_SANITIZE})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${objects}>)
    set_property(GLOBAL APPEND PROPERTY BD_LIBRARY_PARTS ${objects})
  endforeach()
endfunction()
