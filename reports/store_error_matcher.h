#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "reports/store_error.h"

namespace lsecheck {

// Runs `action` and returns the StoreError it throws; nullopt when it throws none. For the tests of this folder.
template <typename Action>
std::optional<StoreError> store_error_of(Action action) {
  try {
    action();
  } catch (const StoreError& error) {
    return error;
  }
  return std::nullopt;
}

// One clear line of the given kind in which every part appears.
inline void expect_store_error(const std::optional<StoreError>& error, StoreError::Kind kind,
                               std::initializer_list<const char*> parts) {
  ASSERT_TRUE(error.has_value());
  const std::string message = error->what();
  EXPECT_EQ(error->kind(), kind) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  for (const char* part : parts) EXPECT_NE(message.find(part), std::string::npos) << message << " lacks " << part;
}

}  // namespace lsecheck
