// The raw banks of an MDF file that is not compressed, as an example's or bench's own readout has them.
#ifndef MDF_BANKS_HPP
#define MDF_BANKS_HPP

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

struct Bank {
  std::uint8_t type, version;
  std::uint16_t source;
  const std::uint8_t *payload;
  std::uint16_t bytes;
};

/// Events, and the bytes that their banks lie in.
struct MdfFile {
  std::vector<std::uint8_t> bytes;
  std::vector<std::vector<Bank>> events;

  explicit MdfFile(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
    for (std::size_t at = 0; at + 48 <= bytes.size();) {
      std::uint32_t size;
      std::memcpy(&size, &bytes[at], 4);
      if (size < 48 || size > bytes.size() - at)
        throw std::runtime_error(path + " is no whole MDF file");
      events.emplace_back();
      for (std::size_t bank = at + 48; bank + 8 <= at + size;) {
        auto pair = [&](std::size_t i) { return std::uint16_t(bytes[bank + i] | bytes[bank + i + 1] << 8); };
        std::uint16_t length = pair(2);
        if (length < 8 || length > at + size - bank)
          throw std::runtime_error(path + " has a bank that does not end");
        events.back().push_back(
            {bytes[bank + 4], bytes[bank + 5], pair(6), &bytes[bank + 8], std::uint16_t(length - 8)});
        bank += (length + 3u) / 4 * 4;
      }
      at += size;
    }
    if (events.empty())
      throw std::runtime_error(path + " has no event");
  }
};

#endif
