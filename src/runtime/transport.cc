// The transport of this process.
#include "runtime/transport.h"

#include "runtime/meeting.h"
#include "runtime/only_thread.h"

namespace tessera::runtime {
namespace {

std::unique_ptr<Transport> transport;
const Launcher* launcher = nullptr;
thread_local const Waiting* innermost = nullptr;

}  // namespace

Waiting::Waiting() : outer_(innermost) { innermost = this; }
Waiting::~Waiting() { innermost = outer_; }

std::string Waiting::Text() {
  std::string text;
  for (const Waiting* w = innermost; w; w = w->outer_)
    text += (text.empty() ? "" : ", in ") + w->Describe();
  return text;
}

std::vector<std::string> Transport::Gather(std::string_view text) {
  const OnlyThread only("gathering an array", Loc::Unknown());
  Meet("gathering an array", Waiting::Text());
  return GatherTexts(text);
}

const Launcher* TheLauncher() { return launcher; }
void InstallLauncher(const Launcher* installed) { launcher = installed; }

Transport* TheTransport() { return transport.get(); }
std::unique_ptr<Transport> SetTransport(std::unique_ptr<Transport> set) {
  return std::exchange(transport, std::move(set));
}

}  // namespace tessera::runtime
