package import Conformance

/// The verdict on what a client has sent.
package struct ClientReport: Report {
    private struct Message: Encodable {
        let kind: String
        let findings: [Finding]
    }

    private struct Finding: Encodable {
        let layer: String
        let field: String?
        let sentence: String
        let source: String
    }

    private let messages: [Message]
    /// The kinds of messages that a client should send and did not.
    private let missing: [String]

    private static let expectedKinds: [JudgedMessage.Kind] = [.registration, .query, .push]

    package init(_ messages: [JudgedMessage]) {
        self.messages = messages.map { message in
            Message(
                kind: message.kind.rawValue,
                findings: message.findings.map { finding in
                    Finding(layer: finding.layer.rawValue, field: finding.field, sentence: finding.sentence, source: finding.source)
                })
        }
        missing = Self.expectedKinds.filter { kind in !messages.contains { $0.kind == kind } }.map(\.rawValue)
    }

    /// Returns a line for a message, and below it a line for each finding.
    package static func lines(about message: JudgedMessage) -> [String] {
        ["\(message.findings.isEmpty ? "right" : "wrong")  \(message.kind.rawValue)"]
            + message.findings.map { "       ^ \($0.field ?? $0.layer.rawValue) \($0.sentence) (\($0.source))" }
    }

    /// The sum. The command prints the messages as they arrive.
    package var lines: [String] {
        [
            "",
            "\(messages.count) messages: \(messages.count - wrongCount) right, \(wrongCount) wrong."
                + (missing.isEmpty ? "" : " Not seen: \(missing.joined(separator: ", "))."),
        ]
    }

    private var wrongCount: Int { messages.count { !$0.findings.isEmpty } }

    package var failure: Failure? {
        if messages.isEmpty {
            return .unavailable(
                """
                no message for the server arrived; is the client on this shard, does it send to this server's key, and is the node free of \
                other readers?
                """)
        }
        if wrongCount > 0 { return .failed("\(wrongCount) of \(messages.count) messages are wrong") }
        return missing.isEmpty ? nil : .failed("the client has not sent: \(missing.joined(separator: ", "))")
    }

    private enum CodingKeys: CodingKey {
        case messages, missing
    }
}
