# Compiler settings and the helpers that declare libraries, tests and samples.
find_package(absl REQUIRED)
find_package(CLI11 REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_CURRENT_LIST_DIR}/cached.sh ${CCACHE})
endif()
add_compile_options(-Wall -Wextra)
if(PROJECT_IS_TOP_LEVEL)
  add_compile_options(-Werror)
endif()
# clang checks which lock guards what (base/mutex.h).
add_compile_options($<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>)
# Containers check their indices in Debug builds.
add_compile_definitions($<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)
if(TESSERA_SANITIZE)
  # With sanitizers g++ 12 warns that parts of standard containers are uninitialised.
  add_compile_options(-Wno-maybe-uninitialized)
endif()
if(TESSERA_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(TESSERA_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread)
  add_compile_definitions(TESSERA_STD_THREADS=1)
  add_link_options(-fsanitize=thread)
endif()

# Headers of other libraries that most sources include are parsed once: a quarter of a build's time.
# Other compilers and sanitizers do without them: those builds find missing includes.
set(precompiles OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT TESSERA_SANITIZE)
  set(precompiles ON)
  # In precompiled headers g++ 12 also warns about code of the standard library.
  add_compile_options(-fpch-preprocess -Wno-array-bounds -Wno-stringop-overflow
    -Wno-stringop-overread -Wno-restrict)
endif()
function(tessera_precompile target)
  if(precompiles)
    target_precompile_headers(${target} PRIVATE <absl/container/flat_hash_map.h>
      <absl/container/inlined_vector.h> <absl/types/span.h> <fmt/format.h> <algorithm> <functional>
      <map> <memory> <optional> <set> <string> <variant> <vector> ${ARGN})
  endif()
endfunction()
# Compiles `target` with the options of `like`, so that it can use its precompiled headers.
function(tessera_precompile_as like target)
  if(precompiles)
    target_precompile_headers(${target} REUSE_FROM ${like})
  endif()
endfunction()

file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/generated/empty.cc CONTENT "int main() {}\n")
# Adds the target `name`, which only holds precompiled headers, for programs to be compiled as it is.
function(tessera_precompiled name)
  add_executable(${name} ${PROJECT_BINARY_DIR}/generated/empty.cc)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include)
  if(precompiles)
    target_precompile_headers(${name} PRIVATE ${ARGN})
  endif()
endfunction()

# g++ inlines less in large sources. It may inline as much as in small ones, where it then mistakes
# an empty vector for memory that is freed.
if(TESSERA_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  add_compile_options(--param=large-unit-insns=200000 -Wno-free-nonheap-object)
endif()

# Names are hidden in libtessera.so, but for those of the public headers (tessera/visibility.h).
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

# One library per folder of src. DEPS are the layers it may see: the layer rule is this link line.
# Tests link layers; users link all of them as one (src/CMakeLists.txt).
function(tessera_library name)
  cmake_parse_arguments(ARG "" "" "DEPS;LIBS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cc
       ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*/*.cc)
  list(TRANSFORM ARG_DEPS PREPEND tessera_)
  add_library(tessera_${name} STATIC ${sources})
  target_include_directories(tessera_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include
    PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(tessera_${name} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_LIBS})
  set_target_properties(tessera_${name} PROPERTIES UNITY_BUILD ${TESSERA_UNITY}
    UNITY_BUILD_BATCH_SIZE 8)
  # Highway compiles a source once per instruction set by including it again.
  foreach(source ${sources})
    file(STRINGS ${source} again REGEX "foreach_target" LIMIT_COUNT 1)
    if(again)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY tessera_layers tessera_${name})
  set_property(GLOBAL APPEND PROPERTY tessera_needs ${ARG_LIBS})
endfunction()
