// Lesson 6: batch parallelism, then Megatron, then ZeRO: one more constraint each time.
//
// Constraints propagate in the order of their priorities: p0 first, then p1, then p2. Later ones
// cannot change earlier decisions, so each plan of this lesson adds to the ones before.
#include <tessera/tessera.h>

#include <iostream>

using namespace tessera;

enum class Plan { kBatch, kMegatron, kZero };

// A block of a transformer without its attention: x + relu(norm(x) w1) w2.
Array mlp(Array x, Array w1, Array w2, Plan plan) {
  // p0, batch parallel: each device has some of the rows and all weights.
  x = with_sharding_constraint(x, P(Closed("data").priority(0), Open()));
  // p2, ZeRO: weights are sharded over data as well as model, so no device stores a whole weight.
  if (plan >= Plan::kZero) {
    w1 = with_sharding_constraint(w1, P(Open("data").priority(2), Open()));
    w2 = with_sharding_constraint(w2, P(Open(), Open("data").priority(2)));
  }
  Array h = relu(matmul(layer_norm(x, 1.0f, 0.0f), w1));
  // p1, Megatron: the columns of h over model. Propagation shards the columns of w1 and the rows of
  // w2 in the same way, so each device needs only its part of both.
  if (plan >= Plan::kMegatron) {
    h = with_sharding_constraint(h, P(Open(), Open("model").priority(1)));
  }
  return x + matmul(h, w2);
}

// Returns the communication that each plan should have. The golden file of this lesson checks it.
const char* expected(Plan plan) {
  if (plan == Plan::kBatch) return "batch parallel: nothing, rows are independent";
  if (plan == Plan::kMegatron) return "Megatron: one all_reduce over model, of partial sums over h";
  return "ZeRO: the same, and an all_gather over data of each weight before its use";
}

int main() {
  SetDeviceCount(8);
  auto program = jit(mlp);
  Array x = arange(512.0 * 32).reshape({512, 32}) % 17 / 17;
  Array w1 = arange(32.0 * 64).reshape({32, 64}) % 13 / 13 - 0.5;
  Array w2 = arange(64.0 * 32).reshape({64, 32}) % 11 / 11 - 0.5;
  std::vector<float> alone;
  {
    MeshScope one(make_mesh({{"data", 1, Auto}, {"model", 1, Auto}}));
    alone = program(x, w1, w2, Plan::kZero).to_vector<float>();
  }

  // 1. Eight devices: the communication, and a check of the numbers against one device.
  {
    MeshScope scope(make_mesh({{"data", 2, Auto}, {"model", 4, Auto}}));
    for (Plan plan : {Plan::kBatch, Plan::kMegatron, Plan::kZero}) {
      std::cout << expected(plan) << "\n" << program.lower(x, w1, w2, plan).comm();
      Array off = program(x, w1, w2, plan) - array(alone, {.shape = x.shape()});
      std::cout << (max(abs(off)).item<double>() < 1e-4 ? "same numbers as one device"
                                                        : "OTHER NUMBERS")
                << "\n\n";
    }
  }

  // 2. 64 abstract devices, with the sizes of a real model. Propagation lays out the arguments too:
  // the first line of the propagated program shows their shardings.
  MeshScope scope(abstract_mesh({{"data", 8, Auto}, {"model", 8, Auto}}));
  Array tokens = abstract_array("f32[65536,4096]");
  Array up = abstract_array("f32[4096,16384]"), down = abstract_array("f32[16384,4096]");
  for (Plan plan : {Plan::kBatch, Plan::kMegatron, Plan::kZero}) {
    Lowered lowered = program.lower(tokens, up, down, plan);
    std::string text = lowered.propagated().text();
    size_t begin = text.find("func"), end = text.find('\n', begin);
    std::cout << expected(plan) << "\n" << text.substr(begin, end - begin) << "\n";
    std::cout << lowered.comm() << lowered.peak_bytes() / (1 << 20) << " MiB per device\n\n";
  }
}
