#!/bin/sh
# cached.sh CCACHE COMPILER ARGUMENT...: compiles through the cache.
ccache=$1
shift
# To find a precompiled header, the cache has the header preprocessed. With an old one in its place
# that reads the old one, not the sources, and finds it again.
for argument; do
  case $argument in
    *cmake_pch.hxx.gch) rm -f "$argument" ;;
  esac
done
# The cache takes part in builds with precompiled headers only if it is told that it may.
export CCACHE_SLOPPINESS=pch_defines,time_macros
exec "$ccache" "$@"
