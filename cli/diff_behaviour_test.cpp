// The rows of `outputs` and `diff`: see command_line_table.h.

#include <gtest/gtest.h>

#include <string>

#include "cli/command_line_table.h"

namespace lsecheck::cli {
namespace {

constexpr CommandLine kCommandLines[] = {
    {"Outputs", "outputs --cases 3", 0,
     "^lsecheck-outputs 1 generator=[0-9]+ version=[0-9.]+ commit=[^ ]+ kernels=fa4_splitk_combine,.*\n0 "
     "lse1-[a-z2-7]+ "
     "[a-z0-9_]+ [0-9a-f]+\n.*\nend 3\n$"},
    {"DiffWithItself", "diff --against \"$LSECHECK\" --cases 100", 0,
     "^this build .*\n.*fa4_splitk_combine +[0-9]+ +0 .*\nEQUAL"},
    {"OutputsAreTheSameOnAnyJobsAndWithoutIsolation",
     "outputs --cases 150 --jobs 1 >a && lsecheck outputs --cases 150 --jobs 3 >b && lsecheck outputs --cases 150 "
     "--jobs 2 --no-isolate >c && cmp a b && cmp a c",
     0, "^$"},
    {"OutputsInNoTime", "outputs --cases 1 --case-timeout 0s", 2, "^$", "--case-timeout: 0 lets no case end"},
    // It is asked without options of isolation unless they are given here.
    {"DiffWithABuildThatDoesNotIsolate",
     "list >/dev/null; printf '#!/bin/sh\ncase \"$*\" in *isolate*|*timeout*) exit 2;; esac; exec \"$LSECHECK\" "
     "\"$@\"\n' >other; chmod +x other; lsecheck diff --against ./other --cases 20 | tail -n 1; lsecheck diff "
     "--against ./other --cases 20 --no-isolate 2>&1; lsecheck diff --against ./other --cases 20 --case-timeout 9s "
     ">/dev/null",
     2, "^EQUAL: .*\nlsecheck: --against ./other: it does not print its outputs", "exit code 2"},
    {"DiffOfACaseFile",
     "repro lse1-amaasaaqaaaacaaaaiaqcqaaaaaaaaaaaaae7zytd4 --save c.safetensors >/dev/null; lsecheck diff --against "
     "\"$LSECHECK\" c.safetensors",
     0, "EQUAL"},
    {"DiffFindsEveryBit",
     "list >/dev/null; printf '#!/bin/sh\n\"$LSECHECK\" \"$@\" | sed -E \"s/^(5 .*)0$/\\\\11/; t; s/^(5 .*).$/\\\\10/; "
     "s/^(6 "
     "[^ ]+ [^ ]+) .*/\\\\1 ! fell over/\"\n' >other; chmod +x other; lsecheck diff --against ./other --cases 8 "
     "--list l.txt; code=$?; wc -l <l.txt; exit $code",
     1,
     "case 5, .*row-head [0-9]+, d [0-9]+: this build 0x[0-9a-f]+ .*; other 0x[0-9a-f]+ .*\n  1 of [0-9]+ elements "
     "differ\n  lsecheck repro lse1-.*other build: fell over.*DIFFERENT.*\n1\n$"},
    {"DiffWithAnotherGenerator",
     "list >/dev/null; printf '#!/bin/sh\n\"$LSECHECK\" \"$@\" | sed s/generator=/generator=1/\n' >other; chmod +x "
     "other; lsecheck diff --against ./other --cases 2",
     125, "",
     "^lsecheck: --against ./other: generator version 1[0-9]+, this is [0-9]+: the same seed gives other cases"},
    {"DiffWithOtherKernels",
     "list >/dev/null; printf '#!/bin/sh\n\"$LSECHECK\" \"$@\" | sed s/mla_combine,//\n' >other; chmod +x other; "
     "lsecheck diff --against ./other --cases 2",
     2, "", "choose one that both have with --kernel"},
    {"DiffWithOneThatEndsEarly",
     "list >/dev/null; printf '#!/bin/sh\n\"$LSECHECK\" \"$@\" | head -n 2; exit 9\n' >other; chmod +x other; "
     "lsecheck diff --against ./other --cases 8",
     4, "", "it ended before case 1, with exit code 9; run it by itself"},
    {"DiffThatIsRefusedKeepsTheEarlierList",
     "list >/dev/null; echo earlier >l.txt; lsecheck diff --against /bin/true --list l.txt; code=$?; cat l.txt; exit "
     "$code",
     2, "^earlier\n$", "it does not print its outputs"},
    {"DiffWithSomethingElse", "diff --against /bin/true", 2, "^$", "/bin/true: it does not print its outputs"},
    {"DiffWithOneThatFailsAtItsEnd",
     "list >/dev/null; printf '#!/bin/sh\n\"$LSECHECK\" \"$@\"; exit 4\n' >other; chmod +x other; timeout 60 "
     "\"$LSECHECK\" diff --against ./other --cases 8",
     4, "",
     "^lsecheck: --against ./other: it ended with exit code 4 behind its last case; run it by itself: ./other outputs "
     "--kernel '[*]' "},
    {"DiffWithOneThatIsKilledAtItsEnd",
     "list >/dev/null; printf '#!/bin/sh\n\"$LSECHECK\" \"$@\"; kill -9 $$\n' >other; chmod +x other; timeout 60 "
     "\"$LSECHECK\" diff --against ./other --cases 8",
     4, "", "^lsecheck: --against ./other: it ended with signal 9 behind its last case; run it by itself"},
    {"DiffWithOneThatFailsInsteadOfItsEnd",
     "list >/dev/null; printf '#!/bin/sh\n\"$LSECHECK\" \"$@\" | grep -v ^end; exit 3\n' >other; chmod +x other; "
     "timeout 60 \"$LSECHECK\" diff --against ./other --cases 8",
     4, "", "it ended with exit code 3 behind its last case"},
    {"DiffWithOneWithoutAnEnd",
     "list >/dev/null; printf '#!/bin/sh\n\"$LSECHECK\" \"$@\" | grep -v ^end\n' >other; chmod +x other; timeout 60 "
     "\"$LSECHECK\" diff --against ./other --cases 8",
     2, "", "^lsecheck: --against ./other: the line 'end 8' is due behind its last case; run it by itself"},
    {"DiffWithOneOfAnotherEnd",
     "list >/dev/null; printf '#!/bin/sh\n\"$LSECHECK\" \"$@\" | sed \"s/^end.*/end 99/\"\n' >other; chmod +x other; "
     "timeout 60 \"$LSECHECK\" diff --against ./other --cases 8",
     2, "", "the line 'end 8' is due behind its last case"},
    {"DiffWithOneOfAnEndCutShort",
     "list >/dev/null; printf '#!/bin/sh\n\"$LSECHECK\" \"$@\" | head -c -3; exit 9\n' >other; chmod +x other; timeout "
     "60 \"$LSECHECK\" diff --against ./other --cases 8",
     4, "", "it ended within its last line, with exit code 9"},
    {"DiffWithOneThatGoesOnBehindItsEnd",
     "list >/dev/null; printf '#!/bin/sh\n\"$LSECHECK\" \"$@\"; echo more\n' >other; chmod +x other; timeout 60 "
     "\"$LSECHECK\" diff --against ./other --cases 8",
     2, "", "^lsecheck: --against ./other: it goes on behind its line 'end 8'"},
    {"DiffWithOneThatGoesOnWithinALineBehindItsEnd",
     "list >/dev/null; printf '#!/bin/sh\n\"$LSECHECK\" \"$@\"; printf more\n' >other; chmod +x other; timeout 60 "
     "\"$LSECHECK\" diff --against ./other --cases 8",
     2, "", "it goes on behind its line 'end 8'"},
    {"DiffWithOneThatPrintsSomethingElseForEver",
     "list >/dev/null; printf '#!/bin/sh\nexec yes\n' >other; chmod +x other; timeout 60 \"$LSECHECK\" diff --against "
     "./other --cases 8",
     2, "", "^lsecheck: --against ./other: it does not print its outputs .its first line is another.; give a build"},
    {"DiffWithAnotherFormat",
     "list >/dev/null; printf '#!/bin/sh\necho lsecheck-outputs 2 generator=1; exec yes\n' >other; chmod +x other; "
     "timeout 60 \"$LSECHECK\" diff --against ./other --cases 8",
     2, "", "it does not print its outputs .its first line is another."},
    {"DiffWithOneThatEndsWithinALine",
     "list >/dev/null; printf '#!/bin/sh\n\"$LSECHECK\" \"$@\" | head -n 2 | head -c -3; kill -11 $$\n' >other; chmod "
     "+x other; timeout 60 \"$LSECHECK\" diff --against ./other --cases 8",
     4, "", "^lsecheck: --against ./other: it ended within the line of case 0, with signal 11; run it by itself"},
    {"DiffWithOneOfAnotherLine",
     "list >/dev/null; printf '#!/bin/sh\n\"$LSECHECK\" \"$@\" | sed \"s/^1 .*/1 2/\"\n' >other; chmod +x other; "
     "timeout 60 \"$LSECHECK\" diff --against ./other --cases 8",
     2, "", "its line for case 1 is none of `lsecheck outputs`"},
    {"DiffWithOneOfOtherCases",
     "list >/dev/null; printf '#!/bin/sh\n\"$LSECHECK\" \"$@\" | sed \"s/^1 /2 /\"\n' >other; chmod +x other; timeout "
     "60 \"$LSECHECK\" diff --against ./other --cases 8",
     2, "", "another case than lse1-[a-z2-7]+ here as case 1; the two"},
    {"DiffWithOneThatHangs",
     "list >/dev/null; printf '#!/bin/sh\n\"$LSECHECK\" \"$@\" | head -n 1; exec sleep 50\n' >other; chmod +x other; "
     "timeout 60 \"$LSECHECK\" diff --against ./other --cases 1 --case-timeout 1s",
     4, "", "^lsecheck: --against ./other: it printed nothing for 2 s; run it by itself"},
    {"DiffWithNothing", "diff --against ./nowhere", 2, "^$",
     "^lsecheck: --against: cannot start ./nowhere: No such file or directory; give the path of another build's"},
    {"DiffWithWhatCannotBeExecuted", "list >other; lsecheck diff --against ./other", 2, "^$",
     "^lsecheck: --against: cannot start ./other: Permission denied; give the path of another build's"},
    {"DiffWithoutTheOther", "diff", 2, "^$", "--against is required"},
};

class DiffBehaviour : public CommandLineTest {};

TEST_P(DiffBehaviour, EndsAsPromised) {
  run_as_promised();
}

INSTANTIATE_TEST_SUITE_P(Table, DiffBehaviour, testing::ValuesIn(kCommandLines),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace lsecheck::cli
