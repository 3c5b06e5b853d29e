// Sends and receives packets by UDP.
#include "mpi/channel.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <sstream>

namespace tessera::mpi {
namespace {

constexpr size_t kMostBytes = 8192;

// Returns a text that is equal for processes that share a loopback network.
std::string Network() {
  struct stat status {};
  stat("/proc/self/ns/net", &status);
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return fmt::format("{}/{}", boot, status.st_ino);
}

std::string HostName() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

// Returns the addresses of this host on its networks.
std::vector<in_addr> HostAddresses() {
  std::vector<in_addr> addresses;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return addresses;
  for (const ifaddrs* i = list; i; i = i->ifa_next) {
    const bool is_up = (i->ifa_flags & IFF_UP) && !(i->ifa_flags & IFF_LOOPBACK);
    if (is_up && i->ifa_addr && i->ifa_addr->sa_family == AF_INET)
      addresses.push_back(reinterpret_cast<const sockaddr_in*>(i->ifa_addr)->sin_addr);
  }
  freeifaddrs(list);
  return addresses;
}

sockaddr_in AddressOf(in_addr host, uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr = host;
  address.sin_port = htons(port);
  return address;
}

}  // namespace

Channel::Channel() {
  socket_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const sockaddr_in any = AddressOf({.s_addr = htonl(INADDR_ANY)}, 0);
  if (socket_ >= 0 && bind(socket_, reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0)
    return;
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
}

Channel::~Channel() {
  if (socket_ >= 0) close(socket_);
}

std::string Channel::Address() const {
  sockaddr_in bound{};
  socklen_t size = sizeof bound;
  if (socket_ >= 0) getsockname(socket_, reinterpret_cast<sockaddr*>(&bound), &size);
  std::string text =
      fmt::format("{} {} {} {}", HostName(), getpid(), Network(), ntohs(bound.sin_port));
  for (in_addr host : HostAddresses()) text += fmt::format(" {}", inet_ntoa(host));
  return text;
}

void Channel::Connect(const std::vector<std::string>& addresses, uint64_t job) {
  job_ = job;
  const std::string network = Network();
  for (const std::string& address : addresses) {
    std::istringstream words(address);
    Peer& peer = peers_.emplace_back();
    std::string its_network, host;
    uint16_t port = 0;
    words >> peer.host >> peer.pid >> its_network >> port;
    if (port == 0) continue;
    if (its_network == network)
      peer.addresses.push_back(AddressOf({.s_addr = htonl(INADDR_LOOPBACK)}, port));
    else
      while (words >> host)
        peer.addresses.push_back(AddressOf({.s_addr = inet_addr(host.c_str())}, port));
  }
}

void Channel::Send(int32_t to, std::string_view packet) const {
  std::string bytes(reinterpret_cast<const char*>(&job_), sizeof job_);
  bytes += packet.substr(0, kMostBytes - sizeof job_);
  for (const sockaddr_in& address : peer(to).addresses)
    sendto(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
           reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

std::string Channel::Receive(std::chrono::steady_clock::duration most) const {
  pollfd ready{.fd = socket_, .events = POLLIN, .revents = 0};
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(most).count();
  if (poll(&ready, 1, static_cast<int>(milliseconds)) <= 0) return "";
  char bytes[kMostBytes];
  const ssize_t size = recv(socket_, bytes, sizeof bytes, 0);
  if (size <= static_cast<ssize_t>(sizeof job_)) return "";
  if (std::memcmp(bytes, &job_, sizeof job_) != 0) return "";
  return {bytes + sizeof job_, static_cast<size_t>(size) - sizeof job_};
}

}  // namespace tessera::mpi
