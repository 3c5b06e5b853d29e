// Statuses, and the last error of each thread.
#include "c/guard.h"

#include <tessera/error.h>

#include <cstdlib>
#include <cstring>
#include <new>

namespace tessera::c {
namespace {

// Without memory for the text of an error, the text is this one.
constexpr const char* kNoMemory = "out of memory";

struct LastText {
  std::string text;
  bool without_memory = false;
};
thread_local LastText last;

tessera_status Keep(tessera_status status, const std::string& text) noexcept {
  try {
    last.text = text;
    last.without_memory = false;
  } catch (const std::bad_alloc&) {
    last.without_memory = true;
  }
  return status;
}

tessera_status StatusOf(const Error& e) {
  if (dynamic_cast<const ShapeError*>(&e)) return TESSERA_SHAPE_ERROR;
  if (dynamic_cast<const DTypeError*>(&e)) return TESSERA_DTYPE_ERROR;
  if (dynamic_cast<const ShardingError*>(&e)) return TESSERA_SHARDING_ERROR;
  if (dynamic_cast<const TraceError*>(&e)) return TESSERA_TRACE_ERROR;
  if (dynamic_cast<const RuntimeError*>(&e)) return TESSERA_RUNTIME_ERROR;
  return TESSERA_INTERNAL_ERROR;
}

}  // namespace

tessera_status Guarded(const char* function, const std::function<void()>& body) noexcept {
  try {
    body();
    return TESSERA_OK;
  } catch (const ArgumentError& e) {
    return Keep(TESSERA_ARGUMENT_ERROR, std::string(function) + ": " + e.what());
  } catch (const Error& e) {
    return Keep(StatusOf(e), e.what());
  } catch (const std::bad_alloc&) {
    last.without_memory = true;
    return TESSERA_RUNTIME_ERROR;
  } catch (const std::exception& e) {
    return Keep(TESSERA_INTERNAL_ERROR, std::string(function) + ": " + e.what());
  } catch (...) {
    return Keep(TESSERA_INTERNAL_ERROR, std::string(function) + ": an unknown exception");
  }
}

const char* LastError() noexcept { return last.without_memory ? kNoMemory : last.text.c_str(); }

void Require(const void* pointer, const char* name) {
  if (!pointer) throw ArgumentError(std::string(name) + " is null");
}

std::string OrEmpty(const char* text) { return text ? text : ""; }

std::string_view TextOf(const char* text, int64_t bytes) {
  Require(text, "text");
  if (bytes < 0)
    throw ArgumentError("bytes is " + std::to_string(bytes) + ", but a text has at least 0 bytes");
  return {text, static_cast<size_t>(bytes)};
}

char* Given(const std::string& text) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (!copy) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

}  // namespace tessera::c
