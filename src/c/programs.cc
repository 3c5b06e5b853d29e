// The functions of the C interface that load programs and tell their types.
#include <tessera/version.h>

#include <algorithm>
#include <cstdlib>

#include "c/loaded.h"

namespace tessera::c {
namespace {

void CheckIndex(const Loaded& loaded, tessera_side side, int64_t index) {
  const size_t count = loaded.types(side).size();
  if (index < 0 || index >= static_cast<int64_t>(count))
    throw ArgumentError("index is " + std::to_string(index) + ", but the program has " +
                        std::to_string(count) + (side == TESSERA_INPUTS ? " argument" : " result") +
                        (count == 1 ? "" : "s"));
}

ArrayType TypeAt(tessera_program program, tessera_side side, int64_t index) {
  const std::shared_ptr<Loaded> loaded = Programs().At(program);
  CheckIndex(*loaded, side, index);
  return loaded->types(side)[static_cast<size_t>(index)];
}

}  // namespace

}  // namespace tessera::c

using namespace tessera::c;  // NOLINT: the functions of C are outside of namespaces

const char* tessera_version() { return TESSERA_VERSION; }
const char* tessera_last_error() { return LastError(); }
void tessera_free(char* text) { std::free(text); }

tessera_status tessera_load(const char* text, int64_t bytes, const char* mesh, const char* settings,
                            const char* modes, tessera_program* program) {
  return Guarded(__func__, [&] {
    Require(program, "program");
    const std::string_view view = TextOf(text, bytes);
    *program = Programs().Add(
        std::make_shared<Loaded>(TextOrPath{false, view, OptionsOf({mesh, settings, modes})}));
  });
}

tessera_status tessera_load_file(const char* path, const char* mesh, const char* settings,
                                 const char* modes, tessera_program* program) {
  return Guarded(__func__, [&] {
    Require(program, "program");
    Require(path, "path");
    *program = Programs().Add(
        std::make_shared<Loaded>(TextOrPath{true, path, OptionsOf({mesh, settings, modes})}));
  });
}

tessera_status tessera_check(const char* text, int64_t bytes, const char* mesh,
                             const char* settings, const char* modes) {
  return Guarded(__func__, [&] {
    const std::string_view view = TextOf(text, bytes);
    Loaded({false, view, OptionsOf({mesh, settings, modes})}).lowered();
  });
}

tessera_status tessera_close(tessera_program program) {
  return Guarded(__func__, [&] { Programs().Take(program); });
}

tessera_status tessera_count(tessera_program program, tessera_side side, int64_t* count) {
  return Guarded(__func__, [&] {
    Require(count, "count");
    *count = static_cast<int64_t>(Programs().At(program)->types(side).size());
  });
}

tessera_status tessera_type(tessera_program program, tessera_side side, int64_t index,
                            char** text) {
  return Guarded(__func__, [&] {
    Require(text, "text");
    *text = Given(TypeAt(program, side, index).text());
  });
}

tessera_status tessera_input_name(tessera_program program, int64_t index, char** name) {
  return Guarded(__func__, [&] {
    Require(name, "name");
    const std::shared_ptr<Loaded> loaded = Programs().At(program);
    CheckIndex(*loaded, TESSERA_INPUTS, index);
    *name = Given(tessera::input_name(loaded->program(), static_cast<size_t>(index)));
  });
}

tessera_status tessera_shape(tessera_program program, tessera_side side, int64_t index,
                             tessera_dtype* dtype, int32_t* rank, int64_t* dims, int64_t capacity) {
  return Guarded(__func__, [&] {
    Require(dtype, "dtype");
    Require(rank, "rank");
    if (capacity < 0)
      throw ArgumentError("capacity is " + std::to_string(capacity) + ", which is below 0");
    if (capacity > 0) Require(dims, "dims");
    const tessera::ArrayType type = TypeAt(program, side, index);
    const std::vector<int64_t>& shape = type.shape();
    if (capacity > 0 && capacity < static_cast<int64_t>(shape.size()))
      throw ArgumentError("capacity is " + std::to_string(capacity) + ", but the rank is " +
                          std::to_string(shape.size()));
    *dtype = type.dtype().code();
    *rank = static_cast<int32_t>(shape.size());
    if (capacity > 0) std::ranges::copy(shape, dims);
  });
}
