// Makes the texts that gdb prints.
#include "api/inspect/debugger.h"

#include <exception>
#include <string>

#include "tessera/debug.h"
#include "tessera/program.h"
#include "tessera/sharding.h"

namespace tessera {
namespace {

// Reading more takes long, and a debugger waits for it.
constexpr int64_t kMostElements = int64_t{1} << 24;

// Returns the text, which is valid until the next call.
template <class F>
const char* Kept(F make) {
  static std::string& text = *new std::string;
  try {
    text = make();
  } catch (const std::exception& e) {
    text = std::string("<") + e.what() + ">";
  }
  return text.c_str();
}

template <class T>
const char* TextOf(const void* value) {
  return Kept([&] { return static_cast<const T*>(value)->text(); });
}

std::string ArrayText(const Array& x) {
  const Loc nowhere = Loc::Unknown();
  if (!x.is_given() || x.is_traced() || x.is_abstract()) return to_text(x, {}, nowhere);
  if (x.size(nowhere) > kMostElements) return type_of(x, nowhere).text();
  return to_text(x, {.threshold = 64}, nowhere);
}

}  // namespace

extern "C" {
const char* tessera_debugger_array(const void* x) {
  return Kept([&] { return ArrayText(*static_cast<const Array*>(x)); });
}
const char* tessera_debugger_type(const void* type) { return TextOf<ArrayType>(type); }
const char* tessera_debugger_spec(const void* spec) { return TextOf<PartitionSpec>(spec); }
const char* tessera_debugger_sharding(const void* sharding) { return TextOf<Sharding>(sharding); }
const char* tessera_debugger_mesh(const void* mesh) { return TextOf<Mesh>(mesh); }
const char* tessera_debugger_program(const void* program) { return TextOf<Program>(program); }
}

}  // namespace tessera
