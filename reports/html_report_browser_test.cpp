#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "reports/html_report.h"
#include "reports/sample_run.h"

// The page in headless Chromium. Nightly: a browser is a large thing to install for every build.
namespace lsecheck {
namespace {

using testing::HasSubstr;
using testing::Not;

namespace fs = std::filesystem;

std::string content_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Acts as a reader would and leaves what happened in the page: errors, an order after sorting, the copied line.
constexpr const char* kReader = R"html(<script>
const seen = {errors: 0, policy: 0};
addEventListener("error", () => ++seen.errors);
addEventListener("unhandledrejection", () => ++seen.errors);
addEventListener("securitypolicyviolation", () => ++seen.policy);
addEventListener("load", async () => {
  const tables = [...document.querySelectorAll("table")].filter(t => t.querySelector("th button"));
  const accuracy = tables.find(t => t.tHead.textContent.includes("% correctly rounded"));
  const heads = [...accuracy.tHead.rows[0].cells];
  const column = heads.findIndex(h => h.textContent === "elements");
  const keys = () => [...accuracy.tBodies[0].rows].map(r => Number(r.cells[column].dataset.k));
  const sorted = (values, sign) => values.every((v, i) => i === 0 || sign * (v - values[i - 1]) >= 0);
  heads[column].querySelector("button").click();
  seen.down = sorted(keys(), -1) && heads[column].getAttribute("aria-sort") === "descending";
  heads[column].querySelector("button").click();
  seen.up = sorted(keys(), 1) && heads[column].getAttribute("aria-sort") === "ascending";
  seen.differ = new Set(keys()).size;
  const copy = document.querySelector(".copy button");
  seen.line = copy.previousElementSibling.textContent;
  copy.click();
  await new Promise(go => setTimeout(go, 300));
  seen.copied = copy.textContent === "copied" || getSelection().toString().trim() === seen.line;
  const images = [...document.images];
  seen.images = images.length;
  seen.drawn = images.every(i => i.complete && i.naturalWidth > 0 && i.alt.length > 10);
  seen.requests = performance.getEntriesByType("resource").filter(e => !e.name.startsWith("data:")).length;
  seen.width = document.documentElement.scrollWidth;
  seen.window = innerWidth;
  seen.focusable = [...document.querySelectorAll("button,summary,.wide")].every(e => e.tabIndex >= 0);
  document.body.insertAdjacentHTML("beforeend", "<pre id=seen></pre>");
  document.getElementById("seen").textContent = JSON.stringify(seen);
});
</script>)html";

struct Visit {
  std::string seen;      // what the reader noted
  std::string messages;  // the browser's console
};

Visit visit(const std::string& page, int width) {
  const fs::path folder = fs::path(testing::TempDir()) / fmt::format("lsecheck-browser-{}", width);
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::string with_reader = page;
  with_reader.insert(with_reader.find("</main>"), kReader);
  std::ofstream(folder / "page.html") << with_reader;
  const std::string command = fmt::format(
      "timeout 120 chromium --headless --no-sandbox --disable-gpu --disable-background-networking "
      "--disable-component-update --user-data-dir='{0}/profile' --enable-logging=stderr "
      "--window-size={1},900 --virtual-time-budget=5000 --dump-dom 'file://{0}/page.html' >'{0}/dom' 2>'{0}/log'",
      folder.string(), width);
  EXPECT_EQ(std::system(command.c_str()), 0) << content_of(folder / "log");
  const std::string dom = content_of(folder / "dom");
  const std::size_t at = dom.find("<pre id=\"seen\">");
  Visit visit{at == std::string::npos ? "" : dom.substr(at, dom.find("</pre>", at) - at), ""};
  std::istringstream log(content_of(folder / "log"));
  for (std::string line; std::getline(log, line);) {
    if (line.find("CONSOLE") != std::string::npos) visit.messages += line + "\n";
  }
  fs::remove_all(folder);
  return visit;
}

std::vector<Night> two_nights() {
  return {night_of(sample_run(50), "a/run.db"), night_of(sample_run(100), "b/run.db")};
}

MutantsReport many_mutants() {
  MutantsReport report;
  for (int i = 0; i < 40; ++i) {
    MutantResult& result = report.mutants.emplace_back();
    result.patch.name = fmt::format("a-planted-bug-of-a-rather-long-name-{}", i);
    result.patch.class_number = i % 8;
    result.patch.bug_class = "a mistake that is told in a whole sentence";
    if (i % 10 != 0) result.outcome = MutantOutcome::killed;
  }
  return report;
}

class HtmlReportBrowserNightlyTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (std::system("command -v chromium >/dev/null") != 0) GTEST_SKIP() << "chromium is not installed";
  }
};

TEST_P(HtmlReportBrowserNightlyTest, WorksOfflineSortsAndCopies) {
  const Visit visited = visit(html_report(sample_run(100), {}, two_nights(), many_mutants()), GetParam());
  for (const char* fact : {"\"errors\":0", "\"policy\":0", "\"requests\":0", "\"down\":true", "\"up\":true",
                           "\"copied\":true", "\"line\":\"lsecheck repro", "\"drawn\":true", "\"focusable\":true"}) {
    EXPECT_THAT(visited.seen, HasSubstr(fact));
  }
  EXPECT_THAT(visited.seen, Not(HasSubstr("\"differ\":1,")));
  EXPECT_THAT(visited.seen, Not(HasSubstr("\"images\":0")));
  EXPECT_EQ(visited.messages, "");
  // The page never scrolls sideways: wide tables scroll in their own boxes.
  const auto number_after = [&](const std::string& name) {
    const std::size_t at = visited.seen.find("\"" + name + "\":");
    return at == std::string::npos ? -1 : std::atoi(visited.seen.c_str() + at + name.size() + 3);
  };
  EXPECT_GT(number_after("window"), 0);
  EXPECT_LE(number_after("width"), number_after("window"));
}

// That a request would be seen, and that the page's policy forbids it.
TEST_P(HtmlReportBrowserNightlyTest, ARequestIsRefusedAndSeen) {
  std::string page = html_report(sample_run(100), {}, two_nights());
  page.insert(page.find("</main>"), "<img alt=\"a foreign picture\" src=\"http://127.0.0.1:9/x.png\">");
  const Visit visited = visit(page, GetParam());
  EXPECT_THAT(visited.seen, HasSubstr("\"policy\":1"));
  EXPECT_THAT(visited.messages, HasSubstr("Content Security Policy"));
}

// A desktop and a phone.
INSTANTIATE_TEST_SUITE_P(Widths, HtmlReportBrowserNightlyTest, testing::Values(1280, 500));

}  // namespace
}  // namespace lsecheck
