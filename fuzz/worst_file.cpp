#include "fuzz/worst_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "fuzz/worst_text.h"
#include "properties/whole_file.h"

namespace lsecheck {

namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 26;
constexpr std::string_view kFileKeys[] = {"lsecheck-worst format", "generator", "kernel", "out", "partial"};
constexpr std::string_view kHuntKeys[] = {"kernel", "out",    "partial", "arch", "exponent",
                                          "P",      "regime", "metric",  "seed", "islands"};

WorstFile parse_first_line(std::string_view line) {
  const std::vector<std::string> fields = parse_fields(line, kFileKeys);
  if (fields[0] != "1") refuse_field("format", fields[0], "this lsecheck reads format 1");
  WorstFile file;
  file.generator_version = parse_integer_field<int>("generator", fields[1]);
  file.kernel = parse_kernel_field(fields[2]);
  file.out = parse_type_field("out", fields[3]);
  file.partial = parse_type_field("partial", fields[4]);
  return file;
}

HuntRecord parse_hunt_line(std::string_view line) {
  const std::vector<std::string> fields = parse_fields(line, kHuntKeys);
  HuntRecord record;
  record.target = parse_target(std::span(fields).first(8));
  record.seed = parse_integer_field<std::uint64_t>("seed", fields[8]);
  record.islands = parse_integer_field<std::uint64_t>("islands", fields[9]);
  return record;
}

void parse_line(WorstFile& file, std::string_view line) {
  constexpr std::string_view kHunt = "hunt ";
  constexpr std::string_view kCase = "case ";
  if (line.starts_with(kHunt)) {
    HuntRecord record = parse_hunt_line(line.substr(kHunt.size()));
    const HuntTarget& target = record.target;
    if (target.kernel != file.kernel || target.out != file.out || target.partial != file.partial) {
      throw std::invalid_argument("another kernel or other types than the first line's");
    }
    const bool known = std::any_of(file.records.begin(), file.records.end(),
                                   [&](const HuntRecord& other) { return other.target == target; });
    if (known) throw std::invalid_argument("the same hunt as a line before");
    file.records.push_back(std::move(record));
  } else if (line.starts_with(kCase)) {
    WorstCase worst = parse_worst_case(line.substr(kCase.size()));
    if (file.records.empty() || !(file.records.back().target == worst.target)) {
      throw std::invalid_argument("the case is not of the hunt above it");
    }
    file.records.back().cases.push_back(std::move(worst));
  } else {
    throw std::invalid_argument(fmt::format("'hunt ' or 'case ' is due, there is '{}'", line.substr(0, 40)));
  }
}

}  // namespace

void HuntRecord::add(WorstCase worst, std::size_t keep) {
  const std::string text = format_worst_case(worst);
  const auto place = std::find_if(cases.begin(), cases.end(), [&](const WorstCase& other) {
    return other.value < worst.value || (other.value == worst.value && format_worst_case(other) >= text);
  });
  if (place != cases.end() && format_worst_case(*place) == text) return;
  cases.insert(place, std::move(worst));
  if (cases.size() > keep) cases.resize(keep);
}

HuntRecord& WorstFile::record_of(const HuntTarget& target) {
  const auto known =
      std::find_if(records.begin(), records.end(), [&](const HuntRecord& record) { return record.target == target; });
  if (known != records.end()) return *known;
  HuntRecord record;
  record.target = target;
  return records.emplace_back(std::move(record));
}

std::string worst_file_name(KernelId kernel, DType out, DType partial) {
  return fmt::format("{}.{}.{}.txt", name_of(kernel), name_of(out), name_of(partial));
}

std::string format_worst_file(const WorstFile& file) {
  std::string text =
      fmt::format("lsecheck-worst format=1 generator={} kernel={} out={} partial={}\n", file.generator_version,
                  name_of(file.kernel), name_of(file.out), name_of(file.partial));
  for (const HuntRecord& record : file.records) {
    text += fmt::format("hunt {} seed={} islands={}\n", format_target(record.target), record.seed, record.islands);
    for (const WorstCase& worst : record.cases) text += "case " + format_worst_case(worst) + "\n";
  }
  return text;
}

WorstFile parse_worst_file(std::string_view text) {
  WorstFile file;
  for (std::size_t number = 1; !text.empty() || number == 1; ++number) {
    const std::size_t end = text.find('\n');
    try {
      if (end == std::string_view::npos) throw std::invalid_argument("the file ends within a line");
      const std::string_view line = text.substr(0, end);
      if (number == 1) {
        file = parse_first_line(line);
      } else {
        parse_line(file, line);
      }
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(fmt::format("line {}: {}", number, error.what()));
    }
    text.remove_prefix(end + 1);
  }
  return file;
}

WorstFile load_worst_file(const std::string& path) {
  const std::vector<std::byte> bytes = read_whole_file(path, kMostBytes);
  try {
    return parse_worst_file({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  } catch (const std::invalid_argument& error) {
    throw FileError(FileErrorKind::unreadable, path, error.what());
  }
}

void save_worst_file(const std::string& path, const WorstFile& file) {
  const std::string text = format_worst_file(file);
  const std::span<const std::byte> part = std::as_bytes(std::span(text));
  write_file_atomically(path, std::span(&part, 1));
}

}  // namespace lsecheck
