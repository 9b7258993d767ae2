#pragma once

#include <cstdint>
#include <string>

#include "properties/case_tensors.h"
#include "properties/safetensors.h"
#include "properties/whole_file.h"

// A case on disk: a .safetensors file that PyTorch and NumPy read, and that replays whatever the version of the
// generator that drew it, because it holds the tensors themselves.
//
//   lse_partial  [P, rows, heads]            F32, in the form of metadata `exponent`
//   mass_partial [P, rows, heads]            F32; only for kernels that take masses
//   o_partial    [P, rows, heads, ov_depth]  BF16, F16 or F32
//   attention_sink  [heads]                  F32, natural log, finite or -inf; only where the case has a sink
//   metadata     schema "lsecheck.case/1", generator_version, kernel, law, token and every field of the CaseSpec that
//   is not a shape, and exponent_scale
//
// Every bit is kept, NaN payloads included.
namespace lsecheck {

struct CaseFile {
  CaseTensors tensors;
  std::string law;    // the law to replay
  std::string token;  // of the spec the tensors were shrunk from; may be refused by this version
  int generator_version = kGeneratorVersion;  // that drew the case
};

// Atomic. Throws FileError (environment); std::invalid_argument for tensors that do not have the sizes of their spec.
void save_case(const std::string& path, const CaseFile& file);

// The spec passes spec_error and the tensors have its sizes. Of another generator version, regime names that this
// version does not know are read as plain ones (`policy` when the LSEs hold NaN or +inf): they only label the case, the
// tensors are given. Files of versions before 3 name no exponent form and no mass regime: log2 and unit. max_bytes
// bounds the file and the tensors together, before memory is taken for either. Throws FileError.
CaseFile load_case(const std::string& path, std::uint64_t max_bytes);
CaseFile read_case(const SafetensorsFile& file, std::uint64_t max_bytes);

}  // namespace lsecheck
