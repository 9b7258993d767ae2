#pragma once

// What a script or a CI job may rely on; the same for every sub-command.
namespace lsecheck::cli {

inline constexpr int kClean = 0;
inline constexpr int kFailed = 1;          // a law failed, a regression, or `check` found values outside the bound
inline constexpr int kUsage = 2;           // a bad command line or an unreadable input
inline constexpr int kNotReproduced = 3;   // `repro` ran the case and every law held
inline constexpr int kEnvironment = 4;     // processor, device, disk, memory
inline constexpr int kOtherVersion = 125;  // a token of another generator version; `git bisect run` skips it

}  // namespace lsecheck::cli
