// Splits the devices over the processes.
#include "compile/host/processes.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <utility>

#include "base/at.h"
#include "base/sum_order.h"
#include "runtime/run.h"
#include "runtime/team.h"
#include "runtime/transport.h"
#include "trace/scopes.h"

namespace tessera::compile {
namespace {

bool reads_gather = false;

using ProcessSet = std::set<int32_t>;

ProcessSet ProcessesOf(const sharding::MeshDef& mesh) {
  ProcessSet processes;
  for (int64_t p = 0; p < mesh.size(); ++p) processes.insert(ProcessOf(mesh.Device(p)));
  return processes;
}

// Returns the meshes of a program, each once.
std::set<const sharding::MeshDef*> MeshesOf(const ir::Program& program) {
  std::set<const sharding::MeshDef*> meshes;
  if (program.mesh) meshes.insert(program.mesh);
  for (const ir::Value& v : program.values)
    if (v.type->mesh()) meshes.insert(v.type->mesh());
  return meshes;
}

ProcessSet ProcessesOf(const ir::Program& program) {
  ProcessSet processes;
  for (const sharding::MeshDef* mesh : MeshesOf(program)) processes.merge(ProcessesOf(*mesh));
  return processes;
}

}  // namespace

int32_t Process() {
  const runtime::Transport* transport = runtime::TheTransport();
  return transport ? transport->process() : 0;
}
int32_t Processes() {
  const runtime::Transport* transport = runtime::TheTransport();
  return transport ? transport->processes() : 1;
}

void ShareCores() {
  char machine[256] = {};
  gethostname(machine, sizeof machine - 1);
  const std::string cores = runtime::CoresText();
  int sharers = 0;  // processes that may run on a core of this one
  for (const std::string& other : runtime::TheTransport()->Gather(cores + " " + machine)) {
    const size_t space = other.find(' ');
    if (other.substr(space + 1) != machine) continue;
    bool overlaps = false;
    for (size_t c = 0; c < std::min(cores.size(), space); ++c)
      overlaps = overlaps || (cores[c] == '1' && other[c] == '1');
    sharers += overlaps ? 1 : 0;
  }
  if (sharers > 1) runtime::SetCores(runtime::CoreCount() / sharers);
}

bool ReadsGather() { return reads_gather; }
void SetReadsGather(bool on) { reads_gather = on; }

int32_t ProcessOf(int64_t device) {
  return static_cast<int32_t>(device * Processes() / trace::Devices());
}

bool TakesPart(const ir::Program& program) { return ProcessesOf(program).contains(Process()); }

bool IsFirst(const ir::Program& program) {
  const ProcessSet processes = ProcessesOf(program);
  return !processes.empty() && *processes.begin() == Process();
}

bool LeavesOut(const ir::Program& program) {
  if (Processes() == 1) return false;
  const auto processes = static_cast<int32_t>(ProcessesOf(program).size());
  return processes > 0 && processes < Processes();
}

runtime::Buffers SharedWithAll(runtime::Buffers mine, int64_t bytes, bool takes_part,
                               bool is_first) {
  std::string text;
  if (is_first) text.assign(reinterpret_cast<const char*>(mine.at(0)), base::Size(bytes));
  for (const std::string& whole : runtime::TheTransport()->Gather(text)) {
    if (takes_part || whole.size() != base::Size(bytes)) continue;
    mine = runtime::Allocate(bytes, 1);
    std::memcpy(mine.base, whole.data(), whole.size());
    break;
  }
  return mine;
}

bool IsHere(const sharding::MeshDef* mesh) {
  return !mesh || Processes() == 1 || ProcessesOf(*mesh).contains(Process());
}

bool IsFirstHost(const sharding::MeshDef* mesh) { return *ProcessesOf(*mesh).begin() == Process(); }

bool IsEverywhere(const sharding::MeshDef* mesh) {
  if (!mesh || Processes() == 1) return true;
  return static_cast<int32_t>(ProcessesOf(*mesh).size()) == Processes();
}

plan::Hosts HostsOf(const ir::Program& program, int32_t devices) {
  plan::Hosts hosts{
      .process = Process(), .process_of_device = {}, .keeps_order = base::KeepsSumOrder()};
  hosts.process_of_device.assign(base::Size(devices), plan::Hosts::kNobody);
  const std::set<const sharding::MeshDef*> meshes = MeshesOf(program);
  if (meshes.empty()) hosts.process_of_device.assign(base::Size(devices), Process());
  for (const sharding::MeshDef* mesh : meshes) {
    for (int64_t p = 0; p < mesh->size(); ++p) {
      const int64_t device = mesh->Device(p);
      base::At(hosts.process_of_device, device) = ProcessOf(device);
    }
  }
  return hosts;
}

}  // namespace tessera::compile
