// The rows of every command but `outputs` and `diff`: see command_line_table.h.

#include <gtest/gtest.h>

#include <string>

#include "cli/command_line_table.h"

namespace lsecheck::cli {
namespace {

constexpr CommandLine kCommandLines[] = {
    {"Version", "--version", 0,
     "^lsecheck [0-9.]+\ncommit +[^ ]+\ngenerator version +[0-9]+\nsfu table digest +[0-9a-f]{16}\n"},
    {"Help", "--help", 0, "list.*run.*repro.*report.*check.*bench.*exit codes: 0 clean"},
    {"NoSubCommand", "", 2, "^$", "a sub-command is required; see lsecheck --help"},
    {"UnknownSubCommand", "frobnicate", 2, "^$", "frobnicate; see lsecheck --help"},
    {"UnknownOption", "--frobnicate", 2, "^$", "--frobnicate; see lsecheck --help"},
    {"TwoSubCommands", "list list", 2, "^$", "list"},

    // Fails: run `lsecheck docs --out cli/manual.md` and commit what changed.
    {"TheManualIsWhatDocsPrints", "docs | diff - " LSECHECK_SOURCE_DIR "/cli/manual.md", 0, "^$"},

    {"ListRegimes", "list regimes", 0, "LSE regimes.*\n  narrow .*\n  policy .*value regimes.*\n  cancelling "},
    {"ListKernels", "list kernels", 0,
     "^fa4_splitk_combine\n.*bf16<-bf16.*\n.* 64, .*\n.* 1 to 160\n.*mla_combine\n.*mla_combine_split_parallel\n"},
    {"ListLaws", "list laws", 0, "^accuracy +bound +.*\nspecial_values +contract .*\nsink_absent +bits "},
    {"ListAll", "list", 0, "fa4_splitk_combine.*\naccuracy .*LSE regimes"},
    {"ListHelp", "list --help", 0, "kernels,laws,regimes"},
    {"ListUnknown", "list frobnicate", 2, "^$", "frobnicate not in .*; see lsecheck list --help"},
    {"ListUnknownOption", "list --frobnicate", 2, "^$", "--frobnicate; see lsecheck list --help"},
    {"ListToAFullDisk", "list regimes > /dev/full", 4, "", "cannot write standard output: No space left"},
    {"ReportWithoutFile", "report", 2, "^$", "FILE is required; see lsecheck report --help"},
    {"ReportMissingFile", "report no-such.db", 2, "^$", "no-such.db"},
    {"ReportOfADirectory", "report .", 2, "^$", ""},
    {"ReportUnknownFormat", "report --format pdf x.db", 2, "^$", "--format: pdf not in .*html"},
    {"ReportOfSomethingElse", "report /bin/sh", 2, "^$", "/bin/sh"},
    {"ReportOfAStore", "run --cases 4 --db r.db >/dev/null 2>&1 && lsecheck report r.db", 0,
     "^CLEAN.*fa4_splitk_combine"},
    {"ReportSaysWhatIsNotCovered", "run --cases 2 --db r.db >/dev/null 2>&1 && lsecheck report r.db", 0,
     "not covered.*0 of"},
    {"ReportJson", "run --cases 2 --db r.db >/dev/null 2>&1 && lsecheck report r.db --format json", 0,
     "\"lsecheck.results/3\""},
    {"ReportOfJson",
     "run --cases 2 --json r.json >/dev/null 2>&1 && lsecheck report r.json --format json --out s.json && cmp r.json "
     "s.json",
     0, "^$"},
    {"ReportHtmlFile",
     "run --cases 2 --db r.db >/dev/null 2>&1 && lsecheck report r.db --format html --out r.html && cat r.html", 0,
     "^<!doctype html>"},
    {"ReportOfTwoNights",
     "run --cases 2 --db a.db >/dev/null 2>&1 && lsecheck run --cases 2 --seed 2 --db b.db >/dev/null 2>&1 && lsecheck "
     "report a.db b.db --format markdown",
     0, "^# CLEAN.*seed 2,.*## Nights.*0 of 2 nights failed.*b.db.*a.db"},
    {"ReportOfTwoNightsInATerminal", "report a.db b.db", 2, "^$", "several runs are shown as html or markdown"},
    {"ReportMarkdown", "run --cases 2 --db r.db >/dev/null 2>&1 && lsecheck report r.db --format markdown", 0,
     "^# CLEAN"},
    {"ReportJunit", "run --cases 2 --db r.db >/dev/null 2>&1 && lsecheck report r.db --format junit", 0,
     "^<\\?xml .*<testcase classname=\"lsecheck.[a-z0-9_]+\" name=\"accuracy\"/>"},
    {"ReportToAFullDisk", "run --cases 2 --db r.db >/dev/null 2>&1 && lsecheck report r.db >/dev/full", 4},
    {"ReportWithTheScoreOfMutants",
     "run --cases 2 --db r.db >/dev/null 2>&1 && lsecheck report r.db --mutants " LSECHECK_SOURCE_DIR
     "/reports/measured/2026-11-30-mutants.json --format markdown",
     0, "^# CLEAN.*\nMutants: ([0-9]+) of [0-9]+ planted bugs killed\n"},
    {"ReportWithBrokenMutants",
     "run --cases 2 --db r.db >/dev/null 2>&1 && echo '{}' >m.json && lsecheck report r.db --mutants m.json --format "
     "html",
     2, "^$", "^lsecheck: cannot read m.json: schema is missing; give a file that lsecheck mutants wrote with --json"},
    {"ReportMutantsInATerminal", "report a.db --mutants m.json", 2, "^$",
     "--mutants: is shown as html or markdown, not as terminal"},
    {"ReportHelp", "report --help", 0, "terminal,json,markdown,html"},

    {"Run", "run --cases 20 --jobs 2", 0, "^CLEAN.*20 cases.*accuracy"},
    {"RunIsTheSameOnAnyJobs",
     "run --cases 20 --jobs 1 --json a.json >/dev/null && lsecheck run --cases 20 --jobs 3 --json b.json >/dev/null && "
     "cmp a.json b.json",
     0, "^$"},
    {"RunOneFamily", "run --cases 12 --kernel 'mla*' --law accuracy", 0,
     "^CLEAN.*12 cases.*mla_combine_split_parallel"},
    {"RunNoCases", "run --cases 0", 2, "^$", "--cases"},
    {"RunNotANumber", "run --cases many", 2, "^$", "--cases"},
    {"RunBadSeed", "run --seed tomorrow", 2, "^$", "--seed: 'tomorrow' is not a number"},
    {"RunBadTime", "run --time soon", 2, "^$", "--time: 'soon' is not a duration"},
    {"RunBadMemory", "run --memory lots", 2, "^$", "--memory: 'lots' is not a size"},
    {"RunTooLittleMemory", "run --memory 1K", 2, "^$", "--memory: case .* needs about"},
    {"RunUnknownArch", "run --arch sm_80", 2, "^$", "--arch: sm_80 not in"},
    {"RunUnknownProfile", "run --profile quick", 2, "^$", "--profile: quick not in"},
    {"RunNoSuchKernel", "run --kernel 'nope*'", 2, "^$", "no kernel of the cpu backend matches 'nope\\*'"},
    {"RunNoSuchLaw", "run --law 'nope*'", 2, "^$", "--law: .*nope"},
    {"RunResumeOfNothing", "run --resume", 2, "^$", "--resume: names no store; add --db FILE"},
    {"RunBadDeviceTimeout", "run --device-timeout soon", 2, "^$", "--device-timeout: 'soon' is not a duration"},
    {"RunNoDeviceTimeout", "run --device-timeout 0s", 2, "^$", "--device-timeout: '0s' is not a duration"},
    {"RunHelpTellsOfTheWatchdog", "run --help", 0, "--device-timeout.*LSECHECK_DEVICE_TIMEOUT", "^$"},
    {"RunWithoutGpu", "run --backend cuda", 4, "^$", "use --backend cpu"},
    {"RunUnwritableJson", "run --json no/such/folder/r.json", 4, "^$", "no/such/folder"},
    {"RunThatIsRefusedKeepsTheEarlierResults",
     "run --cases 2 --db r.db --json r.json >/dev/null 2>&1; cp r.json s.json; lsecheck run --cases 2 --db r.db --json "
     "r.json; code=$?; cmp r.json s.json && ls && exit $code",
     2, "^r.db\nr.json\ns.json\n$", "r.db exists already"},
    {"RunWithNoPlaceForFailures", "run --cases 2 --failures /dev/null/f", 4, "^$",
     "^lsecheck: /dev/null/f: cannot write: Not a directory; a part of the path is a file: choose a path "
     "inside a directory\n$"},
    {"RunWithAFileForFailures", "list >f; lsecheck run --cases 2 --failures f", 4, "",
     "^lsecheck: f: cannot write: Not a directory"},
    {"RunThatIsCleanMakesNoFolderForFailures", "run --cases 2 --failures new/f >/dev/null 2>&1; ls", 0, "^$"},
    {"RunToAFullDisk", "run --cases 2 --json /dev/full", 4, "", "No space left"},
    {"RunResumedGivesTheSameBytes",
     "run --cases 130 --json a.json >/dev/null; lsecheck run --cases 130 --time 0s --db r.db >/dev/null; "
     "lsecheck run --cases 130 --db r.db --resume --json b.json >/dev/null; cmp a.json b.json",
     0, "^$"},
    {"RunUnwritableStore", "run --cases 2 --db no/such/folder/r.db", 4, "^$", "no/such/folder"},
    {"RunOverAnExistingStore", "run --cases 2 --db r.db >/dev/null 2>&1 && lsecheck run --cases 2 --db r.db", 2, "^$",
     "r.db"},
    {"RunResumedWithOtherOptions",
     "run --cases 2 --db r.db >/dev/null 2>&1 && lsecheck run --cases 2 --seed 2 --db r.db --resume", 2, "^$", "seed"},

    {"RunWritesJunit", "run --cases 2 --junit j.xml >/dev/null && cat j.xml", 0, "</testsuites>\n$"},
    {"RunUnwritableJunit", "run --junit no/such/folder/j.xml", 4, "^$", "no/such/folder"},
    {"RunBadShard", "run --shard 3/2", 2, "^$", "--shard: '3/2' is not i/n"},
    {"RunTellsWhichShard", "run --cases 130 --shard 2/3", 0, "64 cases.*shard 2/3", "shard 2/3 by --shard"},
    {"RunIsAShardByItself",
     "run --cases 2 --json a.json >/dev/null; export GTEST_SHARD_INDEX=1 GTEST_TOTAL_SHARDS=2; lsecheck run --cases "
     "130",
     0, "64 cases", "shard 2/2 by GTEST_SHARD_INDEX"},
    {"RunInAHalfDescribedJob", "list >/dev/null; export JOB_COMPLETION_INDEX=1; lsecheck run --cases 2", 2, "",
     "JOB_COMPLETIONS is not; give --shard i/n"},

    {"Certify", "certify --rows 300 --verify 20", 0,
     "P = 37, D = 128.*elements +38400\n.*undecided +0\n.*failing +0\n.* 0 disagreements.*"
     "ulp +0.5[0-9]*  +lse1-[a-z0-9]+ row-head [0-9]+, d [0-9]+\n.*\nCERTIFIED\n$"},
    {"CertifyIsTheSameOnAnyJobs",
     "certify --rows 1100 -P 3 -D 64 --jobs 1 | grep -v ' s: ' >a; lsecheck certify --rows 1100 -P 3 -D 64 --jobs 3 | "
     "grep -v ' s: ' >b; cmp a b",
     0, "^$"},
    {"CertifyRefusesADepth", "certify -D 100", 2, "^$", "ov_depth = 100: fa4_splitk_combine is compiled for 64"},
    {"CertifyRefusesPartitions", "certify -P 161", 2, "^$", "num_partitions = 161"},
    {"CertifyNoRows", "certify --rows 0", 2, "^$", "--rows"},
    {"CertifyWithoutGpu", "certify --backend cuda", 4, "^$", "use --backend cpu"},
    {"RunIsolatedGivesTheSameBytes",
     "run --cases 130 --json a.json >/dev/null; lsecheck run --cases 130 --no-isolate --jobs 3 --json b.json "
     ">/dev/null; "
     "cmp a.json b.json",
     0, "^$"},
    {"RunBadCaseTimeout", "run --case-timeout soon", 2, "^$", "--case-timeout: 'soon' is not a duration"},
    {"RunNoCaseTimeout", "run --case-timeout 0s", 2, "^$", "--case-timeout: 0 lets no case end"},
    {"RunWithAWaiverThatExpired",
     "list >/dev/null; printf 'lsecheck waivers 1\nmla_combine accuracy narrow 2026-11-01 issue 7\n' >w.txt; lsecheck "
     "run --cases 64 --waivers w.txt --today 2026-11-30 --junit j.xml; code=$?; cat j.xml; exit $code",
     1, "^FAILED 1\n.*w.txt line 2: mla_combine accuracy narrow: held until 2026-11-01; mend.*issue 7.*<failure"},
    {"RunWithAWaiverOfWhatFailsNoMore",
     "list >/dev/null; printf 'lsecheck waivers 1\nmla_combine accuracy narrow 2026-12-24 issue 7\n' >w.txt; lsecheck "
     "run --cases 640 --kernel mla_combine --law accuracy --waivers w.txt --today 2026-11-30",
     1, "w.txt line 2: mla_combine accuracy narrow: fails no more; remove the line"},
    {"RunWithAWaiverInAShard",
     "list >/dev/null; printf 'lsecheck waivers 1\nmla_combine accuracy narrow 2026-12-24 issue 7\n' >w.txt; lsecheck "
     "run --cases 640 --kernel mla_combine --law accuracy --waivers w.txt --today 2026-11-30 --shard 1/2",
     0, "^CLEAN"},
    {"RunWithAnUnknownWaiver",
     "list >/dev/null; printf 'lsecheck waivers 1\nfa5 accuracy narrow 2026-12-24 issue 7\n' >w.txt; lsecheck run "
     "--waivers w.txt",
     2, "", "w.txt line 2: no kernel is named 'fa5'"},
    {"RunWithoutItsWaivers", "run --waivers nowhere.txt", 2, "^$", "nowhere.txt"},
    {"RunOnNoDay", "run --today tomorrow", 2, "^$", "--today: 'tomorrow' is no day; write YYYY-MM-DD"},

    {"NightlyWritesItsFolder",
     "nightly --cases 4 --out n >o && ls n && cat o && lsecheck report n/run.db --format json --out r.json && cmp "
     "n/results.json r.json",
     0, "^junit.xml\nreport.html\nreport.md\nresults.json\nrun.db\n.*seed 20[0-9]{6},.*Reports: n/report.html",
     "--seed date is 20[0-9]{6}"},
    {"NightlyReplaysOldFailures",
     "repro lse1-amaasaaqaaaacaaaaiaqcqaaaaaaaaaaaaae7zytd4 --save c.safetensors >/dev/null; mkdir old; "
     "mv c.safetensors old; lsecheck nightly --cases 4 --failures old",
     0, "^CLEAN.*1 old failures replayed, 0 of them failing"},
    {"NightlyFailsOnAnUnreadableOldFailure",
     "list >/dev/null; mkdir old; echo junk >old/x.safetensors; lsecheck nightly --cases 4 --failures old; code=$?; "
     "cat lsecheck-nightly/junit.xml; exit $code",
     1, "FAILED 1.*not mended\n  old/x.safetensors.*unreadable.*<failure message=\"unreadable: old/x.safetensors"},
    {"NightlyReplaysACorpus",
     "list >/dev/null; mkdir c; cp $(ls -d " LSECHECK_SOURCE_DIR
     "/fuzz/corpus/combine_case/* | head -n 5) c; lsecheck nightly --cases 4 --corpus c --out n && grep -c 'corpus "
     "input' n/results.json",
     0, "^CLEAN.*; 5 corpus inputs replayed, 0 of them failing.*\n5\n$"},
    {"NightlyFailsOnWhatIsNoInput", "list >/dev/null; mkdir c; echo junk >c/x; lsecheck nightly --cases 4 --corpus c",
     1,
     "^FAILED 1\n.*corpus inputs that fail\n  c/x: , : unreadable: c/x: 5 bytes; an input of the fuzz target "
     "combine_case"},
    {"NightlyWithAnEmptyCorpus", "list >/dev/null; mkdir c; lsecheck nightly --cases 4 --corpus c", 2, "",
     "--corpus: c holds no inputs"},
    {"NightlyNoSuchCorpus", "nightly --cases 4 --corpus nowhere", 2, "^$", "--corpus: nowhere is no folder; create it"},
    // Sharded, stopped by time and resumed it is the undivided night; what a hunt found is found again.
    {"NightlyHunts",
     "list >/dev/null; set -- --cases 130 --seed 3 --kernel fa4_ws_level1_combine --hunt 1; lsecheck nightly \"$@\" "
     "--out "
     "one && lsecheck nightly \"$@\" --devices 2 --time 0s --out two >/dev/null 2>&1; cmp -s one/results.json "
     "two/results.json && echo equal before; lsecheck nightly \"$@\" --devices 2 --resume --out two >/dev/null 2>&1; "
     "cmp "
     "one/results.json two/results.json && grep -c '\"evaluations\":4096' two/results.json && grep -o '<h2>Hunts</h2>' "
     "one/report.html; eval \"$(sed -n 's/.*`\\(lsecheck hunt .*--regime narrow .*\\)` |$/\\1/p' one/report.md | head "
     "-n "
     "1)\"",
     0,
     "^CLEAN.*; 6 targets hunted, largest bound_use [0-9.]+[ \n].*run.db\n6\n<h2>Hunts</h2>\nkernel .*\n.* narrow "
     "+[24] +4096 "},
    {"NightlyHuntsOfAnotherLaw", "nightly --cases 4 --seed 1 --law permutation --hunt 1", 2, "^$",
     "--hunt: holds law accuracy, which --law leaves out"},
    {"NightlyResumedWithOtherHunts",
     "nightly --cases 4 --seed 3 --out n >/dev/null 2>&1; lsecheck nightly --cases 4 --seed 3 --hunt 1 --resume --out "
     "n",
     2, "^$", "hunt_evaluations '0', this run has hunt_evaluations '4096'"},
    {"NightlyWithTheScoreOfMutants",
     "nightly --cases 2 --out n --mutants " LSECHECK_SOURCE_DIR
     "/reports/measured/2026-11-30-mutants.json >/dev/null && cat n/report.html",
     0, "<h2>Planted bugs</h2>"},
    {"NightlyWithoutItsMutants", "nightly --cases 2 --mutants nowhere.json", 2, "^$", "nowhere.json"},
    {"NightlyNoSuchFailures", "nightly --failures nowhere", 2, "^$", "--failures: nowhere is no folder; create it"},
    {"NightlyTwiceInOneFolder",
     "nightly --cases 2 --out n >/dev/null 2>&1; lsecheck nightly --cases 2 --seed 1 --out n", 2, "^$",
     "n/run.db exists already"},
    {"NightlyStopsByTime", "nightly --time 0s --seed 3 --hunt 0", 0,
     "^CLEAN SO FAR.*64 cases.*UNFINISHED, next case 64.*soak"},
    {"NightlyResumes",
     "nightly --cases 130 --seed 3 --time 0s --out n >/dev/null; lsecheck nightly --cases 130 --seed 3 --out n "
     "--resume "
     ">/dev/null; lsecheck run --profile nightly --cases 130 --seed 3 --json w.json >/dev/null; cmp w.json "
     "n/results.json",
     0, "^$"},
    {"NightlyWithNoPlaceForFailures",
     "list >/dev/null; mkdir n; echo x >n/failures; lsecheck nightly --cases 2 --seed 1 --out n; code=$?; ls n; exit "
     "$code",
     4, "^failures\n$", "n/failures: cannot write: Not a directory"},
    {"NightlyUnwritableFolder", "nightly --seed 1 --out /dev/null/n", 4, "^$", "/dev/null/n: cannot create the folder"},
    {"NightlyOnTwoProcessesIsTheUndividedNight",
     "nightly --seed 5 --cases 300 --jobs 1 --devices 2 --out two >/dev/null 2>&1 && lsecheck nightly --seed 5 --cases "
     "300 --out one >/dev/null 2>&1 && cmp one/results.json two/results.json && cat two/shard-2.log",
     0, "CLEAN"},
    {"NightlyOnProcessesTwiceInOneFolder",
     "nightly --cases 64 --devices 1 --out n >/dev/null 2>&1; lsecheck nightly --cases 64 --devices 1 --out n", 2, "^$",
     "n/shard-1/run.db: exists already; add --resume"},
    {"NightlyOnProcessesResumed",
     "nightly --cases 64 --devices 1 --seed 3 --out n >/dev/null 2>&1; lsecheck nightly --cases 64 --devices 1 --seed "
     "3 --resume --out n",
     0, "^CLEAN"},
    {"NightlyOnProcessesIsRefusedOnce", "nightly --devices 2 --cases 64 --memory 1K --out n", 2, "^$",
     "--memory: case"},
    {"NightlyOnProcessesThatCannotStore",
     "nightly --devices 1 --cases 64 --seed 1 --out n >/dev/null 2>&1; printf garbage >n/shard-1/run.db; lsecheck "
     "nightly --devices 1 --cases 64 --seed 1 --resume --out n 2>&1; code=$?; test $code -ne 0",
     0, "shard 1 ended with exit code 2: see n/shard-1.log"},
    {"NightlyOnNoProcess", "nightly --devices 0", 2, "^$", "--devices: '0': with --backend cpu a number of processes"},
    {"NightlyOnAllWithoutGpus", "nightly --devices all", 2, "^$", "--devices: 'all': with --backend cpu a number"},
    {"NightlyShardOnDevices", "nightly --devices 2 --shard 1/2", 2, "^$", "--devices: shards the night itself"},
    {"NightlyMissingHistory", "nightly --history no-such", 2, "^$", "--history: there is no folder 'no-such'"},
    {"NightlyMakesTheHistoryOfTheFirstNight",
     "nightly --cases 2 --kernel mla_combine --history nights --out nights/1 2>&1", 0, "Reports: nights/1/report.html"},
    {"NightlyHelp", "nightly --help", 0, "smoke +20000.*nightly +200000.*soak.*examples:"},

    {"MergeIsTheUndividedRun",
     "run --cases 200 --json w.json >/dev/null; for i in 1 2 3; do lsecheck run --cases 200 --shard $i/3 --db $i.db "
     ">/dev/null 2>&1; done; lsecheck merge --into m.db 3.db 1.db 2.db; lsecheck report m.db --format json --out "
     "m.json; "
     "cmp w.json m.json",
     0, "^CLEAN: 3 shards, 200 cases.*\n$"},
    {"MergeMissingShard", "run --cases 2 --shard 1/3 --db 1.db >/dev/null 2>&1; lsecheck merge --into m.db 1.db", 2,
     "^$", "cannot merge: missing: shard 2/3, 3/3; give the files of all 3 shards"},
    {"MergeOverlappingShards",
     "run --cases 2 --shard 1/3 --db 1.db >/dev/null 2>&1; lsecheck merge --into m.db 1.db 1.db", 2, "^$",
     "1.db and 1.db are both shard 1/3; give each shard once"},
    {"MergeNothing", "merge --into m.db", 2, "^$", "FILES is required; see lsecheck merge --help"},

    {"CompareARunWithItself",
     "run --cases 64 --db a.db >/dev/null; lsecheck run --cases 64 --db b.db >/dev/null; lsecheck compare a.db b.db "
     "--fail-on changed",
     0, "^WORSE 0, BETTER 0, SAME [0-9]+, NEW 0, GONE 0\nSame cases, same output bits.\n$"},
    {"CompareWithABaseline",
     "run --cases 64 --db a.db >/dev/null; lsecheck report a.db --format baseline --out b.txt; lsecheck compare b.txt "
     "a.db "
     "--fail-on changed",
     0, "Same cases, same output bits."},
    {"CompareOtherCases",
     "run --cases 64 --db a.db >/dev/null; lsecheck run --cases 64 --seed 2 --json b.json >/dev/null; lsecheck compare "
     "a.db b.json --fail-on changed",
     1, "The runs hold other cases.*seed 1 -> 2"},
    {"CompareWithAWorseRun",
     "run --cases 64 --db a.db >/dev/null; lsecheck report a.db --format baseline >b.txt; sed -E 's/^(law [^ ]+ "
     "accuracy "
     "[0-9]+) 0/\\1 2/' b.txt >w.txt; lsecheck compare b.txt w.txt --fail-on worse",
     1, "^WORSE [1-9].*WORSE +fa4_splitk_combine +accuracy +0 -> 2"},
    {"CompareReportsOnly",
     "run --cases 2 --db a.db >/dev/null; lsecheck run --cases 2 --seed 2 --db b.db >/dev/null; lsecheck compare a.db "
     "b.db",
     0, "NEW [1-9].*GONE [1-9]"},
    // Nights of seeds 3 and 4 hunt other thirds.
    {"CompareHunts",
     "list >/dev/null; for night in a:3 b:3 c:4; do lsecheck nightly --cases 2 --seed ${night#*:} --kernel "
     "fa4_ws_level1_combine --hunt 1 --out ${night%:*} >/dev/null 2>&1; done; lsecheck compare a/run.db b/results.json "
     "--fail-on changed && lsecheck compare a/run.db c/run.db | grep hunts; lsecheck report a/run.db --format baseline "
     ">a.txt; lsecheck compare a.txt b/run.db --fail-on changed",
     0,
     "hunts: 6 targets in both runs, 0 in the old run alone, 0 in the new run alone\nSame hunts, same finds.\n"
     "hunts: 0 targets in both runs, 6 in the old run alone, [1-9][0-9]* in the new run alone\n"
     "WORSE 0, BETTER 0, SAME [0-9]+, NEW 0, GONE 0\nSame cases, same output bits.\n$"},
    {"CompareMissingFile", "compare no-such.db no-such.db", 2, "^$", "no-such.db"},
    {"CompareHelp", "compare --help", 0, "--fail-on.*examples:.*reports/baselines"},

    {"MutantsResumeNeedsItsFile", "mutants --resume --source " LSECHECK_SOURCE_DIR, 2, "^$",
     "--resume: goes on with the file of --json"},
    {"MutantsResumeOfNoFile", "mutants --resume --json no.json --source " LSECHECK_SOURCE_DIR, 2, "^$",
     "no.json: cannot open"},
    {"MutantsResumeOfAnotherProfile",
     "mutants --resume --profile soak --json " LSECHECK_SOURCE_DIR
     "/reports/measured/2026-11-30-mutants.json --source " LSECHECK_SOURCE_DIR,
     2, "^$", "--resume: .*mutants.json is of profile smoke"},

    {"ReproWithoutToken", "repro", 2, "^$", "required; see lsecheck repro --help"},
    {"ReproWithoutGpu",
     "repro $(lsecheck run --cases 1 --law accuracy --json /dev/stdout 2>&1 | grep -o 'lse1-[0-9a-z]*' | head -n 1) "
     "--backend cuda",
     4, "^$", "--backend cuda: .*; use --backend cpu"},
    {"ReproGarbage", "repro lse1-garbage", 2, "^$", "token: "},
    {"ReproLongerThanAFileName", "repro lse1-$(printf %0300d 1)", 2, "^$", "token: "},
    {"ReproOtherGeneratorVersion", "repro lse1-aiaasaaqaaaacaacaeauaaaaaaaaaaaaabop66om", 125, "^$",
     "^lsecheck: token of generator version 2, this is 3: .*case file"},
    {"ReproWhatHolds", "repro $(lsecheck run --cases 2 --json /dev/stdout | grep -o 'lse1-[a-z2-7]*' | head -n 1)", 3,
     "^case .*law .*largest .*NOT REPRODUCED"},
    {"ReproExplains",
     "repro $(lsecheck run --kernel fa4_splitk_combine --law accuracy --cases 4 --json /dev/stdout | grep -o "
     "'lse1-[a-z2-7]*' | head -n 1) --explain",
     3, "explain  row-head .*\n +s +.*\n +g +.*share of the error.*g = lg2.s. \\+ m.*cast.*NOT REPRODUCED"},
    {"ReproExplainsTwoLevels",
     "repro $(lsecheck run --kernel fa4_ws_two_level_combine --law accuracy --cases 2 --json /dev/stdout | grep -o "
     "'lse1-[a-z2-7]*' | head -n 1) --explain",
     3, "explain  row-head .*\n +l of warpgroup 1 .*share of the error.*level 1: s = .*level 2: s = .*cast"},
    {"ReproTooLittleMemory", "repro lse1-amaasaaqaaaacaaaaiaqcqaaaaaaaaaaaaae7zytd4 --memory 1K", 2, "^$",
     "allow it with --memory"},
    {"ReproSavedCase",
     "repro lse1-amaasaaqaaaacaaaaiaqcqaaaaaaaaaaaaae7zytd4 --save c.safetensors >/dev/null; lsecheck repro "
     "c.safetensors",
     3, "^case .*P=2 .*law .*value_scaling.*NOT REPRODUCED"},
    {"ReproTruncatedCase",
     "repro lse1-amaasaaqaaaacaaaaiaqcqaaaaaaaaaaaaae7zytd4 --save c.safetensors >/dev/null; truncate -s -1 "
     "c.safetensors && "
     "lsecheck repro c.safetensors",
     2, "^$", "c.safetensors"},
    {"ReproLyingHeader",
     "repro lse1-amaasaaqaaaacaaaaiaqcqaaaaaaaaaaaaae7zytd4 --save c.safetensors >/dev/null; sed -i 's/F32/F16/' "
     "c.safetensors && "
     "lsecheck repro c.safetensors",
     2, "^$", "c.safetensors"},
    {"ReproSaveToNowhere", "repro lse1-amaasaaqaaaacaaaaiaqcqaaaaaaaaaaaaae7zytd4 --save no/such/folder/c.safetensors",
     4, "^$", "no/such/folder"},
    {"ReproMissingFile", "repro no-such.safetensors", 2, "^$", "no-such.safetensors"},
    {"CheckWithoutFile", "check", 2, "^$", "required; see lsecheck check --help"},
    {"CheckNumpyRecording", "check " LSECHECK_SOURCE_DIR "/properties/testdata/recorded_by_numpy.safetensors", 0,
     "graded 48 elements of out and 6 of out_lse.*all inside the bound"},
    {"CheckWrongBase", "check " LSECHECK_SOURCE_DIR "/properties/testdata/recorded_with_natural_exp.safetensors", 1,
     "OUTSIDE.*fits natural-log LSEs, not log2 ones"},
    {"CheckWrongBaseNamed",
     "check --lse-domain ln " LSECHECK_SOURCE_DIR "/properties/testdata/recorded_with_natural_exp.safetensors", 0,
     "all inside the bound"},
    {"CheckUnknownClass", "check --combine tree x.safetensors", 2, "^$", "--combine: tree not in"},
    {"CheckNotTensors", "check /bin/sh", 2, "^$", "/bin/sh"},
    {"CheckMissingFile", "check no-such.safetensors", 2, "^$", "no-such.safetensors"},

    {"BenchWithoutGpu", "bench --backend cuda", 4, "^$", "bench --backend cuda: .*; use --backend cpu"},
    {"Hunt",
     "hunt --kernel mha_splitk_reduce --partitions 2 --regime narrow --evaluations 1 --into w --jobs 2 && "
     "cat w/*.txt",
     0,
     "mha_splitk_reduce +log2 +narrow +[24] +4096 +[0-9.]+\nmha_splitk_reduce +natural .*\nlsecheck-worst format=1 "
     ".*case "},
    {"HuntIsTheSameOnAnyJobsAndResumed",
     "hunt --kernel mha_splitk_reduce --partitions 2 --regime narrow --evaluations 8192 --into a --jobs 1 >/dev/null "
     "&& "
     "lsecheck hunt --kernel mha_splitk_reduce --partitions 2 --regime narrow --evaluations 4096 --into b >/dev/null "
     "&& "
     "lsecheck hunt --kernel mha_splitk_reduce --partitions 2 --regime narrow --evaluations 8192 --into b --jobs 3 "
     "--resume >/dev/null && diff -r a b",
     0, "^$"},
    {"HuntIsTheSameWithoutIsolation",
     "hunt --kernel mha_splitk_reduce --partitions 2 --regime narrow --evaluations 4096 --into a >/dev/null && "
     "lsecheck hunt --kernel mha_splitk_reduce --partitions 2 --regime narrow --evaluations 4096 --into b "
     "--no-isolate >/dev/null && diff -r a b",
     0, "^$"},
    {"HuntInNoTime", "hunt --into w --case-timeout soon", 2, "^$", "--case-timeout: 'soon' is not a duration"},
    {"HuntResumedWithAnotherSeed",
     "hunt --kernel mha_splitk_reduce --partitions 2 --regime ties --evaluations 1 --into w >/dev/null && "
     "lsecheck hunt --kernel mha_splitk_reduce --partitions 2 --regime ties --seed 2 --into w --resume",
     2, "", "--resume: w/mha_splitk_reduce.f32.f32.txt was hunted with --seed 1"},
    {"HuntInADamagedFolder",
     "hunt --kernel mha_splitk_reduce --partitions 2 --regime ties --evaluations 1 --into w >/dev/null && "
     "sed -i s/P=2/P=3/ w/*.txt && lsecheck hunt --kernel mha_splitk_reduce --partitions 2 --into w",
     2, "", "w/mha_splitk_reduce.f32.f32.txt: line [0-9]+: "},
    {"HuntNoSuchKernel", "hunt --kernel 'nope*'", 2, "^$", "--kernel: no kernel matches 'nope\\*'"},
    {"HuntNoSuchShape", "hunt --kernel 'fa4_ws*' --partitions 37 --into w", 2, "^$", "--partitions: no kernel that"},
    {"HuntUnknownRegime", "hunt --regime policy", 2, "^$", "--regime: policy not in .*narrow"},
    {"HuntBadSeed", "hunt --seed tomorrow", 2, "^$", "--seed: 'tomorrow' is not a number"},
    {"HuntIntoAFile", "hunt --kernel mha_splitk_reduce --into /dev/null", 4, "", "/dev/null"},
    {"CalibrateWithoutGpu", "calibrate --out d.txt", 4, "^$", "calibrate: .*; it needs an NVIDIA GPU"},
    {"CalibrateHelp", "calibrate --help", 0, "2\\^32 inputs.*--out.*4 no usable device"},

    {"NewlineInArgument", "list 'a\nb'", 2, "^$", "a b not in"},
};

class CliBehaviour : public CommandLineTest {};

TEST_P(CliBehaviour, EndsAsPromised) {
  run_as_promised();
}

INSTANTIATE_TEST_SUITE_P(Table, CliBehaviour, testing::ValuesIn(kCommandLines),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace lsecheck::cli
