import Bytes
import Envelope
import Foundation
import PushClientTesting
import PushPayload
import StatusCrypto
import TestSupport
import Testing
import Wire

@testable import PushClient

/// What the documentation promises that the client never does or reveals.
@Suite(.safetyNet) struct PromiseTests {
    struct Promise: CustomTestStringConvertible, Sendable {
        /// The file, and the words in its documentation.
        let file: String
        let words: String
        let holds: @Sendable (Place) async throws -> Void

        var testDescription: String { words }
    }

    /// A network with a registered device of Alice's, and Bob, who sends to her.
    struct Place: Sendable {
        let network = FakeNetwork(serverCount: 1)
        let alice = Identity(.test(7))
        let bob = Identity(.test(8))
        let device = Device(deviceToken: "device-token", service: .firebase)
        let message: PushMessage = {
            var message = PushMessage(kind: .message, messageID: [1, 2, 3])
            message.chat = ChatID("chat")
            return message
        }()

        var server: FakeServer { network.servers[0] }
        var client: PushServer { PushServer(server.identity, node: network.node) }
        var bobsSender: SendingClient { SendingClient(identity: bob, node: network.node, state: MemoryState()) }
        /// The keys that have signed requests so far.
        var senders: [StatusCrypto.PublicKey] { server.requests.map(\.sender) }
        var advertisementCount: Int {
            let topic = TopicName.contactCode(alice.publicKey.publicKey).topic.contentTopic
            return network.envelopes.count { $0.message.contentTopic == topic }
        }

        func register(
            _ device: Device? = nil, advertisingInterval: Duration? = RegisteringClient.defaultAdvertisingInterval
        ) async throws -> PushDevice {
            let client = try await RegisteringClient(
                identity: alice, anyInstallationID: "phone", node: network.node, state: MemoryState(),
                advertisingInterval: advertisingInterval)
            _ = try await client.register(device ?? self.device, with: [server.identity])
            let accessToken = try #require(await client.accessToken)
            return PushDevice(owner: .key(alice.publicKey), installationID: "phone", accessToken: accessToken)
        }

        func expectNoReply(_ call: () async throws -> Void) async {
            let error = await #expect(throws: PushClientError.self) { try await call() }
            #expect(error?.code == .noReply)
        }
    }

    static let promises = [
        Promise(file: "PushClient/PushServer.swift", words: "The request does not reveal it.") { place in
            _ = try await place.register()
            for identity in [place.bob, place.bob, nil] { _ = try await place.client.query(.key(place.alice.publicKey), as: identity) }
            let senders = Set(place.senders)
            #expect(senders.count == 4 && !senders.contains(place.bob.publicKey.publicKey))
        },
        Promise(file: "PushClient/Sending/SendingClient.swift", words: "never signs a request") { place in
            _ = try await place.register(advertisingInterval: nil)
            for _ in 1...2 { _ = try await place.bobsSender.push(place.message, to: [Recipient(place.alice.publicKey)]) }
            let senders = place.server.requests.filter { $0.type != .pushNotificationRegistration }.map(\.sender)
            #expect(senders.count >= 3 && Set(senders).count == senders.count && !senders.contains(place.bob.publicKey.publicKey))
        },
        Promise(file: "PushClient/PushServer.swift", words: "Requests are never retried.") { place in
            let target = try await place.register(advertisingInterval: nil)
            place.server.isSilent = true
            let calls: [() async throws -> Void] = [
                { _ = try await place.client.query(.key(place.alice.publicKey)) },
                { _ = try await place.client.push(place.message, to: [target]) },
                { _ = try await place.client.register(place.device, installationID: "tablet", as: place.alice) },
                { _ = try await place.client.unregister(installationID: "phone", as: place.alice) },
            ]
            for call in calls {
                let count = place.network.envelopes.count
                await place.expectNoReply(call)
                #expect(place.network.envelopes.count == count + 1)
            }
        },
        Promise(
            file: "PushClient/Sending/DeliveryReport.swift",
            words: "A server accepted the push, without revealing whether it filters the push"
        ) { place in
            var outcomes: [DeliveryReport.Outcome] = []
            for isMuted in [false, true] {
                var device = place.device
                if isMuted { device.mutedChats = [ChatID("chat")] }
                _ = try await place.register(device)
                var message = place.message
                message.messageID = [isMuted ? 1 : 2]
                outcomes += try await place.bobsSender.push(message, to: [Recipient(place.alice.publicKey)]).map(\.outcome)
            }
            #expect(outcomes == [.accepted(by: place.server.identity), .accepted(by: place.server.identity)])
            #expect(place.server.pushes.count == 1)
        },
        Promise(file: "PushClient/Registration/RegisteringClient.swift", words: "Nil never advertises") { place in
            _ = try await place.register(advertisingInterval: nil)
            #expect(place.advertisementCount == 0)
            _ = try await place.register()
            #expect(place.advertisementCount > 0)
        },
        Promise(file: "PushClient/Registration/AllowedKeys.swift", words: "The entries do not reveal the contacts") { place in
            var random = SecureRandom()
            let contacts = Set([place.bob.publicKey, Identity(.test(9)).publicKey])
            let token = "6a4f7c1e-27a8-4c2b-9d8c-0a54c6d0b1aa"
            let lists = (1...2).map { _ in AllowedKeys.encrypt(token, from: place.alice.privateKey, to: contacts, using: &random) }
            #expect(Set(lists.joined()).count == 4 && lists.joined().allSatisfy { $0.count == 12 + 36 + 16 })
            let forms = contacts.flatMap { [$0.publicKey.compressed.bytes, $0.publicKey.hash.bytes] } + [Array(token.utf8)]
            for entry in lists.joined() {
                for start in entry.indices.dropLast(7) {
                    #expect(!forms.contains { form in form.starts(with: entry[start..<start + 8]) })
                }
            }
        },
        Promise(file: "PushClient/Registration/SealedRegistration.swift", words: "which reveals no other order") { place in
            var device = place.device
            device.mutedChats = Set((1...20).map { ChatID("\($0)") })
            _ = try await place.register(device)
            let list = try #require(place.server.registrations.first).mutedChatList
            #expect(list.count == 20 && list == list.sorted { $0.lexicographicallyPrecedes($1) })
        },
        Promise(file: "PushClient/Query/KnownDevices.swift", words: "rare enough not to reveal to servers when the user writes") { place in
            _ = try await place.register(advertisingInterval: nil)
            let (client, count) = (place.bobsSender, place.server.requests.count)
            for _ in 1...3 {
                _ = try await client.devices(of: place.alice.publicKey)
                place.network.clock.advance(by: .seconds(7 * 60 * 60))
            }
            #expect(place.server.requests.count == count + 1)
        },
        Promise(file: "PushClient/Keys/PublicKey.swift", words: "It describes the reason and never the text") { _ in
            let secret = String(repeating: "7e", count: 31)
            for text in [secret, "0x" + secret + "7", secret + "zz", "04" + String(repeating: secret + "7e7e", count: 2)] {
                let errors = [
                    #expect(throws: InvalidKey.self) { try PushClient.PublicKey(hex: text) },
                    #expect(throws: InvalidKey.self) { try Identity(privateKeyHex: text) },
                ]
                for error in errors { #expect(error.map { printedForms(of: $0).contains { $0.contains("7e7e") } } == false) }
            }
        },
        Promise(file: "PushClient/Keys/Identity.swift", words: "it is never printed") { _ in
            let identity = try Identity(privateKeyHex: String(repeating: "7e", count: 32))
            #expect(!printedForms(of: identity).contains { $0.contains("7e7e") || $0.contains("126, 126") })
        },
        Promise(file: "PushPayload/SeenPushes.swift", words: "A push without ciphertext never counts as a repetition") { _ in
            let folder = try TemporaryFolder()
            let seen = SeenPushes(file: URL(filePath: folder.path("seen")))
            for (message, isNew) in [("0x", [true, true]), ("0x01", [true, false])] {
                let push = try #require(PushPayload(data: ["chat_id": "0x02", "message": message]))
                #expect(try (1...2).map { _ in try seen.insert(push) } == isNew)
            }
        },
    ]

    @Test(arguments: promises) func `a promise holds`(_ promise: Promise) async throws {
        try await promise.holds(Place())
    }

    /// Sentences with these words that promise nothing to anybody, or that a compiler or another table keeps.
    private static let others = [
        "(SECURITY.md, \"What a push request reveals\")", "The migrations, never edited after a release.",
        "Otherwise a slow server would never count as registered.",
        // PushDeliveryTests, JSONFileState: StateFileTests, PushClientError: PrintedSecretsTests.
        "A device never has two requests in progress", "After a crash the file has the old or the new values, and never a part.",
        "It never contains tokens, keys or messages.",
    ]

    @Test func `each promise of the documentation has a test here`() throws {
        let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Sources/Client")
        let names = try #require(FileManager.default.subpaths(atPath: sources.path)).filter { $0.hasSuffix(".swift") }
        var count = 0
        for name in names where !name.contains(".docc/") {
            let lines = try String(contentsOf: sources.appending(path: name), encoding: .utf8).split(separator: "\n")
            let text = lines.map { $0.drop { $0 == " " } }.filter { $0.hasPrefix("///") }
                .map { $0.dropFirst(3).drop { $0 == " " } }.joined(separator: " ")
            let words = Self.promises.filter { $0.file == name }.map(\.words)
            for quote in words { #expect(text.contains(quote), "\(name): \(quote)") }
            var rest = text
            for quote in words + Self.others { rest = rest.replacing(quote, with: "") }
            count += words.count
            #expect(rest.firstMatch(of: /\b(never|reveals?|revealing)\b/) == nil, "\(name) promises something without a test")
        }
        #expect(count == Self.promises.count)
    }
}
