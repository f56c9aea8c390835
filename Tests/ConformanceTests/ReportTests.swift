import Foundation
import TestSupport
import Testing

@testable import Conformance

/// The kit's descriptions of rules and verdicts.
@Suite(.safetyNet)
struct ReportTests {
    private func result(_ id: String, _ verdict: Verdict, place: Rule.Place? = .otherError) -> RuleResult {
        let rule = Rule(id, .must, place, "PROTOCOL.md §7", "<Rise>") { _ in }
        var result = RuleResult(rule: rule, verdict: verdict, duration: .milliseconds(1_500))
        if case .fail = verdict {
            result.requests = [SentRequest(installationID: "phone", messageID: "0x01", topic: "/waku/1/<\"0x&\">/rfc26")]
        }
        return result
    }

    @Test func `JUnit's XML has a suite for each group and a case for each rule, with its markup escaped`() {
        let results = [
            result("a.one", .pass), result("a.two", .fail("expected \"x\" & y\u{1B}")),
            result("b.three", .departs("as usual"), place: nil),
            result("b.four", .skipped("no gorush")), result("b.five", .late("took 14.0 s"), place: nil),
        ]
        #expect(
            JUnit.document(results) == """
                <?xml version="1.0" encoding="UTF-8"?>
                <testsuites name="71/STATUS-PUSH-NOTIFICATION-SERVER" tests="5" failures="1" errors="1" skipped="1" time="7.500">
                  <testsuite name="a" tests="2" failures="1" errors="0" skipped="0" time="3.000">
                    <testcase classname="a" name="one" time="1.500"/>
                    <testcase classname="a" name="two" time="1.500">
                      <failure message="&lt;Rise&gt; (71 &quot;Handle Errors&quot;, PROTOCOL.md §7): expected \
                &quot;x&quot; &amp; y\u{FFFD}">\
                “If any other error occurs the `error` SHOULD be set to `INTERNAL_ERROR`.”
                installation phone, message 0x01, topic /waku/1/&lt;&quot;0x&amp;&quot;&gt;/rfc26</failure>
                    </testcase>
                  </testsuite>
                  <testsuite name="b" tests="3" failures="0" errors="1" skipped="1" time="4.500">
                    <testcase classname="b" name="three" time="1.500">
                      <system-out>departs: &lt;Rise&gt; (beyond 71, PROTOCOL.md §7): as usual</system-out>
                    </testcase>
                    <testcase classname="b" name="four" time="1.500">
                      <skipped message="&lt;Rise&gt; (71 &quot;Handle Errors&quot;, PROTOCOL.md §7): no gorush"/>
                    </testcase>
                    <testcase classname="b" name="five" time="1.500">
                      <error type="late" message="&lt;Rise&gt; (beyond 71, PROTOCOL.md §7): took 14.0 s"></error>
                    </testcase>
                  </testsuite>
                </testsuites>

                """)
    }

    @Test func `each quote is in 71 under its heading, and has the word of its level`() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Specification/71.txt")
        let sections = try Self.sections(of: String(contentsOf: file, encoding: .utf8))
        for rule in Rule.all {
            guard let place = rule.place else {
                #expect(rule.level == .ours, "\(rule.id) goes beyond 71")
                continue
            }
            #expect(sections[place.heading]?.contains(place.quote) == true, "\(rule.id)")
            switch rule.level {
            case .should: #expect(place.quote.contains("SHOULD"), "\(rule.id)")
            // Definitions of fields need no MUST.
            case .must: #expect(place.quote.contains("MUST") || Self.definitions.contains(place.heading), "\(rule.id)")
            case .ours: break
            }
        }
    }

    /// The headings of 71 below which fields are defined.
    private static let definitions = [
        "PushNotificationRegistration", "PushNotificationQueryInfo", "PushNotificationQueryResponse", "PushNotificationReport",
        "Handle Notification Request",
    ]

    /// Returns the texts below the headings of a Markdown page.
    private static func sections(of page: String) -> [String: String] {
        var sections: [String: String] = [:]
        var heading = ""
        for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("#") {
                heading = line.drop { $0 == "#" }.trimmingCharacters(in: CharacterSet(charactersIn: " :"))
            }
            sections[heading, default: ""] += line + "\n"
        }
        return sections
    }

    @Test func `the list has the id, level, place, sentence and quote of each rule`() {
        let lines = RuleTable.lines(Rule.all)
        #expect(
            lines.prefix(4) == [
                "Registrations", "  register.ios  must  71 \"Handle Errors\", PROTOCOL.md §7",
                "      A registration of an iOS device is a success.",
                "      “\(Rule.Place.success.quote)”",
            ])
        #expect(lines.last == "\(Rule.all.count) rules")
        #expect(lines.contains("  segment.query  ours  beyond 71, PROTOCOL.md §5.1"))
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
        #expect(Rule.all(upTo: .ours).count == Rule.all.count)
    }
}
