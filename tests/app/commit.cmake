# Runs cmake/Commit.cmake on a folder without git, then on a repository as it changes.
#   cmake -DSCRIPT=.../Commit.cmake -DFOLDER=... -P commit.cmake
cmake_minimum_required(VERSION 3.22)
find_program(git git)
if(NOT git)
  message("skipped: no git")
  return()
endif()

# Fails unless the header says what matches `pattern`.
function(expect pattern)
  execute_process(COMMAND ${CMAKE_COMMAND} -DSOURCE=${FOLDER}/tree -DOUTPUT=${FOLDER}/commit.h
    -P ${SCRIPT} RESULT_VARIABLE failed)
  file(READ ${FOLDER}/commit.h text)
  if(failed OR NOT text MATCHES "^#define BD_COMMIT \"${pattern}\"\n$")
    message(FATAL_ERROR "${pattern} is wanted, but the header is: ${text}")
  endif()
endfunction()

function(run_git)
  execute_process(COMMAND ${git} -c user.name=test -c user.email=test@localhost ${ARGN}
    WORKING_DIRECTORY ${FOLDER}/tree OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${FOLDER})
file(WRITE ${FOLDER}/tree/file "one")
expect("no commit")
run_git(init --quiet)
run_git(add file)
run_git(commit --quiet --message first)
expect("[0-9a-f]+")
file(TIMESTAMP ${FOLDER}/commit.h before "%s")
execute_process(COMMAND ${CMAKE_COMMAND} -E sleep 1.1)
expect("[0-9a-f]+")
file(TIMESTAMP ${FOLDER}/commit.h after "%s")
if(NOT before EQUAL after)
  message(FATAL_ERROR "the header was written again though nothing had changed")
endif()
file(WRITE ${FOLDER}/tree/file "two")
expect("[0-9a-f]+-dirty")
