#pragma once

// The attention sink (natural log) against log2-domain exponents.
namespace lsecheck {

// sink * log2(e) - m to within 2^-52 relative, for f32 values sink and m: the sink's exponent above m. Formed in 400
// bits, so that it holds where both are huge and nearly cancel.
double sink_exponent_above(double sink, double m);

}  // namespace lsecheck
