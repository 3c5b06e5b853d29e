// Streaming copies of any length and alignment.
#include "runtime/stream_copy.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <vector>

namespace tessera::runtime {
namespace {

TEST(StreamCopy, CopiesAnyLengthAndAlignment) {
  std::vector<std::byte> from(5000), to(5000);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 31 >> 3);
  for (int64_t offset : {0, 1, 33}) {
    for (int64_t n : {0, 1, 63, 64, 300, 4001}) {
      std::fill(to.begin(), to.end(), std::byte{0});
      StreamCopy(to.data() + offset, from.data() + 7, n);
      EXPECT_TRUE(std::equal(from.begin() + 7, from.begin() + 7 + n, to.begin() + offset));
      EXPECT_EQ(to[offset + n], std::byte{0});
    }
  }
}

}  // namespace
}  // namespace tessera::runtime
