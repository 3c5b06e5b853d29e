# Compiler settings and the helpers that declare libraries, tests and samples.
find_package(absl REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()
add_compile_options(-Wall -Wextra)
if(PROJECT_IS_TOP_LEVEL)
  add_compile_options(-Werror)
endif()
# Containers check their indices where nobody waits for results.
add_compile_definitions($<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)
if(TESSERA_SANITIZE STREQUAL "address")
  # With sanitizers g++ 12 takes parts of standard containers for uninitialized.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
    -Wno-maybe-uninitialized)
  add_link_options(-fsanitize=address,undefined)
elseif(TESSERA_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread)
  add_compile_definitions(TESSERA_STD_THREADS=1)
  add_link_options(-fsanitize=thread)
endif()

# One library per folder of src. DEPS are the layers it may see: the layer rule is this link line.
function(tessera_library name)
  cmake_parse_arguments(ARG "" "" "DEPS;LIBS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cc
       ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*/*.cc)
  list(TRANSFORM ARG_DEPS PREPEND tessera_)
  add_library(tessera_${name} STATIC ${sources})
  target_include_directories(tessera_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>
    PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(tessera_${name} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_LIBS})
endfunction()
