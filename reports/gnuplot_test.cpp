#include "reports/gnuplot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace lsecheck {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

TEST(GnuplotTest, EachScriptIsAFigure) {
  const auto figures = gnuplot_figures({"plot '-' title 'first'\n1 1\n2 2\ne", "plot '-' title 'second'\n1 1\n2 2\ne"});
  ASSERT_TRUE(figures);
  ASSERT_THAT(*figures, SizeIs(2));
  EXPECT_THAT(figures->front(), HasSubstr("first"));
  EXPECT_THAT(figures->back(), HasSubstr("second"));
  EXPECT_THAT(figures->back(), HasSubstr("prefers-color-scheme:dark"));
}

TEST(GnuplotTest, ARefusedScriptGivesNoFigures) {
  EXPECT_FALSE(gnuplot_figures({"no such command"}));
}

TEST(GnuplotTest, WithoutGnuplotThereAreNoFigures) {
  const std::string path = std::getenv("PATH");
  setenv("PATH", "/nonexistent", 1);
  const auto figures = gnuplot_figures({"plot x"});
  setenv("PATH", path.c_str(), 1);
  EXPECT_FALSE(figures);
}

// A foreign store names a kernel; gnuplot must print the name and do nothing else with it.
TEST(GnuplotTest, QuotedTextStaysText) {
  const std::string file = testing::TempDir() + "/gnuplot_quoted";
  std::remove(file.c_str());
  for (const std::string& attack : {"a' ; system('touch " + file + "') ; '", "`touch " + file + "`",
                                    "x\nsystem('touch " + file + "')", "$(touch " + file + ")"}) {
    const auto figures = gnuplot_figures({"plot '-' title " + gnuplot_quoted(attack) + "\n1 1\n2 2\ne"});
    ASSERT_TRUE(figures) << attack;
    EXPECT_EQ(std::fopen(file.c_str(), "r"), nullptr) << attack;
  }
}

TEST(GnuplotTest, AnAddressStandsBetweenQuotes) {
  const std::string address = svg_address("<svg a=\"#1\">\n100%&amp;</svg>");
  for (const char* special : {"\"", "<", ">", "#", "&", "\n"}) EXPECT_THAT(address, Not(HasSubstr(special)));
  EXPECT_EQ(address, "data:image/svg+xml,%3Csvg a=%22%231%22%3E 100%25%26amp;%3C/svg%3E");
}

}  // namespace
}  // namespace lsecheck
