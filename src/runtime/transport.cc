// The transport of this process.
#include "runtime/transport.h"

namespace tessera::runtime {
namespace {

Transport* transport = nullptr;
const Launcher* launcher = nullptr;

}  // namespace

const Launcher* TheLauncher() { return launcher; }
void InstallLauncher(const Launcher* installed) { launcher = installed; }

Transport* TheTransport() { return transport; }
void SetTransport(Transport* set) { transport = set; }

}  // namespace tessera::runtime
