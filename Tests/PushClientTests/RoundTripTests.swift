import Envelope
import Foundation
import PushClientTesting
import StatusCrypto
import TestSupport
import Testing
import Wire

@testable import PushClient

/// What goes out and comes back, and what a state keeps, is the same in every field.
@Suite(.safetyNet) struct RoundTripTests {
    private static let now = Timestamp(nanoseconds: 1_700_000_000_123_456_789)
    private static let keys = (1...4).map { Identity(.test(UInt8($0))).publicKey }

    @Test func `a message of a node is its envelope in other words`() {
        var message = NodeMessage(pubsubTopic: "p", contentTopic: "c", payload: [1], version: 2, timestamp: 3, meta: [4])
        var messages = [message]
        message.isEphemeral = true
        messages.append(message)
        expectAllFields(of: messages)
        expectAllFields(of: messages.map(\.envelope))
        for message in messages { #expect(NodeMessage(message.envelope) == message) }
        message.timestamp = nil
        #expect(NodeMessage(message.envelope) == message)
    }

    private func expectKept<Value: Codable & Equatable>(_ values: [Value], sourceLocation: SourceLocation = #_sourceLocation) throws {
        for value in values {
            let read = try JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value))
            #expect(read == value, sourceLocation: sourceLocation)
        }
    }

    private static let message: PushMessage = {
        var message = PushMessage(kind: .mention, messageID: [1, 2])
        message.chat = ChatID("chat")
        message.author = keys[0]
        message.ciphertext = [3]
        return message
    }()

    @Test func `a push that waits is kept`() throws {
        var unsent = UnsentPushes()
        unsent.add(Self.message, to: [Recipient(Self.keys[1]), Recipient(Self.keys[2])], maximumDeviceCount: 7, at: Self.now)
        let recipient = Recipient(Self.keys[1], installationIDs: ["phone"])
        unsent.recordAttempt(1, remaining: [recipient], at: Self.now.advanced(by: .seconds(9)))
        unsent.recordAttempt(1, remaining: [recipient], at: Self.now.advanced(by: .seconds(9)))
        let entry = unsent.entries[0]
        expectAllFields(of: [
            (entry.message, entry.recipients, entry.maximumDeviceCount, entry.attemptCount, entry.askedAt, entry.nextAttempt)
        ])
        let message = Self.message
        expectAllFields(of: [(message.kind, message.messageID, message.chat, message.author, message.ciphertext)])
        try expectKept([unsent])
    }

    @Test func `a device is kept`() throws {
        var device = Device(deviceToken: "token", service: .apn(bundleID: "app"))
        device.blockedChats = [ChatID("blocked")]
        device.blockedAuthors = [Self.keys[0]]
        device.mutedChats = [ChatID("muted")]
        device.mentionChats = [ChatID("mentions")]
        var devices = [device]
        for (isEnabled, blocksMentions, audience) in [
            (false, true, .contacts([Self.keys[1]])), (false, false, .contacts([])), (true, true, .anyone),
        ] as [(Bool, Bool, Device.Audience)] {
            (device.isEnabled, device.blocksMentions, device.audience) = (isEnabled, blocksMentions, audience)
            devices.append(device)
        }
        expectAllFields(
            of: devices.map {
                (
                    $0.deviceToken, $0.service, $0.isEnabled, $0.blockedChats, $0.blockedAuthors, $0.mutedChats, $0.blocksMentions,
                    $0.mentionChats
                )
            })
        try expectKept(devices)
    }

    @Test func `what is known of others' devices is kept`() throws {
        let info = DeviceInfo(
            server: Self.keys[0], installationID: "phone", accessToken: "token", encryptedTokenCount: 2, version: 3,
            authorization: .verified)
        expectAllFields(of: [
            (info.server, info.installationID, info.accessToken, info.encryptedTokenCount, info.version, info.authorization)
        ])
        try expectKept([info])
        try expectKept([LastInstallation(id: "phone", mark: "mark"), LastInstallation(id: "phone", mark: nil)])
    }

    @Test func `a server's state is kept after each event`() throws {
        var random = SplitMix64(seed: 1)
        var entry = ServerEntry(server: Self.keys[0], isWanted: true)
        var entries = [entry]
        let request = ServerEntry.Request(requestID: "id", version: 5, generation: 2, sentAt: Self.now)
        expectAllFields(of: [request])
        let events: [(inout ServerEntry) -> Void] = [
            { $0.note(request) }, { _ = $0.fail(isOfNode: true, at: Self.now, using: &random) },
            { _ = $0.fail(isOfNode: false, at: Self.now, using: &random) }, { $0.noteMismatch() }, { $0.noteReply() },
            { $0.confirm(request) }, { $0.isWanted = false }, { $0.reject(.malformedMessage) },
        ]
        for event in events {
            event(&entry)
            #expect(entry != entries[entries.count - 1])
            entries.append(entry)
        }
        try expectKept(entries)
    }
}
