import ArgumentParser
import Bytes
import Envelope
import Foundation
import Observation
import PushClient
import StatusCrypto
import Wire

struct Watch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show live the messages that arrive for a key, decrypted.",
        discussion: """
            With a key file, shows messages encrypted to the key (replies of servers; requests, if it is a server's), and advertisements \
            of and queries for the key. With --public-key, shows advertisements and queries only. Ends with Ctrl-C or --for.
            """)

    @OptionGroup var node: NodeOptions
    @OptionGroup var key: KeyOptions

    @Flag(help: "Print each message as a line of JSON.")
    var json = false

    @Option(help: ArgumentHelp("A public key whose advertisements and queries to show.", valueName: "key"), transform: HexArgument.key)
    var publicKey: PushClient.PublicKey?

    @Option(
        help: ArgumentHelp("The age of the oldest messages to show, like 10m. Default: only new messages.", valueName: "time"),
        transform: TimeArgument.duration)
    var since: Duration?

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("The time after which the command ends, like 10m. Default: Ctrl-C ends it.", valueName: "time"),
        transform: TimeArgument.duration)
    var duration: Duration?

    /// How late the command may notice that its time is over.
    private static let interval = Duration.milliseconds(500)

    func run() async throws {
        _ = try node.access()
        let identity = try publicKey == nil ? key.identity() : nil
        guard let key = publicKey ?? identity?.publicKey else { return }
        let topics = Self.topics(of: key, identity)
        StandardError.print("Watching \(topics.count) topics of \(key.hex); Ctrl-C ends it.")
        try await node.withNode(silence: "") { node throws in
            var subscription = Subscription(
                to: topics.filter { !$0.isOwn }.map(\.name),
                own: identity.map { identity in topics.filter(\.isOwn).map { ($0.name, identity.privateKey) } } ?? [],
                since: node.now.advanced(by: .zero - (since ?? .zero)))
            let end = duration.map { ContinuousClock.now.advanced(by: $0) }
            repeat {
                for arrival in try await subscription.next(from: node) {
                    let label = topics.first { $0.name == arrival.topic }?.label ?? ""
                    show(WatchedMessage(arrival.message, on: label, sentAt: arrival.sentAt))
                }
                try await subscription.wait(atMost: Self.interval, node)
            } while end.map { ContinuousClock.now < $0 } ?? true
        }
    }

    /// Returns a key's topics. Messages on topics with `isOwn` are encrypted with the key.
    private static func topics(of key: PushClient.PublicKey, _ identity: Identity?) -> [(label: String, name: TopicName, isOwn: Bool)] {
        let told = [
            ("contact code", TopicName.contactCode(key.publicKey), false), ("query", .query(key.hash.bytes, .plain), false),
            ("query, 0x", .query(key.hash.bytes, .prefixed), false),
        ]
        let written = [("partitioned", TopicName.partitioned(key.publicKey), true), ("personal", .personal(key.publicKey), true)]
        return identity == nil ? told : told + written
    }

    private func show(_ message: WatchedMessage) {
        if json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            print(String(decoding: (try? encoder.encode(message)) ?? Data(), as: UTF8.self))
        } else {
            print("\(message.time)  \(message.topic)  \(message.type)  from \(message.sender)".printable)
            for line in message.content { print("    \(line)".printable) }
        }
        // The output is flushed, so that a pipe does not delay live messages.
        fflush(nil)
    }
}

/// Describes a message, with access tokens, because whoever can decrypt the message has them anyway.
private struct WatchedMessage: Encodable {
    let time: String
    let topic: String
    let type: String
    let sender: String
    let messageID: String
    let content: [String]

    init(_ message: OpenedMessage, on topic: String, sentAt: Timestamp) {
        time = Date(timeIntervalSince1970: Double(sentAt.nanoseconds) / 1e9)
            .formatted(.iso8601.year().month().day().time(includingFractionalSeconds: true).timeZone(separator: .omitted))
        self.topic = topic
        sender = PushClient.PublicKey(message.sender).hex
        messageID = message.messageID.description
        (type, content) = (Self.name(message.type), Self.content(of: message) ?? ["not of that type"])
    }

    private static func name(_ type: MessageType) -> String {
        switch type {
        case .contactCodeAdvertisement: "CONTACT_CODE_ADVERTISEMENT"
        case .pushNotificationRegistration: "PUSH_NOTIFICATION_REGISTRATION"
        case .pushNotificationRegistrationResponse: "PUSH_NOTIFICATION_REGISTRATION_RESPONSE"
        case .pushNotificationQuery: "PUSH_NOTIFICATION_QUERY"
        case .pushNotificationQueryResponse: "PUSH_NOTIFICATION_QUERY_RESPONSE"
        case .pushNotificationRequest: "PUSH_NOTIFICATION_REQUEST"
        case .pushNotificationResponse: "PUSH_NOTIFICATION_RESPONSE"
        default: "type \(type.rawValue)"
        }
    }

    /// - Returns: The lines, or nil if the bytes do not decode as the type.
    private static func content(of message: OpenedMessage) -> [String]? {
        let payload = message.payload
        switch message.type {
        case .contactCodeAdvertisement:
            return (try? ContactCodeAdvertisement.decode(payload))?.pushNotificationInfo.map { info in
                info.namesNoServer ? "installation \(info.installationID)  at no server any more  version \(info.version)" : line(info)
            }
        case .pushNotificationRegistrationResponse:
            return (try? PushNotificationRegistrationResponse.decode(payload)).map {
                [$0.success ? "success" : "error \($0.error.rawValue)", "request \(Hex.encode($0.requestID))"]
            }
        case .pushNotificationQuery:
            return (try? PushNotificationQuery.decode(payload))?.publicKeys.map { "about \(Hex.encode($0))" }
        case .pushNotificationQueryResponse:
            return (try? PushNotificationQueryResponse.decode(payload))?.info.map(line)
        case .pushNotificationRequest:
            return (try? PushNotificationRequest.decode(payload)).map { request in
                ["message \(Hex.encode(request.messageID))"]
                    + request.requests.map { "to \($0.installationID) of \(Hex.encode($0.publicKey)), type \($0.type.rawValue)" }
            }
        case .pushNotificationResponse:
            return (try? PushNotificationResponse.decode(payload)).map { response in
                ["message \(Hex.encode(response.messageID))"]
                    + response.reports.map { "\($0.installationID)  \($0.success ? "success" : "error \($0.error.rawValue)")" }
            }
        // Registrations contain a further encryption, and other types do not belong to this protocol.
        default:
            return ["\(payload.count) bytes"]
        }
    }

    private static func line(_ info: PushNotificationQueryInfo) -> String {
        let token = info.accessToken.isEmpty ? "none (\(info.allowedKeyList.count) encrypted)" : info.accessToken.text
        return "installation \(info.installationID)  token \(token)  version \(info.version)  server \(Hex.encode(info.serverPublicKey))"
    }
}
