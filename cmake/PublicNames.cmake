# The functions that headers declare. They are what a shared library exports: a list kept by hand
# would be forgotten.

# Sets `out` to the names bd_... that are declared as functions in `headers` (paths).
function(bd_public_names out)
  set(names "")
  foreach(header IN LISTS ARGN)
    file(READ ${header} text)
    # Comments name functions too.
    string(FIND "${text}" "/*" from)
    while(NOT from EQUAL -1)
      string(SUBSTRING "${text}" 0 ${from} before)
      string(SUBSTRING "${text}" ${from} -1 text)
      string(FIND "${text}" "*/" to)
      math(EXPR to "${to} + 2")
      string(SUBSTRING "${text}" ${to} -1 text)
      string(APPEND before " " "${text}")
      set(text "${before}")
      string(FIND "${text}" "/*" from)
    endwhile()
    string(REGEX REPLACE "\n#[^\n]*" "" text "${text}")
    string(REGEX REPLACE "typedef [^;]*;" "" text "${text}")
    string(REGEX MATCHALL "[ *]bd_[a-z0-9_]+\\(" found "${text}")
    string(REGEX REPLACE "[ *(]" "" found "${found}")
    list(APPEND names ${found})
  endforeach()
  list(REMOVE_DUPLICATES names)
  list(SORT names)
  set(${out} ${names} PARENT_SCOPE)
endfunction()

# Writes a linker's version script that exports `names`, and nothing else, to `path`.
function(bd_write_exports path)
  list(JOIN ARGN ";\n    " names)
  file(CONFIGURE OUTPUT ${path} CONTENT "{\n  global:\n    @names@;\n  local:\n    *;\n};\n" @ONLY)
endfunction()
