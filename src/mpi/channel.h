// Packets between the processes of a job, by UDP. They may be lost.
#pragma once
#include <netinet/in.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::mpi {

class Channel {
 public:
  struct Peer {
    std::string host, pid;
    std::vector<sockaddr_in> addresses;
  };

  Channel();
  ~Channel();
  Channel(const Channel&) = delete;

  // Returns where this process can be reached.
  std::string Address() const;
  // `addresses` are those of all processes. `job` tells their packets from those of other jobs.
  void Connect(const std::vector<std::string>& addresses, uint64_t job);

  const Peer& peer(int32_t process) const { return peers_[static_cast<size_t>(process)]; }
  void Send(int32_t to, std::string_view packet) const;
  // Waits for a packet of the job. Returns "" after the time.
  std::string Receive(std::chrono::steady_clock::duration most) const;

 private:
  int socket_ = -1;  // -1: there is no network, so no packet arrives
  uint64_t job_ = 0;
  std::vector<Peer> peers_;
};

}  // namespace tessera::mpi
