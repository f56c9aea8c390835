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

/// What the documentation promises that the client never does or reveals, and what does not happen.
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

    private static let (chat, otherChat) = (ChatID("chat"), ChatID("another"))

    /// A promise that the chats and kinds of some messages do not notify a device, and others do.
    private static func silence(
        _ words: String, _ change: @escaping @Sendable (inout Device, Place) -> Void,
        _ messages: [(PushMessage.Kind, in: ChatID, notifies: Bool)]
    ) -> Promise {
        Promise(file: "PushClient/Registration/Device.swift", words: words) { place in
            var device = place.device
            device.mentionChats = [chat, otherChat]
            change(&device, place)
            let target = try await place.register(device, advertisingInterval: nil)
            for (number, (kind, chat, notifies)) in messages.enumerated() {
                var message = PushMessage(kind: kind, messageID: [UInt8(number)])
                (message.chat, message.author) = (chat, place.bob.publicKey)
                let count = place.server.pushes.count
                #expect(try await place.client.push(message, to: [target]).map(\.outcome) == [.accepted])
                #expect(place.server.pushes.count == count + (notifies ? 1 : 0), "\(kind) in \(chat)")
            }
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
        silence(
            "The chats whose messages do not notify. A mention in such a chat notifies if the chat is among ``mentionChats``.",
            { device, _ in (device.blockedChats, device.mutedChats) = ([chat], [ChatID("muted")]) },
            [
                (.message, in: chat, notifies: false), (.message, in: ChatID("muted"), notifies: false),
                (.mention, in: chat, notifies: true),
                (.message, in: otherChat, notifies: true),
            ]),
        silence(
            "The authors of whom no push of any kind notifies, in any chat.",
            { device, place in device.blockedAuthors = [place.bob.publicKey] },
            [
                (.message, in: chat, notifies: false), (.mention, in: chat, notifies: false),
                (.requestToJoinCommunity, in: chat, notifies: false), (.contactRequest, in: chat, notifies: false),
            ]),
        silence(
            "The authors of whom no push of any kind notifies, in any chat.",
            { device, _ in device.blockedAuthors = [Identity(.test(9)).publicKey] },
            [
                (.message, in: chat, notifies: true), (.mention, in: chat, notifies: true),
                (.requestToJoinCommunity, in: chat, notifies: true), (.contactRequest, in: chat, notifies: true),
            ]),
        silence(
            "Whether mentions notify in no chat", { device, _ in device.blocksMentions = true },
            [(.mention, in: chat, notifies: false), (.message, in: chat, notifies: true)]),
        silence(
            "Mentions in all other chats are discarded, so a device won't hear about any until its app lists chats here.",
            { device, _ in device.mentionChats = [otherChat] },
            [(.mention, in: chat, notifies: false), (.mention, in: otherChat, notifies: true), (.message, in: chat, notifies: true)]),
        Promise(
            file: "PushClient/Sending/SendingClient+Unsent.swift", words: "Returns immediately if the client does not keep pushes."
        ) { place in
            let state = MemoryState()
            let keeping = SendingClient(node: place.network.node, state: state, keepsUnsentPushes: true)
            place.network.setDown(true)
            _ = try await keeping.push(place.message, to: [Recipient(place.alice.publicKey)])
            place.network.setDown(false)
            let now = place.network.clock.wallClock.now()
            await SendingClient(node: place.network.node, state: state).run()
            #expect(place.network.envelopes.isEmpty && place.network.clock.wallClock.now() == now)
        },
        Promise(
            file: "PushClient/Sending/DeliveryReport.swift", words: "A device that registers meanwhile gets no push before."
        ) { place in
            let sender = place.bobsSender
            func push(_ number: UInt8) async throws -> DeliveryReport? {
                var message = place.message
                message.messageID = [number]
                return try await sender.push(message, to: [Recipient(place.alice.publicKey)]).first
            }
            _ = try await push(1)
            _ = try await place.register()
            let delay = try #require(try await push(2)?.nextLookup)
            place.network.clock.advance(by: delay - .seconds(1))
            #expect(try await push(3)?.outcome == .unknown && place.server.pushes.isEmpty)
            place.network.clock.advance(by: .seconds(1))
            #expect(try await push(4)?.outcome == .accepted(by: place.server.identity) && place.server.pushes.count == 1)
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

    /// Sentences of public symbols that say what does not happen, and that describe others than the client, or are tested elsewhere.
    private static let otherNegations = [
        "no other form of the key has the same hash", "Whether stores do not keep the message.",
        "or a code that this client does not know.",
        "or is no longer valid.", "The node does not respond.", "when its node does not respond.", "so that no signature shows the sender.",
        "means that the server does not know the owner", "with an empty list, or not at all.",
        "A service to which the server does not deliver.", "A text that another device does not have.",
        "takes no longer than its computations.", "Call limits do not apply to it.", "Whether the server does not reply to anything.",
        "or empty if the server does not name",
        // BackupTests, FlowTests, RegisteringTests, DefaultServersTests and LookupTests.
        "the client does not take the registration back.", "and no other sender gets it.", "so the network doesn't learn the sender.",
        "A missing reply is not an error.", "If a server does not reply within 3 s", "Unchanged servers don't get a request.",
        "unless it did not reply.", "This server is no longer among them", "only servers that are no longer defaults.",
        "An owner who cannot be looked up does not keep anyone else from being notified.",
    ]

    /// The documentation of a file's symbols, or only of its public ones.
    private static func documentation(of file: URL, isPublic: Bool) throws -> String {
        var (texts, comment): ([String], [String]) = ([], [])
        for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map({ $0.drop { $0 == " " } }) {
            if line.hasPrefix("///") {
                comment.append(String(line.dropFirst(3).drop { $0 == " " }))
            } else if !line.hasPrefix("@") {
                if !isPublic || line.hasPrefix("public ") { texts += comment }
                comment = []
            }
        }
        return texts.joined(separator: " ")
    }

    @Test func `each promise of the documentation has a test here`() throws {
        let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Sources/Client")
        let names = try #require(FileManager.default.subpaths(atPath: sources.path)).filter { $0.hasSuffix(".swift") }
        var count = 0
        for name in names where !name.contains(".docc/") {
            let text = try Self.documentation(of: sources.appending(path: name), isPublic: false)
            let words = Self.promises.filter { $0.file == name }.map(\.words)
            for quote in words { #expect(text.contains(quote), "\(name): \(quote)") }
            var rest = text
            for quote in words + Self.others { rest = rest.replacing(quote, with: "") }
            count += words.count
            #expect(rest.firstMatch(of: /\b(never|reveals?|revealing)\b/) == nil, "\(name) promises something without a test")
            var negations = try Self.documentation(of: sources.appending(path: name), isPublic: true)
            for quote in words + Self.others + Self.otherNegations { negations = negations.replacing(quote, with: "") }
            let negation = negations.firstMatch(
                of: /.{0,60}\b((do|does)(n't| not)|[Nn]o (other|longer|push|request|signature)|not an error|not at all)\b.{0,60}/)
            #expect(negation == nil, "\(name) promises that something does not happen, without a test: \(negation?.output.0 ?? "")")
        }
        #expect(count == Self.promises.count)
    }
}
