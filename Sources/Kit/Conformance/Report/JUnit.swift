/// Results in the XML of JUnit, which services for continuous integration show: a suite for each group of rules, a case for each rule. A
/// rule that is late is an error, because it was not judged.
package enum JUnit {
    /// Returns the document. A departure is a passed case with a line of output.
    package static func document(_ results: [RuleResult]) -> String {
        var groups: [(name: String, results: [RuleResult])] = []
        for result in results {
            if groups.last?.name != result.rule.group { groups.append((result.rule.group, [])) }
            groups[groups.count - 1].results.append(result)
        }
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <testsuites name="71/STATUS-PUSH-NOTIFICATION-SERVER" \(counts(results))>
            \(groups.map(suite).joined())</testsuites>

            """
    }

    private static func suite(_ group: (name: String, results: [RuleResult])) -> String {
        "  <testsuite name=\"\(escaped(group.name))\" \(counts(group.results))>\n\(group.results.map(testCase).joined())  </testsuite>\n"
    }

    private static func testCase(_ result: RuleResult) -> String {
        let name = result.rule.id.dropFirst(result.rule.group.count + 1)
        let start = "    <testcase classname=\"\(escaped(result.rule.group))\" name=\"\(escaped(name))\" time=\"\(seconds([result]))\""
        let detail = "\(result.rule.title) (\(result.rule.sources)): \(result.verdict.detail ?? "")"
        let help = ((result.rule.place.map { ["“\($0.quote)”"] } ?? []) + result.requests.map(\.description)).joined(separator: "\n")
        return switch result.verdict {
        case .pass: "\(start)/>\n"
        case .fail: "\(start)>\n      <failure message=\"\(escaped(detail))\">\(escaped(help))</failure>\n    </testcase>\n"
        case .late: "\(start)>\n      <error type=\"late\" message=\"\(escaped(detail))\">\(escaped(help))</error>\n    </testcase>\n"
        case .departs: "\(start)>\n      <system-out>departs: \(escaped(detail))</system-out>\n    </testcase>\n"
        case .skipped: "\(start)>\n      <skipped message=\"\(escaped(detail))\"/>\n    </testcase>\n"
        }
    }

    private static func counts(_ results: [RuleResult]) -> String {
        let failures = results.count { if case .fail = $0.verdict { true } else { false } }
        let late = results.count { if case .late = $0.verdict { true } else { false } }
        let skipped = results.count { if case .skipped = $0.verdict { true } else { false } }
        return "tests=\"\(results.count)\" failures=\"\(failures)\" errors=\"\(late)\" skipped=\"\(skipped)\" time=\"\(seconds(results))\""
    }

    /// The durations' sum, in seconds with three decimals.
    private static func seconds(_ results: [RuleResult]) -> String {
        let milliseconds = results.reduce(Duration.zero) { $0 + $1.duration } / .milliseconds(1)
        let text = String(Int(milliseconds))
        let padded = String(repeating: "0", count: max(0, 4 - text.count)) + text
        return "\(padded.dropLast(3)).\(padded.suffix(3))"
    }

    /// The text without control characters, which XML forbids, and with its markup escaped.
    private static func escaped(_ text: some StringProtocol) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "\n": escaped += "\n"
            case _ where scalar.properties.generalCategory == .control: escaped += "\u{FFFD}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}

extension Rule {
    /// The heading in 71, or "beyond 71", and the place in this repository's pages.
    package var sources: String { Self.sources(place, reference) }

    static func sources(_ place: Place?, _ reference: String) -> String {
        "\(place.map { "71 \"\($0.heading)\"" } ?? "beyond 71"), \(reference)"
    }
}
