import Bytes
import Foundation
import TestSupport
import Testing
import Wire

/// Comparisons with Google's implementation, on random messages and on damaged ones.
///
/// The test needs `protoc` and Python's protobuf, from Debian's packages `protobuf-compiler` and `python3-protobuf`. Without them the test
/// fails.
@Suite(.fewAtATime)
struct DifferentialTests {
    @Test func `Google's protobuf and ours agree on random messages, both ways, and on damaged ones`() async throws {
        let seed: UInt64 = 71
        print("Differential test with seed \(seed)")
        var chance = SplitMix64(seed: seed)
        var questions: [Question] = []
        for kind in MessageKind.allCases {
            for _ in 0..<200 {
                var fields = RandomFields(generator: chance)
                let bytes = try kind.type.init(fields: &fields).encoded()
                chance = fields.generator
                questions.append(Question(kind: kind, bytes: bytes, isDamaged: false))
                for _ in 0..<3 {
                    questions.append(Question(kind: kind, bytes: bytes.damaged(using: &chance), isDamaged: true))
                }
            }
        }

        let google = try await Google.ask(questions, seed: seed, count: 200)
        #expect(google.answers.count == questions.count)
        for (question, answer) in zip(questions, google.answers) {
            question.compare(with: answer)
        }
        #expect(google.messages.count == MessageKind.allCases.count * 200)
        for message in google.messages {
            try message.compare()
        }
    }
}

/// Bytes that both implementations read.
private struct Question {
    let kind: MessageKind
    let bytes: [UInt8]
    let isDamaged: Bool

    /// - Parameter answer: The output of Google's implementation, or nil if it rejected the bytes.
    func compare(with answer: [UInt8]?) {
        let ours: Result<[UInt8], WireError> = Result { () throws(WireError) in try kind.type.decode(bytes).encoded() }
        switch (ours, answer) {
        case (.success(let ours), .some(let theirs)):
            #expect(ours == theirs, "\(kind.rawValue) \(Hex.encode(bytes))")
        case (.failure, nil):
            #expect(isDamaged)
        case (.failure(let error), .some):
            #expect(isDamaged && Self.strictness.contains(error.reason), "\(error): \(kind.rawValue) \(Hex.encode(bytes))")
        case (.success, nil):
            #expect(isDamaged && hasLongVarint, "only our implementation accepts \(kind.rawValue) \(Hex.encode(bytes))")
        }
    }

    /// The errors that only our implementation reports. Like Go, our reference, it rejects values that do not fit into a varint or a tag,
    /// but Google's C++ drops the excess bits. This affects 1 of 2,000 damaged messages.
    static let strictness: Set<WireError.Reason> = [.varintOverflow, .invalidTag]

    /// Whether the bytes have a long varint. Go accepts tags and lengths of up to ten bytes, Google's C++ of up to five.
    private var hasLongVarint: Bool {
        bytes.indices.dropLast(4).contains { start in bytes[start..<start + 5].allSatisfy { $0 >= 0x80 } }
    }
}

extension [UInt8] {
    /// Returns the bytes with one to three of them changed, inserted or removed, or cut short.
    fileprivate func damaged(using chance: inout some RandomNumberGenerator) -> [UInt8] {
        var bytes = self
        for _ in 0..<Int.random(in: 1...3, using: &chance) {
            let index = Int.random(in: 0...bytes.count, using: &chance)
            let value = UInt8.random(in: 0...255, using: &chance)
            switch Int.random(in: 0...5, using: &chance) {
            case 0: bytes.insert(value, at: index)
            case 1: bytes.removeSubrange(index...)
            case 2 where index < bytes.count: bytes.remove(at: index)
            case 3 where index < bytes.count: bytes[index] ^= 1 << (value & 7)
            case _ where index < bytes.count: bytes[index] = value
            default: bytes.append(value)
            }
        }
        return bytes
    }
}

/// Google's implementation, in a separate process.
private struct Google {
    /// The re-encoded message for each request, or nil.
    var answers: [[UInt8]?] = []
    /// The random messages of Google's implementation.
    var messages: [Message] = []

    struct Message {
        let kind: MessageKind
        let bytes: [UInt8]
        let json: JSONFields

        func compare() throws {
            var fields = json
            let expected = try kind.type.init(fields: &fields)
            let decoded = try kind.type.decode(bytes)
            #expect(fields.unread.isEmpty)
            #expect(decoded.isEqual(to: expected), "\(kind.rawValue) \(Hex.encode(bytes))")
            #expect(decoded.encoded() == bytes)
        }
    }

    static func ask(_ questions: [Question], seed: UInt64, count: Int) async throws -> Google {
        let folder = try TemporaryFolder()
        let (input, output) = (folder.url.appending(path: "input"), folder.url.appending(path: "output"))
        let lines = questions.map { "\($0.kind.rawValue) \(Hex.encode($0.bytes))\n" }
        try lines.joined().write(to: input, atomically: false, encoding: .utf8)

        let here = URL(filePath: #filePath).deletingLastPathComponent()
        let script = here.appending(path: "Differential/differential.py"), protos = here.appending(path: "../../Protos").standardized
        try await run(
            "/usr/bin/python3", [script.path, protos.path, input.path, output.path, "\(seed)", "\(count)"],
            errors: folder.url.appending(path: "errors"))

        var google = Google()
        for line in try String(contentsOf: output, encoding: .utf8).split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
            switch words[0] {
            case "refused":
                google.answers.append(nil)
            case "taken":
                let bytes: [UInt8] = try #require(Hex.decode(words[1]))
                google.answers.append(bytes)
            default:
                google.messages.append(
                    Message(
                        kind: try #require(MessageKind(rawValue: String(words[0]))), bytes: try #require(Hex.decode(words[1])),
                        json: try JSONDecoder().decode(JSONFields.self, from: Data(words[2].utf8))))
            }
        }
        return google
    }

    /// - Parameter errors: A file for the program's error messages. An unread pipe could block the program.
    private static func run(_ program: String, _ arguments: [String], errors: URL) async throws {
        try Data().write(to: errors)
        try #require(
            FileManager.default.isExecutableFile(atPath: program),
            "\(program) is missing: apt-get install python3-protobuf protobuf-compiler")
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        process.standardError = try FileHandle(forWritingTo: errors)
        let status = try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do {
                try process.run()
            } catch {
                continuation.resume(throwing: error)
            }
        }
        let complaint = try String(contentsOf: errors, encoding: .utf8).suffix(2_000)
        try #require(status == 0, "\(program): \(complaint)")
    }
}

extension WireMessage {
    fileprivate func isEqual(to other: any WireMessage) -> Bool {
        self == other as? Self
    }
}
