// Kernels read memory of others as they read the arena's: no byte beyond its end, with elements
// aligned to their size alone, and without a write.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "base/at.h"
#include "ir/host_tensor.h"
#include "suite/compare.h"
#include "suite/run.h"
#include "suite/table.h"

namespace tessera::suite {
namespace {

// A copy of bytes that no one may write, directly before a page that no one may read.
std::shared_ptr<const std::byte> BeforeGuard(const std::vector<std::byte>& bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t size = (bytes.size() + page - 1) / page * page, all = size + page;
  void* at = mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(at, MAP_FAILED);
  auto* data = static_cast<std::byte*>(at) + (size - bytes.size());
  if (!bytes.empty()) std::memcpy(data, bytes.data(), bytes.size());
  EXPECT_EQ(mprotect(at, all, PROT_NONE), 0);
  EXPECT_TRUE(size == 0 || mprotect(at, size, PROT_READ) == 0);
  return {data, [at, all](const std::byte*) { munmap(at, all); }};
}

Array GuardedView(const ir::HostTensor& tensor) {
  const ir::Type* type = ir::Type::Get(tensor.shape, tensor.dtype);
  return Array(compile::NewShared(type, type, Loc::Unknown(), BeforeGuard(tensor.data)));
}

TEST(ViewSuite, EveryOpReadsMemoryOfOthers) {
  for (const Sample& sample : Samples()) {
    SCOPED_TRACE(sample.name());
    const std::vector<ir::HostTensor> data = MakeData(sample);
    const Case c = Unsharded(sample);
    std::vector<Array> views;
    for (const ir::HostTensor& tensor : data) views.push_back(GuardedView(tensor));
    std::vector<ir::HostTensor> got = ReadAll(Apply(c, views));
    const std::vector<ir::HostTensor> want = RunEager(c, data);
    if (sample.align) sample.align(data, want, got);
    ASSERT_THAT(got, AreClose(want, sample.sharded));
  }
}

}  // namespace
}  // namespace tessera::suite
