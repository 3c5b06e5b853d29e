// Functions of the host as program text has them.
#include "ir/host_call.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/reader.h"

namespace tessera::ir {
namespace {

std::string Refused(const HostFunctionRef& f, const HostArguments& arguments) {
  try {
    f.function->Run(arguments);
  } catch (const RuntimeError& e) {
    return e.what();
  }
  return "";
}

TEST(HostCall, OfTextNamesTheFunctionThatTheUserCalled) {
  base::Reader in("7", "a test", Loc::Unknown());
  HostFunctionRef f;
  ReadField(in, f);
  EXPECT_THAT(Refused(f, {.values = {}}), testing::HasSubstr("in debug_callback"));
  EXPECT_THAT(Refused(f, {.values = {}, .results = {{nullptr, nullptr}}}),
              testing::HasSubstr("in pure_callback"));
}

}  // namespace
}  // namespace tessera::ir
