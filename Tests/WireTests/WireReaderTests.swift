import Bytes
import StatusCrypto
import TestSupport
import Testing
import Wire

@Suite(.fewAtATime)
struct WireReaderTests {
    @Test(arguments: [
        ("30", WireError.Reason.truncated),  // no varint after the tag
        ("3080", .truncated),  // a varint without end
        ("120561", .truncated),  // five bytes announced, one present
        ("12ffffffffffffffffff01", .truncated),  // a length of 2⁶⁴ − 1
        ("a10601", .truncated),  // fixed64 of an unknown field
        ("a50601", .truncated),  // fixed32 of an unknown field
        ("30ffffffffffffffffff02", .varintOverflow),  // 65 bits
        ("30ffffffffffffffffff8000", .varintOverflow),  // eleven bytes
        ("0001", .invalidTag),  // field 0
        ("808080801001", .invalidTag),  // field 2²⁹
        ("36", .invalidTag),  // wire type 6
        ("37", .invalidTag),  // wire type 7
        ("34", .unbalancedGroup),  // closed, never opened
        ("33", .unbalancedGroup),  // opened, never closed
        ("333b34", .unbalancedGroup),  // closed in the wrong order
        ("3a01001201ff", .invalidUTF8),
    ])
    func `invalid bytes are rejected with a reason`(hex: String, reason: WireError.Reason) throws {
        let bytes = try #require(Hex.decode(hex))
        #expect(refusal(PushNotificationRegistration.self, bytes)?.reason == reason)
    }

    /// Each differs from bytes of the previous test in one thing.
    @Test(arguments: [
        "3000",  // a varint after the tag
        "308001",  // a varint with its end
        "12056162636465",  // five bytes announced and present
        "a1060102030405060708",  // fixed64 of an unknown field
        "a50601020304",  // fixed32 of an unknown field
        "30ffffffffffffffffff01",  // 64 bits
        "0801",  // field 1
        "f8ffffff0f01",  // field 2²⁹ − 1
        "3501020304",  // wire type 5
        "3334",  // opened and closed
        "333b3c34",  // closed in the right order
        "3a0100120161",  // ASCII
    ])
    func `bytes that differ from invalid ones in one thing are accepted`(hex: String) throws {
        let bytes = try #require(Hex.decode(hex))
        #expect(refusal(PushNotificationRegistration.self, bytes) == nil)
    }

    @Test(arguments: [
        // There are two complete fields, and a string whose length points beyond the end.
        ("0a00 0a00 1205 61", 2 as UInt64, 4, "PushNotificationQueryInfo, field 2, byte 4: the input ends inside the field"),
        ("0a01ff", 1, 0, "PushNotificationQueryInfo, field 1, byte 0: the string is not UTF-8"),
        ("3001 80", 0, 2, "PushNotificationQueryInfo, field 0, byte 2: the input ends inside the field"),
    ])
    func `an error names message, field and byte offset`(hex: String, field: UInt64, offset: Int, description: String) throws {
        let bytes = try #require(Hex.decode(hex.filter { $0 != " " }))
        let error = try #require(refusal(PushNotificationQueryInfo.self, bytes))
        #expect(error.message == PushNotificationQueryInfo.self && error.field == field && error.offset == offset)
        #expect(error.description == description)
    }

    @Test func `an error in a nested message names that message, and its offset in the outer message`() throws {
        // The response has one valid info, and one whose grant, field 5, has no length.
        let bytes = try #require(Hex.decode("0a02" + "0a00" + "0a03" + "0a00" + "2a"))
        let error = try #require(refusal(PushNotificationQueryResponse.self, bytes))
        #expect("\(error)" == "PushNotificationQueryInfo, field 5, byte 8: the input ends inside the field")
    }

    @Test func `groups are skipped up to the limit of nesting`() throws {
        let open = [UInt8](repeating: 0x3B, count: WireReader.maximumGroupDepth)
        let close = [UInt8](repeating: 0x3C, count: WireReader.maximumGroupDepth)
        #expect(try PushNotificationRegistration.decode(open + close) == PushNotificationRegistration())
        #expect(refusal(PushNotificationRegistration.self, [0x3B] + open + close + [0x3C])?.reason == .groupsTooDeep)
    }

    @Test func `the number of entries of a list is bounded`() throws {
        let list = Array(repeating: [0x0A, 0x00] as [UInt8], count: WireReader.maximumEntryCount).flatMap(\.self)
        #expect(try PushNotificationQuery.decode(list).publicKeys.count == WireReader.maximumEntryCount)
        #expect(try PushNotificationRequest.decode(list).requests.count == WireReader.maximumEntryCount)
        #expect(refusal(PushNotificationQuery.self, list + [0x0A, 0x00])?.reason == .tooManyEntries)
        #expect(refusal(PushNotificationRequest.self, list + [0x0A, 0x00])?.reason == .tooManyEntries)
    }

    @Test func `each list has its own count`() throws {
        var message = PushNotificationRegistration()
        message.allowedKeyList = Array(repeating: [], count: WireReader.maximumEntryCount)
        message.blockedChatList = message.allowedKeyList
        #expect(try PushNotificationRegistration.decode(message.encoded()) == message)
    }

    @Test func `a slice of a longer buffer is read without copying it first`() throws {
        var message = PushNotificationReport()
        message.installationID = "installation"
        let buffer = [0xFF] + message.encoded() + [0xFF]
        let decoded = try PushNotificationReport.decode(buffer[1..<buffer.count - 1].span)
        #expect(decoded == message)
    }

    /// The cut is between two fields, or reading fails.
    @Test(arguments: try HostileInput.messages())
    func `a message that is cut short anywhere is rejected or complete`(input: HostileInput) throws {
        for count in input.bytes.indices {
            try input.expectTotal(Array(input.bytes[..<count]))
        }
    }

    @Test(arguments: try HostileInput.messages())
    func `a message with one changed byte is rejected or is another message`(input: HostileInput) throws {
        for index in input.bytes.indices {
            var bytes = input.bytes
            for value in input.replacements(for: bytes[index], at: index) {
                bytes[index] = value
                try input.expectTotal(bytes)
            }
        }
    }
}

/// A vector to damage.
struct HostileInput: Sendable, CustomTestStringConvertible {
    let kind: MessageKind
    let bytes: [UInt8]

    var testDescription: String { "\(kind.rawValue), \(bytes.count) bytes" }

    /// Returns every vector that is not empty, without the three longest, which only repeat entries of shorter ones.
    static func messages() throws -> [HostileInput] {
        let vectors = try WireVectors.load()
        let all = vectors.encode.map { ($0.message, $0.hex.bytes) } + vectors.decode.map { ($0.message, $0.hex.bytes) }
        return all.filter { 1...1_200 ~= $0.1.count }.map { HostileInput(kind: $0, bytes: $1) }
    }

    /// Returns every value for short messages, each single bit and the edges for longer ones, and one bit after another and 0xFF for the
    /// longest.
    func replacements(for byte: UInt8, at index: Int) -> [UInt8] {
        switch bytes.count {
        case ...64: Array(0...255)
        case ...400: (0..<8).map { byte ^ 1 << $0 } + [0x00, 0x7F, 0x80, 0xFF]
        default: [byte ^ 1 << (index % 8), 0xFF]
        }
    }

    /// Expects that the reader rejects the bytes, or that the message survives writing and reading.
    func expectTotal(_ bytes: [UInt8]) throws {
        guard let message = try? kind.type.decode(bytes) else { return }
        try expectStable(message)
    }

    private func expectStable<Message: WireMessage>(_ message: Message) throws {
        let bytes = message.encoded()
        guard try bytes.count == message.encodedByteCount && Message.decode(bytes) == message else {
            Issue.record("not stable: \(message)")
            return
        }
    }
}

/// Returns the error of reading a message, or nil.
private func refusal<Message: WireMessage>(_ type: Message.Type, _ bytes: [UInt8]) -> WireError? {
    do throws(WireError) {
        _ = try Message.decode(bytes)
        return nil
    } catch {
        return error
    }
}
