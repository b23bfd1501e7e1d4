# Writes OUTPUT, a header with the commit of the tree SOURCE, where that differs from what is there.
# Run at each build: cmake -DSOURCE=... -DOUTPUT=... -P Commit.cmake
cmake_minimum_required(VERSION 3.22)
set(commit "no commit")
if(EXISTS ${SOURCE}/.git) # not the commit of a repository that a tarball was unpacked in
  execute_process(COMMAND git describe --always --dirty WORKING_DIRECTORY ${SOURCE}
    OUTPUT_VARIABLE described RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT failed)
    set(commit ${described})
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define BD_COMMIT \"@commit@\"\n" @ONLY)
