// Passes a byte from process to process.
#include "api/control/turns.h"

#include <exception>

#include "compile/host/processes.h"
#include "runtime/transport.h"

namespace tessera::api {
namespace {

void Receive(int32_t process) {
  static std::byte token{};  // a receive of a failed run may still write to it
  const runtime::Parcel parcel{process, &token, 1, -1};
  runtime::Transport* transport = runtime::TheTransport();
  transport->Finish(transport->Start({.receives = {&parcel, 1}}));
}

void Send(int32_t process) {
  static std::byte token{};  // a receive of a failed run may still write to it
  const runtime::Parcel parcel{process, &token, 1, -1};
  runtime::Transport* transport = runtime::TheTransport();
  transport->Finish(transport->Start({.sends = {&parcel, 1}}));
}

}  // namespace

void TakeTurns(const std::vector<int32_t>& process_of, absl::FunctionRef<void(size_t turn)> f) {
  const int32_t here = compile::Process();
  std::exception_ptr error;
  for (size_t i = 0; i < process_of.size(); ++i) {
    if (process_of[i] != here) continue;
    if (i > 0 && process_of[i - 1] != here) Receive(process_of[i - 1]);
    try {
      if (!error) f(i);
    } catch (...) {
      error = std::current_exception();
    }
    if (i + 1 < process_of.size() && process_of[i + 1] != here) Send(process_of[i + 1]);
  }
  if (!process_of.empty() && process_of.front() != process_of.back()) {
    if (here == process_of.back()) Send(process_of.front());
    if (here == process_of.front()) Receive(process_of.back());
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace tessera::api
