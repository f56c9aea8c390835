import Foundation
import TestSupport
import Testing

@testable import Conformance

/// The kit's descriptions of rules and verdicts.
@Suite(.safetyNet)
struct ReportTests {
    private func result(_ id: String, _ verdict: Verdict, paragraph: String? = "Handle Errors") -> RuleResult {
        let rule = Rule(id, .must, paragraph, "PROTOCOL.md §7", "<Rise>") { _ in }
        return RuleResult(rule: rule, verdict: verdict, duration: .milliseconds(1_500))
    }

    @Test func `JUnit's XML has a suite for each group and a case for each rule, with its markup escaped`() {
        let results = [
            result("a.one", .pass), result("a.two", .fail("expected \"x\" & y\u{1B}")),
            result("b.three", .departs("as usual"), paragraph: nil),
            result("b.four", .skipped("no gorush")),
        ]
        #expect(
            JUnit.document(results) == """
                <?xml version="1.0" encoding="UTF-8"?>
                <testsuites name="71/STATUS-PUSH-NOTIFICATION-SERVER" tests="4" failures="1" errors="0" skipped="1" time="6.000">
                  <testsuite name="a" tests="2" failures="1" errors="0" skipped="0" time="3.000">
                    <testcase classname="a" name="one" time="1.500"/>
                    <testcase classname="a" name="two" time="1.500">
                      <failure message="&lt;Rise&gt; (71 &quot;Handle Errors&quot;, PROTOCOL.md §7): expected &quot;x&quot; &amp; y\u{FFFD}"/>
                    </testcase>
                  </testsuite>
                  <testsuite name="b" tests="2" failures="0" errors="0" skipped="1" time="3.000">
                    <testcase classname="b" name="three" time="1.500">
                      <system-out>departs as the reference does: &lt;Rise&gt; (PROTOCOL.md §7): as usual</system-out>
                    </testcase>
                    <testcase classname="b" name="four" time="1.500">
                      <skipped message="&lt;Rise&gt; (71 &quot;Handle Errors&quot;, PROTOCOL.md §7): no gorush"/>
                    </testcase>
                  </testsuite>
                </testsuites>

                """)
    }

    @Test func `the tables of CONFORMANCE.md are those of the rules: pushctl conformance --list`() throws {
        let page = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/CONFORMANCE.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        #expect(text.components(separatedBy: "a test compares them. -->\n\n").last == RuleTable.markdown(Rule.all))
    }

    @Test func `the ids of rules are unique, and begin with a group that stands together`() {
        #expect(Set(Rule.all.map(\.id)).count == Rule.all.count)
        var groups: [String] = []
        for rule in Rule.all where groups.last != rule.group { groups.append(rule.group) }
        #expect(Set(groups).count == groups.count)
    }

    @Test func `a level contains the stronger ones`() {
        #expect(Set(Rule.all(upTo: .must).map(\.level)) == [.must])
        #expect(Set(Rule.all(upTo: .should).map(\.level)) == [.must, .should])
        #expect(Rule.all(upTo: .open).count == Rule.all.count)
    }
}
