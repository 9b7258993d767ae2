#include "properties/results_wire.h"

#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace lsecheck {
namespace {

// One list of the fields of each type; `archive` writes them or reads them. Number is what a plain number becomes in
// the bytes: its own representation.
template <class Archive, class Value>
void fields(Archive& archive, Value& value);

class Writer {
 public:
  template <class Number>
  requires std::is_arithmetic_v<Number>
  void operator()(const Number& number) { bytes_.append(reinterpret_cast<const char*>(&number), sizeof number); }
  void operator()(const std::string& text) {
    (*this)(text.size());
    bytes_ += text;
  }
  template <class Number, std::size_t count>
  void operator()(const std::array<Number, count>& numbers) {
    for (const Number& number : numbers) (*this)(number);
  }
  template <class Value>
  void operator()(const std::vector<Value>& values) {
    (*this)(values.size());
    for (const Value& value : values) (*this)(value);
  }
  template <class Key, class Value>
  void operator()(const std::map<Key, Value>& map) {
    (*this)(map.size());
    for (const auto& [key, value] : map) {
      (*this)(key);
      (*this)(value);
    }
  }
  template <class Value>
  requires std::is_class_v<Value>
  void operator()(const Value& value) { fields(*this, value); }
  template <class... Values>
  void all(const Values&... values) {
    ((*this)(values), ...);
  }

  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <class Number>
  requires std::is_arithmetic_v<Number>
  void operator()(Number& number) { std::memcpy(&number, take(sizeof number).data(), sizeof number); }
  void operator()(std::string& text) {
    std::size_t size = 0;
    (*this)(size);
    text = take(size);
  }
  template <class Number, std::size_t count>
  void operator()(std::array<Number, count>& numbers) {
    for (Number& number : numbers) (*this)(number);
  }
  template <class Value>
  void operator()(std::vector<Value>& values) {
    std::size_t size = 0;
    (*this)(size);
    // Grows as the bytes hold it: a wild size takes no memory.
    for (; size > 0; --size) (*this)(values.emplace_back());
  }
  template <class Key, class Value>
  void operator()(std::map<Key, Value>& map) {
    std::size_t size = 0;
    (*this)(size);
    for (; size > 0; --size) {
      Key key{};
      (*this)(key);
      (*this)(map[std::move(key)]);
    }
  }
  template <class Value>
  requires std::is_class_v<Value>
  void operator()(Value& value) { fields(*this, value); }
  template <class... Values>
  void all(Values&... values) {
    ((*this)(values), ...);
  }

  void end() const {
    if (!bytes_.empty()) throw std::invalid_argument("results of a worker: bytes are left over");
  }

 private:
  std::string_view take(std::size_t size) {
    if (size > bytes_.size()) throw std::invalid_argument("results of a worker: bytes are missing");
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }

  std::string_view bytes_;
};

template <class Archive, class Value>
void fields(Archive& archive, Value& value) {
  using Plain = std::remove_const_t<Value>;
  if constexpr (std::is_same_v<Plain, ErrorHistogram>) {
    archive.all(value.count);
  } else if constexpr (std::is_same_v<Plain, Maximum>) {
    archive.all(value.value, value.case_index, value.token, value.row_head, value.depth_index, value.got_bits,
                value.correctly_rounded_bits);
  } else if constexpr (std::is_same_v<Plain, MetricStats>) {
    archive.all(value.histogram, value.max);
  } else if constexpr (std::is_same_v<Plain, StatKey>) {
    archive.all(value.kernel, value.variant, value.arch, value.unit, value.out, value.partial, value.p_class,
                value.lse_regime);
  } else if constexpr (std::is_same_v<Plain, StatRow>) {
    archive.all(value.cases, value.row_heads, value.elements, value.correctly_rounded, value.ulp, value.scaled_ulp,
                value.steps, value.bound_use, value.digest);
  } else if constexpr (std::is_same_v<Plain, LawKey>) {
    archive.all(value.kernel, value.law);
  } else if constexpr (std::is_same_v<Plain, LawRow>) {
    archive.all(value.checked, value.not_applicable, value.failed);
  } else if constexpr (std::is_same_v<Plain, Failure>) {
    archive.all(value.case_index, value.kernel, value.law, value.token, value.found_token, value.case_file, value.shape,
                value.message);
  } else if constexpr (std::is_same_v<Plain, ChartKey>) {
    archive.all(value.chart, value.kernel, value.unit, value.out, value.x, value.y);
  } else if constexpr (std::is_same_v<Plain, ChartRow>) {
    archive.all(value.row_heads, value.scaled_ulp, value.largest_bound);
  } else if constexpr (std::is_same_v<Plain, Replay>) {
    archive.all(value.file, value.origin, value.kernel, value.law, value.outcome, value.case_file, value.message);
  } else if constexpr (std::is_same_v<Plain, HuntKey>) {
    archive.all(value.kernel, value.out, value.partial, value.exponent, value.arch, value.lse_regime,
                value.num_partitions);
  } else if constexpr (std::is_same_v<Plain, HuntStat>) {
    archive.all(value.evaluations, value.bound_use, value.worst);
  } else if constexpr (std::is_same_v<Plain, RunTotals>) {
    archive.all(value.cases, value.row_heads, value.elements, value.failures);
  } else {
    static_assert(std::is_same_v<Plain, RunResults>);
    archive.all(value.totals, value.stats, value.laws, value.coverage, value.charts, value.failures, value.replays,
                value.hunts);
  }
}

template <class Value>
std::string written(const Value& value) {
  Writer writer;
  writer(value);
  return writer.take();
}

template <class Value>
Value read(std::string_view bytes) {
  Value value;
  Reader reader(bytes);
  reader(value);
  reader.end();
  return value;
}

}  // namespace

std::string to_wire(const RunResults& results) {
  return written(results);
}

std::string to_wire(const Failure& failure) {
  return written(failure);
}

RunResults results_from_wire(std::string_view bytes) {
  return read<RunResults>(bytes);
}

Failure failure_from_wire(std::string_view bytes) {
  return read<Failure>(bytes);
}

}  // namespace lsecheck
