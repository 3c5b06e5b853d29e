#!/bin/sh
# cached.sh CCACHE COMPILER ARGUMENT...: compiles through the cache.
ccache=$1
shift
# The cache finds a precompiled header by its preprocessed text. An old one in its place would be read
# instead of the sources. Comments count: g++ takes a header that differs in them for another one,
# and includes it again.
for argument; do
  case $argument in
    *cmake_pch.hxx.gch)
      rm -f "$argument"
      export CCACHE_COMMENTS=1
      ;;
  esac
done
# The cache takes part in builds with precompiled headers only if it is told that it may.
export CCACHE_SLOPPINESS=pch_defines,time_macros
exec "$ccache" "$@"
